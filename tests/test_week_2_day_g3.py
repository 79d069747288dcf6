"""Week 2, day G3: a quantised matrix times a vector, by the SIMD groups of a GPU.

The chapter: book/en/week-2-day-g3-metal-matvec.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.scenarios.architecture import embedded
from tiny_llm_course.oracle.cached import quantize
from tiny_llm_course.oracle.stored import Stored, drawn, quantised

WORDS = "metal_matvec.quantized_matvec_words"
ROWS = "metal_matvec.quantized_matvec"
LINEAR = "metal_model.linear"
WEIGHTS = "quantize.QuantizedWeights"

HALF, BRAIN = mx.float16, mx.bfloat16

# A kernel is compiled for each of them, which takes most of the time of a test.
each_format = pytest.mark.parametrize(
    ("bits", "group_size", "dtype", "stored_as"),
    [
        (4, 64, mx.float32, mx.float32),
        (8, 32, HALF, HALF),
        (8, 64, BRAIN, BRAIN),
        (4, 128, mx.float32, BRAIN),
    ],
    ids=["4-64-float32", "8-32-float16", "8-64-bfloat16", "4-128-mixed"],
)
each_shape = pytest.mark.parametrize(
    "shape", [(1, 512), (40, 64), (3, 896), (4, 256), (17, 1088), (6, 192)], ids=str
)
"""Rows that fill fours and threadgroups and that do not; fewer loads than lanes, more,
and as many."""

each_matrix = pytest.mark.parametrize("name", ["self_attn.k_proj", "mlp.down_proj"])


@each_format
def test_task_1_agrees_with_torch(
    grade: Grader, bits: int, group_size: int, dtype: mx.Dtype, stored_as: mx.Dtype
) -> None:
    stored = drawn((37, 384), group_size, bits, stored_as)

    _assert_product(grade, WORDS, normal(384, dtype=dtype), stored)


@each_shape
def test_task_1_computes_all_rows_and_columns(
    grade: Grader, shape: tuple[int, int]
) -> None:
    _assert_product(grade, WORDS, normal(shape[1]), drawn(shape, 64, 4))


def test_task_1_reads_a_vector_that_lies_apart(grade: Grader) -> None:
    stored = drawn((9, 128), 64, 4)

    _assert_product(grade, WORDS, normal(3, 128).T[:, 1], stored)


def test_task_1_adds_in_float32(grade: Grader) -> None:
    """What a lane adds up is beyond float16, and the lanes together are not."""
    x, stored = _large_and_opposite()

    _assert_product(grade, WORDS, x, stored)


@each_format
def test_task_2_agrees_with_torch(
    grade: Grader, bits: int, group_size: int, dtype: mx.Dtype, stored_as: mx.Dtype
) -> None:
    stored = drawn((37, 384), group_size, bits, stored_as)

    _assert_product(grade, ROWS, normal(384, dtype=dtype), stored)


@each_shape
def test_task_2_computes_all_rows_and_columns(
    grade: Grader, shape: tuple[int, int]
) -> None:
    _assert_product(grade, ROWS, normal(shape[1]), drawn(shape, 64, 4))


@pytest.mark.parametrize("num_rows", [2, 8, 11])
def test_task_2_computes_rows_that_no_block_divides(
    grade: Grader, num_rows: int
) -> None:
    stored = drawn((num_rows, 320), 32, 8, HALF)

    _assert_product(grade, ROWS, normal(320, dtype=HALF), stored)


def test_task_2_reads_a_vector_that_lies_apart(grade: Grader) -> None:
    stored = drawn((9, 128), 64, 4)

    _assert_product(grade, ROWS, normal(3, 128).T[:, 1], stored)


def test_task_2_adds_in_float32(grade: Grader) -> None:
    x, stored = _large_and_opposite()

    _assert_product(grade, ROWS, x, stored)


@each_matrix
def test_task_3_multiplies_a_trained_layer(grade: Grader, name: str) -> None:
    """As it is packed in the embedded model, in the model's own dtype."""
    x, stored = _trained(name, 64, 8, BRAIN)

    _assert_linear(grade, x[None, None], stored)


def test_task_3_multiplies_4_bits(grade: Grader) -> None:
    x, stored = _trained("mlp.gate_proj", 64, 4, mx.float32)

    _assert_linear(grade, x[None, None], stored)


@pytest.mark.parametrize("shape", [(256,), (1, 256), (1, 1, 1, 256)], ids=str)
def test_task_3_keeps_the_leading_axes(grade: Grader, shape: tuple[int, ...]) -> None:
    _assert_linear(grade, normal(*shape), drawn((12, 256), 64, 4))


def test_task_3_adds_the_bias(grade: Grader) -> None:
    stored = drawn((12, 256), 64, 4)

    _assert_linear(grade, normal(1, 1, 256), stored, normal(12, name="bias"))


@pytest.mark.parametrize("shape", [(1, 3, 256), (2, 1, 256), (3, 256)], ids=str)
def test_task_3_multiplies_several_tokens(
    grade: Grader, shape: tuple[int, ...]
) -> None:
    stored = drawn((12, 256), 64, 4)

    _assert_linear(grade, normal(*shape), stored, normal(12, name="bias"))


def _assert_product(grade: Grader, function: str, x: mx.array, stored: Stored) -> None:
    """Fail unless a function multiplies by the exact weights."""
    weights = grade.run(Call(WEIGHTS, stored.fields()))

    truth = quantize.matmul(x, stored)

    grade.assert_close(Call(function, (x, weights)), truth, x.dtype)


def _assert_linear(
    grade: Grader, x: mx.array, stored: Stored, bias: mx.array | None = None
) -> None:
    """Fail unless a layer does so with every vector, and adds its bias."""
    weights = grade.run(Call(WEIGHTS, stored.fields()))

    truth = quantize.matmul(x, stored, bias)

    grade.assert_close(Call(LINEAR, (x, weights, bias)), truth, x.dtype)


def _large_and_opposite() -> tuple[mx.array, Stored]:
    """Return rows whose second half is their first, and a vector with another sign."""
    half = drawn((3, 512), 32, 8, HALF)
    twice = {name: mx.concatenate([one, one], 1) for name, one in half.parts().items()}
    x = mx.concatenate([300 + normal(512), normal(512, name="second") - 300])
    return x.astype(HALF), Stored(**twice, group_size=32, bits=8)


def _trained(
    name: str, group_size: int, bits: int, dtype: mx.Dtype
) -> tuple[mx.array, Stored]:
    """Return a vector of a matrix of the embedded model, and the matrix."""
    _, weights = embedded()
    matrix = weights[f"model.layers.2.{name}.weight"].astype(dtype)
    stored = quantised(matrix, group_size, bits)
    return normal(matrix.shape[1], dtype=dtype), stored
