"""`pdm run chat`: a conversation, in a pipe and at a terminal."""

import dataclasses
import os
import pty
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import mlx.core as mx
import pytest
from click.testing import CliRunner, Result

from tiny_llm_course.commands.chat import command
from tiny_llm_course.inference.conversation import Conversation
from tiny_llm_course.inference.engine import Engine, Settings, start

CTRL_C, CTRL_D = "\x03", "\x04"
# A background job of a shell ignores Ctrl-C, and so do its child processes.
HEARS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
IN_PYTHON = (
    f"{HEARS_CTRL_C}; from tiny_llm_course.commands.chat import command; command()"
)

Scripted = Callable[..., Path]


@pytest.fixture
def chat(tiny_checkpoint: Path) -> Callable[..., Result]:
    """Return a function that pipes lines into the command."""

    def run(lines: str, *arguments: object) -> Result:
        words = ["--model", str(tiny_checkpoint), "--loader", "week1"]
        words += map(str, arguments)
        return CliRunner().invoke(command, words, input=lines)

    return run


def test_a_pipe_gets_answers_and_nothing_else(
    chat: Callable[..., Result], scripted: Scripted
) -> None:
    result = chat("hello\n\nagain\n", "--solution", scripted("the owl"))

    assert result.stdout == "the owl\nthe owl\n"
    assert result.stderr == ""
    assert result.exit_code == 0


def test_an_answer_that_is_cut_off_says_so(
    chat: Callable[..., Result], scripted: Scripted
) -> None:
    result = chat("hello\n", "--solution", scripted("hhhhhh"), "--max-tokens", 3)

    assert result.stdout == "hhh\n"
    assert result.stderr == "(ended by max tokens)\n"


@pytest.fixture
def engine(tiny_checkpoint: Path, scripted: Scripted) -> Engine:
    """Return an engine that answers every question with "the owl"."""
    solution = scripted("the owl")
    model = str(tiny_checkpoint)
    return start(Settings(solution=str(solution), loader="week1", model=model))


def test_an_answer_sees_the_turns_before_it(engine: Engine) -> None:
    conversation = Conversation(engine)
    conversation.ask("hi")

    second = conversation.ask("more")

    turns = [("user", "hi"), ("assistant", "the owl"), ("user", "more")]
    assert second.num_prompt_tokens == num_tokens(engine, turns)


def num_tokens(engine: Engine, turns: list[tuple[str, str]]) -> int:
    """Count the tokens of a rendered conversation."""
    messages = [{"role": role, "content": content} for role, content in turns]
    prompt = engine.checkpoint.chat_prompt(messages)
    return len(engine.checkpoint.tokenizer.encode(prompt))


def test_what_was_said_before_ctrl_c_is_remembered(engine: Engine) -> None:
    calls: list[int] = []

    def interrupted(inputs: mx.array) -> mx.array:
        calls.append(inputs.shape[1])
        if len(calls) == 3:
            raise KeyboardInterrupt
        return engine.model(inputs)

    conversation = Conversation(dataclasses.replace(engine, model=interrupted))

    first = conversation.ask("hi")
    second = conversation.ask("more")

    assert first.ended_by == "interrupt"
    assert "the owl".startswith(first.text)
    assert first.text
    turns = [("user", "hi"), ("assistant", first.text), ("user", "more")]
    assert second.num_prompt_tokens == num_tokens(engine, turns)


def test_the_oldest_turns_are_forgotten_when_the_context_is_full(
    engine: Engine,
) -> None:
    """Of 128 tokens a third is left for the answer: room for two turns like these."""
    conversation = Conversation(engine)
    question = "~" * 12
    for _ in range(4):
        answer = conversation.ask(question)

    turns = [("user", question), ("assistant", "the owl"), ("user", question)]
    assert answer.num_prompt_tokens == num_tokens(engine, turns)
    assert answer.text == "the owl"
    assert conversation.num_forgotten == 2


def test_forgetting_is_mentioned_once(
    chat: Callable[..., Result], scripted: Scripted
) -> None:
    result = chat(f"{'~' * 20}\n" * 6, "--solution", scripted("the owl"))

    assert result.stdout == "the owl\n" * 6
    assert result.stderr == (
        "The talk is longer than the model's context: its beginning is forgotten.\n"
    )


def test_a_question_that_is_too_long_does_not_end_the_chat(
    chat: Callable[..., Result], scripted: Scripted
) -> None:
    result = chat(f"hi\n{'~' * 200}\nhi\n", "--solution", scripted("the owl"))

    assert result.stdout == "the owl\nthe owl\n"
    assert "chat: the prompt has " in result.stderr
    assert result.exit_code == 0


def test_a_model_without_chat_template_is_refused(
    chat: Callable[..., Result], tiny_checkpoint: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "base")
    (folder / "tokenizer_config.json").write_text("{}")

    result = chat("hi\n", "--model", folder)

    assert result.stderr == (
        "chat: expected a checkpoint with a chat template, got one without; it can "
        "continue a text: `pdm run main --raw`\n"
    )
    assert result.exit_code == 2


def test_an_error_in_the_solution_ends_the_chat(
    chat: Callable[..., Result], scripted: Scripted
) -> None:
    solution = scripted("the owl")
    (solution / "generate.py").unlink()

    result = chat("hi\n", "--solution", solution)

    assert result.stderr.startswith("chat: week 1, day 6, task 1 is not started")
    assert result.exit_code == 1


class Terminal:
    """A pseudo-terminal with the command running in it."""

    # With a session of its own and its controlling terminal, Ctrl-C arrives.
    START = "import os; os.close(os.open(os.ttyname(0), os.O_RDWR)); "

    def __init__(self, *arguments: object) -> None:
        self.fd, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.START + IN_PYTHON, *map(str, arguments)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, keys: str) -> None:
        """Press keys as a person would: a moment after the prompt appears.

        A Ctrl-C between the prompt and the wait for input would take effect at the next
        key.
        """
        time.sleep(0.2)
        os.write(self.fd, keys.encode())

    def read_until(self, end: str) -> str:
        """Return the output up to `end`."""
        shown = ""
        while not shown.endswith(end):
            shown += os.read(self.fd, 1).decode()
        return shown

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.fd)


def test_ctrl_c_stops_the_answer_and_ctrl_d_the_program(
    tiny_checkpoint: Path, scripted: Scripted
) -> None:
    solution = scripted("h" * 100, pause_s=0.05)
    options = ["--model", tiny_checkpoint, "--solution", solution]
    options += ["--loader", "week1"]

    with Terminal(*options) as terminal:
        terminal.read_until("> ")
        terminal.type("hello\n")
        terminal.read_until("hhh")
        terminal.type(CTRL_C)
        stopped = terminal.read_until("> ")
        terminal.type(CTRL_C)
        terminal.read_until("> ")
        terminal.type("more\n")
        terminal.read_until("hhh")
        terminal.type(CTRL_C)
        terminal.read_until("> ")
        terminal.type(CTRL_D)
        code = terminal.process.wait(timeout=10)

    assert stopped.count("h") < 50
    assert code == 0
