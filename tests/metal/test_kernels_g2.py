"""Day G2 as its first user writes it: RMSNorm and RoPE, fused."""

from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.closeness import is_close
from tiny_llm_course.grading.judgement.inputs import each_dtype, gain, normal
from tiny_llm_course.metal.kernel import Result, metal_kernel
from tiny_llm_course.oracle.layer_norm import rms_norm
from tiny_llm_course.oracle.positional_encoding import rope

SEEDS = (0, 1, 2)
EPS = 1e-6
BASE = 10_000.0


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


def run_norm(source: str, x: mx.array, weight: mx.array, threads: int = 64) -> Result:
    kernel = metal_kernel("rms_norm", ["x", "weight", "eps"], ["out"], source)
    return kernel.run(
        inputs=[x, weight, EPS],
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
        grid=(threads * len(x), 1, 1),
        threadgroup=(threads, 1, 1),
        template=[("T", x.dtype)],
        seeds=SEEDS,
    )


def run_rope(
    source: str, x: mx.array, offsets: list[int], *, neighbours: bool
) -> Result:
    batch, length, _, width = x.shape
    kernel = metal_kernel("rope", ["x", "offsets", "base"], ["out"], source)
    return kernel.run(
        inputs=[x, mx.array(offsets, mx.int32), BASE],
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
        grid=(-(-width // 2 // 8) * 8, -(-batch * length // 4) * 4, 1),
        threadgroup=(8, 4, 1),
        template=[("T", x.dtype), ("NEIGHBOURS", neighbours)],
        seeds=SEEDS,
    )


@each_dtype
@pytest.mark.parametrize("shape", [(1, 1), (3, 31), (5, 64), (2, 897)], ids=str)
def test_rms_norm(shape: tuple[int, int], dtype: mx.Dtype) -> None:
    x, weight = normal(*shape, dtype=dtype, name="x"), gain(shape[1], dtype)

    result = run_norm(source_of("rms_norm"), x, weight)

    assert result.faults == ()
    assert is_close(result.outputs[0], rms_norm(x, weight, EPS))


@pytest.mark.parametrize("threads", [1, 40, 1024])
def test_rms_norm_takes_any_number_of_threads(threads: int) -> None:
    x, weight = normal(2, 100, name="x"), gain(100)

    result = run_norm(source_of("rms_norm"), x, weight, threads)

    assert result.faults == ()
    assert is_close(result.outputs[0], rms_norm(x, weight, EPS))


def test_rms_norm_squares_in_float32() -> None:
    """In float16, 300 squared is infinite."""
    x, weight = normal(2, 64, dtype=mx.float16, scale=1000.0), gain(64, mx.float16)

    result = run_norm(source_of("rms_norm"), x, weight)

    assert is_close(result.outputs[0], rms_norm(x, weight, EPS))


@each_dtype
@pytest.mark.parametrize("neighbours", [True, False])
@pytest.mark.parametrize(
    ("shape", "offsets"),
    [((1, 1, 1, 2), [0]), ((2, 3, 3, 20), [7, 100]), ((1, 5, 2, 64), [1000])],
    ids=str,
)
def test_rope(
    shape: tuple[int, ...], offsets: list[int], dtype: mx.Dtype, *, neighbours: bool
) -> None:
    x = normal(*shape, dtype=dtype, name="x")
    positions = [range(first, first + shape[1]) for first in offsets]

    result = run_rope(source_of("rope"), x, offsets, neighbours=neighbours)

    truth = rope(x, positions, base=BASE, traditional=neighbours)
    assert result.faults == ()
    assert is_close(result.outputs[0], truth)


BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup)"
SLOT = "lane < simdgroups_per_threadgroup ? part[lane] : 0.0f"


@pytest.mark.parametrize(
    ("old", "new", "kind", "part"),
    [
        (BARRIER, "", "race", "part["),
        # Lane 0 waits there, and the others wait for it in the next function.
        (BARRIER, "if (lane == 0) " + BARRIER, "divergent_simd", "simd_sum"),
        ("if (lane == 0) part", "part", "race", "part["),
        (SLOT, "part[lane]", "uninitialised_read", "part[lane]"),
        ("x * columns", "x * threads_per_threadgroup.x", "race", "out["),
        ("rsqrt(sum", "rsqrt(sum_", "language", "rsqrt"),
    ],
)
def test_mistakes_in_rms_norm(old: str, new: str, kind: str, part: str) -> None:
    source = changed(source_of("rms_norm"), old, new)

    result = run_norm(source, normal(3, 100, name="x"), gain(100))

    assert_names(result, kind, part)


def test_a_tail_of_the_row_that_nobody_takes_is_named() -> None:
    """The step of the second loop is right, and its end is not."""
    right = "i < columns; i += threads)\n    out"
    source = changed(source_of("rms_norm"), right, right.replace("columns", "threads"))

    result = run_norm(source, normal(3, 100, name="x"), gain(100))

    assert_names(result, "unwritten_output")
    assert result.faults[0].target.index == 64


@pytest.mark.parametrize(
    ("old", "new", "kind", "part"),
    [
        ("i >= width / 2 || ", "", "race", "out[start"),
        (" || token >= uint(x_shape[0]) * length", "", "out_of_bounds_read",
         "offsets["),
        ("i + width / 2;", "i + width;", "race", "out["),  # The next head has it, too.
        ("out[start + second]", "out[start + first]", "unwritten_output", ""),
        ("(token * heads + head) * width", "token * width", "unwritten_output", ""),
        ("offsets[token / length]", "offsets[token]", "out_of_bounds_read", "offsets"),
    ],
)  # fmt: skip
def test_mistakes_in_rope(old: str, new: str, kind: str, part: str) -> None:
    source = changed(source_of("rope"), old, new)
    x = normal(2, 3, 3, 20, name="x")

    result = run_rope(source, x, [7, 100], neighbours=False)

    assert_names(result, kind, *([part] if part else []))
