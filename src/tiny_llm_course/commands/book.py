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
)
@click.option("--no-open", is_flag=True)
@click.option("--check", "mode", flag_value="check")
@click.option("--only", metavar="PAGE")
@click.option("--update", "mode", flag_value="update")
@click.option("--links", "mode", flag_value="links")
@click.option("--check-links", "mode", flag_value="check-links")
def command(
    *, page: str, port: int, no_open: bool, mode: str | None, only: str | None
) -> int:
    """Open the book at a page, and build it again whenever it changes."""
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
