"""Week 2, day G4: a quantised matrix times many vectors, in tiles, on a GPU.

The chapter: book/en/week-2-day-g4-metal-tiles.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.scenarios.architecture import embedded
from tiny_llm_course.oracle.cached import quantize
from tiny_llm_course.oracle.stored import Stored, drawn, quantised

TILED = "metal_matmul.quantized_matmul_tiled"
SIMDGROUP = "metal_matmul.quantized_matmul_simdgroup"
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
each_size = pytest.mark.parametrize(
    ("tokens", "rows", "columns"),
    [(1, 1, 64), (2, 40, 64), (17, 5, 128), (33, 50, 64), (16, 32, 192)],
    ids=str,
)
"""One of each, a tile that is filled and one that is not, in either direction, and
several threadgroups."""


@each_format
def test_task_1_agrees_with_torch(
    grade: Grader, bits: int, group_size: int, dtype: mx.Dtype, stored_as: mx.Dtype
) -> None:
    stored = drawn((9, 128), group_size, bits, stored_as)

    _assert_product(grade, TILED, normal(6, 128, dtype=dtype), stored)


@each_size
def test_task_1_any_number_of_tokens_and_outputs(
    grade: Grader, tokens: int, rows: int, columns: int
) -> None:
    stored = drawn((rows, columns), 64, 4)

    _assert_product(grade, TILED, normal(tokens, columns), stored)


def test_task_1_takes_every_other_token(grade: Grader) -> None:
    """The arguments need not be contiguous."""
    _assert_product(grade, TILED, normal(7, 128)[::2], drawn((5, 128), 64, 4))


def test_task_1_adds_in_float32(grade: Grader) -> None:
    """Half of the sum is beyond float16, and the whole is not."""
    _assert_product(grade, TILED, *_large_and_opposite())


@each_format
def test_task_2_agrees_with_torch(
    grade: Grader, bits: int, group_size: int, dtype: mx.Dtype, stored_as: mx.Dtype
) -> None:
    stored = drawn((9, 128), group_size, bits, stored_as)

    _assert_product(grade, SIMDGROUP, normal(6, 128, dtype=dtype), stored)


@each_size
def test_task_2_any_number_of_tokens_and_outputs(
    grade: Grader, tokens: int, rows: int, columns: int
) -> None:
    stored = drawn((rows, columns), 64, 4)

    _assert_product(grade, SIMDGROUP, normal(tokens, columns), stored)


def test_task_2_takes_every_other_token(grade: Grader) -> None:
    _assert_product(grade, SIMDGROUP, normal(7, 128)[::2], drawn((5, 128), 64, 4))


def test_task_2_adds_in_float32(grade: Grader) -> None:
    _assert_product(grade, SIMDGROUP, *_large_and_opposite())


@pytest.mark.parametrize("shape", [(1, 5, 128), (2, 1, 128), (3, 128)], ids=str)
def test_task_3_multiplies_a_prompt(grade: Grader, shape: tuple[int, ...]) -> None:
    _assert_linear(grade, normal(*shape), drawn((12, 128), 64, 4))


@pytest.mark.parametrize("shape", [(1, 4, 128), (1, 1, 128)], ids=str)
def test_task_3_adds_the_bias(grade: Grader, shape: tuple[int, ...]) -> None:
    bias = normal(12, name="bias")

    _assert_linear(grade, normal(*shape), drawn((12, 128), 64, 4), bias)


@pytest.mark.parametrize("shape", [(128,), (1, 1, 128)], ids=str)
def test_task_3_still_multiplies_one_token(
    grade: Grader, shape: tuple[int, ...]
) -> None:
    _assert_linear(grade, normal(*shape), drawn((12, 128), 64, 4))


def test_task_3_multiplies_by_a_trained_layer(grade: Grader) -> None:
    """As it is packed in the embedded model, in the model's own dtype."""
    _, weights = embedded()
    matrix = weights["model.layers.2.self_attn.k_proj.weight"].astype(BRAIN)
    x = normal(1, 5, matrix.shape[1], dtype=BRAIN)

    _assert_linear(grade, x, quantised(matrix, 64, 8))


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
    """Return rows whose second half is their first, and vectors with another sign."""
    half = drawn((5, 256), 32, 8, HALF)
    twice = {name: mx.concatenate([one, one], 1) for name, one in half.parts().items()}
    x = mx.concatenate([300 + normal(3, 256), normal(3, 256, name="second") - 300], 1)
    return x.astype(HALF), Stored(**twice, group_size=32, bits=8)
