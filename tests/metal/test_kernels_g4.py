"""Day G4 as its first user writes it: products in tiles, and in SIMD matrices."""

from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.closeness import is_close
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal, weight
from tiny_llm_course.metal.kernel import Result, metal_kernel
from tiny_llm_course.oracle.quantize import matmul
from tiny_llm_course.oracle.stored import Stored, quantised

SEEDS = (0, 1)
TILED, SIMDGROUP = "quantised_matmul_tiled", "quantised_matmul_simdgroup"


def source_of(name: str) -> str:
    path = Path(__file__).with_name("kernels") / f"{name}.metal"
    return path.read_text(encoding="utf-8")


def changed(source: str, old: str, new: str) -> str:
    """Put a mistake into a kernel, at the one place where `old` stands."""
    assert source.count(old) == 1
    return source.replace(old, new)


def assert_names(result: Result, kind: str, *parts: str) -> None:
    """The first fault is of this kind, and its lines contain these parts."""
    assert result.faults, "no fault was found"
    fault = result.faults[0]
    assert fault.kind == kind, fault.sentence
    for side, part in zip((fault.here, fault.there), parts, strict=False):
        assert side is not None
        assert part in side.text, fault.sentence


def run_product(
    name: str,
    source: str,
    x: mx.array,
    w: Stored,
    *,
    padding: int = 1,
    counts_costs: bool = False,
) -> Result:
    kernel = metal_kernel(name, ["x", "packed", "scales", "biases"], ["out"], source)
    num_tokens, num_rows = len(x), len(w.packed)
    tiled = (-(-num_rows // 16) * 16, -(-num_tokens // 16) * 16, 1)
    in_matrices = (-(-num_rows // 32) * 128, -(-num_tokens // 32), 1)
    return kernel.run(
        inputs=[x, w.packed, w.scales, w.biases],
        output_shapes=[(num_tokens, num_rows)],
        output_dtypes=[x.dtype],
        grid=tiled if name == TILED else in_matrices,
        threadgroup=(16, 16, 1) if name == TILED else (128, 1, 1),
        template=[("T", x.dtype), ("G", w.group_size), ("PAD", padding)],
        seeds=SEEDS,
        counts_costs=counts_costs,
    )


def drawn(
    tokens: int, rows: int, columns: int, group: int, dtype: mx.Dtype = mx.float32
) -> tuple[mx.array, Stored]:
    w = quantised(weight(rows, columns, dtype), group, 4)
    return normal(tokens, columns, dtype=dtype, name="x"), w


@each_dtype
@pytest.mark.parametrize(
    "sizes", [(1, 1, 64, 64), (17, 50, 96, 32), (33, 16, 128, 64)], ids=str
)
@pytest.mark.parametrize("name", [TILED, SIMDGROUP])
def test_product(name: str, sizes: tuple[int, int, int, int], dtype: mx.Dtype) -> None:
    """One row, edges in both directions, and groups of 64 and of 32."""
    x, w = drawn(*sizes, dtype)

    result = run_product(name, source_of(name), x, w)

    assert result.faults == ()
    assert is_close(result.outputs[0], matmul(x, w))


def test_padded_rows_lie_in_different_banks() -> None:
    x, w = drawn(16, 16, 64, 64)
    source = source_of(TILED)
    plain, padded = (
        run_product(TILED, source, x, w, padding=one, counts_costs=True).costs
        for one in (0, 1)
    )

    assert plain.bank_conflicts > 5 * padded.bank_conflicts


COMPLETE = "threadgroup_barrier(mem_flags::mem_threadgroup);  // Both"
USED = "threadgroup_barrier(mem_flags::mem_threadgroup);  // Nobody"
QUARTERS = "threadgroup_barrier(mem_flags::mem_threadgroup);  // The four"


@pytest.mark.parametrize(
    ("name", "old", "new", "kind", "part"),
    [
        (TILED, COMPLETE, "//", "race", "_tile["),
        (TILED, USED, "//", "race", "_tile["),
        (TILED, "token < num_tokens ? ", "true ? ", "out_of_bounds_read", "x[token"),
        (TILED, "if (row < num_rows) {", "{", "out_of_bounds_read", "packed["),
        (TILED, "token < num_tokens && row < num_rows", "token < num_tokens", "race",
         "out[token"),
        (TILED, "if (t < side * depth / 8) {", "{", "out_of_bounds_write", "w_tile["),
        # The element behind a row is there, and nobody has written it.
        (TILED, "w_tile[column][i]", "w_tile[column][i + 1]", "uninitialised_read",
         "w_tile["),
        (SIMDGROUP, COMPLETE, "//", "race", ""),
        (SIMDGROUP, USED, "//", "race", ""),
        (SIMDGROUP, QUARTERS, "//", "race", ""),
        (SIMDGROUP, "sums[a][b] = simdgroup_matrix<float, 8, 8>(0.0f);", ";",
         "uninitialised_read", "simdgroup_multiply_accumulate"),
        (SIMDGROUP, "for (uint i = 0; i < depth; i += 8) {",
         "for (uint i = t % 32 / 16 * 8; i < depth; i += 8) {", "divergent_simd",
         "simdgroup_"),
        (SIMDGROUP, "+ left + 8 * b, stride)", "+ left + 8 * b, side + 8)", "race",
         "simdgroup_store"),
        (SIMDGROUP, "depth = 32, stride", "depth = 128, stride",
         "too_much_threadgroup_memory", "_tile["),
    ],
)  # fmt: skip
def test_mistakes(name: str, old: str, new: str, kind: str, part: str) -> None:
    source = changed(source_of(name), old, new)
    x, w = drawn(17, 50, 96, 32)

    result = run_product(name, source, x, w)

    assert_names(result, kind, *([part] if part else []))
