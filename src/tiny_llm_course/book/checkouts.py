"""Checkouts in which a command of the book runs as for a learner, by what they hold.

starter       the files that a learner begins with
so-far        those at the end of a day: its tasks and all before are solved as by us
reference     our solution, of all days
NAME          our solution with a known mistake of the day; the name of one of another
              day is preceded by its chapter: CHAPTER#NAME
"""

import shutil
from pathlib import Path

from tiny_llm_course.book.teaching import tasks_on
from tiny_llm_course.editing import starter
from tiny_llm_course.editing.plans import plan
from tiny_llm_course.editing.saving import write
from tiny_llm_course.editing.translation import translated
from tiny_llm_course.extension.sources import BUILD
from tiny_llm_course.language import current
from tiny_llm_course.places import (
    REFERENCE,
    REFERENCE_KERNELS,
    ROOT,
    SHARED_KERNELS,
    TESTS,
    Checkout,
    here,
)
from tiny_llm_course.specimens import Specimen, misconceptions
from tiny_llm_course.syllabus import Address, Task, tasks


class CannotRun(ValueError):
    """A transcript names a solution or a command that does not exist."""


def lay_out(root: Path, chapter: str, solution: str) -> Checkout:
    """Write a checkout with a learner's files in it.

    Args:
        root: An empty folder.
        chapter: The chapter whose end "so-far" means, and whose known mistakes
            `solution` may name.
        solution: What the files hold, as above.

    Raises:
        CannotRun: There is no such solution.
    """
    checkout = Checkout(root)
    _copy_solutions(checkout.reference, checkout.reference_kernels)
    shutil.copytree(SHARED_KERNELS, checkout.shared_kernels)
    shutil.copy(ROOT / "pyproject.toml", root)
    checkout.tests.mkdir()
    for path in TESTS.glob("test_week_*.py"):
        shutil.copy(path, checkout.tests)
    if solution in {"starter", "so-far"}:
        _write_starter(checkout)
    else:
        _copy_solutions(checkout.starter, checkout.kernels)
    if solution == "so-far":
        parts = [part for task in solved_by(chapter) for part in task.parts]
        write(plan(checkout, parts, to_stub=False), checkout.copies)
    elif solution not in {"starter", "reference"}:
        _mistake(chapter, solution).put_in(checkout.starter)
    return checkout


def _copy_solutions(folder: Path, kernels: Path) -> None:
    """Copy our solutions in Python and in C++, without what was compiled of these."""
    shutil.copytree(REFERENCE, folder)
    shutil.copytree(REFERENCE_KERNELS, kernels, ignore=shutil.ignore_patterns(BUILD))


def _write_starter(checkout: Checkout) -> None:
    """Write the files that a learner begins with."""
    for path, text in translated(starter.files(here()), current()).items():
        own = checkout.root / path.relative_to(ROOT)
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(text, encoding="utf-8")


def _mistake(chapter: str, solution: str) -> Specimen:
    """Find a known mistake by its name, or by its chapter and name."""
    other, _, name = solution.rpartition("#")
    for task in tasks_on(other or chapter):
        for specimen in misconceptions(task.address):
            if specimen.name.replace("_", "-") == name:
                return specimen
    raise CannotRun(
        ":solution: expected starter, reference, so-far or a known mistake, got "
        f"{solution!r}"
    )


def solved_by(page: str) -> list[Task]:
    """Return the required tasks up to the end of the day that a page belongs to.

    Raises:
        CannotRun: It has no tasks.
    """
    if not (own := tasks_on(page)):
        raise CannotRun(f":solution: so-far: expected a page with tasks, got {page}")
    today = _day(own[0].address)
    return [one for one in tasks() if _day(one.address) <= today and not one.optional]


def _day(address: Address) -> tuple[int, int]:
    """Return week and day of a task."""
    return address.week, address.day
