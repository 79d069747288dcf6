"""Each known mistake is explained by an entry of its own, with an example that runs."""

import re
from collections import Counter

import pytest

from tiny_llm_course.book.examples import ExampleError, example
from tiny_llm_course.book.mistakes import Explanation, anchors, explanations
from tiny_llm_course.places import CHAPTERS
from tiny_llm_course.syllabus import tasks

NUM_WORDS = 35
"""The least that says what one sees, why it happens, and what to look at."""

NOT_YET: dict[str, int] = {
    "week-2-day-g1-threads-and-grids": 7,
    "week-2-day-g3-metal-matvec": 17,
    "week-2-day-g4-metal-tiles": 19,
}
"""How many mistakes of a page have no entry yet. These numbers only fall."""

PAGES = list(dict.fromkeys(task.chapter for task in tasks()))
DAY = "week-1-day-1-attention"


def entries(page: str) -> list[Explanation]:
    """Return the entries of a page."""
    return list(explanations((CHAPTERS / f"{page}.md").read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", PAGES)
def test_each_mistake_is_explained_or_counted_among_those_that_are_not(
    page: str,
) -> None:
    known = set(anchors(task for task in tasks() if task.chapter == page))

    explained = {one.anchor for one in entries(page) if one.num_words >= NUM_WORDS}

    assert explained <= known
    assert len(known - explained) == NOT_YET.get(page, 0), sorted(known - explained)


@pytest.mark.parametrize("page", PAGES)
def test_an_entry_is_long_enough_and_has_a_title(page: str) -> None:
    short = {one.anchor: one.num_words for one in entries(page)}

    assert {name: n for name, n in short.items() if n < NUM_WORDS} == {}
    assert all(one.title for one in entries(page))


@pytest.mark.parametrize("page", PAGES)
def test_no_two_entries_share_a_sentence(page: str) -> None:
    """What mistakes have in common stands above them, once."""
    sentences = Counter(
        sentence
        for one in entries(page)
        for sentence in re.split(r"(?<=[.?!:])\s+", " ".join(one.text.split()))
        if len(sentence.split()) > 7
    )

    assert [sentence for sentence, times in sentences.items() if times > 1] == []


def test_words_of_listings_do_not_count() -> None:
    text = ":::{mistake} one Of a kind\n:try: f(1)\nTwo words.\n```py\na = b\n```\n:::"

    (found,) = explanations(text)

    assert (found.anchor, found.title, found.num_words) == ("one", "Of a kind", 2)


def test_an_example_shows_both_results() -> None:
    call = "x = mx.array([2.0, 1.0]); softmax(x, axis=-1); x"

    shown = example(DAY, "maximum-subtracted-in-place", call).splitlines()

    assert shown[:3] == call.split("; ")
    assert {"[2., 1.]", "[ 0., -1.]"} <= set(shown)


@pytest.mark.parametrize(
    ("anchor", "call", "complaint"),
    [
        ("eaten-by-the-dog", "softmax(mx.ones(2), axis=-1)", "a known mistake"),
        ("keepdims-forgotten", "softmax(mx.ones(2), axis=-1)", "both times"),
        ("keepdims-forgotten", "softmax(mx.ones((9, 8)), axis=-1)", "a short result"),
        ("keepdims-forgotten", "x = 1", "an expression at the end"),
    ],
)
def test_an_example_that_shows_nothing_is_an_error(
    anchor: str, call: str, complaint: str
) -> None:
    with pytest.raises(ExampleError, match=complaint):
        example(DAY, anchor, call)
