"""The status of each task after a run, and which tasks wait for others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tiny_llm_course.grading.results import (
    BROKEN,
    CRASHED,
    NOT_STARTED,
    PASSED,
    Explanation,
    Result,
    Results,
)
from tiny_llm_course.syllabus import (
    Address,
    Day,
    Task,
    called_by,
    foundations,
    is_kernel,
    task_at,
    tasks_of,
)

DONE = "done"
BEGUN = "begun"
"""Some parts are right, and the rest are stubs."""
WRONG = "wrong"
WAITS = "waits"
SKIPPED = "skipped"
"""Its tests pass, with the course's solution in place."""


@dataclass(frozen=True)
class TaskReport:
    """The result of a run for one task.

    Attributes:
        task: The task.
        results: The results of its tests that ran.
        explanation: What is known about its failures.
        waits_for: A task that it builds on and that is not done, if its failure may
            come from there.
        remarks: Library operations that it calls instead of writing them.
        is_skipped: Whether the code is the course's, which `pdm run skip` put in.
        absent: Messages about missing parts, such as a misspelt class.
    """

    task: Task
    results: tuple[Result, ...]
    explanation: Explanation | None = None
    waits_for: Task | None = None
    remarks: tuple[str, ...] = ()
    is_skipped: bool = False
    absent: tuple[str, ...] = ()

    @cached_property
    def status(self) -> str:
        """DONE, SKIPPED, WRONG, NOT_STARTED, BEGUN or WAITS."""
        own = own_status(self.task, self.results)
        if self.is_skipped and own == DONE:
            return SKIPPED
        return WAITS if self.waits_for and own == WRONG else own

    @property
    def is_open(self) -> bool:
        """Whether there is something left to do. An optional task may stay a stub."""
        may_stay = {NOT_STARTED, BEGUN} if self.task.optional else set[str]()
        return self.status not in {DONE, SKIPPED} | may_stay

    @property
    def failures(self) -> list[Result]:
        """The tests that did not pass: broken files first, then mistakes, then stubs.

        Among mistakes, the explained one comes first, since that one is shown.
        """
        failed = [result for result in self.results if result.status != PASSED]
        order = {BROKEN: 0, NOT_STARTED: 2}
        explained = self.explanation.test if self.explanation else ""
        return sorted(
            failed, key=lambda one: (order.get(one.status, 1), one.test != explained)
        )

    @property
    def is_broken(self) -> bool:
        """Whether a file cannot be imported, or the kernels cannot be compiled."""
        return any(result.status == BROKEN for result in self.results)

    @property
    def right_parts(self) -> list[str]:
        """The parts of the task that are right."""
        return right_parts(self.task, self.results)

    @property
    def has_crashed(self) -> bool:
        """Whether a test crashed the interpreter, or hung."""
        return any(result.status == CRASHED for result in self.results)


def own_status(task: Task, results: Sequence[Result]) -> str:
    """Return DONE or WRONG; BEGUN or NOT_STARTED if only the task's stubs fail.

    A stub names the first of the tasks that it is for.
    """
    failures = [result for result in results if result.status != PASSED]
    if not failures:
        return DONE
    if any(one.status != NOT_STARTED for one in failures):
        return WRONG
    own_stubs = {tasks_of(part)[0].not_started() for part in task.parts}
    if not any(stub in one.message for one in failures for stub in own_stubs):
        return WRONG
    return BEGUN if right_parts(task, results) else NOT_STARTED


def right_parts(task: Task, results: Sequence[Result]) -> list[str]:
    """Return the parts of a task for which all tests that call them pass."""
    found: list[str] = []
    for part in task.parts:
        symbol = called_by(part) if is_kernel(part) else part
        statuses = {one.status for one in results if symbol in one.symbols}
        found += [part] if statuses == {PASSED} else []
    return found


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
    """Return a task's report. With a known mistake of its own, it waits for none."""
    is_broken = any(one.status == BROKEN for one in by_task[task.address])
    has_own_mistake = explanation is not None and explanation.is_recorded
    is_own = is_broken or has_own_mistake
    obstacle = None if is_own else next(_obstacles(task, by_task), None)
    return TaskReport(task, tuple(by_task[task.address]), explanation, obstacle)


def unknown_foundations(reports: Sequence[TaskReport]) -> list[Task]:
    """Return the tasks that may cause a failure and were not graded."""
    graded = {report.task.address for report in reports}
    wanted = {
        address
        for report in reports
        if report.status == WRONG and not report.is_broken
        for address in foundations(report.task)
    }
    return [task_at(address) for address in sorted(wanted - graded)]


def _by_task(results: Results) -> dict[Address, list[Result]]:
    grouped: dict[Address, list[Result]] = {}
    for result in results.tests.values():
        grouped.setdefault(Address.parse(result.task), []).append(result)
    return grouped


def _obstacles(task: Task, by_task: dict[Address, list[Result]]) -> Iterator[Task]:
    """Yield the tasks that a failure of `task` may come from, in the course's order.

    A stub raises when it is called. So if `task` gives wrong numbers, it has called no
    stub, and only tasks that are wrong themselves can be the cause.
    """
    calls_stub = any(one.status == NOT_STARTED for one in by_task[task.address])
    suspects = {NOT_STARTED, BEGUN, WRONG} if calls_stub else {WRONG}
    for address in sorted(foundations(task)):
        foundation = task_at(address)
        if address in by_task and own_status(foundation, by_task[address]) in suspects:
            yield foundation
