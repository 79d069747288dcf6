"""The learner's progress, kept in a small file that git ignores."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path

from tiny_llm_course.editing import fingerprints
from tiny_llm_course.editing.lookup import is_untouched
from tiny_llm_course.editing.saving import keep, put_away, write_whole
from tiny_llm_course.grading.report.assessment import tasks_asked_for
from tiny_llm_course.grading.report.standing import (
    BEGUN,
    DONE,
    SKIPPED,
    WAITS,
    WRONG,
    TaskReport,
)
from tiny_llm_course.grading.results import NOT_STARTED
from tiny_llm_course.places import Checkout
from tiny_llm_course.syllabus import Address, Task, tasks

CHANGED = "changed"
"""The code, the tests or the grader have changed since the last verdict."""

VERDICTS = {DONE, WRONG, WAITS, NOT_STARTED, BEGUN, SKIPPED}
CLOSED = {DONE, SKIPPED}
"""The statuses of tasks that need neither work nor grading."""


@dataclass(frozen=True)
class Entry:
    """The status of a task at some time.

    Attributes:
        status: One of VERDICTS.
        when: Date and time of the verdict.
        fingerprint: A digest of what the verdict depended on. For a skipped task it
            covers only the definitions, which stay the course's own whatever they call.
    """

    status: str
    when: str
    fingerprint: str

    def __post_init__(self) -> None:
        if self.status not in VERDICTS:
            raise ValueError(f"status: expected one of {VERDICTS}, got {self.status!r}")


@dataclass(frozen=True)
class Progress:
    """What is known about the tasks, by their address as text.

    Attributes:
        tasks: Their status when they were graded or skipped.
        hints: The level of the last hint read, for each task.
    """

    tasks: dict[str, Entry] = field(default_factory=dict[str, Entry])
    hints: dict[str, int] = field(default_factory=dict[str, int])

    def with_entry(self, task: Task, status: str, fingerprint: str) -> "Progress":
        """Return the progress with a task's new status."""
        when = datetime.now().astimezone().isoformat(timespec="seconds")
        entry = Entry(status, when, fingerprint)
        return replace(self, tasks=self.tasks | {str(task.address): entry})

    def with_hint(self, task: Task, level: int) -> "Progress":
        """Return the progress with a hint noted as read."""
        address = str(task.address)
        highest = max(level, self.hints.get(address, 0))
        return replace(self, hints=self.hints | {address: highest})


def load(checkout: Checkout) -> tuple[Progress, Path | None]:
    """Read the progress of the learner.

    Returns:
        The progress, empty if there is no file. If the file is damaged, empty progress
        and the path of a copy of the file.
    """
    path = checkout.progress
    if not path.exists():
        return Progress(), None
    if not path.is_file():
        return Progress(), put_away(path, checkout.copies)
    try:
        content = json.loads(path.read_bytes())
        entries = {task: _entry(found) for task, found in content["tasks"].items()}
        hints = {task: _level(level) for task, level in content["hints"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        kept = keep([path], checkout.copies)
        save(checkout, Progress())
        return Progress(), kept / path.name
    return Progress(entries, hints), None


def _entry(found: dict[str, object]) -> Entry:
    texts = {name: text for name, text in found.items() if isinstance(text, str)}
    if texts != found:
        raise ValueError(f"task: expected texts, got {found}")
    return Entry(**texts)


def _level(found: object) -> int:
    """Check the level of a hint. A newer version of the course may have more levels."""
    if not isinstance(found, int) or found < 0:
        raise ValueError(f"hint: expected a number from 0, got {found!r}")
    return found


def save(checkout: Checkout, progress: Progress) -> None:
    """Write the progress of the learner atomically."""
    write_whole(checkout.progress, json.dumps(asdict(progress), indent=2) + "\n")


def status(checkout: Checkout, progress: Progress, task: Task) -> str:
    """Return the status of a task now: one of VERDICTS, or CHANGED.

    A stub is not started, whatever the last verdict was.
    """
    if all(is_untouched(checkout, part) for part in task.parts):
        return NOT_STARTED
    if is_skipped(checkout, progress, task):
        return SKIPPED
    entry = progress.tasks.get(str(task.address))
    is_known = entry and entry.fingerprint == fingerprints.of_verdict(checkout, task)
    return entry.status if entry and is_known else CHANGED


def is_skipped(checkout: Checkout, progress: Progress, task: Task) -> bool:
    """Tell whether a task was skipped, and the course's solution is still in place."""
    entry = progress.tasks.get(str(task.address))
    if entry is None or entry.status != SKIPPED:
        return False
    return entry.fingerprint == fingerprints.of_answer(checkout, task)


def statuses(checkout: Checkout, progress: Progress) -> dict[Task, str]:
    """Return the status of each task of the course."""
    return {task: status(checkout, progress, task) for task in tasks()}


def first_open(
    standing: dict[Task, str], chosen: Iterable[Task] | None = None
) -> Task | None:
    """Return the first task that is neither done nor skipped.

    Args:
        standing: What `statuses` returned.
        chosen: The tasks to look at, optional ones last. None takes all required tasks
            of the course.
    """
    if chosen is None:
        looked_at = [task for task in standing if not task.optional]
    else:
        looked_at = sorted(chosen, key=lambda task: task.optional)
    return next((task for task in looked_at if standing[task] not in CLOSED), None)


def skip(checkout: Checkout, progress: Progress, skipped: Iterable[Task]) -> None:
    """Record tasks as skipped, after their solution has been put in."""
    for task in skipped:
        fingerprint = fingerprints.of_answer(checkout, task)
        progress = progress.with_entry(task, SKIPPED, fingerprint)
    save(checkout, progress)


def before(checkout: Checkout, tasks: Iterable[Task]) -> dict[Address, str]:
    """Return digests of what some tasks' verdicts depend on, to be taken before a run.

    The tests do not judge what the learner saves while they run.
    """
    return {task.address: fingerprints.of_verdict(checkout, task) for task in tasks}


def record(
    checkout: Checkout,
    reports: Sequence[TaskReport],
    graded: dict[Address, str],
    pytest_args: Sequence[str] = (),
) -> Path | None:
    """Record the results of a run.

    A skipped task stays skipped until its code changes: our code passes its tests.

    Args:
        checkout: Where the learner works.
        reports: The results of the tasks.
        graded: What `before` returned before the run.
        pytest_args: Arguments passed on to pytest. A task is done only if all of its
            tests ran.

    Returns:
        The path of a copy of the progress file, if that was damaged.
    """
    progress, damaged = load(checkout)
    all_ran = tasks_asked_for([], pytest_args) is not None
    for report in reports:
        if is_skipped(checkout, progress, report.task):
            continue
        if report.status == DONE and not all_ran:
            continue
        fingerprint = graded[report.task.address]
        progress = progress.with_entry(report.task, report.status, fingerprint)
    save(checkout, progress)
    return damaged
