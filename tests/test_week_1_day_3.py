"""Week 1, day 3: grouped attention, the causal mask, and the attention of Qwen2.

The chapter: book/en/week-1-day-3-grouped-query-attention.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import copied, wide
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.grading.scenarios.architecture import (
    Architecture,
    Weights,
    attention_arguments,
    attention_weights,
    embedded,
    under,
)
from tiny_llm_course.oracle.cached import attention, qwen2

GROUPED = "attention.scaled_dot_product_attention_grouped"
CAUSAL_MASK = "attention.causal_mask"
ATTENTION = "qwen2_week1.Qwen2MultiHeadAttention"

HEADS = [(1, 1), (4, 4), (6, 2), (8, 1)]


@each_dtype
@pytest.mark.parametrize(("num_heads", "num_kv_heads"), HEADS)
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
def test_task_1_agrees_with_torch(
    grade: Grader,
    batch: tuple[int, ...],
    num_heads: int,
    num_kv_heads: int,
    dtype: mx.Dtype,
) -> None:
    query, key, value = _heads(batch, num_heads, num_kv_heads, dtype)

    call = Call(GROUPED, (query, key, value))

    grade.assert_close(call, attention.attention(query, key, value), dtype)


@each_dtype
@pytest.mark.parametrize("scale", [0.7, 0.0])
def test_task_1_uses_the_scale_it_is_given(
    grade: Grader, scale: float, dtype: mx.Dtype
) -> None:
    """A scale of 0 is not None."""
    query, key, value = _heads((2,), 4, 2, dtype)

    call = Call(GROUPED, (query, key, value), {"scale": scale})

    expected = attention.attention(query, key, value, scale)
    grade.assert_close(call, expected, dtype)


def test_task_1_looks_where_the_mask_is_zero(grade: Grader) -> None:
    """And not where it is -inf."""
    query, key, value = _heads((2,), 4, 2)
    mask = mx.triu(mx.full((3, 5), -mx.inf), k=3)

    call = Call(GROUPED, (query, key, value), {"mask": mask})

    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, mx.float32)


@pytest.mark.parametrize("batch", [(), (2, 3)], ids=str)
def test_task_1_adds_one_mask_whatever_the_batch(
    grade: Grader, batch: tuple[int, ...]
) -> None:
    query, key, value = _heads(batch, 4, 2)
    mask = normal(3, 5, scale=2, name="mask")

    call = Call(GROUPED, (query, key, value), {"mask": mask})

    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, mx.float32)


def test_task_1_has_the_dtype_of_the_query_whatever_that_of_the_mask(
    grade: Grader,
) -> None:
    query, key, value = _heads((2,), 4, 2, mx.float16)
    mask = mx.triu(mx.full((3, 5), -mx.inf), k=3)

    call = Call(GROUPED, (query, key, value), {"mask": mask})

    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, mx.float16)


def test_task_1_takes_more_queries_than_keys(grade: Grader) -> None:
    """Without a mask, queries have no positions."""
    query, key, value = _heads((2,), 4, 2, num_queries=7)

    call = Call(GROUPED, (query, key, value))

    grade.assert_close(call, attention.attention(query, key, value), mx.float32)


@each_dtype
@pytest.mark.parametrize(
    "mask_shape", [(3, 5), (4, 3, 5), (2, 1, 3, 5), (2, 4, 3, 5)], ids=str
)
def test_task_1_adds_the_mask_of_each_query_head(
    grade: Grader, mask_shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    query, key, value = _heads((2,), 4, 2, dtype)
    mask = normal(*mask_shape, scale=2, name="mask")
    mask = mx.where(mask > 2, -mx.inf, mask).astype(dtype)

    call = Call(GROUPED, (query, key, value), {"mask": mask})

    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, dtype)


@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(6, 2), (8, 1), (4, 4)])
def test_task_1_adds_the_mask_of_each_head_of_a_group(
    grade: Grader, num_heads: int, num_kv_heads: int
) -> None:
    """There are not as many groups as heads in one, as with 4 heads on 2."""
    query, key, value = _heads((), num_heads, num_kv_heads)
    mask = normal(num_heads, 3, 5, scale=2, name="mask")

    call = Call(GROUPED, (query, key, value), {"mask": mask})

    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, mx.float32)


@each_dtype
@pytest.mark.parametrize(("num_queries", "num_keys"), [(1, 1), (4, 4), (1, 6), (3, 7)])
def test_task_2_mask_lets_the_last_query_see_all_keys(
    grade: Grader, num_queries: int, num_keys: int, dtype: mx.Dtype
) -> None:
    call = Call(CAUSAL_MASK, (num_queries, num_keys, dtype))

    expected = copied(attention.causal_mask(num_queries, num_keys))
    grade.assert_close(call, expected, dtype)


@each_dtype
@pytest.mark.parametrize(("num_heads", "num_kv_heads"), HEADS)
@pytest.mark.parametrize("num_queries", [1, 3, 5])
def test_task_2_attention_knows_the_mask_by_its_name(
    grade: Grader, num_queries: int, num_heads: int, num_kv_heads: int, dtype: mx.Dtype
) -> None:
    """With fewer queries than keys the queries are the last positions."""
    query, key, value = _heads((2,), num_heads, num_kv_heads, dtype, num_queries)

    call = Call(GROUPED, (query, key, value), {"mask": "causal"})

    mask = mx.array(attention.causal_mask(num_queries, 5), mx.float32)
    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, dtype)


def test_task_2_attention_knows_the_mask_by_its_name_without_a_batch(
    grade: Grader,
) -> None:
    """There may be no axis before the heads."""
    query, key, value = normal(4, 3, 8), normal(2, 5, 8), normal(2, 5, 8, name="value")

    call = Call(GROUPED, (query, key, value), {"mask": "causal"})

    mask = mx.array(attention.causal_mask(3, 5), mx.float32)
    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, mx.float32)


def test_task_2_mask_by_its_name_forbids_whatever_the_score(grade: Grader) -> None:
    """Each key scores 28,284 more than the one before it."""
    query = mx.ones((1, 2, 3, 8))
    key = mx.broadcast_to(mx.array([0.0, 1e4, 2e4])[:, None], (1, 1, 3, 8))
    value = normal(1, 1, 3, 8, name="value")

    call = Call(GROUPED, (query, key, value), {"mask": "causal"})

    mask = mx.array(attention.causal_mask(3, 3), mx.float32)
    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, mx.float32)


@each_dtype
@pytest.mark.parametrize(("num_heads", "num_kv_heads"), HEADS)
@pytest.mark.parametrize("mask", [None, "causal"])
def test_task_3_agrees_with_transformers(
    grade: Grader,
    num_heads: int,
    num_kv_heads: int,
    mask: str | None,
    dtype: mx.Dtype,
) -> None:
    sizes = Architecture(
        hidden_size=8 * num_heads,
        num_attention_heads=num_heads,
        num_key_value_heads=num_kv_heads,
    )

    x = normal(2, 5, sizes.hidden_size, dtype=dtype)

    _assert_attends(grade, x, sizes, mask)


def test_task_3_adds_an_array_as_mask(grade: Grader) -> None:
    """Padding is masked with an array, one row of keys for each sequence."""
    mask = mx.zeros((2, 1, 4, 4))
    mask[1, :, :, 0] = -mx.inf

    _assert_attends(grade, normal(2, 4, 32), Architecture(), mask)


def test_task_3_rotates_with_the_base_it_is_given(grade: Grader) -> None:
    sizes = Architecture(rope_theta=100.0)

    _assert_attends(grade, normal(1, 9, 32), sizes, "causal")


def test_task_3_has_a_base_of_a_million_when_none_is_given(grade: Grader) -> None:
    sizes = Architecture(rope_theta=1000000.0)
    x, weights = normal(1, 9, 32), attention_weights(sizes, mx.float32)

    call = Call(ATTENTION, (x, None), build=(32, 4, 2, *weights.values(), 64))

    grade.assert_close(call, qwen2.attention(x, weights, sizes, None), mx.float32)


def test_task_3_needs_neither_mask_nor_number_of_positions(grade: Grader) -> None:
    """Heads of 2 channels, so that a slow table of 32,768 positions is small."""
    sizes = Architecture(hidden_size=8)
    x, weights = normal(1, 5, 8), attention_weights(sizes, mx.float32)

    call = Call(ATTENTION, (x,), build=(8, 4, 2, *weights.values()))

    grade.assert_close(call, qwen2.attention(x, weights, sizes, None), mx.float32)


def test_task_3_rotates_as_many_positions_as_it_is_told(grade: Grader) -> None:
    """A text of 80 tokens: more than any other test has."""
    sizes = Architecture(hidden_size=16, max_position_embeddings=80)

    _assert_attends(grade, normal(1, 80, 16), sizes, "causal")


def test_task_3_begins_anew_at_every_call(grade: Grader) -> None:
    """The first token of each text is at position 0, and sees no other text."""
    x, before = normal(1, 4, 32), normal(1, 6, 32, name="before")
    sizes = Architecture(max_position_embeddings=8)

    _assert_attends(grade, x, sizes, "causal", earlier=((before, "causal"),))


@pytest.mark.parametrize(
    ("before", "now"), [("causal", None), (None, "causal")], ids=str
)
def test_task_3_takes_the_mask_of_each_call(
    grade: Grader, before: str | None, now: str | None
) -> None:
    """The call before has none, or has one."""
    x = normal(2, 5, 32)

    _assert_attends(grade, x, Architecture(), now, earlier=((x, before),))


def test_task_3_knows_its_arguments_by_name(grade: Grader) -> None:
    sizes = Architecture(rope_theta=100.0)
    x, weights = normal(1, 9, 32), attention_weights(sizes, mx.float32)

    named = attention_arguments(sizes, weights)
    call = Call(ATTENTION, (x,), {"mask": None}, build=(), named=named)

    grade.assert_close(call, qwen2.attention(x, weights, sizes, None), mx.float32)


def test_task_3_agrees_with_the_weights_of_a_trained_model(grade: Grader) -> None:
    """The last layer, on the vectors of some tokens. No bias of it is zero."""
    sizes, weights = embedded()
    x = weights["model.embed_tokens.weight"][100:116][None]
    layer = sizes.num_hidden_layers - 1

    own = under(f"model.layers.{layer}.self_attn.", weights)
    _assert_attends(grade, x, sizes, "causal", known=own)


def _assert_attends(
    grade: Grader,
    x: mx.array,
    sizes: Architecture,
    mask: mx.array | str | None,
    *,
    known: Weights | None = None,
    earlier: tuple[tuple[mx.array | str | None, ...], ...] = (),
) -> None:
    """Run the attention, with random weights unless some are known.

    The truth is that of `transformers`.
    """
    weights = known or attention_weights(sizes, x.dtype)
    build = tuple(attention_arguments(sizes, weights).values())
    call = Call(ATTENTION, (x, mask), build=build, earlier=earlier)

    if mask == "causal":
        bias = attention.causal_mask(x.shape[1], x.shape[1])
    else:
        bias = None if mask is None else wide(mask)
    expected = qwen2.attention(x, weights, sizes, bias)
    grade.assert_close(call, expected, x.dtype)


def _heads(
    batch: tuple[int, ...],
    num_heads: int,
    num_kv_heads: int,
    dtype: mx.Dtype = mx.float32,
    num_queries: int = 3,
) -> tuple[mx.array, mx.array, mx.array]:
    """Draw queries, and 5 keys and values, with heads of width 8."""
    query = normal(*batch, num_heads, num_queries, 8, dtype=dtype, name="query")
    key = normal(*batch, num_kv_heads, 5, 8, dtype=dtype, name="key")
    value = normal(*batch, num_kv_heads, 5, 8, dtype=dtype, name="value")
    return query, key, value
