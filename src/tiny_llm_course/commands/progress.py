"""`pdm run progress`: the whole course, and how far you are."""

from collections.abc import Iterator

import click
from rich.console import Console
from rich.text import Text

from tiny_llm_course import progress
from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.learning import echo_total, load_progress, task_options
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.grading.report.standing import BEGUN, DONE, WAITS, WRONG
from tiny_llm_course.grading.results import NOT_STARTED
from tiny_llm_course.layout import column, pad, widest
from tiny_llm_course.places import here
from tiny_llm_course.progress import CHANGED, SKIPPED
from tiny_llm_course.syllabus import Day, Task, select_tasks, weeks

MARKS = {
    DONE: ("x", "green"),
    SKIPPED: (">", "cyan"),
    WRONG: ("!", "bold red"),
    WAITS: ("?", "yellow"),
    CHANGED: ("~", "yellow"),
    BEGUN: ("/", "yellow"),
    NOT_STARTED: (" ", "dim"),
}
"""The letter and colour of each status. Every terminal can show these letters."""

BAR_WIDTH = 12
"""Width of the bar of a day. Days have 1 to 4 tasks, and 12 is a multiple of each."""


@click.command("progress", cls=CourseCommand)
@task_options
def command(week: int | None, day: int | None, task: int | None) -> int:
    """Show the weeks, days and tasks, and which of them you have done."""
    chosen = select_tasks(week, day, task)
    standing = progress.statuses(here(), load_progress())
    console = Console(highlight=False, soft_wrap=True)
    for line in _lines(chosen, standing):
        console.print(line)
    click.echo()
    echo_total(standing)
    return 0


def _lines(chosen: list[Task], standing: dict[Task, str]) -> Iterator[Text]:
    """Yield the lines for some tasks, under those of their days and weeks."""
    width = column((task.label for task in chosen), _beside())
    for week in weeks():
        days = [day for day in week.days if set(day.tasks) & set(chosen)]
        if days:
            title = say("commands.progress.week", number=week.number, title=week.title)
            yield Text(title, style="bold")
        for day in days:
            yield _day_line(day, standing)
            for task in day.tasks:
                if task in chosen:
                    yield _task_line(task, standing[task], width)


def _beside() -> int:
    """Return the cells that a row takes besides the title: mark, number, status."""
    statuses = [say(f"commands.status.{status}") for status in MARKS]
    number = say("commands.progress.task", number=1, title="")
    return widest(["    [ "]) + widest([number]) + widest(statuses)


def _day_line(day: Day, standing: dict[Task, str]) -> Text:
    """Show how much of a day is done, as a bar and in numbers."""
    found = [standing[task] for task in day.tasks if not task.optional]
    closed = [status for status in (DONE, SKIPPED) for _ in range(found.count(status))]
    line = Text(say("commands.progress.day", number=day.number))
    for place in range(BAR_WIDTH):
        at = place * len(found) // BAR_WIDTH
        letter, style = ("-", "dim") if at >= len(closed) else MARKS[closed[at]]
        line.append("=" if letter == "x" else letter, style=style)
    counts = say("commands.progress.counts", closed=len(closed), total=len(found))
    return line.append(counts).append(day.title, style="bold")


def _task_line(task: Task, status: str, width: int) -> Text:
    letter, style = MARKS[status]
    number, title = task.address.task, pad(task.label, width)
    line = Text("    [").append(letter, style=style)
    line.append(say("commands.progress.task", number=number, title=title))
    return line.append(say(f"commands.status.{status}"), style=style)
