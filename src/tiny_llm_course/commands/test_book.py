"""`pdm run test-book`: try the pages of the book in a browser."""

import os
import subprocess
import sys

import click

from tiny_llm_course.commands import book
from tiny_llm_course.commands.terminal import CourseCommand, need
from tiny_llm_course.places import ROOT

SIDE_BY_SIDE = ("tests/book", "-n", "auto", "--maxprocesses", "4")
"""At most four browsers: each takes a core and some hundred megabytes."""


@click.command(
    "test-book", cls=CourseCommand, context_settings={"ignore_unknown_options": True}
)
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def command(pytest_args: tuple[str, ...]) -> int:
    """Try every page of the book in a browser: loading, width, search, figures."""
    need(*book.PACKAGES, "playwright", "axe_playwright_python")
    from tiny_llm_course.book import building

    if building.build_anew():
        return 1
    arguments = [argument for argument in pytest_args if argument != "--"]
    return subprocess.call(
        [sys.executable, "-m", "pytest", "-q", "-rs", *SIDE_BY_SIDE, *arguments],
        cwd=ROOT,
        env={**os.environ, "BOOK": str(building.BUILT)},
    )
