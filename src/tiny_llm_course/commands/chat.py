"""`pdm run chat`: talk with a model in turns."""

import contextlib
import importlib
import sys
from typing import Any

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.talking import (
    echo_loader,
    echo_whose,
    ending,
    note,
    talking_options,
)
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.errors import CourseError
from tiny_llm_course.inference.blame import SolutionError
from tiny_llm_course.inference.conversation import Conversation
from tiny_llm_course.inference.engine import Settings, start
from tiny_llm_course.inference.reply import CONTEXT, MAX_TOKENS


@click.command(name="chat", cls=CourseCommand)
@talking_options
def command(**options: Any) -> int:  # noqa: ANN401
    """Talk with a Qwen2 model in turns."""
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    try:
        engine = start(Settings(**options))
        conversation = Conversation(engine)
        echo_whose(engine)
        if is_terminal:
            echo_loader(engine)
            note(say("commands.talking.keys"))
            with contextlib.suppress(ImportError):
                # Importing it gives `input` line editing and a history.
                importlib.import_module("readline")
        while (question := _read_question(is_terminal)) is not None:
            if question.strip():
                _answer(conversation, question)
    except SolutionError as error:
        click.echo(f"chat: {error}", err=True)
        return 1
    return 0


def _read_question(is_terminal: bool) -> str | None:
    """Read a line; return None at the end of the input."""
    try:
        return input("> " if is_terminal else "")
    except EOFError:
        if is_terminal:
            click.echo()
        return None
    except KeyboardInterrupt:
        if not is_terminal:
            raise
        click.echo()
        return ""


def _answer(conversation: Conversation, question: str) -> None:
    """Print the answer to `question`, and a note when old turns are first dropped."""
    had_forgotten = conversation.num_forgotten > 0
    try:
        answer = conversation.ask(question)
    except CourseError as error:
        click.echo(f"chat: {error}", err=True)
        return
    if answer.ended_by in {MAX_TOKENS, CONTEXT}:
        note(f"({ending(answer)})")
    if conversation.num_forgotten and not had_forgotten:
        note(say("commands.talking.forgotten"))
