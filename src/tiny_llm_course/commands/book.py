"""`pdm run book`: read the book, or check it."""

import functools
import time
from collections.abc import Callable, Iterable

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.terminal import CourseCommand, need

PACKAGES = (
    *("sphinx", "myst_parser", "furo", "sphinx_design", "sphinx_copybutton"),
    *("sphinx_autobuild", "quickjs", "matplotlib", "spylls", "pytest", "torch"),
)
"""The packages that build the book; the last two for its numbers."""


@click.command("book", cls=CourseCommand)
@click.argument("page", default="index")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=8000,
    show_default=True,
    help="Where to serve it.",
)
@click.option("--no-open", is_flag=True, help="Do not open a browser.")
@click.option("--check", "mode", flag_value="check", help="Check all that it shows.")
@click.option("--only", metavar="PAGE", help="With --check: what this page shows.")
@click.option(
    "--update", "mode", flag_value="update", help="Run its transcripts again."
)
@click.option("--links", "mode", flag_value="links", help="List its external links.")
@click.option(
    "--check-links", "mode", flag_value="check-links", help="Request them, too."
)
def command(
    *, page: str, port: int, no_open: bool, mode: str | None, only: str | None
) -> int:
    """Open the book at a page, and build it again whenever it changes.

    PAGE is a chapter, such as week-1-day-4-rmsnorm-and-mlp#task-1. If the book is being
    served already, this opens the page there.

    With --check: build it from scratch, with every warning an error, run everything
    it shows as run, and check spelling and numbers. Exit code 1 if something is wrong.
    """
    need(*PACKAGES)
    from tiny_llm_course.book import checking, serving
    from tiny_llm_course.book import links as leaving

    match mode:
        case "check":
            return _report(functools.partial(checking.complaints, only))
        case "check-links":
            return _report(leaving.broken)
        case "links":
            _print(leaving.external())
        case "update":
            _print(checking.updated())
        case _:
            return serving.serve(page, port, open_browser=not no_open)
    return 0


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def _report(find: Callable[[], list[str]]) -> int:
    """Print what is wrong, and return the exit code."""
    start_s = time.perf_counter()
    complaints = find()
    for complaint in complaints:
        click.echo(complaint, err=True)
    took_s = time.perf_counter() - start_s
    click.echo(say("book.commands.checked", number=len(complaints), took_s=took_s))
    return int(bool(complaints))
