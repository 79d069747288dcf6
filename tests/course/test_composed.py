"""Mistakes that are put together from a place and a kind."""

import ast
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.composed.mistakes import Composed, composed
from tiny_llm_course.composed.text import text_of
from tiny_llm_course.grading import composing, errors
from tiny_llm_course.grading.call import Call
from tiny_llm_course.grading.diagnosis import Outcome
from tiny_llm_course.grading.grader import Grader
from tiny_llm_course.grading.inputs import normal, weight
from tiny_llm_course.grading.trial import Trial
from tiny_llm_course.grading.verdict import RaisedEvidence
from tiny_llm_course.oracle.kept import basics
from tiny_llm_course.specimens import Specimen
from tiny_llm_course.syllabus import Address, task_at

LINEAR = Address(1, 1, 2)


@pytest.mark.parametrize(
    "address", [(1, 1, 1), (1, 1, 2), (1, 6, 1), (1, 7, 3), (2, 2, 2)], ids=str
)
def test_every_change_has_a_sentence_and_is_taken_back(
    address: tuple[int, int, int],
) -> None:
    task = task_at(Address(*address))
    before = [_shown(symbol) for symbol in task.symbols]

    sentences = [one.says for one in composed(task.address)]

    assert all(one.endswith(".") and "{" not in one for one in sentences)
    assert [_shown(symbol) for symbol in task.symbols] == before


def _shown(symbol: str) -> str:
    text = text_of(symbol)
    return ast.unparse(text.tree) if text else ""


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (LINEAR, "`w` is not transposed."),
        (LINEAR, "`bias` is not added to `y`."),
        (Address(1, 1, 1), "`min` stands where `max` belongs."),
        (Address(1, 4, 2), "`w_gate` stands where `w_up` belongs."),
        (Address(1, 5, 1), "`bk` and `bv` have changed places."),
    ],
)
def test_a_place_and_a_kind_make_a_sentence(task: Address, says: str) -> None:
    assert says in [one.says for one in composed(task)]


def _trial(name: str, *, has_bias: bool) -> Trial:
    def test(grade: Grader) -> None:
        x, w, bias = normal(3, 4), weight(4, 4), normal(4, name="bias")
        call = Call("basics.linear", (x, w, bias) if has_bias else (x, w))
        expected = basics.linear(x, w, bias if has_bias else None)
        grade.assert_close(call, expected, mx.float32)

    return Trial(LINEAR, name, test, {}, mx.cpu)


TRIALS = [_trial("without", has_bias=False), _trial("with", has_bias=True)]


def _named(linear: Any) -> Composed | None:  # noqa: ANN401 - a learner's function
    solution = Specimen(LINEAR, "basics.linear", linear).as_solution()
    outcomes = [Outcome(one, one.run(solution)) for one in TRIALS]
    return composing.compose(outcomes, LINEAR)


def test_what_another_hand_got_wrong_is_named() -> None:
    def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        y = mx.einsum("...i,oi->...o", x, w)
        return y - bias if bias is not None else y

    found = _named(linear)

    assert found is not None
    assert found.says == "`-` stands between `y` and `bias`, where `+` belongs."


def test_two_mistakes_at_once_are_named() -> None:
    def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        del bias
        return mx.tensordot(x, w, axes=1)

    found = _named(linear)

    assert found is not None
    assert found.says.splitlines() == [
        "`w` is not transposed.",
        "`bias` is not added to `y`.",
    ]


def test_what_is_like_no_change_has_no_name() -> None:
    def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        del bias
        return mx.sin(x @ w.T)

    assert _named(linear) is None


def test_a_right_solution_has_no_name() -> None:
    def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        y = mx.einsum("...i,oi->...o", x, w)
        return y if bias is None else y + bias

    assert _named(linear) is None


def _calls_a_size() -> object:
    return mx.zeros((2, 3)).size(-1)


def _adds_none() -> object:
    return mx.zeros(2) @ None


def _asks_for_truth() -> object:
    return 1 if mx.zeros(2) else 2


def _reshapes() -> object:
    return mx.zeros((2, 3)).reshape(4, 2)


def _multiplies() -> object:
    return mx.zeros((2, 3)) @ mx.zeros((2, 3))


def _adds() -> object:
    return mx.zeros((2, 3)) + mx.zeros((2, 2))


def _unpacks() -> object:
    first, second = mx.zeros((2, 3, 4)).shape
    return first, second


def _uses_einsum() -> object:
    return mx.einsum("ij,jk->ik", mx.zeros(3), mx.zeros((3, 2)))


def _checks() -> object:
    raise ValueError("the weight has shape (3,), expected 3")


@pytest.mark.parametrize(
    ("raises", "says"),
    [
        (_calls_a_size, "methods"),
        (_adds_none, "None"),
        (_asks_for_truth, "is not None"),
        (_reshapes, "6 numbers do not fit into (4,2)"),
        (_multiplies, "matrix product"),
        (_adds, "entry by entry"),
        (_unpacks, "2 names"),
        (_uses_einsum, "einsum"),
        (_checks, "your own code"),
    ],
)
def test_an_error_is_explained(raises: Any, says: str) -> None:  # noqa: ANN401
    with pytest.raises((TypeError, ValueError)) as caught:
        raises()
    error = RaisedEvidence(caught.type.__name__, str(caught.value))

    assert says in (errors.describe(error) or "")


def test_an_error_that_nobody_has_seen_is_not_explained() -> None:
    assert errors.describe(RaisedEvidence("OSError", "no such file")) is None


def test_errors_are_alike_in_kind_and_place_whatever_the_sizes() -> None:
    one = RaisedEvidence("ValueError", "[matmul] shape (2,3) and (4,5)")
    other = RaisedEvidence("ValueError", "[matmul] shape (7,7) and (1,5)")

    assert one.matches(other)
    assert not one.matches(RaisedEvidence("ValueError", "[reshape] shape (2,3)"))
    assert not one.matches(RaisedEvidence("TypeError", one.text))
