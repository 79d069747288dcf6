"""Week 2, day 4: a matrix-vector kernel in C++, variant by variant.

The chapter: book/en/week-2-day-4-matvec-kernel.md
"""

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.grading.judgement.call import Call, dtype_name
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import (
    DTYPES,
    each_dtype,
    each_group_size,
    each_width,
    normal,
)
from tiny_llm_course.grading.scenarios.architecture import embedded
from tiny_llm_course.grading.scenarios.multiple_outputs import Stacked, repeated
from tiny_llm_course.grading.scenarios.rounding import clear_of_ties
from tiny_llm_course.oracle.cached import matvec, quantize
from tiny_llm_course.oracle.stored import Stored, drawn, quantised

NAIVE = "kernels.matvec_naive"
BLOCKED = "kernels.matvec_blocked"
SIMD = "kernels.matvec_simd"
INT8 = "kernels.matvec_int8"
THREADED = "kernels.matvec_threaded"
WEIGHTS = "quantize.QuantizedWeights"

each_dtype_of_scales = pytest.mark.parametrize("stored_as", DTYPES, ids=dtype_name)
each_shape = pytest.mark.parametrize(
    "shape", [(1, 64), (3, 896), (4, 128), (17, 1088), (6, 4864), (5, 192)], ids=str
)
"""Rows that fill blocks of four and that do not; 1 group, 16 groups and one more."""

each_variant_of_task_1 = pytest.mark.parametrize(
    "variant", [NAIVE, BLOCKED], ids=["naive", "blocked"]
)


@each_dtype
@each_width
@each_group_size
@each_variant_of_task_1
def test_task_1_agrees_with_torch(
    grade: Grader, variant: str, group_size: int, bits: int, dtype: mx.Dtype
) -> None:
    stored = drawn((17, 384), group_size, bits, dtype)

    _assert_product(grade, variant, normal(384, dtype=dtype), stored)


@each_dtype_of_scales
@each_variant_of_task_1
def test_task_1_reads_scales_of_any_dtype(
    grade: Grader, variant: str, stored_as: mx.Dtype
) -> None:
    """Kernels compute in float32: no weight is rounded to the dtype of its scale."""
    stored = drawn((7, 256), 64, 4, stored_as)

    _assert_product(grade, variant, normal(256), stored)


@each_shape
@each_variant_of_task_1
def test_task_1_computes_all_rows_and_columns(
    grade: Grader, variant: str, shape: tuple[int, int]
) -> None:
    stored = drawn(shape, 64, 4)

    _assert_product(grade, variant, normal(shape[1]), stored)


@each_variant_of_task_1
def test_task_1_reads_a_vector_that_lies_apart(grade: Grader, variant: str) -> None:
    stored = drawn((5, 128), 32, 4)

    _assert_product(grade, variant, normal(3, 128).T[:, 1], stored)


@each_variant_of_task_1
def test_task_1_multiplies_a_trained_layer(grade: Grader, variant: str) -> None:
    x, stored = _trained()

    _assert_product(grade, variant, x, stored)


@each_dtype
@each_width
@each_group_size
def test_task_2_agrees_with_torch(
    grade: Grader, group_size: int, bits: int, dtype: mx.Dtype
) -> None:
    stored = drawn((17, 384), group_size, bits, dtype)

    _assert_product(grade, SIMD, normal(384, dtype=dtype), stored)


@each_dtype_of_scales
def test_task_2_reads_scales_of_any_dtype(grade: Grader, stored_as: mx.Dtype) -> None:
    stored = drawn((7, 256), 64, 4, stored_as)

    _assert_product(grade, SIMD, normal(256), stored)


@each_shape
def test_task_2_computes_all_rows_and_columns(
    grade: Grader, shape: tuple[int, int]
) -> None:
    stored = drawn(shape, 64, 4)

    _assert_product(grade, SIMD, normal(shape[1]), stored)


@each_width
@pytest.mark.parametrize("length", [32, 96])
def test_task_2_computes_a_row_that_no_register_divides(
    grade: Grader, length: int, bits: int
) -> None:
    stored = drawn((3, length), 32, bits)

    _assert_product(grade, SIMD, normal(length), stored)


def test_task_2_multiplies_a_trained_layer(grade: Grader) -> None:
    x, stored = _trained()

    _assert_product(grade, SIMD, x, stored)


@each_dtype
@each_width
@each_group_size
def test_task_3_multiplies_what_the_vector_is_rounded_to(
    grade: Grader, group_size: int, bits: int, dtype: mx.Dtype
) -> None:
    """Numbers that are not near a tie, so they can be rounded in only one way."""
    stored = drawn((17, 384), group_size, bits, dtype)

    _assert_rounded_product(grade, INT8, clear_of_ties(384, group_size, dtype), stored)


@each_dtype_of_scales
def test_task_3_reads_scales_of_any_dtype(grade: Grader, stored_as: mx.Dtype) -> None:
    stored = drawn((7, 256), 64, 4, stored_as)

    _assert_rounded_product(grade, INT8, clear_of_ties(256, 64), stored)


@each_shape
def test_task_3_computes_all_rows_and_columns(
    grade: Grader, shape: tuple[int, int]
) -> None:
    stored = drawn(shape, 64, 4)

    _assert_rounded_product(grade, INT8, clear_of_ties(shape[1], 64), stored)


@each_width
@pytest.mark.parametrize("group_size", [32, 128])
def test_task_3_holds_the_largest_products(
    grade: Grader, group_size: int, bits: int
) -> None:
    """All bits of the weights are set, and all activations are 127 or -127."""
    stored = drawn((3, 256), group_size, bits)
    full = mx.full(stored.packed.shape, 2**32 - 1, mx.uint32)
    stored = Stored(full, stored.scales, stored.biases, group_size, bits)
    x = mx.concatenate([mx.full((128,), 1.5), mx.full((128,), -0.25)])

    _assert_rounded_product(grade, INT8, x, stored)


@pytest.mark.parametrize("group_size", [32, 64])
def test_task_3_keeps_groups_of_zeros(grade: Grader, group_size: int) -> None:
    stored = drawn((5, 256), group_size, 4)
    x = mx.concatenate([clear_of_ties(128, group_size), mx.zeros((128,))])

    _assert_rounded_product(grade, INT8, x, stored)


@each_width
@pytest.mark.parametrize("size", [1e-12, 1.0, 1e4])
def test_task_3_is_off_by_no_more_than_rounding(
    grade: Grader, size: float, bits: int
) -> None:
    stored = drawn((9, 896), 64, bits)

    _assert_near_product(grade, INT8, normal(896, scale=size), stored)


def test_task_3_rounds_each_group_by_itself(grade: Grader) -> None:
    """A number a thousand times as large as the others affects only its own group."""
    stored = drawn((9, 896), 64, 4)
    x = mx.concatenate([mx.array([1000.0]), normal(895)])

    _assert_near_product(grade, INT8, x, stored)


@each_width
@each_group_size
def test_task_3_looks_for_the_largest_in_the_whole_group(
    grade: Grader, group_size: int, bits: int
) -> None:
    """The largest number is in the last quarter, once at the very end."""
    stored = drawn((5, 2 * group_size), group_size, bits)
    steps = np.random.default_rng(group_size).integers(-50, 51, (2, group_size))
    steps[0, -1], steps[1, -group_size // 4] = 127, -127
    x = mx.array((steps * np.float32(0.25)).astype(np.float32).ravel())

    _assert_rounded_product(grade, INT8, x, stored)


def test_task_3_multiplies_a_trained_layer(grade: Grader) -> None:
    x, stored = _trained()

    _assert_near_product(grade, INT8, x, stored)


@each_dtype
@each_width
@each_group_size
def test_task_4_agrees_with_torch(
    grade: Grader, group_size: int, bits: int, dtype: mx.Dtype
) -> None:
    stored = drawn((17, 384), group_size, bits, dtype)

    _assert_rounded_product(
        grade, THREADED, clear_of_ties(384, group_size, dtype), stored
    )


@pytest.mark.parametrize("num_rows", [1, 2, 3, 7, 150, 1001, 4864])
@pytest.mark.parametrize("length", [64, 896])
def test_task_4_computes_each_row(grade: Grader, length: int, num_rows: int) -> None:
    """Fewer rows than threads, and row counts that the pieces do not divide."""
    stored = drawn((num_rows, length), 64, 4, mx.float16)

    _assert_rounded_product(grade, THREADED, clear_of_ties(length, 64), stored)


@pytest.mark.parametrize("num_rows", [3, 150])
def test_task_4_is_the_same_each_time(grade: Grader, num_rows: int) -> None:
    """The order of threads must not matter. A race may show only in many calls."""
    stored = drawn((num_rows, 128), 64, 4)
    x, weights = clear_of_ties(128, 64), grade.run(Call(WEIGHTS, stored.fields()))

    call = Stacked(THREADED, (x, weights), times=100)

    truth = repeated(matvec.of_rounded(x, stored), 100)
    grade.assert_close(call, truth, mx.float32)


def test_task_4_multiplies_a_trained_layer(grade: Grader) -> None:
    x, stored = _trained()

    _assert_near_product(grade, THREADED, x, stored)


def _assert_product(grade: Grader, variant: str, x: mx.array, stored: Stored) -> None:
    """Fail unless a variant multiplies x as it is."""
    weights = grade.run(Call(WEIGHTS, stored.fields()))

    grade.assert_close(Call(variant, (x, weights)), quantize.matmul(x, stored), x.dtype)


def _assert_rounded_product(
    grade: Grader, variant: str, x: mx.array, stored: Stored
) -> None:
    """Fail unless a variant multiplies what x is rounded to."""
    weights = grade.run(Call(WEIGHTS, stored.fields()))

    truth = matvec.of_rounded(x, stored)

    grade.assert_close(Call(variant, (x, weights)), truth, x.dtype)


def _assert_near_product(
    grade: Grader, variant: str, x: mx.array, stored: Stored
) -> None:
    """Fail unless a variant is as near to the product with x as rounding allows."""
    weights = grade.run(Call(WEIGHTS, stored.fields()))

    truth = matvec.within_rounding(x, stored)

    grade.assert_close(Call(variant, (x, weights)), truth, x.dtype)


def _trained() -> tuple[mx.array, Stored]:
    """Return the embedding of a token and the matrix of a gate."""
    _, weights = embedded()
    stored = quantised(weights["model.layers.2.mlp.gate_proj.weight"], 64, 4)
    return weights["model.embed_tokens.weight"][100], stored
