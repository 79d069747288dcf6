"""The proof names each mistake, and finds what fails an unrelated task."""

from dataclasses import replace

import mlx.core as mx
import pytest
from click.testing import CliRunner

from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.trial import Trial
from tiny_llm_course.grading.judgement.verdict import TextEvidence, WrongError
from tiny_llm_course.solution import NotingSolution, load_solution
from tiny_llm_course.specimens import misconceptions
from tiny_llm_course.syllabus import Address, Day
from tiny_llm_lab.commands import test_grader as proving
from tiny_llm_lab.proof import Passed, Score, score

SAMPLER = "sampler.make_sampler"
TEMPERATURE, TOP_P = Address(1, 7, 1), Address(1, 7, 3)
OF_ALL_THREE = "top_p_none_compared"


def accepts_the_reference_only(grade: Grader) -> None:
    """Fail on every known mistake, like a test that uses more than its task."""
    if grade.solution.get(SAMPLER) is not load_solution("ref").get(SAMPLER):
        raise WrongError("not that of the reference")


def trial_of(task: Address, symbol: str = SAMPLER) -> Trial:
    test, symbols = f"a test of {task}", frozenset({symbol})
    return Trial(task, test, accepts_the_reference_only, {}, mx.DeviceType.cpu, symbols)


def misplaced(task: Address, *trials: Trial) -> dict[str, str]:
    return dict(score(task, trials).misplaced)


def test_a_mistake_that_fails_an_earlier_task_is_misplaced() -> None:
    found = misplaced(TOP_P, trial_of(TEMPERATURE))

    assert found["top_p_ignored"] == "a test of week 1, day 7, task 1"


def test_a_mistake_of_both_tasks_may_fail_both() -> None:
    assert OF_ALL_THREE not in misplaced(TOP_P, trial_of(TEMPERATURE))


def test_a_task_may_fail_with_what_it_builds_on() -> None:
    assert misplaced(TEMPERATURE, trial_of(TOP_P)) == {}


def test_a_test_that_does_not_use_the_name_cannot_tell() -> None:
    assert misplaced(TOP_P, trial_of(TEMPERATURE, "basics.silu")) == {}


@pytest.mark.parametrize(
    ("symbol", "is_run"), [(SAMPLER, True), ("basics.silu", False)]
)
def test_a_passed_test_is_run_where_a_name_that_it_uses_is_replaced(
    symbol: str, is_run: bool
) -> None:
    """The reference has passed it, and no other name of a mistake is its own."""
    trial = Passed(**vars(trial_of(TOP_P, symbol)))
    wrong = misconceptions(TOP_P)[0].as_solution()

    assert (trial.run(wrong) is not None) == is_run


def tells_who_is_who(grade: Grader) -> None:
    made = grade.solution.get(SAMPLER)
    if made is not load_solution("ref").get(SAMPLER):
        raise WrongError("another one", TextEvidence(id(made)))


def fails_alike(grade: Grader) -> None:
    if grade.solution.get(SAMPLER) is not load_solution("ref").get(SAMPLER):
        raise WrongError("not that of the reference", TextEvidence("wrong"))


def test_what_the_first_test_tells_from_all_others_runs_no_other_test() -> None:
    asked: list[Grader] = []

    def test(grade: Grader) -> None:
        asked.append(grade)

    trial = trial_of(TOP_P)
    told, later = (replace(trial, function=one) for one in (tells_who_is_who, test))

    found = score(TOP_P, [told, later])

    assert found.not_named == ()
    assert asked == []


def test_what_fails_the_first_test_as_others_do_is_told_by_the_next() -> None:
    trial = trial_of(TOP_P)
    alike, told = (
        replace(trial, function=one) for one in (fails_alike, tells_who_is_who)
    )

    found = score(TOP_P, [alike, told])

    assert found.num_wrong > 1
    assert found.not_named == ()


@pytest.mark.parametrize(
    ("misses", "exit_code"),
    [({}, 0), ({"misplaced": (("top_p_ignored", "a test"),)}, 1)],
    ids=["all told apart", "one misplaced"],
)
def test_the_command_ends_with_1_where_a_mistake_is_misplaced(
    monkeypatch: pytest.MonkeyPatch, misses: dict[str, object], exit_code: int
) -> None:
    def measured(days: list[Day]) -> list[Score]:
        del days
        return [Score(TOP_P, 1, 1, (), (), (), **misses)]  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(proving, "_measure", measured)

    ran = CliRunner().invoke(proving.command, ["--week", "1", "--day", "7"])

    assert ran.exit_code == exit_code
    complaint = "week 1, day 7, task 3: top_p_ignored fails another task, at a test\n"
    assert (complaint in ran.output) == bool(exit_code)


def test_a_solution_notes_the_names_that_it_hands_out() -> None:
    noting = NotingSolution(load_solution("ref"))

    noting.get("basics.silu")

    assert noting.symbols == {"basics.silu"}
