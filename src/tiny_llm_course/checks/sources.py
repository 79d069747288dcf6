"""The files of a checkout, with a digest of each."""

import fnmatch
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tiny_llm_course.book.building import BUILT, NUMBERS
from tiny_llm_course.checks.tracing.sitecustomize import ALL
from tiny_llm_course.places import ROOT

MADE_HERE = {"__pycache__", "build", "copies", "runs"}
"""Folders that hold no sources. Names that begin with a dot are left out too."""

PAGES = BUILT.relative_to(ROOT).as_posix()
"""The built book counts as a source for steps that test its pages."""

KEPT_NUMBERS = NUMBERS.relative_to(ROOT).as_posix()
"""So do the numbers of its chapters."""

READ_WHOLE = (
    "src/extensions/",
    "src/extensions_ref/",
    "src/extensions_shared/",
    "src/metal_simulator/",
    "src/tiny_llm_course/checkpoint/embedded/",
    "tests/course/kernels/",
    "tests/metal/",
)
"""A step that opens one file here may have a compiler or library read the others."""

COMPILED = "_kernels."
"""How the names of a compiled module begin, and of what is noted of it."""

BUILT_FROM = {"src/tiny_llm": "extensions", "src/tiny_llm_ref": "extensions_ref"}
"""By folder of a compiled module: the folder of the kernels it is compiled from.

It also depends on the sources that all modules share.
"""


@dataclass(frozen=True)
class Sources:
    """The files of a checkout as they are now.

    Attributes:
        digests: By their names from the root.
    """

    digests: dict[str, str]

    @classmethod
    def of(cls, root: Path) -> "Sources":
        """Read the files of a checkout."""
        names = [
            Path(folder, file).relative_to(root).as_posix()
            for top in (root, root / PAGES)
            for folder, folders, files in os.walk(top)
            if not _leave_out(folders)
            for file in files
            if not file.startswith(COMPILED)
        ]
        return cls(
            {one: digest_of(root / one) for one in sorted([*names, KEPT_NUMBERS])}
        )

    def matching(self, patterns: Iterable[str]) -> set[str]:
        """Return the files that match one of some patterns, such as "*.py"."""
        return {name for one in patterns for name in fnmatch.filter(self.digests, one)}

    def digest(self, name: str) -> str:
        """Return a digest of a `file`, of the names in a `folder/`, or of a `tree/**`.

        What does not exist has a digest as well, since it may be created.
        """
        if name.endswith(ALL):
            tree = name.removesuffix(ALL)
            inside = [one for one in self.digests.items() if one[0].startswith(tree)]
            return short_hash(repr(inside).encode())
        if name.endswith("/"):
            all_files = (one for one in self.digests if not one.startswith(PAGES))
            files = [one for one in all_files if one.startswith(name)]
            names = {one.removeprefix(name).split("/")[0] for one in files}
            return short_hash(repr(sorted(names)).encode())
        return self.digests.get(name, "")


def _leave_out(folders: list[str]) -> None:
    """Remove the folders from a list that are not searched."""
    folders[:] = {one for one in folders if one[0] != "."} - MADE_HERE


def depended_on(noted: Iterable[str]) -> set[str]:
    """Return what a process depends on, given what `tracing` noted."""
    return {source for line in noted if line for source in _made_from(line)}


def _made_from(name: str) -> set[str]:
    """Return the sources that a file was made from: itself, unless it was generated."""
    folder, _, file = name.rpartition("/")
    if file.endswith(".pyc") or (folder.endswith("__pycache__") and file):
        module, _, _ = file.partition(".")
        own = folder.removesuffix("__pycache__").removesuffix("/")
        return {f"{own}/{module}.py".removeprefix("/")}
    if file.startswith(COMPILED) and folder in BUILT_FROM:
        return {f"src/{one}/{ALL}" for one in (BUILT_FROM[folder], "extensions_shared")}
    whole = next(filter(name.startswith, READ_WHOLE), None)
    return {f"{whole}{ALL}" if whole else name}


def digest_of(path: Path) -> str:
    """Return a digest of a file, or "" if there is none."""
    try:
        return short_hash(path.read_bytes())
    except OSError:
        return ""


def short_hash(content: bytes) -> str:
    """Return a digest of 16 letters."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()
