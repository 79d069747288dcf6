r"""Console transcripts that a check runs again, and examples in Python.

    ```{transcript}
    :solution: reference
    $ pdm run test --week 1 --day 4
    ...
    ```

`solution` names the content of the learner's folder, as in `checkouts.py`: a known
mistake of the day, for example. The output has to match line by line. "..." within a
line stands for any text, and "..." alone for any lines.

Blocks of kind `pycon` run as Python types them, with `tiny_llm` being the reference.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tiny_llm_course.book.checkouts import CannotRun, lay_out
from tiny_llm_course.book.markdown import Block, blocks
from tiny_llm_course.book.typed_commands import call, scripts
from tiny_llm_course.errors import CourseError
from tiny_llm_course.language import ENGLISH, languages
from tiny_llm_course.places import ROOT, Checkout

_INDENTED = re.compile(r"^ +`{3,}(?:pycon|\{transcript\})", re.MULTILINE)

OTHERS = {one for one in languages() if one != ENGLISH}
TIMEOUT_S = 300
WIDTH = 88


class TranscriptDirective(SphinxDirective):
    """Show a transcript. `verify` checks it."""

    has_content = True
    option_spec: ClassVar = {"solution": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Make a listing of it."""
        text = "\n".join(self.content)
        return [nodes.literal_block(text, text, language="console")]


@dataclass(frozen=True)
class Command:
    """A command of a transcript, and what it prints.

    Attributes:
        line: The command line as typed.
        output: The lines below it.
    """

    line: str
    output: str


def commands(body: Sequence[str]) -> Iterator[Command]:
    """Cut the lines of a transcript into commands."""
    parts = re.split(r"^\$ ", "\n".join(body), flags=re.MULTILINE)
    for part in parts[1:]:
        line, _, output = part.partition("\n")
        yield Command(line, output.strip("\n"))


def verify(chapter: Path) -> Iterator[str]:
    """Run a chapter's transcripts and examples, and yield what differs.

    The examples of a translation are those of its English, as `checks.twins` sees.
    """
    name, text = chapter.stem, chapter.read_text(encoding="utf-8")
    for hidden in _INDENTED.finditer(text):
        line = text.count("\n", 0, hidden.start()) + 1
        yield f"{chapter.name}:{line}: not run here; move it out of the list"
    for block in blocks(text):
        if block.kind == "{transcript}":
            for complaint in _verify_transcript(name, block):
                yield f"{chapter.name}:{block.line}: {complaint}"
    if chapter.parent.name not in OTHERS:
        yield from _verify_examples(chapter)


def update(chapter: Path) -> bool:
    """Rewrite the transcripts of a chapter that differ from the real output.

    Returns:
        Whether any transcript has changed.

    Raises:
        CourseError: A transcript cannot be run.
    """
    before = chapter.read_text(encoding="utf-8")
    lines = before.split("\n")
    for block in reversed(list(blocks(before))):
        if block.kind == "{transcript}":
            try:
                told = "\n".join(_told(chapter.stem, block)).split("\n")
            except CannotRun as error:
                raise CourseError(f"{chapter.name}:{block.line}: {error}") from error
            lines[block.line - 1 : block.line - 1 + len(block.body)] = told
    text = "\n".join(lines)
    chapter.write_text(text, encoding="utf-8")
    return text != before


def _told(chapter: str, block: Block) -> Iterator[str]:
    """Yield the lines of a transcript, with real output where it was wrong."""
    for command, printed in _outcomes(chapter, block):
        is_true = matches(command.output, printed)
        yield f"$ {command.line}"
        yield command.output if is_true else printed


def _outcomes(chapter: str, block: Block) -> Iterator[tuple[Command, str]]:
    """Run a transcript in its own checkout; return each command with its output."""
    shown = [(command, _called(command.line)) for command in commands(block.body)]
    with tempfile.TemporaryDirectory() as folder:
        checkout = lay_out(Path(folder), chapter, block.options.get("solution", ""))
        for command, called in shown:
            yield command, _printed(called, checkout)


def _verify_transcript(chapter: str, block: Block) -> Iterator[str]:
    """Run one transcript, and yield what comes out differently."""
    try:
        for command, printed in _outcomes(chapter, block):
            if not matches(command.output, printed):
                expected = f"expected:\n{command.output}\ngot:\n{printed}"
                yield f"$ {command.line}\n{expected}"
    except CannotRun as error:
        yield str(error)


def _printed(called: Sequence[str], checkout: Checkout) -> str:
    """Run a command as a learner would, and return what they see."""
    ran = _python(called, checkout)
    return "\n".join(one.rstrip() for one in ran.stdout.strip("\n").splitlines())


def _called(line: str) -> list[str]:
    """Return the arguments for Python that run a command.

    Raises:
        CannotRun: It is not one of the commands of the course.
    """
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation mark is left open
        words = []
    match words:
        case ["pdm", "run", name, *arguments] if name in scripts():
            return [*call(scripts()[name]), *arguments]
        case _:
            raise CannotRun(
                f"expected `pdm run` and a command of the course, got {line!r}"
            )


def matches(expected: str, got: str) -> bool:
    """Tell whether an output is the expected one, in which "..." is anything."""
    pattern = ""
    for line in expected.splitlines(keepends=True):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(map(re.escape, line.rstrip("\n").split("..."))) + r"\n"
    return re.fullmatch(pattern, got + "\n") is not None


def _verify_examples(chapter: Path) -> Iterator[str]:
    """Run the examples in Python of a chapter, in one interpreter, top to bottom."""
    text = chapter.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for block in blocks(text):
        if block.kind == "pycon":
            lines[block.line - 1 : block.line - 1 + len(block.body)] = block.body
    if not any(lines):
        return
    with tempfile.TemporaryDirectory() as folder:
        checkout = lay_out(Path(folder), chapter.stem, "reference")
        examples = checkout.root / chapter.name
        examples.write_text("\n".join(lines) + "\n", encoding="utf-8")
        ran = _python(["-m", "doctest", "-o", "ELLIPSIS", chapter.name], checkout)
    if ran.returncode:
        yield ran.stdout


def _python(
    arguments: Sequence[str], checkout: Checkout
) -> subprocess.CompletedProcess[str]:
    """Run Python on a learner's files, and keep all that it prints."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=checkout.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env={
            **os.environ,
            "TINY_LLM_HOME": str(checkout.root),
            "PYTHONPATH": os.pathsep.join(
                (str(checkout.root / "src"), str(ROOT / "src"), *_path())
            ),
            "TINY_LLM_DEVICES": "cpu",
            "TINY_LLM_SPEED": "0",  # speeds are others in each run
            "COLUMNS": str(WIDTH),
            "NO_COLOR": "1",
        },
        timeout=TIMEOUT_S,
        text=True,
        check=False,
    )


def _path() -> list[str]:
    return list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("transcript", TranscriptDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
