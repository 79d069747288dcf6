"""`pdm run watch`: grade what you save."""

import time
from datetime import datetime

import click
from rich.console import Console

from tiny_llm_course import progress
from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.learning import remember, with_skipped
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.grading.engine.launch import Standby
from tiny_llm_course.grading.report.assessment import assess_tasks
from tiny_llm_course.grading.report.screen import print_report
from tiny_llm_course.places import STARTER, here
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import Task, select_days
from tiny_llm_course.watching import changed_tasks, read_texts, saves


@click.command("watch", cls=CourseCommand)
@click.option(
    "--solution",
    default="tiny_llm",
    show_default=True,
    metavar="PACKAGE_OR_FOLDER",
)
def command(solution: str) -> int:
    """Grade the tasks whose code you change, each time you save a file."""
    folder = load_solution(solution).folder
    console = Console(highlight=False, soft_wrap=True)
    texts = read_texts(folder)
    standby = Standby()
    click.echo(say("watch.begin", folder=folder))
    try:
        for before, after in saves(folder, texts):
            saved_s = time.perf_counter()
            tasks = changed_tasks(before, after)
            if tasks:
                _show(console, tasks, solution, standby)
                seconds = time.perf_counter() - saved_s
                click.secho(say("watch.took", seconds=seconds), dim=True)
                standby.prepare()
    except KeyboardInterrupt:
        pass
    finally:
        standby.close()
    return 0


def _show(console: Console, tasks: list[Task], solution: str, standby: Standby) -> None:
    console.rule(datetime.now().astimezone().strftime("%H:%M:%S"))
    graded = progress.before(here(), tasks)
    reports = assess_tasks(tasks, solution, standby)
    is_own = solution == STARTER.name
    shown = with_skipped(reports) if is_own else reports
    print_report(console, select_days(None, None), shown)
    if is_own:
        remember(reports, graded)
