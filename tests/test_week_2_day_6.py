"""Week 2, day 6: attention in tiles, which never holds all scores at once.

The chapter: book/en/week-2-day-6-flash-attention.md
"""

import math
import os
from dataclasses import dataclass, replace
from unittest.mock import patch

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.grading.judgement.memory import PeakOf
from tiny_llm_course.grading.scenarios.multiple_outputs import Stacked, repeated
from tiny_llm_course.oracle.cached import attention

ONLINE = "kernels.attention_online"
TILED = "kernels.attention_tiled"
SPLIT = "kernels.attention_split"
FLASH = "attention.flash_attention"

Mask = mx.array | str | None
Heads = tuple[mx.array, mx.array, mx.array]


@dataclass(frozen=True)
class Sizes:
    """The sizes of an input of attention, by their letters in shapes."""

    B: int = 1
    H: int = 4
    H_kv: int = 2
    L: int = 1
    S: int = 7
    D: int = 8

    def __str__(self) -> str:
        """Return the sizes as part of a test's name."""
        return f"{self.B}x{self.H}/{self.H_kv}x{self.L}/{self.S}x{self.D}"


RAMPS = {
    "scores that rise": (-30.0, 30.0),
    "scores that fall": (30.0, -30.0),
    "scores far above zero": (200.0, 210.0),
    "scores far below zero": (-200.0, -210.0),
    "scores that fall from far above": (300.0, -300.0),
    "scores that rise from far below": (-300.0, 300.0),
}
"""The scores of the first and the last key, without the random part."""

with_own_kernels = patch.dict(os.environ, {"TINY_LLM_KERNELS": "own"})
"""Enables the solution's kernels, which are off on earlier days."""

each_layout = pytest.mark.parametrize(
    "layout", ["in a longer cache", "tokens first", "among other heads"]
)

each_ramp = pytest.mark.parametrize("ramp", RAMPS)

FEW = [
    Sizes(H=1, H_kv=1, S=1, D=4),
    Sizes(B=2, H=6, H_kv=2, L=3, D=5),
    Sizes(B=2, H=3, H_kv=3, L=5, S=9),
    Sizes(H=8, H_kv=1, S=40, D=64),
]
MANY = [
    *FEW,
    Sizes(H=14, S=130, D=64),
    Sizes(H=2, L=70, S=70, D=16),
    Sizes(L=33, S=200, D=80),
    Sizes(B=2, H=6, L=5, S=64, D=3),
    Sizes(H=3, H_kv=1, L=65, S=129, D=7),
    Sizes(H=6, L=13, S=70),
]
LONG = [
    *FEW,
    Sizes(H=14, S=600, D=64),
    Sizes(B=2, S=257),
    Sizes(H=6, L=2, S=1100, D=5),
    Sizes(H=6, L=13, S=70),
]


@each_dtype
@pytest.mark.parametrize("sizes", FEW, ids=str)
def test_task_1_agrees_with_torch(grade: Grader, sizes: Sizes, dtype: mx.Dtype) -> None:
    _assert_attends(grade, ONLINE, _heads(sizes, dtype))


def test_task_1_uses_the_scale_it_is_given(grade: Grader) -> None:
    _assert_attends(grade, ONLINE, _heads(Sizes(L=2)), scale=0.7)


@each_ramp
def test_task_1_holds_where_the_largest_score_changes(grade: Grader, ramp: str) -> None:
    _assert_attends(grade, ONLINE, _ramp(Sizes(L=2, S=50), ramp), scale=1.0)


@pytest.mark.parametrize(("num_queries", "num_keys"), [(1, 6), (5, 5), (3, 9)])
def test_task_1_last_query_sees_all_keys(
    grade: Grader, num_queries: int, num_keys: int
) -> None:
    heads = _heads(Sizes(L=num_queries, S=num_keys))

    _assert_attends(grade, ONLINE, heads, mask="causal")


@pytest.mark.parametrize("shape", [(3, 9), (4, 1, 9), (2, 1, 1, 9), (2, 4, 3, 9)])
def test_task_1_adds_a_mask(grade: Grader, shape: tuple[int, ...]) -> None:
    mask = _mask(*shape)

    _assert_attends(grade, ONLINE, _heads(Sizes(B=2, L=3, S=9)), mask=mask)


def test_task_1_begins_with_keys_that_are_forbidden(grade: Grader) -> None:
    """The largest score so far is -inf then, and so is the next one."""
    mask = _forbidden(9, 0, 4)

    _assert_attends(grade, ONLINE, _heads(Sizes(L=3, S=9)), mask=mask)


@each_layout
def test_task_1_reads_heads_wherever_they_lie(grade: Grader, layout: str) -> None:
    heads = _laid_out(_heads(Sizes(B=2, L=3, S=40)), layout)

    _assert_attends(grade, ONLINE, heads)


@each_dtype
@pytest.mark.parametrize("sizes", MANY, ids=str)
def test_task_2_agrees_with_torch(grade: Grader, sizes: Sizes, dtype: mx.Dtype) -> None:
    _assert_attends(grade, TILED, _heads(sizes, dtype))


@each_ramp
def test_task_2_holds_where_the_largest_score_changes(grade: Grader, ramp: str) -> None:
    _assert_attends(grade, TILED, _ramp(Sizes(L=3, S=300), ramp), scale=1.0)


@pytest.mark.parametrize(
    ("num_queries", "num_keys"),
    [(70, 70), (5, 133), (40, 300), (40, 80), (129, 129), (1, 65)],
)
def test_task_2_last_query_sees_all_keys(
    grade: Grader, num_queries: int, num_keys: int
) -> None:
    heads = _heads(Sizes(H=6, L=num_queries, S=num_keys))

    _assert_attends(grade, TILED, heads, mask="causal")


@pytest.mark.parametrize(
    "shape", [(35, 140), (4, 1, 140), (2, 1, 35, 140), (2, 4, 35, 140), (1, 1, 35, 1)]
)
def test_task_2_adds_a_mask(grade: Grader, shape: tuple[int, ...]) -> None:
    mask = _mask(*shape)

    _assert_attends(grade, TILED, _heads(Sizes(B=2, L=35, S=140)), mask=mask)


@pytest.mark.parametrize(("first", "last"), [(0, 150), (100, 290), (150, 300)])
def test_task_2_survives_whole_tiles_that_are_forbidden(
    grade: Grader, first: int, last: int
) -> None:
    mask = _forbidden(300, first, last)

    _assert_attends(grade, TILED, _heads(Sizes(L=3, S=300)), mask=mask)


def test_task_2_forbids_other_keys_to_each_query(grade: Grader) -> None:
    """The first keys to one, the last ones to another."""
    _assert_attends(
        grade,
        TILED,
        _heads(Sizes(H=6, L=13, S=200)),
        mask=_forbidden_to_each(13, 200),
    )


@each_layout
def test_task_2_reads_heads_wherever_they_lie(grade: Grader, layout: str) -> None:
    heads = _laid_out(_heads(Sizes(B=2, L=4, S=100)), layout)

    _assert_attends(grade, TILED, heads)


def test_task_2_is_the_same_each_time(grade: Grader) -> None:
    """The order of threads must not matter. A race may show only in many calls."""
    _assert_attends_each_time(grade, TILED, _heads(Sizes(B=2, L=40, S=70)))


@each_dtype
@pytest.mark.parametrize("sizes", LONG, ids=str)
def test_task_3_agrees_with_torch(grade: Grader, sizes: Sizes, dtype: mx.Dtype) -> None:
    _assert_attends(grade, SPLIT, _heads(sizes, dtype))


@each_ramp
def test_task_3_holds_where_the_largest_score_changes(grade: Grader, ramp: str) -> None:
    _assert_attends(grade, SPLIT, _ramp(Sizes(S=1536), ramp), scale=1.0)


@pytest.mark.parametrize(
    ("num_queries", "num_keys"), [(3, 600), (2, 257), (10, 70), (5, 5)]
)
def test_task_3_last_query_sees_all_keys(
    grade: Grader, num_queries: int, num_keys: int
) -> None:
    heads = _heads(Sizes(H=6, L=num_queries, S=num_keys))

    _assert_attends(grade, SPLIT, heads, mask="causal")


def test_task_3_adds_a_mask(grade: Grader) -> None:
    mask = _mask(4, 1, 700)

    _assert_attends(grade, SPLIT, _heads(Sizes(B=2, L=2, S=700)), mask=mask)


@pytest.mark.parametrize(("first", "last"), [(0, 1100), (600, 1200), (20, 1200)])
def test_task_3_survives_whole_pieces_that_are_forbidden(
    grade: Grader, first: int, last: int
) -> None:
    mask = _forbidden(1200, first, last)

    _assert_attends(grade, SPLIT, _heads(Sizes(S=1200)), mask=mask)


def test_task_3_forbids_other_keys_to_each_query(grade: Grader) -> None:
    """The first keys to one, the last ones to another."""
    _assert_attends(
        grade,
        SPLIT,
        _heads(Sizes(H=6, L=13, S=700)),
        mask=_forbidden_to_each(13, 700),
    )


@each_layout
def test_task_3_reads_heads_wherever_they_lie(grade: Grader, layout: str) -> None:
    heads = _laid_out(_heads(Sizes(B=2, L=2, S=700)), layout)

    _assert_attends(grade, SPLIT, heads)


def test_task_3_is_the_same_each_time(grade: Grader) -> None:
    _assert_attends_each_time(grade, SPLIT, _heads(Sizes(B=2, L=2, S=600)))


@each_dtype
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("num_queries", [1, 5, 40])
@with_own_kernels
def test_task_4_agrees_with_torch(
    grade: Grader, num_queries: int, batch: tuple[int, ...], dtype: mx.Dtype
) -> None:
    heads = _batch(Sizes(L=num_queries, S=77), batch, dtype)

    call = Call(FLASH, heads)

    grade.assert_close(call, attention.attention(*heads), dtype)


@pytest.mark.parametrize("num_queries", [1, 40])
@with_own_kernels
def test_task_4_uses_the_scale_it_is_given(grade: Grader, num_queries: int) -> None:
    heads = _heads(Sizes(L=num_queries, S=50))

    call = Call(FLASH, heads, {"scale": 0.7})

    grade.assert_close(call, attention.attention(*heads, 0.7), mx.float32)


@pytest.mark.parametrize("num_queries", [1, 5, 40])
@with_own_kernels
def test_task_4_last_query_sees_all_keys(grade: Grader, num_queries: int) -> None:
    heads = _heads(Sizes(L=num_queries, S=50))

    call = Call(FLASH, heads, {"mask": "causal"})

    expected = attention.attention(*heads, mask=_added("causal", heads))
    grade.assert_close(call, expected, mx.float32)


@each_dtype
@pytest.mark.parametrize("num_queries", [1, 40])
@pytest.mark.parametrize(
    "shape", [(1, 50), (4, 1, 50), (3, 4, 1, 50), (2, 1, 1, 1, 50)]
)
@with_own_kernels
def test_task_4_adds_a_mask_with_the_axes_it_has(
    grade: Grader, shape: tuple[int, ...], num_queries: int, dtype: mx.Dtype
) -> None:
    heads = _batch(Sizes(L=num_queries, S=50), (2, 3), dtype)
    mask = _mask(*shape).astype(dtype)

    call = Call(FLASH, heads, {"mask": mask})

    grade.assert_close(call, attention.attention(*heads, mask=mask), dtype)


@with_own_kernels
def test_task_4_never_holds_all_scores(grade: Grader) -> None:
    """They would take 64 MB. Queries, keys, values and result take 1 MB."""
    heads = _heads(Sizes(H=4, H_kv=1, L=2000, S=2000))

    call = PeakOf(FLASH, heads, {"mask": "causal"})

    _assert_takes_less(grade, call, 8_000_000)


@pytest.mark.parametrize("num_queries", [1, 16])
@with_own_kernels
def test_task_4_does_not_copy_the_cache(grade: Grader, num_queries: int) -> None:
    """A cache returns a part of a longer array, of 8 MB here."""
    heads = _in_cache(_heads(Sizes(L=num_queries, S=30000, D=32)))

    call = PeakOf(FLASH, heads)

    _assert_takes_less(grade, call, 1_000_000)


@pytest.mark.parametrize("mask", [None, "causal"])
@pytest.mark.parametrize("num_queries", [1, 40])
@patch.dict(os.environ, {"TINY_LLM_KERNELS": "none"})
def test_task_4_is_the_same_without_kernels(
    grade: Grader, num_queries: int, mask: str | None
) -> None:
    """As on a GPU, where MLX has kernels of its own."""
    heads = _heads(Sizes(L=num_queries, S=50))

    call = Call(FLASH, heads, {"mask": mask})

    expected = attention.attention(*heads, mask=_added(mask, heads))
    grade.assert_close(call, expected, mx.float32)


@each_dtype
@pytest.mark.parametrize("shape", [(1, 50), (4, 1, 50), (3, 4, 1, 50)])
@patch.dict(os.environ, {"TINY_LLM_KERNELS": "none"})
def test_task_4_adds_a_mask_without_kernels(
    grade: Grader, shape: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """MLX refuses a mask that is wider than the queries."""
    heads = _batch(Sizes(L=9, S=50), (2, 3), dtype)
    mask = _mask(*shape).astype(dtype)

    call = Call(FLASH, heads, {"mask": mask})

    grade.assert_close(call, attention.attention(*heads, mask=mask), dtype)


def _as_tokens_first(heads: Heads) -> Heads:
    """Make the heads of a token neighbours in memory, as after a projection."""
    query, key, value = (
        mx.contiguous(one.swapaxes(1, 2)).swapaxes(1, 2) for one in heads
    )
    mx.eval(query, key, value)
    return query, key, value


def _among_other_heads(heads: Heads) -> Heads:
    """Make all arrays parts of larger ones, with one more head before and one after."""
    longer = [
        mx.pad(one, [(0, 0), (1, 1), (0, 0), (0, 0)], constant_values=9.0)
        for one in heads
    ]
    mx.eval(longer)
    query, key, value = (one[:, 1:-1] for one in longer)
    return query, key, value


def _heads(sizes: Sizes, dtype: mx.Dtype = mx.float32) -> Heads:
    """Draw queries, keys and values."""
    query = normal(sizes.B, sizes.H, sizes.L, sizes.D, dtype=dtype, name="query")
    key, value = (
        normal(sizes.B, sizes.H_kv, sizes.S, sizes.D, dtype=dtype, name=name)
        for name in ("key", "value")
    )
    return query, key, value


def _batch(sizes: Sizes, batch: tuple[int, ...], dtype: mx.Dtype) -> Heads:
    """Draw queries, keys and values with these batch axes."""
    query, key, value = _heads(replace(sizes, B=math.prod(batch)), dtype)
    return (
        query.reshape(*batch, *query.shape[1:]),
        key.reshape(*batch, *key.shape[1:]),
        value.reshape(*batch, *value.shape[1:]),
    )


def _ramp(sizes: Sizes, kind: str) -> Heads:
    """Add a ramp to random scores, from the first key to the last."""
    query, key, value = _heads(sizes)
    query[..., 0] = 1.0
    key[..., 0] = mx.linspace(*RAMPS[kind], sizes.S)
    return query, key, value


def _mask(*shape: int) -> mx.array:
    """Draw a mask that forbids some keys, and never all of a row."""
    drawn = normal(*shape, scale=2, name="mask")
    mask = mx.where(drawn > 2, -mx.inf, drawn)
    mask[..., -1] = 0.5
    return mask


def _forbidden(num_keys: int, first: int, last: int) -> mx.array:
    """Forbid the keys from `first` up to, but not including, `last`."""
    mask = mx.zeros((1, num_keys))
    mask[:, first:last] = -mx.inf
    return mask


def _forbidden_to_each(num_queries: int, num_keys: int) -> mx.array:
    """Forbid some keys to the first query, and all others to the last."""
    mask = mx.zeros((num_queries, num_keys))
    mask[0, : num_keys // 2] = -mx.inf
    mask[-1, num_keys // 2 :] = -mx.inf
    return mask


def _in_cache(heads: Heads) -> Heads:
    """Make keys and values parts of arrays with room for more."""
    query, key, value = heads
    longer = [
        mx.concatenate([one, mx.full((*one.shape[:2], 37, one.shape[3]), 9.0)], axis=2)
        for one in (key, value)
    ]
    mx.eval(longer)
    num_keys = key.shape[2]
    return query, longer[0][:, :, :num_keys], longer[1][:, :, :num_keys]


LAYOUTS = {
    "in a longer cache": _in_cache,
    "tokens first": _as_tokens_first,
    "among other heads": _among_other_heads,
}
"""Layouts of queries, keys and values in memory."""


def _laid_out(heads: Heads, layout: str) -> Heads:
    """Change the memory layout of the same numbers."""
    return LAYOUTS[layout](heads)


def _added(mask: Mask, heads: Heads) -> mx.array | None:
    """Return the mask with a given name."""
    if not isinstance(mask, str):
        return mask
    causal = attention.causal_mask(heads[0].shape[-2], heads[1].shape[-2])
    return mx.array(causal, mx.float32)


def _assert_attends(
    grade: Grader,
    symbol: str,
    heads: Heads,
    scale: float = 0.3,
    mask: Mask = None,
) -> None:
    """Call a kernel, and compare it with the truth."""
    call = Call(symbol, (*heads, scale, mask))

    expected = attention.attention(*heads, scale, _added(mask, heads))
    grade.assert_close(call, expected, heads[0].dtype)


def _assert_attends_each_time(grade: Grader, symbol: str, heads: Heads) -> None:
    """Call a kernel many times, and compare all results with the truth."""
    call = Stacked(symbol, (*heads, 0.3, None), times=20)

    expected = repeated(attention.attention(*heads, 0.3, None), 20)
    grade.assert_close(call, expected, heads[0].dtype)


def _assert_takes_less(grade: Grader, call: PeakOf, num_bytes: int) -> None:
    """Fail if the peak memory of a call, beyond its inputs, is too large."""
    taken = grade.run(call)

    millions = {"taken": taken // 10**6, "most": num_bytes // 10**6}
    complaint = say("week_2_day_6.complaints.memory", **millions)
    grade.assert_that(taken < num_bytes, call, complaint)
