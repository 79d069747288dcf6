"""The one screen that a learner reads after a test run."""

from collections.abc import Iterator, Sequence
from textwrap import indent

from rich.console import Console
from rich.text import Text

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.results import NOT_STARTED
from tiny_llm_course.grading.standing import DONE, WAITS, WRONG, TaskReport
from tiny_llm_course.syllabus import Day, Task, weeks

_STYLES = {DONE: "green", WRONG: "bold red", NOT_STARTED: "yellow", WAITS: "yellow"}

MAX_LINES = 9
"""Of one failure: what went wrong fits, and three of them fit on a screen."""


def print_report(
    console: Console, days: Sequence[Day], reports: Sequence[TaskReport]
) -> None:
    """Print a line per task, and below it what is wrong and what to do."""
    width = max(len(report.task.label) for report in reports)
    for day in days:
        own = [report for report in reports if report.task in day.tasks]
        if own:
            title = say(
                "report.heading", week=day.week, day=day.number, title=day.title
            )
            console.print(Text(title, style="bold"))
        for report in own:
            console.print(_task_line(report, width))
    for report in reports:
        if report.status == WRONG:
            console.print()
            for line in _details(report):
                console.print(line)
    for remark in [remark for report in reports for remark in report.remarks]:
        console.print()
        console.print(Text(remark))
    closing = _closing(days, reports)
    if closing:
        console.print()
        console.print(Text(closing))


def _task_line(report: TaskReport, width: int) -> Text:
    """Write how one task stands."""
    task = report.task
    number, title = task.address.task, task.label
    line = Text(say("report.task", number=number, title=title, width=width))
    line.append(f"{report.status:11}", style=_STYLES[report.status])
    if report.status == WAITS and report.waits_for:
        names = {"address": report.waits_for.address, "title": report.waits_for.title}
        line.append(say("report.waits", **names))
    elif report.status != NOT_STARTED:
        total = len(report.results)
        passed = total - len(report.failures)
        line.append(say("report.counts", passed=passed, total=total))
    return line


def _details(report: TaskReport) -> Iterator[Text]:
    """Yield what is wrong with one task: the evidence, the reason, where to go."""
    address = report.task.address
    title = say("report.details", address=address, status=report.status)
    yield Text(title, style="bold red")
    message = report.failures[0].message.splitlines()
    yield Text("\n".join(message[:MAX_LINES]))
    if report.explanation:
        yield Text(_reason(report), style="bold")
    yield Text(say("report.hint", command=report.task.hint_command))
    yield Text(say("report.chapter", command=_chapter(report)))
    yield Text(say("report.again", command=report.task.test_command))
    if any(result.printed for result in report.results):
        yield Text(say("report.printed", command=f"{report.task.test_command} -s"))


def _chapter(report: TaskReport) -> str:
    """Return the command that opens the book where it explains the mistake."""
    names = report.explanation.names if report.explanation else ()
    named = names[0].replace("_", "-") if len(names) == 1 else None
    return report.task.chapter_command(named)


def _reason(report: TaskReport) -> str:
    """Write the sentences that explain a failure."""
    assert report.explanation is not None
    sentences, names = report.explanation.sentences, report.explanation.names
    if not names:
        return say("report.symptom", sentence=sentences[0])
    if len(names) == 1:
        return say("report.explained", sentence=indent(sentences[0], "  "))
    listed = [indent(sentence, "  ") for sentence in sentences]
    return "\n".join([say("report.explained_two"), *listed])


def _closing(days: Sequence[Day], reports: Sequence[TaskReport]) -> str:
    """Say what to do next, or that all is done. What is wrong has said it itself."""
    waiting = [report for report in reports if report.is_open]
    if not waiting:
        return _all_done(days, reports)
    first = waiting[0]
    if first.status == WRONG:
        return ""
    return _mend(first.waits_for) if first.waits_for else _next(first.task)


def _mend(task: Task) -> str:
    """Point to the task that stands in the way."""
    names = {"address": task.address, "title": task.title}
    return say("report.first", **names, command=task.test_command)


def _next(task: Task) -> str:
    """Point to the task to work on."""
    return say(
        "report.next",
        address=task.address,
        title=task.title,
        file=task.first_file,
        command=task.test_command,
    )


def _all_done(days: Sequence[Day], reports: Sequence[TaskReport]) -> str:
    """Point to the day after the last one of the run, if all of it was graded."""
    required = [report for report in reports if not report.task.optional]
    done = [report for report in reports if report.status == DONE]
    extra = len([report for report in done if report.task.optional])
    key = "report.done_and_optional" if extra else "report.done"
    if not required:
        key = "report.done_optional"
    closing = say(key, total=len(required), extra=extra)
    day = _next_day(days)
    if len(reports) < sum(len(day.tasks) for day in days) or day is None:
        return closing
    names = {"week": day.week, "day": day.number, "title": day.title}
    return closing + say("report.done_next", **names)


def _next_day(days: Sequence[Day]) -> Day | None:
    """Return the day after the last one of the run."""
    course = [day for week in weeks() for day in week.days]
    later = course[course.index(days[-1]) + 1 :]
    return later[0] if later else None
