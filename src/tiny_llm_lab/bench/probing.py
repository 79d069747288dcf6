"""Runs `accuracy.py` and `memory.py` in processes of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from tiny_llm_course.errors import CourseError
from tiny_llm_lab.bench.engines import KINDS, MissingError
from tiny_llm_lab.bench.interleaved import environment

Found = dict[str, float]


def ask(probe: str, model: str, solution: str) -> Found:
    """Let a module of this package measure the last variant of a solution.

    Raises:
        MissingError: The solution does not have that part yet.
        CourseError: The process has ended without an answer.
    """
    everything = next(kind for kind in KINDS if kind.option == "everything")
    ran = subprocess.run(
        [sys.executable, "-m", f"tiny_llm_lab.bench.{probe}", model, solution],
        env={**os.environ, **environment(everything)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise CourseError(
            f"{probe} of {model}: expected an answer, got the end of its process; what "
            "it said stands above"
        )
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    if "missing" in found:
        raise MissingError(found["missing"])
    return found


def answer(measure: Callable[[str, str], Found]) -> None:
    """Print the measurement as the last line, or why it is not possible."""
    model, solution = sys.argv[1:]
    try:
        found: dict[str, Any] = measure(model, solution)
    except MissingError as error:
        found = {"missing": str(error)}
    print(json.dumps(found), flush=True)
