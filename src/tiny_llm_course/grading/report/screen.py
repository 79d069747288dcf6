"""The one screen that a learner reads after a test run."""

from collections.abc import Iterator, Sequence
from textwrap import indent

from rich.console import Console
from rich.text import Text

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.report.standing import (
    BEGUN,
    DONE,
    SKIPPED,
    WAITS,
    WRONG,
    TaskReport,
)
from tiny_llm_course.grading.results import INTERFACE, NOT_STARTED
from tiny_llm_course.layout import (
    USUAL,
    column,
    fitted,
    pad,
    terminal_width,
    widest,
)
from tiny_llm_course.syllabus import Day, Task, file_of, name_of, weeks

_STYLES = {
    DONE: "green",
    SKIPPED: "cyan",
    WRONG: "bold red",
    NOT_STARTED: "yellow",
    BEGUN: "yellow",
    WAITS: "yellow",
}

MAX_LINES = 16
"""Lines shown of one failure: those of a story of twelve steps, which can be pasted."""


def print_report(
    console: Console, days: Sequence[Day], reports: Sequence[TaskReport]
) -> None:
    """Print a line per task, and below it what is wrong and what to do."""
    labels = [report.task.label for report in reports]
    counts = _counts_that_fit(widest(labels))
    width = column(labels, _beside(counts))
    for day in days:
        own = [report for report in reports if report.task in day.tasks]
        if own:
            title = say(
                "report.heading", week=day.week, day=day.number, title=day.title
            )
            console.print(Text(title, style="bold"))
        for report in own:
            console.print(_task_line(report, width, counts))
    for report in _to_explain(reports):
        console.print()
        for line in _details(report):
            console.print(line)
    for remark in [remark for report in reports for remark in report.remarks]:
        console.print()
        console.print(Text(fitted(remark)))
    closing = _closing(days, reports)
    if closing:
        console.print()
        console.print(Text(closing))


def _counts_that_fit(title: int) -> str:
    """Return which sentence counts the tests: a short one where rows are too long."""
    beside = _beside("report.counts")
    terminal = terminal_width() or USUAL
    is_short = terminal < USUAL and title + beside > terminal
    return "report.counts_in_short" if is_short else "report.counts"


def _beside(sentence: str) -> int:
    """Return the cells that a row takes besides the title: number, status, counts."""
    statuses = [say(f"report.status.{status}") for status in _STYLES]
    number = say("report.task", number=1, title="")
    counts = say(sentence, passed=100, total=100)
    return widest([number]) + widest(statuses) + widest([counts])


def _to_explain(reports: Sequence[TaskReport]) -> Iterator[TaskReport]:
    """Yield the reports to explain. A broken file comes first, and only once."""
    wrong = [report for report in reports if report.status == WRONG]
    told = set[str]()
    for report in sorted(wrong, key=lambda one: not one.is_broken):
        message = report.failures[0].message
        if not (report.is_broken and message in told):
            yield report
        told.add(message)


def _task_line(report: TaskReport, width: int, counts: str) -> Text:
    task = report.task
    number, title = task.address.task, task.label
    line = Text(say("report.task", number=number, title=pad(title, width)))
    if report.status == SKIPPED:
        return line.append(say("report.skipped"), style=_STYLES[SKIPPED])
    words = {status: say(f"report.status.{status}") for status in _STYLES}
    status = pad(words[report.status], widest(words.values()))
    line.append(status, style=_STYLES[report.status])
    if report.status == WAITS and report.waits_for:
        names = {
            "address": report.waits_for.address.named,
            "title": report.waits_for.title,
        }
        line.append(say("report.waits", **names))
    elif report.status in {NOT_STARTED, BEGUN} and report.absent:
        line.append(say("report.absent", absent=report.absent[0]))
    elif report.status != NOT_STARTED:
        total = len(report.results)
        passed = total - len(report.failures)
        line.append(say(counts, passed=passed, total=total))
    return line


def _details(report: TaskReport) -> Iterator[Text]:
    """Yield the details of one task: the evidence, the reason, where to read on."""
    address = report.task.address
    status = say(f"report.status.{report.status}")
    title = say("report.details", address=address.named, status=status)
    yield Text(title, style="bold red")
    yield Text(shortened(report.failures[0].message))
    if report.explanation:
        yield Text(fitted(_reason(report)), style="bold")
    yield Text(say("report.hint", command=report.task.hint_command))
    yield Text(say("report.chapter", command=_chapter(report)))
    yield Text(say("report.again", command=report.task.test_command))
    if any(result.printed for result in report.results):
        yield Text(say("report.printed", command=f"{report.task.test_command} -s"))


def shortened(message: str) -> str:
    """Leave out the middle of a long message: its last line says what was wrong."""
    lines = message.splitlines()
    if len(lines) > MAX_LINES:
        lines[MAX_LINES - 2 : -1] = ["..."]
    return "\n".join(lines)


def _chapter(report: TaskReport) -> str:
    """Return the command that opens the book where it explains the mistake."""
    found = report.explanation
    names = found.names if found and found.is_recorded else []
    is_in_the_book = len(names) == 1 and names[0] != INTERFACE
    named = names[0].replace("_", "-") if is_in_the_book else None
    return report.task.chapter_command(named)


def _reason(report: TaskReport) -> str:
    """Write the sentences that explain a failure."""
    assert report.explanation is not None
    sentences, names = report.explanation.sentences, report.explanation.names
    if not names:
        return say("report.symptom", sentence=indent(sentences[0], "  "))
    if len(names) == 1:
        return say("report.explained", sentence=indent(sentences[0], "  "))
    listed = [indent(sentence, "  ") for sentence in sentences]
    return "\n".join([say("report.explained_two"), *listed])


def _closing(days: Sequence[Day], reports: Sequence[TaskReport]) -> str:
    """Write what to do next, or that all is done; nothing if a failure is shown."""
    is_asked_for = all(one.task.optional for one in reports)  # by its day or its number
    unfinished = {BEGUN, NOT_STARTED} if is_asked_for else {BEGUN}
    waiting = [one for one in reports if one.is_open or one.status in unfinished]
    if not waiting:
        return _all_done(days, reports)
    first = waiting[0]
    if first.status == WRONG or any(report.is_broken for report in reports):
        return ""
    if first.status == BEGUN:
        return _go_on(first)
    return _mend(first.waits_for) if first.waits_for else _next(first.task)


def _mend(task: Task) -> str:
    """Write a pointer to the task that has to be fixed first."""
    names = {"address": task.address.named, "title": task.title}
    return say("report.first", **names, command=task.test_command)


def _go_on(report: TaskReport) -> str:
    """Write which parts of a task are right, and which one is next."""
    task, right = report.task, report.right_parts
    part = next(one for one in task.parts if one not in right)
    return say(
        "report.right",
        right=", ".join(map(name_of, right)),
        name=name_of(part),
        file=file_of(part),
        command=task.test_command,
    )


def _next(task: Task) -> str:
    """Write a pointer to the next task."""
    return say(
        "report.next",
        address=task.address.named,
        title=task.title,
        file=task.first_file,
        command=task.test_command,
    )


def _all_done(days: Sequence[Day], reports: Sequence[TaskReport]) -> str:
    """Write a pointer to the day after the last one of the run, if all was graded."""
    closing = _counts(reports)
    day = _next_day(days)
    if len(reports) < sum(len(day.tasks) for day in days) or day is None:
        return closing
    names = {"week": day.week, "day": day.number, "title": day.title}
    return closing + say("report.done_next", **names)


def _counts(reports: Sequence[TaskReport]) -> str:
    """Write how many tasks are done, when nothing is left to do."""
    required = [report for report in reports if not report.task.optional]
    done = [report for report in reports if report.status == DONE]
    extra = len([report for report in done if report.task.optional])
    skipped = len([report for report in required if report.status == SKIPPED])
    if skipped:
        total = len(required)
        return say("report.skipped_some", skipped=skipped, total=total)
    key = "report.done_and_optional" if extra else "report.done"
    if not required:
        key = "report.done_optional"
    return say(key, total=len(required), extra=extra)


def _next_day(days: Sequence[Day]) -> Day | None:
    """Return the day after the last one of the run."""
    course = [day for week in weeks() for day in week.days]
    later = course[course.index(days[-1]) + 1 :]
    return later[0] if later else None
