"""The files in C++ that belong to a solution."""

from pathlib import Path

BUILD = "build"
"""The folder among the sources that CMake works in, and git ignores."""


def sources(folder: Path) -> list[Path]:
    """Return all files of some kernels, without what a build has made of them."""
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
    found = (one for one in (inside, beside) if (one / "CMakeLists.txt").exists())
    return next(found, None)
