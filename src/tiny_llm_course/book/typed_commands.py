"""Checks that the commands on a page exist, with the options written there."""

import importlib
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from tiny_llm_course.places import ROOT

PAGES = tuple(ROOT / f"{one}.md" for one in ("README", "README.zh", "CONTRIBUTING"))
"""Pages outside the book that show commands as well."""

_SHOWN = re.compile(r"(?:^ *|`)(?:\$ )?(pdm run [^`\n]+)", re.MULTILINE)


def verify(page: Path) -> Iterator[str]:
    """Yield the commands of the course that would be refused, with file and line."""
    text = page.read_text(encoding="utf-8")
    for shown in _SHOWN.finditer(text):
        complaint = refusal(shown[1])
        if complaint:
            line = text.count("\n", 0, shown.start(1)) + 1
            yield f"{page.name}:{line}: {shown[1]}: {complaint}"


def refusal(line: str) -> str | None:
    """Parse a command without running it. Return why it is refused, or None."""
    try:
        _, _, name, *arguments = shlex.split(line, comments=True)
    except ValueError:
        return "expected a command, with every quotation mark closed"
    function = scripts().get(name)
    if function is None:
        installed = shutil.which(name, path=str(Path(sys.executable).parent))
        return None if installed else f"there is no command {name}"
    if "--help" in arguments:
        return None
    module, _, attribute = function.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    try:
        command.make_context(name, arguments)
    except click.UsageError as error:
        return error.format_message()
    return None


def scripts() -> dict[str, str]:
    """Return the function that each command of `pdm run` calls."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {
        name: script["call"]
        for name, script in project["tool"]["pdm"]["scripts"].items()
    }


def call(function: str, *arguments: str) -> tuple[str, ...]:
    """Return the arguments for `python` that call `function`, as `pdm run` does.

    Args:
        function: Where it is, such as "tiny_llm_course.commands.starter:command".
        arguments: Its command line arguments.
    """
    module, _, name = function.partition(":")
    code = f"import sys; from {module} import {name}; sys.exit({name}())"
    return ("-c", code, *arguments)
