"""What came of each mutant, written line by line so that a crash loses nothing."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

RUNNING = ""
REJECTED = "rejected"
ENDED = "ended"
"""It ended the process, or did not come back: rejected, too."""
SURVIVED = "survived"
ALL_DONE = "all done"
"""Stands for the reference, tried last: no mutant may have harmed the tests."""


@dataclass(frozen=True)
class Tried:
    """One mutant, or the last line.

    Attributes:
        key: What tells it from all others.
        status: One of the above.
        test: The first test that rejects it.
        named: For one of the sample: what it is explained by.
    """

    key: str
    status: str = ""
    test: str = ""
    named: str = ""


def append(path: Path, one: Tried) -> None:
    """Add a line."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(one)) + "\n")


def read(path: Path) -> list[Tried]:
    """Return the last that is known of each mutant."""
    lines = path.read_text(encoding="utf-8").splitlines()
    tried = [Tried(**json.loads(line)) for line in lines]
    return list({one.key: one for one in tried}.values())
