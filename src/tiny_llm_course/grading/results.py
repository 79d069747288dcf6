"""What came out of each test, written line by line so that a crash loses nothing."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

PASSED = "passed"
WRONG = "wrong"
NOT_STARTED = "not started"


@dataclass(frozen=True)
class Result:
    """One test of one task.

    Attributes:
        task: The address of the task, as text.
        test: The node id of the test.
        status: PASSED, WRONG or NOT_STARTED, or empty while the test runs.
        message: What its author reads, if it did not pass.
    """

    task: str
    test: str
    status: str = ""
    message: str = ""


def append(path: Path, result: Result) -> None:
    """Add one line, and hand it to the operating system at once."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")


def read(path: Path) -> dict[str, Result]:
    """Return the last result of every test, in the order in which they ran."""
    return {result.test: result for result in _lines(path)}


def _lines(path: Path) -> Iterator[Result]:
    """Go through the results of a file. A test has one line when it starts."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        yield Result(**json.loads(line))
