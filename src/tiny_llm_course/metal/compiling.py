"""Compiles the simulator once, and each kernel once, into a cache.

They lie in `.cache/metal` of the checkout, named by a digest of all that they are made
of, and may be removed.
"""

import fcntl
import functools
import hashlib
import os
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tiny_llm_course.extension.building import NUM_JOBS
from tiny_llm_course.extension.programs import COMPILER

CACHE = Path(__file__).parents[3] / ".cache" / "metal"
"""In the checkout of this file, also when working on a copy."""

NUM_KEPT = 512
"""The number of kernels that are kept. Each takes some 100 KB."""

RUNTIME = Path(__file__).parents[2] / "metal_simulator"
LANGUAGE = RUNTIME / "language"
DIALECT = RUNTIME / "dialect"

_IS_MACOS = platform.system() == "Darwin"

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
RUNTIME_OPTIONS = ("-std=c++20", "-O2", *WARNINGS)
RUNTIME_LIBRARIES = ("-rdynamic", "-ldl")
"""A kernel finds in the program what it calls."""

KERNEL_OPTIONS = (
    "-std=c++20",
    "-g",
    "-O1",
    "-fPIC",
    # Each access to memory calls the simulator first. The hooks are its own.
    "-fsanitize=thread,bounds,alignment",
    # A loop that does nothing may be endless, and must not be left out.
    "-fno-finite-loops",
    # What is read and not used is read all the same.
    "-fno-tree-dce",
    # MLX compiles its kernels in Metal's "safe" mode of mathematics.
    "-ffp-contract=off",
    # Kernels read the same memory as numbers of several types; integers wrap.
    "-fno-strict-aliasing",
    "-fwrapv",
    # A private variable that holds nothing yet: Metal gives it no value. Where the
    # compiler is not sure, its warning is kept, see `suspicions.py`.
    "-Werror=uninitialized",
    "-Wmaybe-uninitialized",
    "-Wno-error=maybe-uninitialized",
)
_GCC_OPTIONS = ("-fno-thread-jumps",)
"""Two calls of a barrier are two barriers, so the compiler must not double one."""

LINK_OPTIONS = ("-shared", *(("-undefined", "dynamic_lookup") if _IS_MACOS else ()))
"""What a kernel calls is defined by the program that loads it."""


class CompileError(Exception):
    """The compiler does not take a kernel.

    Args:
        said: What it says, in its own words.
    """

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


def simulator(options: Sequence[str] = RUNTIME_OPTIONS) -> Path:
    """Return the program that runs kernels, compiled if need be.

    The first time takes some seconds.
    """
    files = sorted([*RUNTIME.glob("*.cpp"), *RUNTIME.glob("*.h")])
    texts = [path.read_text(encoding="utf-8") for path in files]
    made = CACHE / f"simulator-{_digest([*options, *texts])}"
    if made.exists():
        return made
    CACHE.mkdir(parents=True, exist_ok=True)
    with (
        (CACHE / "simulator.lock").open("w") as lock,
        tempfile.TemporaryDirectory(dir=CACHE) as folder,
        ThreadPoolExecutor(NUM_JOBS) as pool,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)  # a process that waited finds it compiled
        if made.exists():
            return made
        sources = [path for path in files if path.suffix == ".cpp"]
        objects = [Path(folder) / f"{path.stem}.o" for path in sources]
        arguments = [["-c", str(path), *options] for path in sources]
        list(pool.map(_compile, objects, arguments))
        _compile(made, [*map(str, objects), *options, *RUNTIME_LIBRARIES])
    return made


def known_library(text: str, *options: str) -> Path | None:
    """Return the compiled library of a kernel, if there is one.

    Args:
        text: The C++ file that `signature.assemble` makes.
        *options: Of the compiler, beside the usual ones.
    """
    path = _library_path(text, *options)
    if not path.exists():
        return None
    os.utime(path)
    return path


def kernel_library(text: str, *options: str) -> Path:
    """Compile a kernel into a shared library.

    Args:
        text: The C++ file that `signature.assemble` makes.
        *options: Of the compiler, beside the usual ones.

    Raises:
        CompileError: It is no C++, or a variable has no value.
    """
    made = _library_path(text, *options)
    CACHE.mkdir(parents=True, exist_ok=True)
    own = () if "clang" in _version() else _GCC_OPTIONS
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        source = Path(folder) / "kernel.cpp"
        source.write_text(text, encoding="utf-8")
        objects = Path(folder) / "kernel.o"
        includes = f"-I{LANGUAGE}"
        arguments = ["-c", str(source), includes, *KERNEL_OPTIONS, *own, *options]
        warnings = _compile(objects, arguments)
        if warnings:
            _warnings_path(made).write_text(warnings, encoding="utf-8")
        # Linked without the option, so without the sanitizer's own library.
        _compile(made, [str(objects), *LINK_OPTIONS])
    _remove_oldest()
    return made


def warnings_of(library: Path) -> str:
    """Return what the compiler warned of when it made a kernel's library."""
    path = _warnings_path(library)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _warnings_path(library: Path) -> Path:
    return library.with_suffix(".txt")


def _library_path(text: str, *options: str) -> Path:
    usual = (*KERNEL_OPTIONS, *_GCC_OPTIONS, *LINK_OPTIONS)
    parts = [*usual, *options, _language(), text]
    return CACHE / f"kernel-{_digest(parts)}.so"


def _compile(made: Path, arguments: Sequence[str]) -> str:
    """Run the compiler. What it makes appears at once, for all processes.

    Returns:
        Its warnings.
    """
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        path = Path(folder) / made.name
        ran = subprocess.run(
            [str(COMPILER), *arguments, "-o", str(path)],
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
            text=True,
            check=False,
        )
        if ran.returncode:
            raise CompileError(ran.stderr)
        path.replace(made)
    return ran.stderr


@functools.cache
def _language() -> str:
    """Return a digest of the headers that a kernel is checked and compiled with."""
    files = [RUNTIME / "runtime.h", *LANGUAGE.rglob("*"), *DIALECT.rglob("*")]
    texts = [
        path.read_text(encoding="utf-8") for path in sorted(files) if path.is_file()
    ]
    return _digest(texts)


def _digest(parts: Sequence[str]) -> str:
    every = "\0".join([_version(), *parts])
    return hashlib.sha256(every.encode()).hexdigest()[:20]


@functools.cache
def _version() -> str:
    said = [str(COMPILER), "--version"]
    return subprocess.run(said, capture_output=True, text=True, check=True).stdout


def _remove_oldest() -> None:
    """Keep the kernels that were used last."""
    kernels = sorted(CACHE.glob("kernel-*.so"), key=lambda path: path.stat().st_mtime)
    for path in kernels[:-NUM_KEPT]:
        path.unlink(missing_ok=True)
        _warnings_path(path).unlink(missing_ok=True)
