"""`pdm run test` and `pdm run test-refsol`: grade a solution."""

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from tiny_llm_course import progress
from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.learning import remember, with_skipped
from tiny_llm_course.commands.passed_on import refuse_unknown, with_task
from tiny_llm_course.commands.speed import tell_speeds
from tiny_llm_course.commands.terminal import (
    DAY,
    CourseCommand,
    Function,
    do_all,
    with_options,
)
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.preparing import prepare
from tiny_llm_course.extension.sanitizing import complaints
from tiny_llm_course.grading.engine import session
from tiny_llm_course.grading.report import exports
from tiny_llm_course.grading.report.assessment import assess
from tiny_llm_course.grading.report.screen import print_report
from tiny_llm_course.grading.report.showing import print_numbers
from tiny_llm_course.grading.report.standing import DONE, WRONG, TaskReport
from tiny_llm_course.kernel_costs.table import costs
from tiny_llm_course.places import STARTER, here
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import Day, select_days, select_tasks

VIEWS_OF_PYTEST = {
    *("-v", "-vv", "--verbose", "-s", "--pdb", "--co", "--collect-only"),
    *("-h", "--help", "--version", "--fixtures", "--markers", "--setup-plan"),
}
"""Arguments that ask for pytest's own output."""


SHOW = "--show"
"""An option of ours that people also type after the `--`."""

EXPORTS = {"json_file": exports.write_json, "junitxml": exports.write_junit}


class GradingCommand(CourseCommand):
    """A command that passes pytest's options on and refuses unknown ones."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look for misspelt options before anything is compiled or graded."""
        params = self.get_params(ctx)
        own = (name for one in params for name in [*one.opts, *one.secondary_opts])
        refuse_unknown(args, own)
        return super().parse_args(ctx, args)


def _options(default: str) -> list[Callable[[Function], Function]]:
    """Return the options of a command that grades `default`."""
    return [
        click.option("--week", type=int),
        click.option("--day", type=DAY),
        click.option("--task", type=int),
        click.option(
            "--solution",
            default=default,
            show_default=True,
            metavar="PACKAGE_OR_FOLDER",
        ),
        click.option(SHOW, is_flag=True),
        click.option("--json", "json_file", type=Path),
        click.option("--junitxml", type=Path),
        click.option(
            "--sanitize",
            is_flag=True,
        ),
        click.option(
            "--speed/--no-speed",
            default=None,
            envvar="TINY_LLM_SPEED",
        ),
        click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED),
    ]


def _command(name: str, default: str) -> click.Command:
    """Make the command that grades `default` unless told otherwise."""

    def command(  # noqa: PLR0913 - one for each option
        week: int | None,
        day: int | None,
        task: int | None,
        solution: str,
        *,
        show: bool,
        sanitize: bool,
        speed: bool | None,
        pytest_args: tuple[str, ...],
        **exported: Path | None,
    ) -> int:
        """Say of each task whether it is done, and if not, what is wrong."""
        select_tasks(week, day, task)  # raises an error if there is no such day
        show |= SHOW in pytest_args
        days = select_days(week, day)
        arguments = with_task(task, [one for one in pytest_args if one != SHOW])
        if sanitize and not any(task.kernels for one in days for task in one.tasks):
            raise CourseError(say("sanitizing.no_kernels"))
        if VIEWS_OF_PYTEST & set(arguments):
            return _as_pytest_shows_it(days, solution, arguments)
        reports = _graded(days, solution, arguments, exported, show=show)
        is_wrong = any(report.status == WRONG for report in reports)
        is_own_day = solution == STARTER.name and day is not None
        if is_own_day and not is_wrong if speed is None else speed:
            tell_speeds(reports, solution)
        if day is not None:
            tell_costs(reports, solution)
        look_at_kernels(reports, solution, is_asked=sanitize)
        return int(any(report.is_open for report in reports))

    settings = {"ignore_unknown_options": True}
    as_command = click.command(
        name, cls=GradingCommand, texts="test", context_settings=settings
    )
    return as_command(with_options(*_options(default))(command))


def _as_pytest_shows_it(
    days: Sequence[Day], solution: str, arguments: Sequence[str]
) -> int:
    """Run the tests with pytest's own output, and return its exit code."""
    prepare(days, solution)
    load_solution(solution)
    arguments = session.pytest_arguments(days, solution, arguments)
    return subprocess.call([sys.executable, "-m", "pytest", *arguments])


def _graded(
    days: Sequence[Day],
    solution: str,
    arguments: Sequence[str],
    exported: Mapping[str, Path | None],
    *,
    show: bool,
) -> Sequence[TaskReport]:
    """Grade, print the report, and save the requested files, in this order."""
    is_own = solution == STARTER.name
    asked_for = [task for one in days for task in one.tasks] if is_own else []
    graded = progress.before(here(), asked_for)
    reports = assess(days, solution, arguments)
    shown = with_skipped(reports) if is_own else reports
    print_report(Console(highlight=False, soft_wrap=True), days, shown)
    if show:
        print_numbers(reports, solution)
    saving: list[Callable[[], object]] = []
    if is_own:
        saving.append(partial(remember, reports, graded, arguments))
    for kind, path in exported.items():
        if path:
            saving.append(partial(EXPORTS[kind], path, solution, shown))
    do_all(saving)
    return reports


def tell_costs(reports: Sequence[TaskReport], solution: str) -> None:
    """Print what the kernels in Metal cost of the tasks that are done, if any."""
    done = [one.task for one in reports if one.status == DONE]
    lines = costs(done, load_solution(solution).folder)
    if lines:
        click.echo("\n".join(["", *lines]))


def look_at_kernels(
    reports: Sequence[TaskReport], solution: str, *, is_asked: bool
) -> None:
    """Print the sanitizers' findings in all kernels, or in those that crashed.

    For kernels that pass, print that an error may have gone unnoticed.
    """
    asked_of = [one.task for one in reports if is_asked or one.has_crashed]
    kernels = [kernel for task in asked_of for kernel in task.kernels]
    if not kernels and not is_asked:
        done = (one for one in reports if one.status == DONE and one.task.kernels)
        if report := next(done, None):
            at = report.task.address
            click.echo(say("sanitizing.by_luck", week=at.week, day=at.day))
        return
    click.echo(say("sanitizing.compiling"), err=True)
    found = complaints(kernels, load_solution(solution).folder)
    click.echo("\n" + say("sanitizing.heading"))
    click.echo("\n".join(found) or say("sanitizing.clean"))


command = _command("test", "tiny_llm")
command_refsol = _command("test-refsol", "tiny_llm_ref")
