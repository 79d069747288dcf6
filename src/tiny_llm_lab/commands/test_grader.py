"""`pdm run test-grader`: prove that the tests tell right from wrong."""

import io
import itertools
import shutil
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click
import pytest
from rich.console import Console

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.passed_on import with_task
from tiny_llm_course.commands.terminal import DAY, CourseCommand
from tiny_llm_course.errors import CourseError, nearest
from tiny_llm_course.extension.preparing import prepare
from tiny_llm_course.grading.engine import session
from tiny_llm_course.grading.report.assessment import assess
from tiny_llm_course.grading.report.screen import print_report
from tiny_llm_course.layout import pad
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.records.record import compile_ahead
from tiny_llm_course.specimens import misconceptions
from tiny_llm_course.syllabus import Day, select_days
from tiny_llm_lab.mutation import kernels as kernel_proof
from tiny_llm_lab.mutation import proof as python_proof
from tiny_llm_lab.mutation.proof import MutantScore
from tiny_llm_lab.proof import Score, read_scores


@click.command("test-grader", cls=CourseCommand)
@click.option("--week", type=int, help="Only this week.")
@click.option("--day", type=DAY, help="Only this day of the week.")
@click.option("--mutants", is_flag=True, help="Change our solutions automatically.")
@click.option("--show", metavar="NAME", help="Show the report of one known mistake.")
def command(
    week: int | None, day: int | None, *, mutants: bool, show: str | None
) -> int:
    """Run the tests on every known mistake and on every known right way.

    Each mistake has to fail the tests of its task and get its own explanation, and
    each right way has to pass them. A mistake may fail no other task of its day, except
    those that build on its own.

    With --mutants no mistake need be known: our solutions are changed at one place
    after the other, and each of these mutants has to fail, unless it is listed among
    those that keep every promise. This takes minutes for each day.
    """
    days = select_days(week, day)
    if show:
        return _show(show, days)
    if mutants:
        return _prove_by_mutants(days)
    scores = _measure(days)
    for one in days:
        own = [
            score for score in scores if (score.task.week, score.task.day) == _at(one)
        ]
        click.echo(_line(say("lab.grader.day", week=one.week, day=one.number), own))
    click.echo(_line(say("lab.grader.all"), scores))
    for score in scores:
        _print_misses(score)
    return int(not all(score.is_proven for score in scores))


def _show(name: str, days: list[Day]) -> int:
    """Print what a learner reads who makes a mistake."""
    tasks = [task for one in days for task in one.tasks]
    known = [one for task in tasks for one in misconceptions(task.address)]
    found = next((one for one in known if one.name == name), None)
    if found is None:
        names = [one.name for one in known]
        near = nearest(name, names)
        raise CourseError(say("lab.grader.unknown", name=repr(name), near=near))
    (own,) = select_days(found.task.week, found.task.day)
    prepare([own], REFERENCE.name)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "solution"
        shutil.copytree(REFERENCE, folder)
        found.put_in(folder)
        reports = assess([own], str(folder), with_task(found.task.task, ()))
    print_report(Console(highlight=False, soft_wrap=True), [own], reports)
    return 0


def _prove_by_mutants(days: list[Day]) -> int:
    """Print the results for the mutants of each day, and every surprise."""
    is_proven = True
    for one in itertools.chain(python_proof.prove(days), kernel_proof.prove(days)):
        click.echo(_line_of_mutants(one))
        for key in one.survived:
            click.echo(say("lab.grader.survived", mutant=key))
        for key in one.stale:
            click.echo(say("lab.grader.stale", mutant=key))
        is_proven &= one.is_proven
    return int(not is_proven)


def _measure(days: list[Day]) -> list[Score]:
    """Run pytest on the reference; it then runs the tests on all known solutions."""
    prepare(days, "tiny_llm_ref")
    compile_ahead(days)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.jsonl"
        options = [*session.QUIETLY, "-p", "tiny_llm_lab.proof", "--scores", str(path)]
        code, said = _run_here(session.pytest_arguments(days, "tiny_llm_ref", options))
        if code != 0:
            raise CourseError(say("lab.grader.reference", said=said[-500:]))
        return read_scores(path)


def _run_here(arguments: list[str]) -> tuple[int, str]:
    """Run pytest in this process; return its exit code and what it says.

    In `pdm run check` it has imported PyTorch and more already.
    """
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = pytest.main(arguments)
    return code, errors.getvalue().strip() or output.getvalue()


def _at(day: Day) -> tuple[int, int]:
    """Return week and day as a pair."""
    return day.week, day.number


def _line(title: str, scores: list[Score]) -> str:
    """Return a line: mistakes rejected and named, right solutions accepted."""
    num_wrong = sum(score.num_wrong for score in scores)
    num_right = sum(score.num_right for score in scores)
    rejected = num_wrong - sum(len(score.not_rejected) for score in scores)
    accepted = num_right - sum(len(score.not_accepted) for score in scores)
    named = num_wrong - sum(len(score.not_named) for score in scores)
    return say(
        "lab.grader.line",
        title=pad(title, 14),
        rejected=rejected,
        wrong=num_wrong,
        named=named,
        accepted=accepted,
        right=num_right,
    )


def _line_of_mutants(one: MutantScore) -> str:
    """Return a line: mutants rejected, and what explains a sample of them."""
    num_sampled = sum(one.named.values())
    shares = ", ".join(f"{kind} {n}" for kind, n in sorted(one.named.items()))
    return say(
        "lab.grader.mutants",
        day=pad(one.day, 14),
        rejected=one.num_rejected,
        mutants=one.num_mutants,
        equivalent=len(one.equivalent),
        survived=len(one.survived),
        sampled=num_sampled,
        shares=shares,
    )


def _print_misses(score: Score) -> None:
    """Print what is wrong with the proof of one task."""
    for name in score.not_rejected:
        click.echo(say("lab.grader.passes", task=score.task, name=name))
    for name, failure in score.not_accepted:
        click.echo(say("lab.grader.fails", task=score.task, name=name) + f"\n{failure}")
    for name, named in score.not_named:
        if name not in score.not_rejected:
            told = {"task": score.task, "name": name, "named": named}
            click.echo(say("lab.grader.taken", **told))
    for name, test in score.misplaced:
        told = {"task": score.task, "name": name, "test": test}
        click.echo(say("lab.grader.misplaced", **told))
