"""A result of a wrong dtype is judged with the precision of the right dtype."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.grading.diagnosis.known_mistakes import explain
from tiny_llm_course.grading.diagnosis.symptoms import describe
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.grading.judgement.verdict import ArrayEvidence, VerdictError
from tiny_llm_course.places import REFERENCE, TESTS
from tiny_llm_course.solution import Solution
from tiny_llm_course.specimens import misconceptions
from tiny_llm_course.syllabus import Address
from tiny_llm_ref.basics import softmax

Array = mx.array

EXACT = normal(4, 5)
TRUTH = Truth(np.array(EXACT, dtype=np.float64), np.abs(np.array(EXACT)))
ROUNDED = EXACT.astype(mx.float16).astype(mx.float32)
"""A result that was computed in float16 and returned in float32."""


class Returning:
    """A solution whose every function returns one array."""

    folder = Path(__file__).parent

    def __init__(self, output: Array) -> None:
        self._output = output

    def get(self, symbol: str) -> Callable[..., Array]:
        del symbol
        return lambda *_: self._output


def evidence_of(output: Array, asked: mx.Dtype) -> ArrayEvidence:
    """Return the evidence of a wrong result."""
    grade: Any = Grader
    with pytest.raises(VerdictError) as verdict:
        grade(Returning(output)).assert_close(Call("basics.silu", ()), TRUTH, asked)
    assert isinstance(verdict.value.evidence, ArrayEvidence)
    return verdict.value.evidence


@pytest.mark.parametrize("output", [EXACT, ROUNDED], ids=["exact", "rounded"])
def test_numbers_that_are_right_to_the_precision_asked_for_have_no_symptom(
    output: Array,
) -> None:
    evidence = evidence_of(output, mx.float16)

    assert describe(evidence.got, evidence.truth) is None


@pytest.mark.parametrize("asked", [mx.float16, mx.float32])
def test_numbers_that_are_wrong_besides_have_one(asked: mx.Dtype) -> None:
    got = mx.float32 if asked == mx.float16 else mx.float16
    evidence = evidence_of((ROUNDED * 2).astype(got), asked)

    described = describe(evidence.got, evidence.truth)
    assert described is not None
    assert described.startswith("every entry is 2")


def test_two_results_in_float32_are_the_same_within_what_was_asked_for() -> None:
    one, other = evidence_of(ROUNDED, mx.float16), evidence_of(EXACT, mx.float16)

    assert one.matches(other)
    assert not evidence_of(ROUNDED * 1.01, mx.float16).matches(other)


def attention_by(
    factor: Callable[[int], Any],
    widen: bool = False,
) -> Callable[..., Array]:
    """Compute attention in the usual way, with a factor that may be an array."""

    def attention(
        query: Array,
        key: Array,
        value: Array,
        scale: float | None = None,
        mask: Array | None = None,
    ) -> Array:
        scores = query @ key.swapaxes(-1, -2)
        scores = scores.astype(mx.float32) if widen else scores
        scores = scores * (factor(query.shape[-1]) if scale is None else scale)
        return softmax(scores if mask is None else scores + mask, -1) @ value

    return attention


@pytest.mark.parametrize(
    ("attention", "name"),
    [
        (
            attention_by(lambda width: 1 / mx.sqrt(mx.array(width))),
            "scale_made_an_array",
        ),
        (attention_by(lambda width: mx.array(width**-0.5)), "scale_made_an_array"),
        (attention_by(lambda width: width**-0.5, True), "attention_left_in_float32"),
    ],
)
def test_what_lifts_an_attention_to_float32_is_named(
    attention: Callable[..., Array], name: str
) -> None:
    """The scores are those of float16, some 900 ULPs of float32 off."""
    solution = Solution(REFERENCE, "lifted")
    attempt: Any = Returning(EXACT)
    attempt.get = lambda symbol: (
        attention if symbol.endswith("attention_simple") else solution.get(symbol)
    )
    tests = runpy.run_path(str(TESTS / "test_week_1_day_1.py"))
    task = Address(1, 1, 1)
    cases = [("agrees_with_torch", (2,), 3, 4, 8), ("uses_the_scale_it_is_given", 3.0)]
    names = [("batch", "num_queries", "num_keys", "dim"), ("scale",)]
    trials = [
        Trial(
            task,
            case[0],
            tests[f"test_task_1_attention_{case[0]}"],
            {**dict(zip(own, case[1:], strict=True)), "dtype": dtype},
            mx.cpu,
        )
        for case, own in zip(cases, names, strict=True)
        for dtype in (mx.float16, mx.bfloat16)
    ]

    outcomes = [Outcome(trial, trial.run(attempt)) for trial in trials]

    assert [one.name for one in explain(outcomes, misconceptions(task))] == [name]
