"""Week 3, day 7, task 4: a small model proposes, the large one decides.

The chapter: book/en/week-3-day-7-under-load.md
"""

from typing import Literal

import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.scenarios.generating import (
    LONG_TEXT,
)
from tiny_llm_course.grading.scenarios.speculating import LOOP, Speculation

SAID = "week_3_day_7_task_4.complaints"

TEXT = " upon a time"

PROPOSALS = {
    "the same": TEXT,
    "nothing right": "#" * 30,
    "every other one": " #p#n#a#t#m#",
    "wrong at first": "##on a time",
    "right at first": " upo########",
    "too short": " upon",
    "too long": TEXT + " there",
    "empty": "",
}

each_length = pytest.mark.parametrize("length", [1, 4])
each_proposal = pytest.mark.parametrize("proposed", PROPOSALS)


@each_length
@each_proposal
def test_task_4_says_what_the_large_model_says_alone(
    grade: Grader, proposed: str, length: int
) -> None:
    """Whatever is proposed: it may make the text faster or slower, and no other."""
    call = _call(PROPOSALS[proposed], length)

    grade.assert_equal(call, TEXT)


@each_length
def test_task_4_a_step_keeps_all_that_is_right(grade: Grader, length: int) -> None:
    """With a draft that is always right, each step gives its tokens and one more."""
    call = _call(TEXT, length, "target")

    steps = grade.run(call)

    num_tokens = len(TEXT) + 1  # with the end
    most = -(-num_tokens // (length + 1))
    complaint = say(f"{SAID}.steps", got=len(steps), most=most)
    grade.assert_that(len(steps) <= most, call, complaint)


@each_length
@each_proposal
def test_task_4_each_step_gives_a_token(
    grade: Grader, proposed: str, length: int
) -> None:
    """Where nothing proposed is right, the large model's own choice is kept."""
    call = _call(PROPOSALS[proposed], length, "target")

    steps = grade.run(call)

    most = len(TEXT) + 1
    complaint = say(f"{SAID}.steps", got=len(steps), most=most)
    grade.assert_that(len(steps) <= most, call, complaint)


@each_length
@each_proposal
def test_task_4_the_large_model_sees_each_token_once(
    grade: Grader, proposed: str, length: int
) -> None:
    """All but the first step show it what was proposed, and the token before."""
    call = _call(PROPOSALS[proposed], length, "target")

    shown = grade.run(call)[1:]

    most = length + 1
    complaint = say(f"{SAID}.shown", got=shown, most=most)
    grade.assert_that(all(one <= most for one in shown), call, complaint)


@each_proposal
def test_task_4_the_draft_goes_on_where_it_was(grade: Grader, proposed: str) -> None:
    """It is shown what is new to it: one token, or two if all were kept."""
    call = _call(PROPOSALS[proposed], 3, "draft")

    shown = grade.run(call)[1:]

    complaint = say(f"{SAID}.shown", got=shown, most=2)
    grade.assert_that(all(one <= 2 for one in shown), call, complaint)


@pytest.mark.parametrize("length", [1, 4])
def test_task_4_a_long_text_fits_into_the_caches(grade: Grader, length: int) -> None:
    call = _call(LONG_TEXT[:-9] + "#" * 9, length, answer=LONG_TEXT)

    grade.assert_equal(call, LONG_TEXT)


@pytest.mark.parametrize("proposed", ["", "= 7.8 元", "#"], ids=["no", "same", "#"])
def test_task_4_characters_may_span_tokens(grade: Grader, proposed: str) -> None:
    call = _call(proposed, 2, answer="= 7.8 元", prompt="1 ")

    grade.assert_equal(call, "= 7.8 元")


def test_task_4_lets_the_detokenizer_finish(grade: Grader) -> None:
    call = _call("", 2, answer="= 7.8 元".encode()[:-1], prompt="1 ")

    grade.assert_equal(call, "= 7.8 \ufffd")


def test_task_4_proposes_four_unless_told(grade: Grader) -> None:
    """The first step shows the prompt as well, which has four tokens."""
    call = Speculation(LOOP, ("Once",), answer=TEXT, proposed=TEXT, part="target")

    shown = grade.run(call)[:2]

    complaint = say(f"{SAID}.first_shown", expected=[8, 5], got=shown)
    grade.assert_that(shown == [8, 5], call, complaint)


def _call(
    proposed: str | bytes,
    length: int,
    part: Literal["text", "target", "draft"] = "text",
    *,
    answer: str | bytes = TEXT,
    prompt: str = "Once",
) -> Speculation:
    named = {"proposal_length": length}
    return Speculation(
        LOOP, (prompt,), named, answer=answer, proposed=proposed, part=part
    )
