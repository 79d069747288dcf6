"""The weeks, days and tasks of the course, read from `syllabus.toml`."""

import functools
import itertools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.day_number import DayNumber
from tiny_llm_course.errors import CourseError


@dataclass(frozen=True, order=True)
class Address:
    """The position of a task in the course."""

    week: int
    day: int
    task: int

    def __post_init__(self) -> None:
        """Let the day be written as the course counts its days."""
        object.__setattr__(self, "day", DayNumber(self.day))

    def __str__(self) -> str:
        """Write the address as stubs and files have it, whatever the language."""
        return f"week {self.week}, day {self.day}, task {self.task}"

    @property
    def named(self) -> str:
        """The address as sentences have it."""
        numbers = {"week": self.week, "day": self.day, "task": self.task}
        return say("syllabus.address", **numbers)

    @property
    def options(self) -> str:
        """The address as the options of a command."""
        return f"--week {self.week} --day {self.day} --task {self.task}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read an address that `str` wrote."""
        week, day, task = re.findall(r"(?<![A-Za-z])[Gg]?\d+", text)
        return cls(int(week), DayNumber(day), int(task))


@dataclass(frozen=True)
class Task:
    """One thing to implement, with tests of its own.

    Attributes:
        address: Week, day and number.
        chapter: The chapter of the book that explains it.
        symbols: What to implement in Python, as "file.name".
        builds_on: The tasks whose code this one calls, or goes on with.
        library: The MLX operations that would solve the task, which it asks to write by
            hand.
        optional: Whether it may be left out. No other task builds on it then.
        kernels: What to implement in C++, as "matvec.h:matvec_naive". Python calls it
            by "kernels.matvec_naive".
        shares_files: Whether it is part of a day that is optional as a whole.
    """

    address: Address
    chapter: str
    symbols: tuple[str, ...]
    builds_on: tuple[Address, ...] = ()
    library: tuple[str, ...] = ()
    optional: bool = False
    kernels: tuple[str, ...] = ()
    shares_files: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """All symbols to implement, each before those that call it."""
        return self.kernels + self.symbols

    @property
    def title(self) -> str:
        """What is built."""
        at = self.address
        day = files_of_day(at.week, at.day)
        return say(f"syllabus.titles.{day}_task_{at.task}")

    @property
    def label(self) -> str:
        """The title, as lists of tasks show it."""
        return say("report.optional", title=self.title) if self.optional else self.title

    @property
    def files(self) -> str:
        """The name of the files about it: tests, known solutions, sentences.

        Required tasks share those of their day, and so do all of an optional day. An
        optional task of another day has its own.
        """
        day = files_of_day(self.address.week, self.address.day)
        has_own = self.optional and not self.shares_files
        return f"{day}_task_{self.address.task}" if has_own else day

    @property
    def test_file(self) -> str:
        """The name of the file in `tests/` that grades it."""
        return f"test_{self.files}.py"

    @property
    def test_command(self) -> str:
        """The command that grades this task and no other."""
        return f"pdm run test {self.address.options}"

    @property
    def hint_command(self) -> str:
        """The command that helps with this task."""
        return f"pdm run hint {self.address.options}"

    def chapter_command(self, anchor: str | None = None) -> str:
        """The command that opens the book at this task, or at `anchor`."""
        return f"pdm run book {self.chapter}#{anchor or f'task-{self.address.task}'}"

    @property
    def first_file(self) -> str:
        """The file of the solution in which the task begins."""
        return file_of(self.parts[0])

    def not_started(self) -> str:
        """Return a line that says that the task is not started, and how to begin."""
        return say(
            "grading.not_started",
            address=self.address.named,
            title=self.title,
            chapter=self.chapter_command(),
            file=self.first_file,
            command=self.test_command,
        )


@dataclass(frozen=True)
class Day:
    """One chapter with its tasks."""

    week: int
    number: int
    chapter: str
    tasks: tuple[Task, ...]

    def __post_init__(self) -> None:
        """Let the number be written as the course counts its days."""
        object.__setattr__(self, "number", DayNumber(self.number))

    @property
    def title(self) -> str:
        """What it is about."""
        return say(f"syllabus.titles.{files_of_day(self.week, self.number)}")

    @property
    def test_files(self) -> tuple[str, ...]:
        """The names of the files in `tests/` that grade the day."""
        return tuple(dict.fromkeys(task.test_file for task in self.tasks))


@dataclass(frozen=True)
class Week:
    """Several days with a common goal."""

    number: int
    days: tuple[Day, ...]

    @property
    def title(self) -> str:
        """What it is about."""
        return say(f"syllabus.titles.week_{self.number}")


def files_of_day(week: int, day: int) -> str:
    """Return what the files of a day are called: week_1_day_4, or week_2_day_g1."""
    return f"week_{week}_day_{day}".lower()


@functools.cache
def weeks() -> tuple[Week, ...]:
    """Read the whole syllabus."""
    return tuple(
        Week(
            week["number"],
            tuple(_day(week["number"], day) for day in week["days"]),
        )
        for week in _read()["weeks"]
    )


@functools.cache
def _read() -> dict[str, Any]:
    text = Path(__file__).with_name("syllabus.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def tasks() -> Iterator[Task]:
    """Return all tasks in the order of the course."""
    for week in weeks():
        for day in week.days:
            yield from day.tasks


def symbols() -> list[str]:
    """Return all that a learner writes in Python, in the order of the course."""
    return list(dict.fromkeys(one for task in tasks() for one in task.symbols))


def kernels() -> list[str]:
    """Return all that a learner writes in C++, in the order of the course."""
    return list(dict.fromkeys(one for task in tasks() for one in task.kernels))


@functools.cache
def task_at(address: Address | str) -> Task:
    """Return the task at `address`."""
    wanted = Address.parse(address) if isinstance(address, str) else address
    return next(task for task in tasks() if task.address == wanted)


def first_day_of(file: str) -> tuple[int, int] | None:
    """Return the week and day that first ask for something in a Python file.

    Args:
        file: Its name without `.py`. Nobody may ask for anything in it: None.
    """
    asking = (
        (task.address.week, task.address.day)
        for task in tasks()
        if any(symbol.startswith(f"{file}.") for symbol in task.symbols)
    )
    return next(asking, None)


def brought_by(name: str) -> tuple[int, int] | None:
    """Return the week and day that bring a name. None if it was always there.

    Args:
        name: A symbol as in the syllabus, a file without `.py`, or what is in one.
    """
    asking = next((one.address for one in tasks() if name in one.symbols), None)
    given: str | None = _read()["given"].get(name.partition(".")[0])
    address = asking or (Address.parse(given) if given else None)
    return address and (address.week, address.day)


@functools.cache
def foundations(task: Task) -> frozenset[Address]:
    """Return all tasks that `task` builds on, directly or not."""
    below = (foundations(task_at(address)) for address in task.builds_on)
    return frozenset(task.builds_on).union(*below)


def tasks_of(symbol: str) -> list[Task]:
    """Return the tasks in which `symbol` is implemented, the first one first.

    Args:
        symbol: As in the syllabus, or a kernel's name in Python: "kernels.matvec_naive"
            for "matvec.h:matvec_naive".
    """
    return [
        task
        for task in tasks()
        if symbol in task.parts or symbol in map(called_by, task.kernels)
    ]


@functools.cache
def public_names() -> frozenset[str]:
    """Return the names that tasks ask for: each of them is judged by itself."""
    return frozenset(map(name_of, symbols()))


def is_kernel(part: str) -> bool:
    """Tell whether a part of a task is written in C++."""
    return ":" in part


def file_of(part: str) -> str:
    """Return the file in which a part of a task is written, as learners see it.

    Python files are relative to the learner's folder, C++ files to the root.
    """
    if is_kernel(part):
        return f"src/extensions/kernels/{part.partition(':')[0]}"
    return f"{part.partition('.')[0]}.py"


def name_of(part: str) -> str:
    """Return the name of the function or class."""
    return re.split(r"[.:]", part)[-1]


def called_by(kernel: str) -> str:
    """Return the symbol under which Python calls a kernel."""
    return f"kernels.{name_of(kernel)}"


def select_days(week: int | None, day: int | None) -> list[Day]:
    """Return the days of one week, a single day, or the whole course.

    Args:
        week: Number of the week. None takes all.
        day: Number of the day in the week. None takes all.

    Raises:
        CourseError: There is no such week or day, or a day without a week.
    """
    if week is None:
        if day is not None:
            raise _misfit("day_alone", _contents(), day=day)
        return [day for week in weeks() for day in week.days]
    chosen = [one for one in weeks() if one.number == week]
    if not chosen:
        raise _misfit("no_week", _contents(), week=week)
    days = [one for one in chosen[0].days if day in {None, one.number}]
    if not days:
        raise _misfit("no_day", _contents(), week=week, day=day)
    return days


def select_tasks(week: int | None, day: int | None, task: int | None) -> list[Task]:
    """Return the tasks of some days, as `select_days` does, or a single one.

    Args:
        week: Number of the week. None takes all.
        day: Number of the day in the week. None takes all.
        task: Number of the task on that day. None takes all.

    Raises:
        CourseError: There is no such week, day or task, or one without the other.
    """
    days = select_days(week, day)
    if task is None:
        return [one for day in days for one in day.tasks]
    if day is None:
        raise _misfit("task_alone", _contents(), task=task)
    found = [one for one in days[0].tasks if one.address.task == task]
    if not found:
        raise _misfit("no_task", _tasks_of(days[0]), week=week, day=day, task=task)
    return found


def select_task(week: int | None, day: int | None, task: int | None) -> Task:
    """Return a single task. On a day that has only one, its number may be left out.

    Raises:
        CourseError: As `select_tasks` does, or there are several.
    """
    found = select_tasks(week, day, task)
    if day is None:
        raise _misfit("nothing_selected", _contents())
    if len(found) > 1:
        (chosen,) = select_days(week, day)
        raise _misfit("several", _tasks_of(chosen), week=week, day=day)
    return found[0]


def _misfit(key: str, contents: str, **numbers: int | None) -> CourseError:
    """Return the error for numbers of weeks, days and tasks that select nothing."""
    return CourseError(say(f"syllabus.{key}", contents=contents, **numbers))


def _tasks_of(day: Day) -> str:
    """List the tasks of a day, for an error message."""
    numbered = ((task.address.task, task.title) for task in day.tasks)
    parts = [say("syllabus.task", task=task, title=title) for task, title in numbered]
    return say("syllabus.contents", parts=say("syllabus.comma").join(parts))


def _contents() -> str:
    """List the weeks and days that exist, for an error message."""
    parts = [
        say("syllabus.days", week=week.number, days=_spans(week)) for week in weeks()
    ]
    return say("syllabus.contents", parts=say("syllabus.comma").join(parts))


def _spans(week: Week) -> str:
    """Write the days of a week, and those of the track beside it."""
    spans: list[str] = []
    numbers = (DayNumber(day.number) for day in week.days)
    for _, group in itertools.groupby(numbers, lambda one: one.is_on_track):
        first, *_, last = [*(found := list(group)), found[-1]]
        key = "syllabus.day" if len(found) == 1 else "syllabus.span"
        spans.append(say(key, first=first, last=last))
    return say("syllabus.and").join(spans)


def _day(week: int, day: dict[str, Any]) -> Day:
    is_optional = day.get("optional", False)
    return Day(
        week,
        DayNumber(day["number"]),
        day["chapter"],
        tuple(
            Task(
                Address(week, DayNumber(day["number"]), task["number"]),
                task.get("chapter", day["chapter"]),
                tuple(task.get("symbols", ())),
                tuple(
                    Address.parse(one if "week" in one else f"week {week}, {one}")
                    for one in task.get("builds_on", ())
                ),
                tuple(task.get("library", ())),
                is_optional or task.get("optional", False),
                tuple(task.get("kernels", ())),
                is_optional,
            )
            for task in day["tasks"]
        ),
    )
