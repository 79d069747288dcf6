"""The one screen that a learner reads after a test run."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from tiny_llm_course.grading.results import NOT_STARTED, PASSED, Result, Results
from tiny_llm_course.syllabus import Day, Task

_STYLES = {"done": "green", "wrong": "bold red", "not started": "yellow"}


@dataclass(frozen=True)
class TaskReport:
    """How one task stands.

    Attributes:
        task: The task.
        results: Those of its tests that ran.
        sentences: What explains its failures, as far as that is known.
    """

    task: Task
    results: tuple[Result, ...]
    sentences: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """Return "done", "wrong", or "not started" if no test got an answer."""
        statuses = {result.status for result in self.results}
        if statuses == {PASSED}:
            return "done"
        return "wrong" if statuses - {NOT_STARTED} - {PASSED} else NOT_STARTED

    @property
    def failures(self) -> list[Result]:
        """The tests that did not pass, the first one first."""
        return [result for result in self.results if result.status != PASSED]


def task_reports(days: Sequence[Day], results: Results) -> list[TaskReport]:
    """Sort results by task. A task of which no test ran is left out."""
    reports = [_task_report(task, results) for day in days for task in day.tasks]
    return [report for report in reports if report.results]


def _task_report(task: Task, results: Results) -> TaskReport:
    """Collect what is known about one task."""
    address = str(task.address)
    own = tuple(one for one in results.tests.values() if one.task == address)
    explanation = results.explanations.get(address)
    return TaskReport(task, own, tuple(explanation.sentences if explanation else ()))


def print_report(
    console: Console, days: Sequence[Day], reports: Sequence[TaskReport]
) -> None:
    """Print a line per task, and below it what is wrong first."""
    width = max(len(report.task.title) for report in reports)
    for day in days:
        own = [report for report in reports if report.task in day.tasks]
        if own:
            console.print(
                f"week {day.week}, day {day.number}: {day.title}", style="bold"
            )
        for report in own:
            console.print(_line(report, width))
    for report in reports:
        if report.status == "wrong":
            console.print()
            console.print(Text(f"{report.task.address}: wrong", style="bold red"))
            console.print(Text(report.failures[0].message))
            for sentence in report.sentences:
                console.print(Text(sentence, style="bold"))
    console.print()
    console.print(Text(_closing(reports)))


def _line(report: TaskReport, width: int) -> Text:
    """Write how one task stands."""
    num_failed = len(report.failures)
    counts = f"{len(report.results) - num_failed} of {len(report.results)} tests pass"
    line = Text(f"  task {report.task.address.task}  {report.task.title:{width}}  ")
    line.append(f"{report.status:11}", style=_STYLES[report.status])
    return line if report.status == NOT_STARTED else line.append(f"  {counts}")


def _closing(reports: Sequence[TaskReport]) -> str:
    """Say what to do next, or that all is done."""
    waiting = [report for report in reports if report.status != "done"]
    if not waiting:
        return f"all done: {len(reports)} of {len(reports)} tasks"
    first = waiting[0]
    if first.status == NOT_STARTED:
        return f"next: {first.failures[0].message}"
    return f"again: {first.task.test_command}"
