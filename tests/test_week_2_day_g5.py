"""Week 2, day G5: attention on a GPU, which never stores a score in its memory.

The chapter: book/en/week-2-day-g5-metal-attention.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.scenarios.heads import (
    LAYOUTS,
    Heads,
    Sizes,
    as_tokens_first,
    draw_heads,
    in_longer_cache,
)
from tiny_llm_course.oracle.cached import attention

ONE_QUERY = "metal_attention.attention_one_token"
PROMPT = "metal_attention.attention_prompt"
ATTEND = "metal_model.attend"

HALF, BRAIN = mx.float16, mx.bfloat16

# A kernel is compiled for each of them, which takes most of the time of a test. Two
# are tried first, and the others last, when nearly all mistakes have failed.
each_form = pytest.mark.parametrize(
    ("width", "dtype"),
    [(64, mx.float32), (40, HALF)],
    ids=["64-float32", "40-float16"],
)
each_other_form = pytest.mark.parametrize(
    ("width", "dtype"),
    [(64, BRAIN), (128, mx.float32), (32, mx.float32)],
    ids=["64-bfloat16", "128-float32", "32-float32"],
)
each_layout = pytest.mark.parametrize("layout", LAYOUTS)
each_ramp = pytest.mark.parametrize(
    ("first", "last"),
    [(-30, 30), (30, -30), (1000, 1010), (-1000, -1010), (1000, -1000), (-1000, 1000)],
)
"""The scores of the first and the last key, without the random part."""


@each_form
def test_task_1_agrees_with_torch(grade: Grader, width: int, dtype: mx.Dtype) -> None:
    """One width is no multiple of a SIMD group's 32 lanes."""
    heads = draw_heads(Sizes(S=19, D=width), dtype)

    _assert_attends(grade, ONE_QUERY, heads)


@pytest.mark.parametrize("num_keys", [1, 2, 7, 8, 33, 100])
def test_task_1_any_number_of_keys(grade: Grader, num_keys: int) -> None:
    """Fewer than there are SIMD groups, and more."""
    _assert_attends(grade, ONE_QUERY, draw_heads(Sizes(S=num_keys, D=64)))


@pytest.mark.parametrize(("B", "H", "H_kv"), [(1, 6, 2), (2, 4, 1), (2, 3, 3)])
def test_task_1_neighbouring_heads_share_keys(
    grade: Grader,
    B: int,  # noqa: N803
    H: int,  # noqa: N803
    H_kv: int,  # noqa: N803
) -> None:
    heads = draw_heads(Sizes(B=B, H=H, H_kv=H_kv, S=13, D=64))

    _assert_attends(grade, ONE_QUERY, heads)


@each_ramp
def test_task_1_holds_where_the_largest_score_changes(
    grade: Grader, first: float, last: float
) -> None:
    _assert_attends(grade, ONE_QUERY, _ramp(Sizes(S=40, D=64), first, last))


@each_layout
def test_task_1_reads_heads_wherever_they_lie(grade: Grader, layout: str) -> None:
    """The arguments need not be contiguous."""
    heads = LAYOUTS[layout](draw_heads(Sizes(B=2, S=19, D=64)))

    _assert_attends(grade, ONE_QUERY, heads)


@pytest.mark.parametrize("sums", ["scores", "values"])
def test_task_1_adds_in_float32(grade: Grader, sums: str) -> None:
    """Parts of the sum are beyond float16, and the result is not."""
    _assert_attends(grade, ONE_QUERY, LARGE[sums](Sizes(S=64, D=40)))


@each_other_form
def test_task_1_takes_heads_of_any_width(
    grade: Grader, width: int, dtype: mx.Dtype
) -> None:
    heads = draw_heads(Sizes(S=19, D=width), dtype)

    _assert_attends(grade, ONE_QUERY, heads)


@each_form
def test_task_2_agrees_with_torch(grade: Grader, width: int, dtype: mx.Dtype) -> None:
    heads = draw_heads(Sizes(L=19, S=19, D=width), dtype)

    _assert_attends(grade, PROMPT, heads)


@pytest.mark.parametrize(
    ("num_queries", "num_keys"),
    [(1, 1), (1, 40), (5, 33), (16, 64), (33, 33), (17, 70), (40, 41)],
)
def test_task_2_last_query_sees_all_keys(
    grade: Grader, num_queries: int, num_keys: int
) -> None:
    """A prompt alone, and one behind keys of a cache. Few fill a tile."""
    heads = draw_heads(Sizes(H=2, H_kv=1, L=num_queries, S=num_keys, D=64))

    _assert_attends(grade, PROMPT, heads)


@pytest.mark.parametrize(("B", "H", "H_kv"), [(1, 6, 2), (2, 4, 1), (2, 3, 3)])
def test_task_2_neighbouring_heads_share_keys(
    grade: Grader,
    B: int,  # noqa: N803
    H: int,  # noqa: N803
    H_kv: int,  # noqa: N803
) -> None:
    heads = draw_heads(Sizes(B=B, H=H, H_kv=H_kv, L=5, S=13, D=64))

    _assert_attends(grade, PROMPT, heads)


@each_ramp
def test_task_2_holds_where_the_largest_score_changes(
    grade: Grader, first: float, last: float
) -> None:
    """In a tile, and from a tile to the next."""
    heads = _ramp(Sizes(H=1, H_kv=1, L=9, S=80, D=64), first, last)

    _assert_attends(grade, PROMPT, heads)


@each_layout
def test_task_2_reads_heads_wherever_they_lie(grade: Grader, layout: str) -> None:
    heads = LAYOUTS[layout](draw_heads(Sizes(B=2, L=5, S=19, D=64)))

    _assert_attends(grade, PROMPT, heads)


@pytest.mark.parametrize("sums", ["scores", "values"])
def test_task_2_adds_in_float32(grade: Grader, sums: str) -> None:
    _assert_attends(grade, PROMPT, LARGE[sums](Sizes(L=4, S=64, D=40)))


@each_other_form
def test_task_2_takes_heads_of_any_width(
    grade: Grader, width: int, dtype: mx.Dtype
) -> None:
    heads = draw_heads(Sizes(L=19, S=19, D=width), dtype)

    _assert_attends(grade, PROMPT, heads)


@pytest.mark.parametrize("num_keys", [1, 12])
def test_task_3_collects_for_one_token(grade: Grader, num_keys: int) -> None:
    """In the embedded model's shape and dtype."""
    heads = draw_heads(Sizes(S=num_keys, D=64), BRAIN)

    _assert_attends(grade, ATTEND, heads)


@pytest.mark.parametrize(("num_queries", "num_keys"), [(6, 6), (3, 12)])
def test_task_3_collects_for_a_prompt(
    grade: Grader, num_queries: int, num_keys: int
) -> None:
    """The first one, and one that follows in a conversation."""
    heads = draw_heads(Sizes(L=num_queries, S=num_keys, D=64), BRAIN)

    _assert_attends(grade, ATTEND, heads)


@pytest.mark.parametrize(("num_queries", "num_keys"), [(1, 9), (4, 9)])
def test_task_3_collects_for_several_texts(
    grade: Grader, num_queries: int, num_keys: int
) -> None:
    heads = draw_heads(Sizes(B=2, L=num_queries, S=num_keys, D=64), BRAIN)

    _assert_attends(grade, ATTEND, heads)


@pytest.mark.parametrize(("num_queries", "num_keys"), [(1, 9), (4, 9)])
def test_task_3_takes_heads_as_the_model_has_them(
    grade: Grader, num_queries: int, num_keys: int
) -> None:
    """Queries come from a projection, keys and values from a cache with more room."""
    heads = draw_heads(Sizes(L=num_queries, S=num_keys, D=64), BRAIN)
    query, _, _ = as_tokens_first(heads)
    _, keys, values = in_longer_cache(heads)

    _assert_attends(grade, ATTEND, (query, keys, values))


def _assert_attends(grade: Grader, function: str, heads: Heads) -> None:
    """Fail unless each of the last tokens attends to those before it and to itself."""
    query, keys, _ = heads
    mask = mx.tri(query.shape[2], keys.shape[2], keys.shape[2] - query.shape[2])

    truth = attention.attention(*heads, mask=mx.where(mask > 0, 0.0, -mx.inf))

    grade.assert_close(Call(function, heads), truth, query.dtype)


def _ramp(sizes: Sizes, first: float, last: float) -> Heads:
    """Add a ramp to random scores, from the first key to the last."""
    query, keys, values = draw_heads(sizes)
    query[..., 0] = sizes.D**0.5
    keys[..., 0] = mx.linspace(first, last, sizes.S)
    return query, keys, values


def _large_scores(sizes: Sizes) -> Heads:
    """Return queries and keys whose products are large, and cancel in pairs of four."""
    query, keys, values = draw_heads(sizes)
    signs = mx.array([1.0, 1.0, -1.0, -1.0])
    signs = mx.tile(signs, sizes.D // 4)
    keys = 0.1 * keys + 200
    return _halves(200 * signs + 0.002 * query, keys, values)


def _large_values(sizes: Sizes) -> Heads:
    """Return values whose mean is in the range of float16, and whose sum is not."""
    query, keys, values = draw_heads(sizes)
    return _halves(query, keys, 16000 + 1000 * values)


def _halves(query: mx.array, keys: mx.array, values: mx.array) -> Heads:
    return query.astype(HALF), keys.astype(HALF), values.astype(HALF)


LARGE = {"scores": _large_scores, "values": _large_values}
