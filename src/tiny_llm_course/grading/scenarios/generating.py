"""A generation loop that is watched: what it prints, and when."""

import contextlib
import io
from typing import Any

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.scenarios.fakes import ByteTokenizer

LONG_TEXT = " and then" * 7
"""More tokens than any fixed number of steps would cover."""


def assert_prints_once(
    grade: Grader,
    loop: str,
    model: Any,  # noqa: ANN401 - of `fakes`
    *sampler: None,
) -> None:
    """Fail unless a loop prints " upon a time" in one piece, without the end token.

    Other output is allowed.

    Args:
        grade: The fixture.
        loop: The symbol of the loop.
        model: Says " upon a time" after "Once".
        *sampler: The argument after the prompt, if the loop has one.
    """
    call = Call(loop, (model, ByteTokenizer(), "Once", *sampler))

    with contextlib.redirect_stdout(io.StringIO()) as screen:
        grade.run(call)
    printed = screen.getvalue().strip()
    is_whole = "upon a time" in printed and "<end>" not in printed
    grade.assert_that(
        is_whole and printed.count("upon") == 1,
        call,
        say("week_1_day_6.complaints.not_printed_once", printed=printed),
    )


def assert_prints_while_it_generates(
    grade: Grader,
    loop: str,
    kind: Any,  # noqa: ANN401 - a class of `fakes`
    *sampler: None,
) -> None:
    """Fail unless a loop shows some of the text before it calls the model a last time.

    Args:
        grade: The fixture.
        loop: The symbol of the loop.
        kind: The class of the model.
        *sampler: The argument after the prompt, if the loop has one.
    """
    seen = io.BytesIO()
    screen = io.TextIOWrapper(seen, encoding="utf-8")
    printed_before: list[str] = []

    class WatchedModel(kind):
        def __call__(self, *args: Any, **named: Any) -> mx.array:  # noqa: ANN401
            printed_before.append(seen.getvalue().decode())
            return super().__call__(*args, **named)

    model = WatchedModel("Once", " upon a time")
    call = Call(loop, (model, ByteTokenizer(), "Once", *sampler))

    with contextlib.redirect_stdout(screen):
        grade.run(call)
    printed = printed_before[-1] if printed_before else ""
    grade.assert_that(
        "upon" in printed,
        call,
        say("week_1_day_6.complaints.printed_late", printed=printed),
    )
