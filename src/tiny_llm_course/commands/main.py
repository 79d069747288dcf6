"""`pdm run main`: let a model talk."""

from typing import Any

import click

from tiny_llm_course.commands.talking import (
    echo_loader,
    echo_whose,
    note,
    talking_options,
)
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.errors import CourseError
from tiny_llm_course.inference.blame import SolutionError
from tiny_llm_course.inference.engine import Settings, start
from tiny_llm_course.inference.reply import Reply, reply

PROMPT = "Tell me a story about a fox in the forest."


@click.command(name="main", cls=CourseCommand)
@click.option("--prompt", default=PROMPT, show_default=True)
@click.option("--raw", is_flag=True)
@talking_options
def command(prompt: str, raw: bool, **options: Any) -> int:  # noqa: ANN401
    """Let a Qwen2 model answer a prompt, token by token."""
    if not prompt.strip():
        raise CourseError("--prompt: expected some text, got none")
    try:
        engine = start(Settings(**options))
        checkpoint = engine.checkpoint
        is_turn = checkpoint.tokenizer.has_chat_template and not raw
        message = {"role": "user", "content": prompt}
        text = checkpoint.chat_prompt([message]) if is_turn else prompt
        # Checked before the prompt is shown, so that an error is a single line.
        checkpoint.check_length(text)
        echo_whose(engine)
        note(f"> {prompt}")
        answer = reply(engine, text)
    except SolutionError as error:
        click.echo(f"main: {error}", err=True)
        return 1
    note(_speeds(answer))
    echo_loader(engine)
    return 130 if answer.ended_by == "interrupt" else 0


def _speeds(answer: Reply) -> str:
    parts = [
        f"prompt: {answer.num_prompt_tokens} tokens"
        f"{_speed(answer.num_prompt_tokens, answer.prompt_s)}",
        f"answer: {1 + answer.num_next_tokens} tokens"
        f"{_speed(answer.num_next_tokens, answer.next_s)}",
    ]
    if answer.ended_by != "end token":
        parts.append(f"ended by {answer.ended_by}")
    return "; ".join(parts)


def _speed(num_tokens: int, time_s: float) -> str:
    """Return the speed in tokens per second, if there were any."""
    if num_tokens == 0:
        return ""
    speed = num_tokens / time_s
    return f", {speed:.0f} tokens/s" if speed >= 10 else f", {speed:.1f} tokens/s"
