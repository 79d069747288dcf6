"""Week 2, day 3: making, reading and multiplying quantised weights.

The chapter: book/en/week-2-day-3-quantised-weights.md
"""

import mlx.core as mx
import pytest
from mlx import nn

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.exact import (
    assert_exactly,
    assert_fields,
    assert_tuple,
)
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import (
    each_dtype,
    each_group_size,
    each_width,
    normal,
    weight,
)
from tiny_llm_course.grading.scenarios.architecture import embedded
from tiny_llm_course.oracle.cached import quantize
from tiny_llm_course.oracle.stored import Stored, dequantised, drawn, quantised

QUANTIZE = "quantize.quantize"
DEQUANTIZE = "quantize.dequantize"
WEIGHTS = "quantize.QuantizedWeights"
MATMUL = "quantize.quantized_matmul"
LINEAR = "quantize.quantized_linear"


KINDS = (
    "of both signs",
    "positive",
    "negative",
    "far from zero",
    "with equal ends",
    "halves of whole numbers",
    "constant and positive",
    "constant and negative",
    "zero",
    "one outlier above zero",
    "one outlier below zero",
    "tiny",
    "next to nothing",
    "large",
)
"""Kinds of groups of weights. Each kind has many groups."""


@each_dtype
@each_width
@pytest.mark.parametrize("kind", KINDS)
def test_task_1_equals_mlx_bit_for_bit(
    grade: Grader, kind: str, bits: int, dtype: mx.Dtype
) -> None:
    w = _weights(kind).astype(dtype)

    call = Call(QUANTIZE, (w, 64, bits))

    assert_tuple(grade, call, quantised(w, 64, bits).parts())


@each_width
@each_group_size
@pytest.mark.parametrize("shape", [(1, 128), (3, 256), (2, 3, 128)], ids=str)
def test_task_1_groups_are_neighbours_in_a_row(
    grade: Grader, shape: tuple[int, ...], group_size: int, bits: int
) -> None:
    w = normal(*shape)

    call = Call(QUANTIZE, (w, group_size, bits))

    assert_tuple(grade, call, quantised(w, group_size, bits).parts())


@each_dtype
def test_task_1_quantises_a_trained_matrix(grade: Grader, dtype: mx.Dtype) -> None:
    _, weights = embedded()
    w = weights["model.layers.2.mlp.gate_proj.weight"].astype(dtype)

    call = Call(QUANTIZE, (w, 64, 4))

    assert_tuple(grade, call, quantised(w, 64, 4).parts())


@each_dtype
@each_width
@each_group_size
def test_task_2_equals_mlx_bit_for_bit(
    grade: Grader, group_size: int, bits: int, dtype: mx.Dtype
) -> None:
    """Words of random bits, including the highest, with scales of both signs."""
    stored = drawn((3, 256), group_size, bits, dtype)

    call = _dequantize(stored)

    assert_exactly(grade, call, dequantised(stored), "weights")


@pytest.mark.parametrize("rows", [(1,), (2, 3)], ids=str)
def test_task_2_treats_leading_axes_alike(grade: Grader, rows: tuple[int, ...]) -> None:
    stored = drawn((*rows, 128), 32, 4)

    call = _dequantize(stored)

    assert_exactly(grade, call, dequantised(stored), "weights")


def test_task_2_restores_a_trained_matrix(grade: Grader) -> None:
    _, weights = embedded()
    stored = quantised(weights["model.layers.2.mlp.gate_proj.weight"], 64, 4)

    call = _dequantize(stored)

    assert_exactly(grade, call, dequantised(stored), "weights")


@each_dtype
@each_width
@each_group_size
def test_task_3_product_with_the_transpose_agrees_with_torch(
    grade: Grader, group_size: int, bits: int, dtype: mx.Dtype
) -> None:
    stored = quantised(weight(24, 128, dtype), group_size, bits)
    a = normal(5, 128, dtype=dtype)

    call = _matmul(a, stored, transpose_b=True)

    grade.assert_close(call, quantize.matmul(a, stored), dtype)


@each_dtype
@each_width
def test_task_3_product_without_transpose_agrees_with_torch(
    grade: Grader, bits: int, dtype: mx.Dtype
) -> None:
    """Groups run along the rows of the matrix, which are now the outputs."""
    stored = quantised(weight(24, 128, dtype), 32, bits)
    a = normal(5, 24, dtype=dtype)

    call = _matmul(a, stored)

    grade.assert_close(call, quantize.matmul(a, stored, transpose=False), dtype)


@pytest.mark.parametrize("batch", [(), (1,), (2, 3)], ids=str)
@pytest.mark.parametrize("transpose_b", [True, False])
def test_task_3_product_treats_leading_axes_alike(
    grade: Grader, batch: tuple[int, ...], transpose_b: bool
) -> None:
    stored = quantised(weight(128, 128), 64, 4)
    a = normal(*batch, 128)

    call = _matmul(a, stored, transpose_b=transpose_b)

    grade.assert_close(
        call, quantize.matmul(a, stored, transpose=transpose_b), mx.float32
    )


def test_task_3_weights_have_their_parts_in_order(grade: Grader) -> None:
    stored = quantised(weight(24, 128), 32, 8)

    call = Call(WEIGHTS, stored.fields())

    assert_fields(grade, call, _named(stored))


@pytest.mark.parametrize(("group_size", "bits"), [(64, 4), (32, 8), (128, 2)])
def test_task_3_weights_are_those_of_a_layer(
    grade: Grader, group_size: int, bits: int
) -> None:
    layer = nn.Linear(128, 24, bias=True)
    layer.weight, layer.bias = weight(24, 128), normal(24)
    quantised_layer = nn.QuantizedLinear.from_linear(layer, group_size, bits)

    call = Call(WEIGHTS, (quantised_layer,), method="from_mlx_layer")

    assert_fields(grade, call, _named(quantised(layer.weight, group_size, bits)))


def test_task_3_weights_are_those_of_an_embedding(grade: Grader) -> None:
    """With tied embeddings, the table is the head as well."""
    layer = nn.Embedding(24, 128)
    layer.weight = weight(24, 128)
    quantised_layer = nn.QuantizedEmbedding.from_embedding(layer, 32, 4)

    call = Call(WEIGHTS, (quantised_layer,), method="from_mlx_layer")

    assert_fields(grade, call, _named(quantised(layer.weight, 32, 4)))


@each_dtype
@each_width
@pytest.mark.parametrize("has_bias", [True, False])
def test_task_3_linear_agrees_with_torch(
    grade: Grader, has_bias: bool, bits: int, dtype: mx.Dtype
) -> None:
    """The matrix is square, so no shape tells it from its transpose."""
    stored = quantised(weight(128, 128, dtype), 32, bits)
    weights = grade.run(Call(WEIGHTS, stored.fields()))
    x = normal(2, 3, 128, dtype=dtype)
    bias = normal(128, dtype=dtype, name="bias") if has_bias else None

    call = Call(LINEAR, (x, weights, bias) if has_bias else (x, weights))

    grade.assert_close(call, quantize.matmul(x, stored, bias), dtype)


def test_task_3_linear_agrees_with_torch_on_a_trained_layer(grade: Grader) -> None:
    _, known = embedded()
    prefix = "model.layers.2.self_attn.k_proj"
    stored = quantised(known[f"{prefix}.weight"], 64, 4)
    weights = grade.run(Call(WEIGHTS, stored.fields()))
    x, bias = known["model.embed_tokens.weight"][100:116][None], known[f"{prefix}.bias"]

    call = Call(LINEAR, (x, weights, bias))

    grade.assert_close(call, quantize.matmul(x, stored, bias), mx.float32)


def _weights(kind: str) -> mx.array:
    """Draw 8 rows of 256 weights of one kind."""
    draws = normal(8, 256, name=kind)
    shift = {"far from zero": 9.0, "constant and positive": 3.0}.get(kind, 0.0)
    if kind.startswith("constant"):
        ends = mx.repeat(mx.abs(draws[:, :1]) + shift, 256, axis=1)
        return -ends if kind.endswith("negative") else ends
    if kind == "halves of whole numbers":
        return mx.round(draws * 8) / 2
    if kind == "with equal ends":
        return _with_ends(draws, -6.0, 6.0)
    made = {
        "positive": mx.abs(draws),
        "negative": -mx.abs(draws),
        "zero": mx.zeros((8, 256)),
        "one outlier above zero": _with_ends(draws, 0.0, 1000.0),
        "one outlier below zero": _with_ends(draws, -1000.0, 0.0),
        "tiny": draws * 1e-7,
        "next to nothing": draws * 1e-9,
        "large": draws * 5000,
    }
    return made.get(kind, draws + shift)


def _with_ends(draws: mx.array, low: float, high: float) -> mx.array:
    """Put two numbers into each group of 64, and leave the others unchanged."""
    groups = mx.unflatten(draws, -1, (-1, 64))
    ends = mx.broadcast_to(mx.array([low, high]), (*groups.shape[:-1], 2))
    return mx.flatten(mx.concatenate([groups[..., 2:], ends], axis=-1), -2, -1)


def _dequantize(stored: Stored) -> Call:
    """Call `dequantize` on a matrix."""
    arrays = (stored.packed, stored.scales, stored.biases)
    return Call(DEQUANTIZE, (*arrays, stored.group_size, stored.bits))


def _matmul(a: mx.array, stored: Stored, *, transpose_b: bool = False) -> Call:
    """Call `quantized_matmul`, and name the transpose only where it is asked for."""
    *settings, packed = stored.fields()
    named = {"transpose_b": True} if transpose_b else {}
    return Call(MATMUL, (*settings, a, packed), named)


def _named(stored: Stored) -> dict[str, mx.array | int]:
    """Name the fields of `QuantizedWeights`."""
    names = ("scales", "biases", "group_size", "bits", "weight")
    return dict(zip(names, stored.fields(), strict=True))
