"""Which mistake is named for the behaviour of a solution."""

import itertools
from collections.abc import Callable, Sequence

import mlx.core as mx
import numpy as np

from tiny_llm_course.grading.diagnosis.known_mistakes import describe, explain
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import DTYPES
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.specimens import Specimen
from tiny_llm_course.syllabus import Address

TASK = Address(1, 4, 2)


class Activations:
    """A solution with functions of one array only."""

    def __init__(self, **functions: Callable[[mx.array], mx.array]) -> None:
        self._functions = functions

    def get(self, symbol: str) -> Callable[[mx.array], mx.array]:
        return self._functions[symbol.split(".")[1]]


def _is_zero(symbol: str, dtype: mx.Dtype, grade: Grader) -> None:
    """Expect 0 from an operation that gets 0."""
    call = Call(symbol, (mx.zeros(1, dtype),))
    grade.assert_close(call, Truth(np.zeros(1), np.ones(1)), dtype)


def _trials(symbol: str) -> list[Trial]:
    return [
        Trial(TASK, "test", _is_zero, {"symbol": symbol, "dtype": dtype}, mx.cpu)
        for dtype in DTYPES
    ]


def _outcomes(solution: Activations, trials: Sequence[Trial]) -> list[Outcome]:
    return [Outcome(trial, trial.run(solution)) for trial in trials]


def _plus(offset: float) -> Callable[[mx.array], mx.array]:
    return lambda x: x + offset


def _silu_plus(offset: float) -> Specimen:
    return Specimen(TASK, "basics.silu", _plus(offset))


def test_mistake_that_does_the_same_is_named() -> None:
    one, two = _silu_plus(1), _silu_plus(2)
    outcomes = _outcomes(Activations(silu=_plus(2)), _trials("basics.silu"))

    assert explain(outcomes, [one, two]) == [two]


def test_mistake_that_looks_alike_by_chance_is_not_named() -> None:
    """1 and 1.02 are 2.6 ULPs of bfloat16 apart, and 20 of float16."""
    outcomes = _outcomes(Activations(silu=_plus(1.02)), _trials("basics.silu"))

    assert explain(outcomes, [_silu_plus(1)]) == []


def _silu_plus_by_dtype(**offsets: float) -> Specimen:
    def silu(x: mx.array) -> mx.array:
        return x + offsets.get(str(x.dtype).removeprefix("mlx.core."), 0)

    return Specimen(TASK, "basics.silu", silu)


def test_mistake_that_fails_where_a_solution_is_right_comes_second() -> None:
    """It fails the first test in the same way as the solution."""
    solution = _silu_plus_by_dtype(float32=1, float16=3)
    float32, float16, bfloat16 = _trials("basics.silu")
    trials = [float32, *_trials("basics.silu")[:1], float16, bfloat16]
    outcomes = [Outcome(one, one.run(solution.as_solution())) for one in trials]

    everywhere, there = _silu_plus(1), _silu_plus_by_dtype(float16=3)

    assert explain(outcomes, [everywhere, there]) == [there]
    assert explain(outcomes, [everywhere]) == [everywhere]


def test_what_is_not_the_same_twice_has_no_name_but_that() -> None:
    """It is not reported as wrong in half precision only either."""
    count = itertools.count(1)

    def racing(x: mx.array) -> mx.array:
        return x if x.dtype == mx.float32 else x + next(count)

    outcomes = _outcomes(Activations(f=racing), _trials("kernels.f"))

    assert explain(outcomes, [Specimen(TASK, "kernels.f", _plus(1))]) == []
    assert str(describe(outcomes)).startswith("not the same twice: a race, or memory")


def test_a_kernel_that_is_wrong_each_time_keeps_its_name() -> None:
    one = Specimen(TASK, "kernels.f", _plus(1))
    outcomes = _outcomes(Activations(f=_plus(1)), _trials("kernels.f"))

    assert explain(outcomes, [one]) == [one]


def test_mistake_is_named_though_it_spoils_more_than_itself() -> None:
    """A known mistake is surrounded by the reference, whose SiLU is right."""
    one = Specimen(TASK, "basics.gelu", _plus(1))
    trials = [*_trials("basics.gelu")[:1], *_trials("basics.silu")]
    outcomes = _outcomes(Activations(gelu=_plus(1), silu=_plus(1)), trials)

    assert explain(outcomes, [one]) == [one]


def test_mistake_is_named_though_python_complains_by_another_name() -> None:
    """The message names the function and the argument, which have other names there."""

    def call_by_name(grade: Grader) -> None:
        grade.run(Call("basics.silu", (), {"x": mx.zeros(1)}))

    def silu(z: mx.array) -> mx.array:
        return z

    def under_another_name(y: mx.array) -> mx.array:
        return y

    one = Specimen(TASK, "basics.silu", under_another_name)
    trial = Trial(TASK, "test", call_by_name, {}, mx.cpu)
    verdict = trial.run(Specimen(TASK, "basics.silu", silu).as_solution())

    assert explain([Outcome(trial, verdict)], [one]) == [one]


def _is_equal(value: float, grade: Grader) -> None:
    """Expect an operation to leave a number as it is."""
    grade.assert_equal(Call("basics.f", (value,)), value)


def test_the_argument_is_told_that_wrong_answers_have_in_common() -> None:
    trials = [
        Trial(TASK, "test", _is_equal, {"value": value}, mx.cpu)
        for value in (0.0, 2.0, 3.0)
    ]

    outcomes = _outcomes(Activations(f=lambda x: x or mx.inf), trials)

    assert describe(outcomes) == "only wrong where `value` is 0.0"
