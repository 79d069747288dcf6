"""The compiler for C++: what it is, and how it is called."""

import functools
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.doctor import finding
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.programs import COMPILER


class CompileError(Exception):
    """The compiler does not take a file.

    Args:
        said: What it says, in its own words.
    """

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


def compile_(made: Path, arguments: Sequence[str]) -> str:
    """Run the compiler.

    Args:
        made: What it makes.
        arguments: What it is told.

    Returns:
        Its warnings.

    Raises:
        CompileError: It finds an error.
    """
    ran = subprocess.run(
        [str(COMPILER), *arguments, "-o", str(made)],
        stderr=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "C"},
        text=True,
        check=False,
    )
    if ran.returncode:
        raise CompileError(ran.stderr)
    return ran.stderr


@functools.cache
def version() -> str:
    """Return what the compiler says that it is.

    Raises:
        CourseError: There is none.
    """
    if COMPILER is None:
        cure = finding.how_to_install(finding.COMPILER)
        raise CourseError(say("extension.no_compiler", command=cure))
    said = [COMPILER, "--version"]
    return subprocess.run(said, capture_output=True, text=True, check=True).stdout


def is_gcc() -> bool:
    """Tell whether it is GCC; if not, it is clang."""
    return "clang" not in version()
