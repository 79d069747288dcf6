"""Week 1, day 5: the transformer block, the embedding, and the whole model.

The chapter: book/en/week-1-day-5-qwen2-model.md
"""

import math

import mlx.core as mx
import pytest
from mlx import nn

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import copied, wide
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.grading.scenarios.architecture import (
    IDS,
    UNUSUAL,
    Architecture,
    Weights,
    block_arguments,
    block_weights,
    dequantised,
    embedded,
    mlx_model,
    model_weights,
    under,
)
from tiny_llm_course.oracle.cached import attention, basics, exact, qwen2

BLOCK = "qwen2_week1.Qwen2TransformerBlock"
EMBEDDING = "embedding.Embedding"
MODEL = "qwen2_week1.Qwen2ModelWeek1"


@each_dtype
@pytest.mark.parametrize(
    "sizes",
    [
        Architecture(),
        Architecture(num_attention_heads=8, num_key_value_heads=1),
        Architecture(hidden_size=24, num_key_value_heads=4, intermediate_size=9),
    ],
    ids=["grouped", "one-kv-head", "all-kv-heads"],
)
@pytest.mark.parametrize("mask", [None, "causal"])
def test_task_1_block_agrees_with_transformers(
    grade: Grader, sizes: Architecture, mask: str | None, dtype: mx.Dtype
) -> None:
    x = normal(2, 5, sizes.hidden_size, dtype=dtype)

    _assert_block(grade, x, block_weights(sizes, dtype), sizes, mask)


def test_task_1_block_passes_its_eps_to_both_norms(grade: Grader) -> None:
    """The eps is so large that it decides the result."""
    sizes = Architecture(rms_norm_eps=0.5)

    _assert_block(
        grade, normal(1, 4, 32), block_weights(sizes, mx.float32), sizes, "causal"
    )


@pytest.mark.parametrize(
    ("before", "now"), [("causal", None), (None, "causal")], ids=str
)
def test_task_1_block_takes_the_mask_of_each_call(
    grade: Grader, before: str | None, now: str | None
) -> None:
    """The call before has none, or has one."""
    sizes, x = Architecture(), normal(2, 5, 32)
    weights = block_weights(sizes, mx.float32)

    _assert_block(grade, x, weights, sizes, now, earlier=((x, before),))


def test_task_1_block_knows_its_arguments_by_name(grade: Grader) -> None:
    sizes = Architecture(rms_norm_eps=0.5)
    x, weights = normal(1, 4, 32), block_weights(sizes, mx.float32)

    named = block_arguments(sizes, weights)
    call = Call(BLOCK, (x,), {"mask": None}, build=(), named=named)

    grade.assert_close(call, qwen2.block(x, weights, sizes, None), mx.float32)


def test_task_1_block_has_a_base_of_a_million_when_none_is_given(
    grade: Grader,
) -> None:
    sizes = Architecture(rope_theta=1000000.0)
    x, weights = normal(1, 9, 32), block_weights(sizes, mx.float32)

    call = Call(BLOCK, (x, None), build=(4, 2, 32, 48, 1e-6, *weights.values(), 64))

    grade.assert_close(call, qwen2.block(x, weights, sizes, None), mx.float32)


def test_task_1_block_needs_neither_mask_nor_number_of_positions(
    grade: Grader,
) -> None:
    """Heads of 2 channels, so that a slow table of 32,768 positions is small."""
    sizes = Architecture(hidden_size=8)
    x, weights = normal(1, 5, 8), block_weights(sizes, mx.float32)

    call = Call(BLOCK, (x,), build=(4, 2, 8, 48, 1e-6, *weights.values()))

    grade.assert_close(call, qwen2.block(x, weights, sizes, None), mx.float32)


def test_task_1_block_hands_on_the_number_of_positions(grade: Grader) -> None:
    """The text has 80 tokens: more than there are channels, or rows in the MLP."""
    sizes = Architecture(hidden_size=16, max_position_embeddings=80)
    x, weights = normal(1, 80, 16), block_weights(sizes, mx.float32)

    _assert_block(grade, x, weights, sizes, "causal")


def test_task_1_block_agrees_with_the_weights_of_a_trained_model(
    grade: Grader,
) -> None:
    sizes, weights = embedded()
    x = weights["model.embed_tokens.weight"][100:116][None]

    _assert_block(grade, x, under("model.layers.0.", weights), sizes, "causal")


@each_dtype
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 1, 4)], ids=str)
def test_task_2_embedding_looks_up_the_rows_of_its_table(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    table = normal(11, 6, dtype=dtype)
    ids = (mx.arange(math.prod(shape)) * 7 % 11).reshape(shape)

    call = Call(EMBEDDING, (ids,), build=(11, 6, table))

    grade.assert_close(call, copied(wide(table)[wide(ids)]), dtype)


def test_task_2_embedding_knows_its_arguments_by_name(grade: Grader) -> None:
    table, ids = normal(11, 6), mx.array([3, 0])
    named = {"vocab_size": 11, "embedding_dim": 6, "weight": table}

    call = Call(EMBEDDING, (ids,), build=(), named=named)

    grade.assert_close(call, copied(wide(table)[wide(ids)]), mx.float32)


@each_dtype
@pytest.mark.parametrize("shape", [(6,), (3, 6), (2, 3, 6)], ids=str)
def test_task_2_embedding_scores_every_token(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    table = normal(11, 6, dtype=dtype)
    x = normal(*shape, dtype=dtype)

    call = Call(EMBEDDING, (x,), build=(11, 6, table), method="as_linear")

    grade.assert_close(call, basics.linear(x, table), dtype)


@each_dtype
@pytest.mark.parametrize("tie_word_embeddings", [True, False], ids=["tied", "untied"])
def test_task_3_model_agrees_with_transformers(
    grade: Grader, dtype: mx.Dtype, *, tie_word_embeddings: bool
) -> None:
    sizes = Architecture(tie_word_embeddings=tie_word_embeddings)
    weights = model_weights(sizes, dtype)

    _assert_model(grade, mlx_model(sizes, weights), weights, sizes, dtype)


def test_task_3_model_reads_its_sizes_from_the_checkpoint(grade: Grader) -> None:
    """Layers, heads, eps and base differ from any constants in the code."""
    weights = model_weights(UNUSUAL, mx.float32)

    _assert_model(grade, mlx_model(UNUSUAL, weights), weights, UNUSUAL, mx.float32)


def test_task_3_model_takes_as_many_tokens_as_it_has_positions(grade: Grader) -> None:
    """The text has 80 tokens: more than channels, or than different tokens."""
    sizes = Architecture(hidden_size=16, max_position_embeddings=80)
    weights = model_weights(sizes, mx.float32)
    ids = mx.arange(80)[None] * 7 % sizes.vocab_size

    call = Call(MODEL, (ids,), build=(mlx_model(sizes, weights),))

    grade.assert_close(call, qwen2.model(ids, weights, sizes), mx.float32)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("tie_word_embeddings", [True, False], ids=["tied", "untied"])
def test_task_3_model_dequantises_quantised_weights(
    grade: Grader, bits: int, *, tie_word_embeddings: bool
) -> None:
    sizes = Architecture(intermediate_size=64, tie_word_embeddings=tie_word_embeddings)
    model = mlx_model(sizes, model_weights(sizes, mx.float32))
    nn.quantize(model, group_size=32, bits=bits)

    _assert_model(grade, model, dequantised(model), sizes, mx.float32)


def test_task_3_model_agrees_on_the_checkpoint_that_comes_along(grade: Grader) -> None:
    sizes, weights = embedded()

    _assert_model(grade, mlx_model(sizes, weights), weights, sizes, mx.float32)


def test_task_3_model_begins_anew_at_every_call(grade: Grader) -> None:
    """Texts follow each other, each with its first token at position 0."""
    sizes = Architecture()
    weights = model_weights(sizes, mx.float32)
    ids, before = mx.array(IDS[1:]), mx.array([IDS[0][:5]])

    call = Call(MODEL, (ids,), build=(mlx_model(sizes, weights),), earlier=((before,),))

    grade.assert_close(call, qwen2.model(ids, weights, sizes), mx.float32)


def test_task_3_model_agrees_with_mlx_lm(grade: Grader) -> None:
    """The expected logits are those of the model that has the weights."""
    sizes, weights = embedded()
    model = mlx_model(sizes, weights)

    ids = mx.array(IDS)
    call = Call(MODEL, (ids,), build=(model,))

    logits = wide(model(ids))
    num_terms = sizes.intermediate_size
    truth = exact.layer_truth(logits, num_terms, mx.float32)
    grade.assert_close(call, truth, mx.float32)


def _assert_block(
    grade: Grader,
    x: mx.array,
    weights: Weights,
    sizes: Architecture,
    mask: str | None,
    earlier: tuple[tuple[mx.array | str | None, ...], ...] = (),
) -> None:
    """Run one block, and compare with `transformers`."""
    build = tuple(block_arguments(sizes, weights).values())
    call = Call(BLOCK, (x, mask), build=build, earlier=earlier)

    bias = attention.causal_mask(x.shape[1], x.shape[1]) if mask else None
    grade.assert_close(call, qwen2.block(x, weights, sizes, bias), x.dtype)


def _assert_model(
    grade: Grader,
    model: nn.Module,
    weights: Weights,
    sizes: Architecture,
    dtype: mx.Dtype,
) -> None:
    """Run the model on `IDS`, and compare with `transformers`."""
    ids = mx.array(IDS)
    call = Call(MODEL, (ids,), build=(model,))

    grade.assert_close(call, qwen2.model(ids, weights, sizes), dtype)
