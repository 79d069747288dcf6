"""Compiles each kernel once, into the cache."""

import functools
import os
import platform
from pathlib import Path

from tiny_llm_course.file_times import least_recent
from tiny_llm_course.metal import cache, headers
from tiny_llm_course.metal.cache import digest, temporary_folder
from tiny_llm_course.metal.compiler import compile_, is_gcc, version

NUM_KEPT = 1024
"""The number of kernels that are kept. Each takes some 50 KB. The mistakes of one day
have more than 500, and whoever proves them again would find none.
"""

OPTIONS = (
    "-std=c++20",
    # Lines are all that is asked for.
    "-g1",
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
_GCC_OPTIONS = (
    # Where a statement begins, which -g has by itself.
    "-gstatement-frontiers",
    # Two calls of a barrier are two barriers, so the compiler must not double one.
    "-fno-thread-jumps",
    # A call of the simulator's is made in a line of the kernel, not in a table.
    "-fno-plt",
    # Too large an array meets the page below the stack, and does not go past it.
    "-fstack-clash-protection",
    # Most of a kernel's time is the simulator's, so polish that comes after the hooks
    # are in their places takes more time than it saves.
    "-fno-if-conversion",
    "-fno-if-conversion2",
    "-fno-shrink-wrap",
    "-fno-forward-propagate",
    "-fno-cprop-registers",
    "-fno-split-wide-types",
    "-fno-dse",
    "-fno-compare-elim",
    "-fno-move-loop-invariants",
    "-fno-branch-count-reg",
    "-fira-algorithm=priority",
    "-fira-region=one",
)

_IS_MACOS = platform.system() == "Darwin"
LINK_OPTIONS = (
    "-shared",
    *(("-undefined", "dynamic_lookup") if _IS_MACOS else ("-nostdlib", "-lm")),
)
"""What a kernel calls is defined by the program that loads it. The linker reads only
what has versions, mathematics."""


def known_library(text: str, *options: str) -> Path | None:
    """Return the compiled library of a kernel, if there is one.

    Args:
        text: The C++ file that `signature.assemble` makes.
        *options: Of the compiler, beside the usual ones.
    """
    path = _library_path(text, *options)
    try:
        os.utime(path)
    except OSError:  # not there, or in a cache that cannot be written
        return path if path.exists() else None
    return path


def kernel_library(text: str, *options: str) -> Path:
    """Compile a kernel into a shared library.

    Args:
        text: The C++ file that `signature.assemble` makes.
        *options: Of the compiler, beside the usual ones.

    Raises:
        CompileError: It is no C++, or a variable has no value.
    """
    path = _library_path(text, *options)
    every = (*_options(), *options)
    with temporary_folder() as folder:
        source, objects = folder / "kernel.cpp", folder / "kernel.o"
        source.write_text(text, encoding="utf-8")
        found = headers.language(every)
        warnings = compile_(objects, ["-c", str(source), *found, *every])
        if warnings:
            said = folder / "kernel.txt"
            said.write_text(warnings, encoding="utf-8")
            said.replace(_warnings_path(path))
        # Linked without the option, so without the sanitizer's own library.
        made = folder / path.name
        compile_(made, [str(objects), *LINK_OPTIONS])
        made.replace(path)  # appears at once, for all processes
    _remove_oldest()
    return path


def warnings_of(library: Path) -> str:
    """Return what the compiler warned of when it made a kernel's library."""
    path = _warnings_path(library)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _options() -> tuple[str, ...]:
    return (*OPTIONS, *(_GCC_OPTIONS if is_gcc() else ()))


def _warnings_path(library: Path) -> Path:
    return library.with_suffix(".txt")


def _library_path(text: str, *options: str) -> Path:
    return cache.CACHE / f"kernel-{digest([_surroundings(), *options, text])}.so"


@functools.cache
def _surroundings() -> str:
    """Return a digest of all that a kernel is checked and compiled with.

    What has been compiled is not checked again: the checks are a part of it.
    """
    checks = headers.texts(Path(__file__).parent, "*.py")
    dialect = headers.texts(headers.DIALECT)
    usual = (version(), *_options(), *LINK_OPTIONS)
    return digest([*usual, *headers.text_of_language(), *dialect, *checks])


@functools.cache
def _remove_oldest() -> None:
    """Keep the kernels that were used last. A process looks through them once."""
    kernels = list(cache.CACHE.glob("kernel-*.so"))
    for path in least_recent(kernels, NUM_KEPT):
        path.unlink(missing_ok=True)
        _warnings_path(path).unlink(missing_ok=True)
