"""The program that runs kernels: `src/metal_simulator`, compiled once."""

import functools
from pathlib import Path

from tiny_llm_course.metal.cache import digest, made_once, temporary_folder
from tiny_llm_course.metal.compiler import compile_, version
from tiny_llm_course.metal.headers import RUNTIME

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
OPTIONS = ("-std=c++20", "-O2", *WARNINGS)
LIBRARIES = ("-rdynamic", "-ldl")
"""A kernel finds in the program what it calls."""


def simulator(options: tuple[str, ...] = OPTIONS) -> Path:
    """Return the program, compiled if need be. The first time takes some seconds."""

    def make(made: Path) -> None:
        sources = sorted(RUNTIME.glob("*.cpp"))
        with temporary_folder() as folder:
            # Most of the time goes into reading headers: all files read them once.
            whole = folder / "simulator.cpp"
            whole.write_text("".join(f'#include "{path.name}"\n' for path in sources))
            compile_(made, [f"-I{RUNTIME}", str(whole), *options, *LIBRARIES])

    return made_once("simulator", _key(options), make)


@functools.cache
def _key(options: tuple[str, ...]) -> str:
    """Return a digest of all that the program is made of."""
    files = sorted([*RUNTIME.glob("*.cpp"), *RUNTIME.glob("*.h")])
    texts = [path.read_text(encoding="utf-8") for path in files]
    return digest([version(), *options, *texts])
