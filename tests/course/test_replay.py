"""A call of a failing test is repeated without the test around it."""

import itertools
from collections.abc import Iterator

import mlx.core as mx

from tiny_llm_course.composed_mistakes.mistakes import composed
from tiny_llm_course.grading.diagnosis.replay import Replay, replay
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import normal, weight
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.oracle.cached import basics
from tiny_llm_course.specimens import Specimen
from tiny_llm_course.syllabus import Address

LINEAR = Address(1, 1, 2)


def _as_stored(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
    del bias
    return x @ w


def _replayed(factors: Iterator[float]) -> Replay:
    """Replay a test of a wrong linear layer, whose input is scaled anew each time.

    Args:
        factors: One factor for each run of the test.
    """

    def test(grade: Grader) -> None:
        x, w = normal(3, 4) * next(factors), weight(4, 4)
        call = Call("basics.linear", (x, w))
        grade.assert_close(call, basics.linear(x, w), mx.float32)

    trial = Trial(LINEAR, "linear", test, {}, mx.cpu)
    solution = Specimen(LINEAR, "basics.linear", _as_stored).as_solution()
    return replay(Outcome(trial, trial.run(solution)))


def test_a_call_is_made_again_by_itself() -> None:
    """The replay tells the same wrong result from another, and from the right one."""
    found = {one.says: one for one in composed(LINEAR) if one.is_ours}

    seen = _replayed(itertools.repeat(1.0))

    assert seen.call is not None
    assert seen.compared_with(found["`w` is not transposed."]) is True
    assert seen.compared_with(found["`bias` is not added to `y`."]) is None
    assert seen.compared_with(found["`x` is not multiplied by `w`."]) is False


def test_a_call_that_raises_is_made_again() -> None:
    """The error tells a mistake from those that raise none, or another one."""

    def test(grade: Grader) -> None:
        x, w = normal(3, 4), weight(5, 4)
        grade.assert_close(Call("basics.linear", (x, w)), basics.linear(x, w), x.dtype)

    trial = Trial(LINEAR, "linear", test, {}, mx.cpu)
    solution = Specimen(LINEAR, "basics.linear", _as_stored).as_solution()
    found = {one.says: one for one in composed(LINEAR) if one.is_ours}

    seen = replay(Outcome(trial, trial.run(solution)))

    assert seen.call is not None
    assert seen.compared_with(found["`w` is not transposed."]) is True
    assert seen.compared_with(found["`bias` is not added to `y`."]) is None


def test_a_call_that_is_another_each_time_is_not_made_again() -> None:
    """Its result would say nothing about the one that failed."""
    assert _replayed(itertools.count(1.0)).call is None
