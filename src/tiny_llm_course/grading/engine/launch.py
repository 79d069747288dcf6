"""Starts the Python that runs pytest: a fresh one, or one with its imports done."""

import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from tiny_llm_course.grading.engine import fence


@dataclass(frozen=True)
class Launched:
    """A running pytest.

    Attributes:
        process: The process.
        output: The file with its stdout.
        errors: The file with its stderr.
    """

    process: subprocess.Popen[str]
    output: IO[bytes]
    errors: IO[bytes]

    def said(self) -> tuple[str, str]:
        """Return the end of its stdout, and of its stderr."""
        return _end_of(self.output), _end_of(self.errors)


MAX_BYTES = 2**16
"""At most so many bytes are read, since a solution may print without end."""

SLOW_MODULES = (
    "tiny_llm_course.grading.engine.plugin",
    "tiny_llm_course.grading.engine.naming",
    "tiny_llm_course.oracle.cached",
    "tiny_llm_course.grading.scenarios.architecture",
    "jaxtyping",
)
"""They import MLX and the reading of checkpoints. PyTorch is rarely needed: its answers
are cached."""

Launch = Callable[[Sequence[str]], Launched]
"""A function that starts pytest with the given arguments."""


def start(arguments: Sequence[str]) -> Launched:
    """Start pytest in a fresh Python, without a network for a stranger's solution."""
    prefix = fence.without_network() if fence.OPTION in arguments else ()
    return _spawn(arguments, prefix=prefix, stdin=subprocess.DEVNULL)


class Standby:
    """Keep a Python process ready in which the slow imports are done.

    It serves once: every run of a solution gets a process of its own, which it may
    crash. `prepare` starts the next one when there is time.
    """

    def __init__(self) -> None:
        self._ready: Launched | None = None
        self.prepare()

    def prepare(self) -> None:
        """Start a Python process for the next run."""
        if self._ready is None:
            self._ready = _spawn()

    def __call__(self, arguments: Sequence[str]) -> Launched:
        """Start pytest in the process that is ready."""
        self.prepare()
        launched, self._ready = self._ready, None
        assert launched is not None
        assert launched.process.stdin is not None
        launched.process.stdin.write(json.dumps(list(arguments)) + "\n")
        launched.process.stdin.close()
        return launched

    def close(self) -> None:
        """End the process that is ready."""
        if self._ready is not None:
            self._ready.process.kill()
            self._ready.process.communicate()
            self._ready.said()


def _spawn(
    arguments: Sequence[str] = (),
    *,
    prefix: Sequence[str] = (),
    stdin: int = subprocess.PIPE,
) -> Launched:
    """Run this module in a new Python, whose output goes to files."""
    output, errors = _file(), _file()
    process = subprocess.Popen(
        [*prefix, sys.executable, "-m", __name__, *arguments],
        stdin=stdin,
        stdout=output,
        stderr=errors,
        text=True,
    )
    return Launched(process, output, errors)


def _file() -> IO[bytes]:
    """Open an unnamed temporary file."""
    return tempfile.TemporaryFile("w+b")


def _end_of(file: IO[bytes]) -> str:
    """Read the end of a file, and close it."""
    with file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - MAX_BYTES))
        return file.read().decode(errors="replace")


def _awaited() -> list[str]:
    """Do the slow imports, and wait for the arguments of pytest, which may not come."""
    for name in (*SLOW_MODULES, "pytest"):
        importlib.import_module(name)
    return json.loads(sys.stdin.readline() or "[]")


def _run(arguments: Sequence[str]) -> int:
    """Run pytest, if there is anything to run."""
    pytest = importlib.import_module("pytest")
    # pytest warns that it cannot rewrite assertions in modules imported already.
    return int(pytest.main(["--assert=plain", *arguments])) if arguments else 0


if __name__ == "__main__":
    gc.disable()  # imports leave no garbage; our plugin enables it before the tests
    sys.exit(_run(sys.argv[1:] or _awaited()))
