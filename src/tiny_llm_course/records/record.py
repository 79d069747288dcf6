"""Reads the records of known solutions, which stand in one file a day.

    [1."basics.softmax"]                       the tasks, and the public name
    maximum_kept = ['wide - mx.max(', 'wide + mx.max(']
    name_of_a_mistake = [2, 'stands there twice', 'instead']

A list has what stands in the reference and what takes its place, and may go on with more
of that. The text is looked for in the function or class and the helpers of its file,
without docstrings; of a kernel, in its headers in C++. It has to be there exactly once,
or as often as the number in front says.
"""

import functools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_llm_course.records import kernels, python_text
from tiny_llm_course.records.replacing import Replacement, replacements

FOLDER = Path(__file__).parents[1]


@dataclass(frozen=True, eq=False)
class Record:
    """A known solution: the reference with some text replaced.

    Attributes:
        name: Of the solution. The sentence about it has the same one.
        symbol: The public name that it is about.
        tasks: The numbers of the tasks of its day that judge it.
        changes: What is replaced.
        kind: The folder of its file: misconceptions or accepted.
        files: What its file is called.
    """

    name: str
    symbol: str
    tasks: tuple[int, ...]
    changes: tuple[Replacement, ...]
    kind: str
    files: str

    @functools.cached_property
    def made(self) -> Any:  # noqa: ANN401 - a function or a class
        """The function or class, made when it is first asked for."""
        if self.symbol in kernels.SYMBOLS:
            of_day = records(self.kind, self.files)
            wrong = [one.kernel for one in of_day if one.symbol in kernels.SYMBOLS]
            return kernels.made(f"{self.kind}_{self.files}", self.kernel, wrong)
        return python_text.made(self.name, self.symbol, self.changes)

    @property
    def kernel(self) -> kernels.WrongKernel:
        """What it makes of a kernel in C++."""
        return kernels.wrong_kernel(self.name, self.symbol, self.changes)


@functools.cache
def records(kind: str, files: str) -> tuple[Record, ...]:
    """Return the records of a day, in the order of their file.

    Args:
        kind: The folder: misconceptions or accepted.
        files: The name of the file.
    """
    path = FOLDER / kind / f"{files}.toml"
    if not path.exists():
        return ()
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(_read(listed, kind, files))


def _read(
    listed: dict[str, dict[str, dict[str, Any]]], kind: str, files: str
) -> Iterator[Record]:
    """Yield what a file lists."""
    for numbers, symbols in listed.items():
        tasks = tuple(map(int, numbers.split()))
        for symbol, by_name in symbols.items():
            for name, written in by_name.items():
                changes = replacements(written)
                yield Record(name, symbol, tasks, changes, kind, files)
