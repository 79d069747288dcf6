"""What came out of each test, written line by line so that a crash loses nothing."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tiny_llm_course.intake import FailedImport

PASSED = "passed"
WRONG = "wrong"
NOT_STARTED = "not started"
BROKEN = "broken"
"""A file cannot be imported, or the kernels cannot be compiled."""
CRASHED = "crashed"
"""The test took the interpreter with it, or did not end."""


INTERFACE = "interface"
"""Stands for a mistake: a public name does not take what it is called with."""


@dataclass(frozen=True)
class Result:
    """One test of one task.

    Attributes:
        task: The address of the task, as text.
        test: The node id of the test.
        status: One of the five above, or empty while the test runs.
        message: What its author reads, if it did not pass.
        symbols: The public names that it calls.
        printed: Whether the solution has printed something that nobody has seen.
    """

    task: str
    test: str
    status: str = ""
    message: str = ""
    symbols: tuple[str, ...] = ()
    printed: bool = False


@dataclass(frozen=True)
class Explanation:
    """What known mistake a task shows.

    Attributes:
        task: The address of the task, as text.
        names: The mistake, or those that no test tells apart. None if it is unknown.
        sentences: What its author reads: one for each name, or how the output is wrong.
        test: The first failing test that the mistake explains, if it is known.
    """

    task: str
    names: list[str]
    sentences: list[str]
    test: str = ""

    @property
    def is_recorded(self) -> bool:
        """Whether a mistake is named that belongs to this task, and to no other.

        What is composed may come from a part that the task builds on.
        """
        return any(name.isidentifier() for name in self.names)


@dataclass(frozen=True)
class Ending:
    """How a process ended, if not in the middle of a test.

    Attributes:
        how: The name of the signal. Empty if all was done.
    """

    how: str = ""


@dataclass(frozen=True)
class Results:
    """All that a run has written down.

    Attributes:
        tests: The last result of every test, in the order in which they ran.
        explanations: By the address of the task.
        failed_imports: What files of the solution could not import, and do without.
        endings: How processes ended, but for those that a test ended.
    """

    tests: dict[str, Result]
    explanations: dict[str, Explanation]
    failed_imports: list[FailedImport] = field(default_factory=list[FailedImport])
    endings: tuple[Ending, ...] = ()

    @property
    def are_complete(self) -> bool:
        """Whether a process has written down all that it had to."""
        return Ending() in self.endings

    def joined_with(self, other: "Results") -> "Results":
        """Return the results of two runs together."""
        return Results(
            self.tests | other.tests,
            self.explanations | other.explanations,
            self.failed_imports + other.failed_imports,
            self.endings + other.endings,
        )


def append(path: Path, entry: Result | Explanation | FailedImport | Ending) -> None:
    """Add one line, and hand it to the operating system at once."""
    with path.open("a", encoding="utf-8") as file:
        # Before and after: on a full disk the line before this one may be cut.
        file.write(f"\n{json.dumps(asdict(entry))}\n")


def read(path: Path) -> Results:
    """Read what has been written so far. A test has a line when it starts, too."""
    found, endings = Results({}, {}), list[Ending]()
    if not path.exists():
        return found
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if "how" in entry:
            endings.append(Ending(**entry))
        elif "names" in entry:
            found.explanations[entry["task"]] = Explanation(**entry)
        elif "line" in entry:
            found.failed_imports.append(FailedImport(**entry))
        else:
            entry["symbols"] = tuple(entry["symbols"])
            found.tests[entry["test"]] = Result(**entry)
    return replace(found, endings=tuple(endings))
