"""How each task stands after a run, and which task stands in the way of which."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiny_llm_course.grading.results import (
    CRASHED,
    NOT_STARTED,
    PASSED,
    Explanation,
    Result,
    Results,
)
from tiny_llm_course.syllabus import Address, Day, Task, task_at, tasks_of

DONE = "done"
WRONG = "wrong"
WAITS = "waits"


@dataclass(frozen=True)
class TaskReport:
    """How one task stands.

    Attributes:
        task: The task.
        results: Those of its tests that ran.
        explanation: What is known about its failures.
        waits_for: The task that it builds on and that is not done, if its own failure
            may come from there.
        remarks: Library operations that it calls instead of writing them.
    """

    task: Task
    results: tuple[Result, ...]
    explanation: Explanation | None = None
    waits_for: Task | None = None
    remarks: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """DONE, WRONG, NOT_STARTED or WAITS."""
        own = own_status(self.task, self.results)
        return WAITS if self.waits_for and own == WRONG else own

    @property
    def is_open(self) -> bool:
        """Whether there is something left to do. An optional task may stay a stub."""
        may_stay = {DONE, NOT_STARTED} if self.task.optional else {DONE}
        return self.status not in may_stay

    @property
    def failures(self) -> list[Result]:
        """The tests that did not pass, the first one first."""
        return [result for result in self.results if result.status != PASSED]

    @property
    def has_crashed(self) -> bool:
        """Whether a test took the interpreter with it, or did not end."""
        return any(result.status == CRASHED for result in self.results)


def own_status(task: Task, results: Sequence[Result]) -> str:
    """Return DONE, NOT_STARTED if the task is a stub itself, and otherwise WRONG.

    A stub names the first of the tasks that it is for.
    """
    failures = [result for result in results if result.status != PASSED]
    if not failures:
        return DONE
    is_stub = any(is_own_stub(task, one.status, one.message) for one in failures)
    return NOT_STARTED if is_stub else WRONG


def is_own_stub(task: Task, status: str, message: str) -> bool:
    """Tell whether a test failed because a part of its own task is a stub."""
    own_stubs = tuple(f"{tasks_of(part)[0].address} " for part in task.parts)
    return status == NOT_STARTED and message.startswith(own_stubs)


def standings(days: Sequence[Day], results: Results) -> list[TaskReport]:
    """Sort results by task. A task of which no test ran is left out."""
    by_task = _by_task(results)
    return [
        _standing(task, by_task, results.explanations.get(str(task.address)))
        for day in days
        for task in day.tasks
        if task.address in by_task
    ]


def _standing(
    task: Task,
    by_task: dict[Address, list[Result]],
    explanation: Explanation | None,
) -> TaskReport:
    """Find out how one task stands. A mistake that is its own is not another's."""
    has_own_mistake = explanation is not None and bool(explanation.names)
    obstacle = None if has_own_mistake else next(_obstacles(task, by_task), None)
    return TaskReport(task, tuple(by_task[task.address]), explanation, obstacle)


def unknown_foundations(reports: Sequence[TaskReport]) -> list[Task]:
    """Return the tasks that may be to blame for a failure, and were not graded."""
    graded = {report.task.address for report in reports}
    wanted = {
        address
        for report in reports
        if report.status == WRONG
        for address in _foundations(report.task)
    }
    return [task_at(address) for address in sorted(wanted - graded)]


def _by_task(results: Results) -> dict[Address, list[Result]]:
    """Group results by the address of their task."""
    grouped: dict[Address, list[Result]] = {}
    for result in results.tests.values():
        grouped.setdefault(Address.parse(result.task), []).append(result)
    return grouped


def _foundations(task: Task) -> set[Address]:
    """Return all tasks that `task` builds on, directly or not."""
    found = set(task.builds_on)
    for address in task.builds_on:
        found |= _foundations(task_at(address))
    return found


def _obstacles(task: Task, by_task: dict[Address, list[Result]]) -> Iterator[Task]:
    """Yield the tasks that a failure of `task` may come from, the first one first.

    A stub that is called says so. Where `task` gives wrong numbers it calls none, and
    only what is wrong itself can be behind them.
    """
    calls_stub = any(one.status == NOT_STARTED for one in by_task[task.address])
    suspects = {NOT_STARTED, WRONG} if calls_stub else {WRONG}
    for address in sorted(_foundations(task)):
        foundation = task_at(address)
        if address in by_task and own_status(foundation, by_task[address]) in suspects:
            yield foundation
