"""What a report says about an error that a solution raises."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.composed_mistakes.mistakes import composed
from tiny_llm_course.grading.diagnosis.composing import compose
from tiny_llm_course.grading.diagnosis.known_mistakes import explain
from tiny_llm_course.grading.judgement import errors
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.grading.judgement.verdict import RaisedEvidence
from tiny_llm_course.specimens import Specimen
from tiny_llm_course.syllabus import Address
from tiny_llm_ref import sampler
from tiny_llm_ref.sampler import make_sampler

SAMPLER = "sampler.make_sampler"
TASK = Address(1, 7, 1)

Sampler = Callable[[mx.array], mx.array]


def _compares_top_p(top_p: float | None, top_k: float | None) -> bool:
    del top_k
    return top_p < 1  # type: ignore[operator]


def _asks_top_p_for_a_range(top_p: float | None, top_k: float | None) -> bool:
    del top_k
    return 0 < top_p < 1  # type: ignore[operator]


def _compares_top_k(top_p: float | None, top_k: float | None) -> bool:
    del top_p
    return top_k < 5  # type: ignore[operator]


def _raised_by(function: Callable[..., object], *args: object) -> RaisedEvidence:
    with pytest.raises((TypeError, ValueError)) as caught:
        function(*args)
    return errors.evidence_of(caught.value)


def test_what_is_none_is_known_by_its_name() -> None:
    error = _raised_by(_compares_top_p, None, None)

    assert error.nones == {"top_p"}
    assert str(errors.describe(error)).startswith("`top_p` is None here")


def test_a_comparison_with_none_is_the_same_either_way_round() -> None:
    one = _raised_by(_compares_top_p, None, None)

    assert one.is_exactly(_raised_by(_asks_top_p_for_a_range, None, None))
    assert not one.matches(_raised_by(_compares_top_k, None, None))


def _refuses_temp(temp: float) -> None:
    if temp <= 0:
        raise ValueError(f"temp is {temp}, and has to be positive")


def _refuses_it_in_other_words(temp: float) -> None:
    if temp == 0:
        raise ValueError(f"sampler: no temp of {temp}")


def _refuses_k(k: int) -> None:
    raise ValueError(f"k is {k}")


def test_own_checks_are_alike_that_complain_of_one_variable() -> None:
    one = _raised_by(_refuses_temp, 0)

    assert one.refuses == {"temp"}
    assert one.is_exactly(_raised_by(_refuses_it_in_other_words, 0))
    assert not one.matches(_raised_by(_refuses_k, 1))


def _refuses_each(name: str, shape: tuple[int, ...]) -> None:
    raise ValueError(f"{name}: expected another shape, got {shape}")


def test_one_check_of_two_things_is_not_the_same() -> None:
    one = _raised_by(_refuses_each, "wq", (2, 3))

    assert one.matches(_raised_by(_refuses_each, "wq", (4, 5)))
    assert not one.matches(_raised_by(_refuses_each, "wk", (2, 3)))


def test_an_error_of_mlx_is_nobodys_own_check() -> None:
    def multiply(x: mx.array) -> mx.array:
        return x @ x

    assert _raised_by(multiply, mx.zeros((2, 3))).refuses == frozenset()


def _draws_at(temp: float) -> Trial:
    def test(grade: Grader) -> None:
        grade.run(Call(SAMPLER, (mx.zeros((1, 3)),), build=(temp, None, None)))

    return Trial(TASK, f"at {temp}", test, {}, mx.cpu)


def _outcomes(wrong: object, trials: list[Trial]) -> list[Outcome]:
    solution = Specimen(TASK, SAMPLER, wrong).as_solution()
    return [Outcome(one, one.run(solution)) for one in trials]


def test_a_check_that_refuses_too_much_is_named() -> None:
    def wrong(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
        if not temp > 0:
            raise ValueError(f"the temp has to be positive, and is {temp}")
        return make_sampler(temp, top_p, top_k)

    found = compose(_outcomes(wrong, [_draws_at(0), _draws_at(1)]), TASK)

    assert found is not None
    assert found.says == "`temp` and `0` are compared by `<=` instead of `<`."


def test_none_that_is_compared_in_every_test_is_named() -> None:
    """If no test passes, Python's message alone does not tell the reason."""

    def known(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
        is_on = 0 < top_p < 1  # type: ignore[operator]
        return make_sampler(temp, top_p if is_on else None, top_k)

    def wrong(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
        return make_sampler(temp, top_p if top_p < 1 else None, top_k)  # type: ignore[operator]

    one = Specimen(TASK, SAMPLER, known)

    assert explain(_outcomes(wrong, [_draws_at(1)]), [one]) == [one]


@pytest.mark.parametrize(
    "says",
    [
        "The kept is divided by `temp` twice.",
        "`top_p < 1` belongs to a condition, and is not asked there.",
        "`0` and `top_p` are compared by `<` instead of `<=`.",
    ],
)
def test_what_a_condition_asks_may_go_wrong(says: str) -> None:
    assert says in [one.says for one in composed(TASK)]


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


def _takes_a_logarithm() -> object:
    """Nobody checks anything here, so nothing is said of a check."""
    return math.log2(0)


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
        (_takes_a_logarithm, ""),
    ],
)
def test_an_error_is_explained(raises: Any, says: str) -> None:  # noqa: ANN401
    with pytest.raises((TypeError, ValueError)) as caught:
        raises()
    error = errors.evidence_of(caught.value)

    told = errors.describe(error) or ""

    assert says in told
    assert bool(says) == bool(told)


def test_an_error_that_nobody_has_seen_is_not_explained() -> None:
    assert errors.describe(RaisedEvidence("OSError", "no such file")) is None


def test_errors_are_alike_in_kind_and_place_whatever_the_sizes() -> None:
    one = RaisedEvidence("ValueError", "[matmul] shape (2,3) and (4,5)")
    other = RaisedEvidence("ValueError", "[matmul] shape (7,7) and (1,5)")

    assert one.matches(other)
    assert not one.matches(RaisedEvidence("ValueError", "[reshape] shape (2,3)"))
    assert not one.matches(RaisedEvidence("TypeError", one.text))


OPERATION = re.compile(r"built\(\)\.(\w+)\(|\"((?:paged_)?attention_\w+)\"")
GIVEN = {"Weight", "prefer_large_pages"}
"""What no learner calls."""


def operations() -> list[str]:
    """Return the operations in C++ that a solution calls."""
    paths = Path(sampler.__file__).parent.glob("*.py")
    texts = (path.read_text(encoding="utf-8") for path in paths)
    found = OPERATION.findall("\n".join(texts))
    return sorted({one or other for one, other in found} - GIVEN)


@pytest.mark.parametrize("name", operations())
def test_a_kernel_that_refuses_its_input_is_no_check_of_the_learners(name: str) -> None:
    """Its message stands in C++ and is English: what it means is in the catalogue."""
    got = f"{name}: expected shape (128,), got (1, 128)"

    shape = errors.describe(RaisedEvidence("ValueError", got))
    other = errors.describe(
        RaisedEvidence("ValueError", f"{name}: expected float32, got int32")
    )

    assert (shape or "").startswith(
        f"`{name}` in C++ takes an array of shape (128,) here, and was handed one of "
        "(1, 128)."
    )
    assert (other or "").startswith(f"`{name}` in C++ does not take what it was handed")


def test_a_check_in_python_of_that_name_is_the_learners() -> None:
    said = "rope: expected shape (128,), got (1, 128)"
    error = RaisedEvidence("ValueError", said, where="tiny_llm.kernels.rope")

    assert "your own code" in (errors.describe(error) or "")
