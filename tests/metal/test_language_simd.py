"""What the 32 lanes of a SIMD group do together, against numpy.

Values are whole numbers, so that a sum has one result whatever its order is: Metal
leaves it open.
"""

from collections.abc import Callable

import mlx.core as mx
import numpy as np
import pytest

LANES = np.arange(32)
X = np.random.default_rng(3).permutation(32) + 1

# Expression, and what each lane gets.
FLOATS = {
    "simd_sum(v)": np.full(32, X.sum()),
    "simd_max(v)": np.full(32, X.max()),
    "simd_min(v)": np.full(32, X.min()),
    "simd_product(v > 28 ? v - 27 : 1)": np.full(32, 2 * 3 * 4 * 5),
    "simd_prefix_inclusive_sum(v)": np.cumsum(X),
    "simd_prefix_exclusive_sum(v)": np.cumsum(X) - X,
    "simd_prefix_inclusive_product(lane % 8 ? 1.0 : 2.0)": 2.0 ** (LANES // 8 + 1),
    "simd_prefix_exclusive_product(lane % 8 ? 1.0 : 2.0)": 2.0 ** ((LANES + 7) // 8),
    "simd_broadcast(v, 5)": np.full(32, X[5]),
    "simd_broadcast_first(v)": np.full(32, X[0]),
    "simd_shuffle(v, 31 - lane)": X[::-1],
    "simd_shuffle_xor(v, 5)": X[LANES ^ 5],
    "simd_shuffle_up(v, 3)": np.where(LANES < 3, X, np.roll(X, 3)),
    "simd_shuffle_down(v, 3)": np.where(LANES > 28, X, np.roll(X, -3)),
    "simd_shuffle_rotate_up(v, 3)": np.roll(X, 3),
    "simd_shuffle_rotate_down(v, 3)": np.roll(X, -3),
    "simd_shuffle_and_fill_up(v, -v, 3)": np.where(LANES < 3, -1, 1) * np.roll(X, 3),
    "simd_shuffle_and_fill_down(v, -v, 3)": (
        np.where(LANES > 28, -1, 1) * np.roll(X, -3)
    ),
    "simd_shuffle_and_fill_up(v, -v, 1, 8)": (
        np.where(LANES % 8 == 0, -1, 1) * np.roll(X.reshape(4, 8), 1, axis=1).ravel()
    ),
    "quad_sum(v)": X.reshape(8, 4).sum(axis=1).repeat(4),
    "quad_max(v)": X.reshape(8, 4).max(axis=1).repeat(4),
    "quad_broadcast(v, 2)": X[2::4].repeat(4),
    "quad_shuffle_xor(v, 1)": X[LANES ^ 1],
    "simd_sum(float4(v, 1, 2, 3)).w": np.full(32, 96),
    "simd_sum(half(lane))": np.full(32, 496),
    "simd_sum(bfloat(lane))": np.full(32, 496),
    "simd_max(bfloat(v))": np.full(32, 32),
    "simd_shuffle(bfloat(v), 7)": np.full(32, X[7]),
    "simd_sum(int(lane))": np.full(32, 496),
    "simd_and(lane | 64)": np.full(32, 64),
    "simd_or(1u << lane) == 0xFFFFFFFFu": np.ones(32),
    "simd_xor(lane + 1)": np.full(32, 32),
    "simd_all(lane < 32)": np.ones(32),
    "simd_all(lane < 31)": np.zeros(32),
    "simd_any(lane == 31)": np.ones(32),
    "simd_is_first()": LANES == 0,
    "ulong(simd_vote::vote_t(simd_ballot(lane < 5)))": np.full(32, 31),
}


def test_simd_functions(run_body: Callable) -> None:
    stores = [
        f"out[{32 * row} + lane] = float({text});" for row, text in enumerate(FLOATS)
    ]

    (got,) = run_body(
        "ushort lane = thread_index_in_simdgroup; float v = x[lane];\n"
        + "\n".join(stores),
        {"x": mx.array(X.astype(np.float32))},
        [((len(FLOATS), 32), mx.float32)],
    )

    wrong = {
        text: row.tolist()
        for (text, expected), row in zip(FLOATS.items(), np.array(got), strict=True)
        if not np.array_equal(row, expected)
    }
    assert wrong == {}


def test_a_sum_of_halves_is_rounded_in_each_step(run_body: Callable) -> None:
    """2048 + 1 is no half. A tree adds the ones first, so it loses none of them."""
    (got,) = run_body(
        "ushort lane = thread_index_in_simdgroup;\n"
        "out[lane] = simd_sum(lane == 0 ? half(2048) : half(1));",
        {"x": mx.ones((100,))},
        [((32,), mx.float16)],
    )

    assert got.tolist() == [2078] * 32


def test_lanes_that_are_not_there_are_left_out(run_body: Callable) -> None:
    (got,) = run_body(
        "out[thread_index_in_simdgroup] = simd_sum(1.0) + 100 * simd_min(x[3]);",
        {"x": mx.arange(100).astype(mx.float32)},
        [((20,), mx.float32)],
        threads=20,
    )

    assert got.tolist() == [320] * 20


MATRIX = """\
simdgroup_matrix<{T}, 8, 8> a, b;
simdgroup_matrix<float, 8, 8> c = make_filled_simdgroup_matrix<float, 8, 8>(2.0), d;
simdgroup_load(a, x, 16, ulong2(8, 0));
simdgroup_load(b, y, 8, ulong2(0, 0), true);
simdgroup_multiply_accumulate(d, a, b, c);
simdgroup_store(d, out);
threadgroup {T} tile[8 * 10];
simdgroup_store(a, tile, 10);
threadgroup_barrier(mem_flags::mem_threadgroup);
simdgroup_load(b, tile, 10, ulong2(0, 0), true);
simdgroup_multiply(d, b, simdgroup_matrix<{T}, 8, 8>({T}(3)));
simdgroup_store(d, out1);
"""


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_matrices_of_a_simd_group(run_body: Callable, dtype: mx.Dtype) -> None:
    """Loaded at an origin, transposed, multiplied, stored in threadgroup memory."""
    rng = np.random.default_rng(5)
    x, y = rng.integers(-8, 9, (8, 16)), rng.integers(-8, 9, (8, 8))
    name = {mx.float32: "float", mx.float16: "half", mx.bfloat16: "bfloat"}[dtype]

    product, scaled = run_body(
        MATRIX.replace("{T}", name),
        {"x": mx.array(x).astype(dtype), "y": mx.array(y).astype(dtype)},
        [((8, 8), mx.float32)] * 2,
    )

    assert np.array_equal(np.array(product), x[:, 8:] @ y.T + 2)
    assert np.array_equal(np.array(scaled), 3 * x[:, 8:].T)


def test_each_lane_holds_the_two_elements_that_kernels_of_mlx_expect(
    run_body: Callable,
) -> None:
    (got,) = run_body(
        """\
simdgroup_matrix<float, 8, 8> a;
simdgroup_load(a, x);
uint lane = thread_index_in_simdgroup;
out[2 * lane] = a.thread_elements()[0];
out[2 * lane + 1] = a.thread_elements()[1];
""",
        {"x": mx.arange(64).astype(mx.float32)},
        [((32, 2), mx.float32)],
    )

    lane = np.arange(32)
    row = (lane // 16) * 4 + (lane // 2) % 4
    column = (lane // 8 % 2) * 4 + (lane % 2) * 2
    first = 8 * row + column
    assert np.array_equal(np.array(got), np.stack([first, first + 1], axis=1))


ATOMICS = """\
uint i = thread_position_in_grid.x;
atomic_fetch_add_explicit(&out[0], 1, memory_order_relaxed);
atomic_fetch_max_explicit(&out[1], int(i), memory_order_relaxed);
atomic_fetch_min_explicit(&out[2], -int(i), memory_order_relaxed);
atomic_fetch_or_explicit(&out[3], 1 << (i % 8), memory_order_relaxed);
atomic_fetch_sub_explicit(&out[4], 2, memory_order_relaxed);
atomic_fetch_xor_explicit(&out[5], 3, memory_order_relaxed);
if (i == 7) atomic_store_explicit(&out[6], 70, memory_order_relaxed);
int seen = atomic_load_explicit(&out[7], memory_order_relaxed);
while (!atomic_compare_exchange_weak_explicit(
    &out[7], &seen, seen + 3, memory_order_relaxed, memory_order_relaxed)) { }
"""


def test_atomic_operations() -> None:
    from tiny_llm_course.metal.kernel import metal_kernel

    kernel = metal_kernel("atomics", ["x"], ["out"], ATOMICS, atomic_outputs=True)

    (got,) = kernel(
        inputs=[mx.ones((100,))],
        output_shapes=[(8,)],
        output_dtypes=[mx.int32],
        grid=(64, 1, 1),
        threadgroup=(32, 1, 1),
        init_value=0,
    )

    assert got.tolist() == [64, 63, -63, 255, -128, 0, 70, 192]
