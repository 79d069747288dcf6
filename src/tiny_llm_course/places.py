"""The paths of a checkout of the course.

It is the checkout that this file belongs to, unless the environment variable
TINY_LLM_HOME names the root of another one. With it, and with the `src` of that one on
PYTHONPATH, the commands can be tried on a copy.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from tiny_llm_course.language import ENGLISH


@dataclass(frozen=True)
class Checkout:
    """The folders of a checkout: the learner's, and those that they build on.

    Args:
        root: The folder with `pyproject.toml`.
    """

    root: Path

    @property
    def starter(self) -> Path:
        """The learner's files."""
        return self.root / "src" / "tiny_llm"

    @property
    def reference(self) -> Path:
        """The solutions."""
        return self.root / "src" / "tiny_llm_ref"

    @property
    def kernels(self) -> Path:
        """The learner's files in C++."""
        return self.root / "src" / "extensions"

    @property
    def reference_kernels(self) -> Path:
        """The solutions in C++."""
        return self.root / "src" / "extensions_ref"

    @property
    def shared_kernels(self) -> Path:
        """The C++ that every solution is compiled with, given to all."""
        return self.root / "src" / "extensions_shared"

    @property
    def worked_examples(self) -> Path:
        """Programs in C++ that chapters show, and readers run."""
        return self.root / "src" / "worked_examples"

    @property
    def tests(self) -> Path:
        """What grades a solution."""
        return self.root / "tests"

    @property
    def book(self) -> Path:
        """The book, with what it is made from."""
        return self.root / "book"

    def chapters(self, language: str) -> Path:
        """Return the folder of the chapters in a language."""
        return self.book / language

    @property
    def results(self) -> Path:
        """What labs have measured, for the book to show."""
        return self.book / "results"

    @property
    def copies(self) -> Path:
        """What commands have replaced."""
        return self.root / "copies"

    @property
    def progress(self) -> Path:
        """What the learner has done."""
        return self.root / "progress.json"

    def link(self, path: Path, line: int | None = None) -> str:
        """Write a path as terminals and editors open it: src/tiny_llm/basics.py:7."""
        name = path.relative_to(self.root).as_posix()
        return f"{name}:{line}" if line else name


def here() -> Checkout:
    """Return the checkout to work on."""
    root = os.environ.get("TINY_LLM_HOME") or Path(__file__).parents[2]
    return Checkout(Path(root).resolve())


ROOT = here().root
STARTER = here().starter
REFERENCE = here().reference
KERNELS = here().kernels
REFERENCE_KERNELS = here().reference_kernels
SHARED_KERNELS = here().shared_kernels
WORKED_EXAMPLES = here().worked_examples
TESTS = here().tests
BOOK = here().book
CHAPTERS = here().chapters(ENGLISH)
"""Those that other languages are translated from."""
RESULTS = here().results
