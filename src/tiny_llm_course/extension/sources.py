"""The files in C++ that a module of kernels is compiled from.

A solution has its own kernels in `kernels/*.h`. The rest is shared: the CMake project,
the glue between kernels and MLX, and the headers that are given.
"""

from pathlib import Path

from tiny_llm_course.places import here

KERNELS = "kernels"
"""The folder of the headers, among the sources."""

BUILD = "build"
"""The folder among the sources that CMake works in, and git ignores."""


def sources(folder: Path) -> list[Path]:
    """Return all C++ files in a folder, except those that a build has made."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and (path.suffix in {".h", ".cpp"} or path.name == "CMakeLists.txt")
        and path.relative_to(folder).parts[0] != BUILD
    )


def sources_of(solution: Path) -> Path | None:
    """Return the folder with the kernels of a solution. None if it has none.

    It is `extensions` in the folder of the solution or beside it; the one beside
    `tiny_llm_ref` is `extensions_ref`.
    """
    suffix = "_ref" if solution.name.endswith("_ref") else ""
    inside, beside = solution / "extensions", solution.parent / f"extensions{suffix}"
    found = (one for one in (inside, beside) if (one / KERNELS).is_dir())
    return next(found, None)


def include_path(folder: Path) -> tuple[Path, Path]:
    """Return the folders in which the includes of some kernels are looked up.

    Shared headers come first, so a solution cannot replace them.

    Args:
        folder: What `sources_of` returns.
    """
    return here().shared_kernels, folder
