# ruff: noqa: E501 - what is replaced stands in one line
"""Day G3 as its first user writes it: a 4-bit matrix times a vector."""

from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.closeness import is_close
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal, weight
from tiny_llm_course.metal.kernel import Result, metal_kernel
from tiny_llm_course.oracle.quantize import matmul
from tiny_llm_course.oracle.stored import Stored, quantised

SEEDS = (0, 1, 2)
ROWS = 4
THREADS = 64
NAMES = ("quantised_matvec", "quantised_matvec_words")


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
    name: str, source: str, x: mx.array, w: Stored, *, counts_costs: bool = False
) -> Result:
    kernel = metal_kernel(name, ["x", "packed", "scales", "biases"], ["out"], source)
    num_rows = len(w.packed)
    each = 1 if name.endswith("words") else ROWS
    groups = -(-num_rows // each // (THREADS // 32))
    return kernel.run(
        inputs=[x, w.packed, w.scales, w.biases],
        output_shapes=[(num_rows,)],
        output_dtypes=[x.dtype],
        grid=(groups * THREADS, 1, 1),
        threadgroup=(THREADS, 1, 1),
        template=[("T", x.dtype), ("G", w.group_size), ("ROWS", ROWS)],
        seeds=SEEDS,
        counts_costs=counts_costs,
    )


def drawn(
    rows: int, columns: int, group_size: int, dtype: mx.Dtype = mx.float32
) -> Stored:
    return quantised(weight(rows, columns, dtype), group_size, 4)


@each_dtype
@pytest.mark.parametrize("group_size", [64, 32])
@pytest.mark.parametrize("shape", [(1, 64), (7, 192), (19, 1088)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_product(
    name: str, shape: tuple[int, int], group_size: int, dtype: mx.Dtype
) -> None:
    """A row shorter than what a SIMD group loads at once, and longer with a tail."""
    w, x = drawn(*shape, group_size, dtype), normal(shape[1], dtype=dtype, name="x")

    result = run_product(name, source_of(name), x, w)

    assert result.faults == ()
    assert is_close(result.outputs[0], matmul(x, w))


def test_rows_that_share_a_load_of_x_read_less() -> None:
    w, x = drawn(32, 1024, 64), normal(1024, name="x")

    shared, single = (
        run_product(n, source_of(n), x, w, counts_costs=True).costs for n in NAMES
    )

    assert shared.bytes_read < 0.5 * single.bytes_read


TAIL = "r < ROWS && first_row + r < num_rows"


@pytest.mark.parametrize(
    ("old", "new", "kind", "part"),
    [
        (TAIL, "r < ROWS", "out_of_bounds_read", "words ="),
        ("lane == 0 && first_row + r < num_rows", "lane == 0", "out_of_bounds_write",
         "out[first_row"),
        ("if (lane == 0 && first", "if (first", "race", "out[first_row"),
        ("row * num_blocks", "row * num_blocks * 4", "out_of_bounds_read", "words ="),
        ("x + 32 * block", "x + 64 * block", "out_of_bounds_read", "from[k]"),
        ("x + 32 * block", "x + 33 * block", "misaligned", "from[k]"),
        ("num_blocks * 32 / G", "num_blocks * 32", "out_of_bounds_read", "scales["),
        ("float sums[ROWS];", "float sums[ROWS - 1];", "out_of_bounds_write", "sums[r]"),
        ("block += 32) {", "block += 32) { if (block > 32) continue; else if (block > 5)"
         " sums[0] = simd_sum(sums[0]);", "divergent_simd", "simd_sum"),
    ],
)  # fmt: skip
def test_mistakes(old: str, new: str, kind: str, part: str) -> None:
    name = "quantised_matvec"
    source = changed(source_of(name), old, new)

    result = run_product(name, source, normal(320, name="x"), drawn(7, 320, 64))

    assert_names(result, kind, part)


@pytest.mark.parametrize(
    ("old", "new", "kind", "part"),
    [
        ("if (row >= uint(packed_shape[0])) return;", "", "out_of_bounds_read", "word ="),
        ("if (lane == 0) out", "out", "race", "out[row]"),
        ("at * 8 / G", "at / G * 8 + lane", "out_of_bounds_read", "scales["),
        ("device vec<T, 4>* from = (const device ", "device float3* from = (const ",
         "language", "from ="),
    ],
)  # fmt: skip
def test_mistakes_with_words(old: str, new: str, kind: str, part: str) -> None:
    name = "quantised_matvec_words"
    source = changed(source_of(name), old, new)

    result = run_product(name, source, normal(320, name="x"), drawn(7, 320, 64))

    assert_names(result, kind, part)
