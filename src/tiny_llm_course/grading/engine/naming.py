"""Names the mistake in each task that failed, or describes the failure.

It is imported when a test has failed: what it needs takes longer than many tests.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from tiny_llm_course.grading import results
from tiny_llm_course.grading.diagnosis.below import comes_from_below
from tiny_llm_course.grading.diagnosis.causes import cause_of
from tiny_llm_course.grading.diagnosis.composing import IN_METAL, compose, first_wrong
from tiny_llm_course.grading.diagnosis.interface import difference
from tiny_llm_course.grading.diagnosis.known_mistakes import (
    Mistake,
    describe,
    does_the_same,
    explain,
    leaves_some,
)
from tiny_llm_course.grading.diagnosis.repairing import repaired
from tiny_llm_course.grading.diagnosis.which_calls import only_calls
from tiny_llm_course.grading.engine.patience import compile_ahead, keeping_alive
from tiny_llm_course.grading.engine.stash import (
    EXPLAINED,
    INTERFACES,
    OUTCOMES,
    SOLUTION,
    failed_tasks,
)
from tiny_llm_course.grading.judgement.grader import NOT_COMPILED, Grader
from tiny_llm_course.grading.judgement.trial import Outcome
from tiny_llm_course.grading.judgement.verdict import RaisedEvidence
from tiny_llm_course.specimens import Specimen, misconceptions
from tiny_llm_course.syllabus import Address, task_at


def look_at_interface(item: pytest.Function, task: Address) -> None:
    """Note whether the function that failed has other parameters than ours."""
    grader = item.funcargs["grade"]
    assert isinstance(grader, Grader)
    for call in grader.calls[-1:]:
        if told := difference(call, grader.solution):
            item.config.stash[INTERFACES].setdefault(task, (call, told))


def explanations(config: pytest.Config) -> Iterator[results.Explanation]:
    """Name the mistake in each task that failed, or describe the failure.

    Composed mistakes come last: they run hundreds of wrong solutions, and if one
    crashes the interpreter, the results before it have been written.
    """
    for task in failed_tasks(config):
        yield from explained(config, task)
    yield from composed(config)


def explained_in_time(
    config: pytest.Config, task: Address, path: Path
) -> list[results.Explanation]:
    """Return what explains the failures of a task, however long compilers take.

    Args:
        config: Of the run.
        task: The task.
        path: The file of the results.
    """
    with keeping_alive(path) if _is_in_metal(task) else nullcontext():
        return explained(config, task)


def explained(config: pytest.Config, task: Address) -> list[results.Explanation]:
    """Return what explains the failures of a task so far, and work it out once."""
    known = config.stash[EXPLAINED]
    key = task, len(config.stash[OUTCOMES].get(task, []))
    if key not in known:
        known[key] = list(_explain(config, task))
    return known[key]


def _explain(config: pytest.Config, task: Address) -> Iterator[results.Explanation]:
    """Name the known mistake in a task, or describe how it fails, if that helps.

    What is gone with our parts of the tasks below is no mistake of this task.
    """
    outcomes = config.stash[OUTCOMES].get(task, [])
    failed = [one for one in outcomes if one.verdict and one.verdict.evidence]
    if failed and all(_is_no_metal(one) for one in failed):
        return  # The compiler has said what is wrong.
    if comes_from_below(outcomes, task, config.stash[SOLUTION]):
        return
    if failed and _is_in_metal(task):
        compile_ahead(misconceptions(task), failed[0].trial)
    found = explain(outcomes, misconceptions(task))
    names, sentences = [one.name for one in found], [one.says for one in found]
    if told := _interface(config, task, found):
        names, sentences = [results.INTERFACE], [told]
    elif not found and (cause := cause_of(outcomes)):
        names, sentences = [cause.name], [cause.says]
    elif not found and (symptom := describe(outcomes)):
        sentences = [symptom]
    if sentences:
        test = _first_explained(outcomes, found)
        yield results.Explanation(str(task), names, sentences, test)


def _is_no_metal(outcome: Outcome) -> bool:
    """Tell whether a test has failed since a kernel was not compiled."""
    error = outcome.verdict.evidence if outcome.verdict else None
    return isinstance(error, RaisedEvidence) and error.kind == NOT_COMPILED


def _is_in_metal(task: Address) -> bool:
    """Tell whether each known mistake of a task has a kernel to be compiled."""
    return any(one.startswith(IN_METAL) for one in task_at(task).symbols)


def composed(config: pytest.Config) -> Iterator[results.Explanation]:
    """Find the change that explains each failed task that no known mistake explains.

    Of the solution's own text, if that makes it right, or else of the reference. The
    first also takes the place of a known mistake that explains some failures only. If
    nothing else is known either, say which calls are wrong.
    """
    for task in failed_tasks(config):
        outcomes, known = config.stash[OUTCOMES][task], explained(config, task)
        names = [name for one in known for name in one.names]
        named = [one for one in misconceptions(task) if one.name in names]
        if names and not any(_is_part(one, outcomes, task) for one in named):
            continue
        if not names and comes_from_below(outcomes, task, config.stash[SOLUTION]):
            continue
        repair = repaired(outcomes, task, config.stash[SOLUTION])
        if repair and not (names and repair.left):
            test = next(one.trial.test for one in outcomes if one.verdict)
            yield results.Explanation(str(task), [repair.name], [repair.says], test)
        elif not names and (one := compose(outcomes, task)):
            test = _first_explained(outcomes, [one])
            yield results.Explanation(str(task), [one.name], [one.says], test)
        elif not known and (told := only_calls(outcomes, task)):
            yield results.Explanation(str(task), [], [told])


def _is_part(one: Specimen, outcomes: Sequence[Outcome], task: Address) -> bool:
    """Tell whether a known mistake leaves failures, or another name is wrong first."""
    symbol, _ = first_wrong(outcomes, task)
    return one.symbol != symbol or leaves_some(one, outcomes)


def _first_explained(outcomes: Sequence[Outcome], found: Sequence[Mistake]) -> str:
    """Return the first failing test in which a mistake does what the solution did."""
    for outcome in outcomes:
        if outcome.verdict and any(does_the_same(one, outcome) for one in found):
            return outcome.trial.test
    return ""


def _interface(config: pytest.Config, task: Address, found: Sequence[Specimen]) -> str:
    """Return which parameter of a task differs, unless that is the mistake found."""
    if task not in config.stash[INTERFACES]:
        return ""
    call, told = config.stash[INTERFACES][task]
    is_known = any(difference(call, one.as_solution()) for one in found)
    return "" if is_known else told
