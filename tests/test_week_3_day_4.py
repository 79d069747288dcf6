"""Week 3, day 4: attention to keys and values that lie in pages.

The chapter: book/en/week-3-day-4-paged-attention.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype
from tiny_llm_course.grading.judgement.memory import PeakOf
from tiny_llm_course.grading.scenarios.heads import RAMPS
from tiny_llm_course.grading.scenarios.multiple_outputs import Stacked, repeated
from tiny_llm_course.grading.scenarios.pages import (
    UNUSED,
    PagedHeads,
    Sizes,
    draw_pages,
    draw_shared_prefix,
)
from tiny_llm_course.grading.scenarios.predicting import kernels_set_to
from tiny_llm_course.oracle.cached import attention

ONLINE = "kernels.paged_attention_online"
TILED = "kernels.paged_attention_tiled"
PAGED = "attention.paged_attention"

each_ramp = pytest.mark.parametrize("ramp", RAMPS)
each_filler = pytest.mark.parametrize("unused", UNUSED)

FEW = [
    Sizes(lens=(1,), H=1, H_kv=1, D=4),
    Sizes(lens=(5,), P=16),
    Sizes(lens=(8, 4), D=5),
    Sizes(lens=(3, 13, 6), H=6, L=3),
    Sizes(lens=(9, 2), P=1, H=3, H_kv=3, L=2),
    Sizes(lens=(40,), P=16, H=8, H_kv=1, D=64),
]
MANY = [
    *FEW,
    Sizes(lens=(64, 65, 63), P=16, D=16),
    Sizes(lens=(130, 7), P=16, H=14, D=64),
    Sizes(lens=(100,), P=1),
    Sizes(lens=(150, 80), P=5, L=13, H=6, D=7),
    Sizes(lens=(200,), P=128, L=33, D=80),
    Sizes(lens=(129, 70), P=16, H=3, H_kv=1, L=65),
    Sizes(lens=(1100, 3, 300), P=16, H=6, L=2, D=5),
    Sizes(lens=(40, 600), P=16),
]


@each_dtype
@pytest.mark.parametrize("sizes", FEW, ids=str)
def test_task_1_agrees_with_torch(grade: Grader, sizes: Sizes, dtype: mx.Dtype) -> None:
    """Pages are in no order, and NaN where no token lies."""
    _assert_attends(grade, ONLINE, draw_pages(sizes, dtype))


def test_task_1_uses_the_scale_it_is_given(grade: Grader) -> None:
    _assert_attends(grade, ONLINE, draw_pages(Sizes(L=2)), scale=0.7)


@each_ramp
def test_task_1_holds_where_the_largest_score_changes(grade: Grader, ramp: str) -> None:
    heads = draw_pages(Sizes(lens=(50,), L=2), ramp=ramp)

    _assert_attends(grade, ONLINE, heads, scale=1.0)


@pytest.mark.parametrize(
    ("num_queries", "lens"), [(1, (6, 3)), (5, (5, 11)), (3, (9, 4, 12))]
)
def test_task_1_last_query_of_each_row_sees_all_its_keys(
    grade: Grader, num_queries: int, lens: tuple[int, ...]
) -> None:
    heads = draw_pages(Sizes(lens=lens, L=num_queries))

    _assert_attends(grade, ONLINE, heads, mask="causal")


@each_filler
def test_task_1_reads_no_page_that_a_row_does_not_use(
    grade: Grader, unused: str
) -> None:
    """Lengths are those of full pages, too: then nothing of the next one is needed."""
    heads = draw_pages(Sizes(lens=(8, 1, 5)), unused=unused)

    _assert_attends(grade, ONLINE, heads)


def test_task_1_reads_pages_that_rows_share(grade: Grader) -> None:
    heads = draw_shared_prefix(8, Sizes(lens=(11, 9, 14), L=2))

    _assert_attends(grade, ONLINE, heads, mask="causal")


@each_dtype
@pytest.mark.parametrize("sizes", MANY, ids=str)
def test_task_2_agrees_with_torch(grade: Grader, sizes: Sizes, dtype: mx.Dtype) -> None:
    """Tiles end within a page, at its end, and after many pages."""
    _assert_attends(grade, TILED, draw_pages(sizes, dtype))


def test_task_2_uses_the_scale_it_is_given(grade: Grader) -> None:
    _assert_attends(grade, TILED, draw_pages(Sizes(lens=(20,), L=2)), scale=0.7)


@each_ramp
def test_task_2_holds_where_the_largest_score_changes(grade: Grader, ramp: str) -> None:
    heads = draw_pages(Sizes(lens=(1000, 200), P=16, L=3), ramp=ramp)

    _assert_attends(grade, TILED, heads, scale=1.0)


@pytest.mark.parametrize(
    ("num_queries", "lens"),
    [(70, (70, 200)), (5, (133, 5)), (40, (300, 80)), (1, (65, 64)), (3, (900, 3))],
)
def test_task_2_last_query_of_each_row_sees_all_its_keys(
    grade: Grader, num_queries: int, lens: tuple[int, ...]
) -> None:
    heads = draw_pages(Sizes(lens=lens, H=6, L=num_queries, P=16))

    _assert_attends(grade, TILED, heads, mask="causal")


@each_filler
def test_task_2_reads_no_page_that_a_row_does_not_use(
    grade: Grader, unused: str
) -> None:
    heads = draw_pages(Sizes(lens=(64, 1, 85, 128), P=16), unused=unused)

    _assert_attends(grade, TILED, heads)


def test_task_2_reads_pages_that_rows_share(grade: Grader) -> None:
    heads = draw_shared_prefix(96, Sizes(lens=(110, 99, 140), L=2, P=16))

    _assert_attends(grade, TILED, heads, mask="causal")


def test_task_2_is_the_same_each_time(grade: Grader) -> None:
    """The order of threads must not matter. A race may show only in many calls."""
    heads = draw_pages(Sizes(lens=(600, 70, 1), P=16))
    call = Stacked(TILED, (*heads.args, 0.3, None), times=20)

    expected = repeated(_truth(heads, 0.3), 20)
    grade.assert_close(call, expected, mx.float32)


@each_dtype
@pytest.mark.parametrize("chosen", ["own", "none"])
@pytest.mark.parametrize("sizes", [FEW[3], Sizes(lens=(77, 40), L=9, P=16)], ids=str)
def test_task_3_agrees_with_torch(
    grade: Grader, sizes: Sizes, chosen: str, dtype: mx.Dtype
) -> None:
    """With the kernels, and without them, as on a GPU."""
    heads = draw_pages(sizes, dtype)
    call = Call(PAGED, (*heads.args, sizes.P))

    with kernels_set_to(chosen):
        grade.assert_close(call, _truth(heads), dtype)


@pytest.mark.parametrize("chosen", ["own", "none"])
def test_task_3_uses_the_scale_it_is_given(grade: Grader, chosen: str) -> None:
    heads = draw_pages(Sizes(lens=(9, 5)))
    call = Call(PAGED, (*heads.args, 4), {"scale": 0.7})

    with kernels_set_to(chosen):
        grade.assert_close(call, _truth(heads, 0.7), mx.float32)


@pytest.mark.parametrize("chosen", ["own", "none"])
@pytest.mark.parametrize(
    ("num_queries", "lens"), [(1, (6, 3)), (5, (5, 11)), (20, (50, 20, 33))]
)
def test_task_3_last_query_of_each_row_sees_all_its_keys(
    grade: Grader, num_queries: int, lens: tuple[int, ...], chosen: str
) -> None:
    heads = draw_pages(Sizes(lens=lens, L=num_queries))
    call = Call(PAGED, (*heads.args, 4), {"mask": "causal"})

    with kernels_set_to(chosen):
        grade.assert_close(call, _truth(heads, is_causal=True), mx.float32)


@each_filler
@pytest.mark.parametrize("chosen", ["own", "none"])
def test_task_3_reads_no_page_that_a_row_does_not_use(
    grade: Grader, chosen: str, unused: str
) -> None:
    heads = draw_pages(Sizes(lens=(8, 1, 5)), unused=unused)
    call = Call(PAGED, (*heads.args, 4))

    with kernels_set_to(chosen):
        grade.assert_close(call, _truth(heads), mx.float32)


@pytest.mark.parametrize(("chosen", "most"), [("own", 100_000), ("none", 1_000_000)])
def test_task_3_takes_no_memory_for_pages_of_others(
    grade: Grader, chosen: str, most: int
) -> None:
    """The pool takes 16 MB, of which these rows use 128 KB."""
    sizes = Sizes(lens=(250, 260), D=32, P=16)
    call = PeakOf(PAGED, (*draw_pages(sizes, num_spare=2000).args, 16))

    with kernels_set_to(chosen):
        taken = grade.run(call)

    numbers = {"taken": taken // 1000, "most": most // 1000}
    complaint = say("week_3_day_4.complaints.memory", **numbers)
    grade.assert_that(taken < most, call, complaint)


def _assert_attends(
    grade: Grader,
    symbol: str,
    heads: PagedHeads,
    scale: float = 0.3,
    mask: str | None = None,
) -> None:
    """Call a kernel, and compare it with the truth."""
    call = Call(symbol, (*heads.args, scale, mask))

    expected = _truth(heads, scale, is_causal=mask is not None)
    grade.assert_close(call, expected, heads.query.dtype)


def _truth(
    heads: PagedHeads, scale: float | None = None, *, is_causal: bool = False
) -> Truth:
    """Return what PyTorch computes, row by row."""
    return attention.attention_of_rows(
        heads.query, heads.contexts, scale, is_causal=is_causal
    )
