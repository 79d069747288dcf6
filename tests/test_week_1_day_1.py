"""Week 1, day 1: softmax, scaled dot-product attention, multi-head attention.

The chapter: book/en/week-1-day-1-attention.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal, weight
from tiny_llm_course.oracle.cached import attention, basics

SOFTMAX = "basics.softmax"
LINEAR = "basics.linear"
ATTENTION = "attention.scaled_dot_product_attention_simple"
MULTI_HEAD = "attention.SimpleMultiHeadAttention"


@each_dtype
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((5,), 0), ((3, 7), -1), ((3, 7), 0), ((2, 3, 4), 1), ((2, 3, 1, 33), -1)],
)
def test_task_1_softmax_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], axis: int, dtype: mx.Dtype
) -> None:
    x = normal(*shape, dtype=dtype, scale=2)

    call = Call(SOFTMAX, (x,), {"axis": axis})

    grade.assert_close(call, basics.softmax(x, axis), dtype)


@each_dtype
def test_task_1_softmax_survives_large_scores(grade: Grader, dtype: mx.Dtype) -> None:
    """The exponential overflows from 89 on in float32, and from 12 on in float16."""
    x = mx.array([[1000.0, 999.0, -1000.0], [-900.0, -901.0, -902.0]]).astype(dtype)

    call = Call(SOFTMAX, (x,), {"axis": -1})

    grade.assert_close(call, basics.softmax(x, -1), dtype)


def test_task_1_softmax_gives_nothing_to_a_score_of_minus_infinity(
    grade: Grader,
) -> None:
    """This is how a mask forbids a position."""
    x = mx.array([[0.5, -mx.inf, 2.0], [-mx.inf, -3.0, -mx.inf]])

    call = Call(SOFTMAX, (x,), {"axis": -1})

    grade.assert_close(call, basics.softmax(x, -1), mx.float32)


@each_dtype
@pytest.mark.parametrize(
    ("batch", "num_queries", "num_keys", "dim"),
    [((), 3, 3, 5), ((2,), 1, 6, 8), ((2, 3), 5, 2, 16), ((1, 2, 1), 4, 9, 1)],
)
def test_task_1_attention_agrees_with_torch(
    grade: Grader,
    batch: tuple[int, ...],
    num_queries: int,
    num_keys: int,
    dim: int,
    dtype: mx.Dtype,
) -> None:
    query = normal(*batch, num_queries, dim, dtype=dtype, name="query")
    key = normal(*batch, num_keys, dim, dtype=dtype, name="key")
    value = normal(*batch, num_keys, dim, dtype=dtype, name="value")

    call = Call(ATTENTION, (query, key, value))

    grade.assert_close(call, attention.attention(query, key, value), dtype)


@each_dtype
@pytest.mark.parametrize("scale", [0.0, 0.05, 1.0, 3.0])
def test_task_1_attention_uses_the_scale_it_is_given(
    grade: Grader, scale: float, dtype: mx.Dtype
) -> None:
    """A scale of 0 is not None: with it, all keys count alike."""
    query, key, value = (
        normal(2, 5, 8, dtype=dtype, name=name) for name in ("q", "k", "v")
    )

    call = Call(ATTENTION, (query, key, value), {"scale": scale})

    grade.assert_close(call, attention.attention(query, key, value, scale), dtype)


def test_task_1_attention_looks_where_the_mask_is_zero(grade: Grader) -> None:
    """And not where it is -inf: each query sees the keys up to its own."""
    query, key, value = (normal(2, 4, 8, name=name) for name in ("q", "k", "v"))
    mask = mx.triu(mx.full((4, 4), -mx.inf), k=1)

    call = Call(ATTENTION, (query, key, value), {"mask": mask})

    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, mx.float32)


@each_dtype
@pytest.mark.parametrize("mask_shape", [(4, 6), (3, 4, 6), (2, 1, 4, 6), (1, 6)])
def test_task_1_attention_adds_the_mask_to_the_scores(
    grade: Grader, mask_shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """The mask holds finite numbers too, and broadcasts."""
    query = normal(2, 3, 4, 8, dtype=dtype, name="query")
    key = normal(2, 3, 6, 8, dtype=dtype, name="key")
    value = normal(2, 3, 6, 8, dtype=dtype, name="value")
    mask = normal(*mask_shape, scale=2, name="mask")
    mask = mx.where(mask > 2, -mx.inf, mask).astype(dtype)

    call = Call(ATTENTION, (query, key, value), {"mask": mask})

    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, dtype)


def test_task_1_attention_has_the_dtype_of_the_query_whatever_that_of_the_mask(
    grade: Grader,
) -> None:
    """A sum of float16 and float32 is float32, and so is all that follows."""
    query, key, value = (
        normal(4, 8, dtype=mx.float16, name=name) for name in ("query", "key", "value")
    )
    mask = mx.triu(mx.full((4, 4), -mx.inf), k=1)

    call = Call(ATTENTION, (query, key, value), {"mask": mask})

    expected = attention.attention(query, key, value, mask=mask)
    grade.assert_close(call, expected, mx.float16)


def test_task_1_attention_survives_large_scores(grade: Grader) -> None:
    query, key = (normal(3, 8, scale=30, name=name) for name in ("query", "key"))
    value = normal(3, 8, name="value")

    call = Call(ATTENTION, (query, key, value))

    grade.assert_close(call, attention.attention(query, key, value), mx.float32)


@each_dtype
@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 1, 5, 3), (2, 896)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_task_2_linear_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype, *, has_bias: bool
) -> None:
    x = normal(*shape, dtype=dtype)
    w = weight(7, shape[-1], dtype)
    bias = normal(7, dtype=dtype, name="bias") if has_bias else None

    call = Call(LINEAR, (x, w), {"bias": bias} if has_bias else {})

    grade.assert_close(call, basics.linear(x, w, bias), dtype)


def test_task_2_linear_transposes_a_square_weight_too(grade: Grader) -> None:
    """The shape of a square weight does not show which axis is which."""
    x, w = normal(3, 8), weight(8, 8)

    call = Call(LINEAR, (x, w))

    grade.assert_close(call, basics.linear(x, w), mx.float32)


@each_dtype
@pytest.mark.parametrize(
    ("batch", "length", "hidden_size", "num_heads"),
    [(1, 4, 8, 2), (2, 5, 12, 3), (3, 1, 8, 8), (2, 7, 16, 1)],
)
def test_task_2_multi_head_attention_agrees_with_torch(
    grade: Grader,
    batch: int,
    length: int,
    hidden_size: int,
    num_heads: int,
    dtype: mx.Dtype,
) -> None:
    """Query, key and value differ, so that none can be taken for another."""
    weights = _projections(hidden_size, dtype)
    inputs = _inputs(batch, length, hidden_size, dtype)

    call = Call(MULTI_HEAD, inputs, build=(hidden_size, num_heads, *weights))

    expected = attention.multi_head_attention(num_heads, weights, inputs)
    grade.assert_close(call, expected, dtype)


@pytest.mark.parametrize("batch", [(), (2, 3)], ids=["no batch", "two batch axes"])
def test_task_2_multi_head_attention_takes_any_number_of_leading_axes(
    grade: Grader, batch: tuple[int, ...]
) -> None:
    """The stub says `*N L E`: none, one or more."""
    weights = _projections(8)
    query, key, value = (normal(*batch, 5, 8, name=name) for name in ("q", "k", "v"))

    call = Call(MULTI_HEAD, (query, key, value), build=(8, 2, *weights))

    expected = attention.multi_head_attention(2, weights, (query, key, value))
    grade.assert_close(call, expected, mx.float32)


def test_task_2_multi_head_attention_looks_at_a_text_of_another_length(
    grade: Grader,
) -> None:
    """As a translator does, which has two texts."""
    weights = _projections(8)
    query, key, value = (
        normal(2, length, 8, name=name)
        for name, length in (("query", 5), ("key", 7), ("value", 7))
    )

    call = Call(MULTI_HEAD, (query, key, value), build=(8, 2, *weights))

    expected = attention.multi_head_attention(2, weights, (query, key, value))
    grade.assert_close(call, expected, mx.float32)


def test_task_2_multi_head_attention_knows_its_arguments_by_name(
    grade: Grader,
) -> None:
    """Those of the constructor, and those of the call."""
    weights, inputs = _projections(8), _inputs(2, 5, 8)
    built = zip(("wq", "wk", "wv", "wo"), weights, strict=True)
    named = {"hidden_size": 8, "num_heads": 2, **dict(built)}
    given = dict(zip(("query", "key", "value"), inputs, strict=True))

    call = Call(MULTI_HEAD, (), {**given, "mask": None}, build=(), named=named)

    expected = attention.multi_head_attention(2, weights, inputs)
    grade.assert_close(call, expected, mx.float32)


@pytest.mark.parametrize("num_heads", [1, 4])
def test_task_2_multi_head_attention_masks_every_head(
    grade: Grader, num_heads: int
) -> None:
    weights, inputs = _projections(8), _inputs(2, 5, 8)
    mask = normal(5, 5, scale=2, name="mask")
    mask = mx.where(mask > 2, -mx.inf, mask)

    call = Call(MULTI_HEAD, (*inputs, mask), build=(8, num_heads, *weights))

    expected = attention.multi_head_attention(num_heads, weights, inputs, mask)
    grade.assert_close(call, expected, mx.float32)


@pytest.mark.parametrize(
    ("before", "now"), [("one", None), (None, "one"), ("one", "another")]
)
def test_task_2_multi_head_attention_takes_the_mask_of_each_call(
    grade: Grader, before: str | None, now: str | None
) -> None:
    """The call before has none, or another."""
    weights, inputs = _projections(8), _inputs(2, 5, 8)
    first, mask = (
        None if name is None else normal(5, 5, scale=2, name=name)
        for name in (before, now)
    )
    build = (8, 2, *weights)

    call = Call(MULTI_HEAD, (*inputs, mask), build=build, earlier=((*inputs, first),))

    expected = attention.multi_head_attention(2, weights, inputs, mask)
    grade.assert_close(call, expected, mx.float32)


def test_task_2_multi_head_attention_begins_anew_at_every_call(grade: Grader) -> None:
    """The call before has more texts, and longer ones."""
    weights, inputs = _projections(8), _inputs(2, 5, 8)

    call = Call(MULTI_HEAD, inputs, build=(8, 2, *weights), earlier=(_inputs(3, 7, 8),))

    expected = attention.multi_head_attention(2, weights, inputs)
    grade.assert_close(call, expected, mx.float32)


def _projections(
    hidden_size: int, dtype: mx.Dtype = mx.float32
) -> tuple[mx.array, mx.array, mx.array, mx.array]:
    wq, wk, wv, wo = (
        weight(hidden_size, hidden_size, dtype, name)
        for name in ("wq", "wk", "wv", "wo")
    )
    return wq, wk, wv, wo


def _inputs(
    batch: int, length: int, hidden_size: int, dtype: mx.Dtype = mx.float32
) -> tuple[mx.array, mx.array, mx.array]:
    query, key, value = (
        normal(batch, length, hidden_size, dtype=dtype, name=name)
        for name in ("query", "key", "value")
    )
    return query, key, value
