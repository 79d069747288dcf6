"""Reads the records of known solutions, wrong and right, which stand in a file a day.

    [1."basics.softmax"]                       the tasks, and the public name
    always_the_last_axis = [2, 'axis=axis', 'axis=-1']
    softmax_of_the_library = 'return mx.softmax(x, axis=axis)'

A list has what stands in the reference and what takes its place, and may go on with
more of that. The text is looked for in the function or class and the helpers of its
file, without docstrings; of a kernel, in its headers in C++. It has to stand there
once, or as often as the number in front says.

A text is the body of the function, or of `__call__` in a class. Or it has definitions
with their headers, which come in addition, or in the place of those of the same name;
a method is one whose first parameter is `self`. It is Python, also for a kernel, and
calls what it takes the place of `right`.
"""

import ast
import functools
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_llm_course.extension.programs import COMPILER
from tiny_llm_course.records import cpp_text
from tiny_llm_course.records.replacing import Replacement, replacements
from tiny_llm_course.syllabus import Day

COURSE = Path(__file__).parents[1]
MISTAKES, RIGHT_WAYS = "misconceptions", "accepted"
"""The folders of records, and of what no record says."""


@dataclass(frozen=True, eq=False)
class Record:
    """A known solution: the reference with some text replaced.

    Attributes:
        name: Of the solution. The sentence about a mistake has the same one.
        symbol: The public name that it is about.
        tasks: The numbers of the tasks of its day that judge it.
        changes: What is replaced, or what is written otherwise.
        files: What its file is called.
    """

    name: str
    symbol: str
    tasks: tuple[int, ...]
    changes: tuple[Replacement, ...] | str
    files: str

    @functools.cached_property
    def made(self) -> Any:  # noqa: ANN401 - a function or a class
        """The function or class, made when it is first asked for."""
        from tiny_llm_course.records import kernels, python_text  # bring MLX

        if self.kernel:
            return kernels.made(self.kernel, compiled(self.files))
        return python_text.made(self.name, self.symbol, self.changes)

    @property
    def text(self) -> ast.Module | None:
        """What it makes of the reference's text in Python; None for a kernel."""
        from tiny_llm_course.records import python_text  # brings MLX

        if self.kernel:
            return None
        return python_text.changed(self.name, self.symbol, self.changes)

    @property
    def kernel(self) -> cpp_text.WrongKernel | None:
        """What it makes of a kernel in C++; None if it is in Python."""
        if isinstance(self.changes, str) or self.symbol not in cpp_text.SYMBOLS:
            return None
        return cpp_text.wrong_kernel(self.name, self.symbol, self.changes)


@functools.cache
def records(kind: str, files: str) -> tuple[Record, ...]:
    """Return the records of a day, in the order of their file.

    Args:
        kind: The folder of the file.
        files: What it is called, such as week_1_day_4_task_3.
    """
    path = COURSE / kind / f"{files}.toml"
    if not path.exists():
        return ()
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(_read(listed, files))


def compile_ahead(days: Iterable[Day]) -> None:
    """Compile the wrong kernels of some days, so that no test waits for it.

    Raises:
        subprocess.CalledProcessError: The compiler finds an error.
        OSError: Nothing can be written.
    """
    if COMPILER:
        for files in {task.files for day in days for task in day.tasks}:
            _library(files)


@functools.cache
def compiled(files: str) -> Path | None:
    """Return the compiled wrong kernels of a day, if it has any and they compile."""
    try:
        return _library(files)
    except (OSError, subprocess.CalledProcessError):
        return None


def _library(files: str) -> Path | None:
    """Compile the wrong kernels of a day, unless it has none or that has been done."""
    own = [one.kernel for one in records(MISTAKES, files) if one.kernel]
    return cpp_text.library(files, own) if own else None


def _read(
    listed: dict[str, dict[str, dict[str, Sequence[str | int] | str]]], files: str
) -> Iterator[Record]:
    """Yield what a file lists."""
    for numbers, symbols in listed.items():
        tasks = tuple(map(int, numbers.split()))
        for symbol, by_name in symbols.items():
            for name, written in by_name.items():
                is_text = isinstance(written, str)
                changes = written if is_text else replacements(written)
                yield Record(name, symbol, tasks, changes, files)
