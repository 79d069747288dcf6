"""`pdm run test` and `pdm run test-refsol`: grade a solution."""

import subprocess

import click
from rich.console import Console

from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.grading import session
from tiny_llm_course.grading.report import print_report, task_reports
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import select_days

VIEWS_OF_PYTEST = {"-v", "-vv", "--verbose", "-s", "--pdb", "--co", "--collect-only"}
"""Arguments with which somebody wants to see pytest itself."""


def _command(name: str, default: str) -> click.Command:
    """Make the command that grades `default` unless told otherwise."""

    @click.command(
        name, cls=CourseCommand, context_settings={"ignore_unknown_options": True}
    )
    @click.option("--week", type=int, help="Only this week.")
    @click.option("--day", type=int, help="Only this day of the week.")
    @click.option(
        "--solution",
        default=default,
        show_default=True,
        metavar="PACKAGE_OR_FOLDER",
        help="What to grade.",
    )
    @click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
    def command(
        week: int | None, day: int | None, solution: str, pytest_args: tuple[str, ...]
    ) -> int:
        """Say of each task whether it is done, and if not, what is wrong.

        What this command does not know goes to pytest: `-k task_1` grades one task,
        `-v` shows pytest's own view.
        """
        days = select_days(week, day)
        load_solution(solution)
        if VIEWS_OF_PYTEST & set(pytest_args):
            arguments = session.pytest_command(days, solution, pytest_args)
            return subprocess.call(arguments)
        results = session.grade(days, solution, pytest_args)
        reports = task_reports(days, results)
        print_report(Console(highlight=False, soft_wrap=True), days, reports)
        return int(any(report.status != "done" for report in reports))

    return command


command = _command("test", "tiny_llm")
command_refsol = _command("test-refsol", "tiny_llm_ref")
