"""`pdm run main`: let a model talk."""

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
from tiny_llm_course.inference.engine import Settings, start
from tiny_llm_course.inference.reply import END_TOKEN, INTERRUPT, Reply, reply

PROMPT = "Tell me a story about a fox in the forest."
"""In the language that the embedded model speaks."""


@click.command(name="main", cls=CourseCommand)
@click.option("--prompt", default=PROMPT, show_default=True)
@click.option("--raw", is_flag=True)
@talking_options
def command(prompt: str, raw: bool, **options: Any) -> int:  # noqa: ANN401
    """Let a Qwen2 model answer a prompt, token by token."""
    if not prompt.strip():
        raise CourseError(say("commands.talking.no_prompt"))
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
    return 130 if answer.ended_by == INTERRUPT else 0


def _speeds(answer: Reply) -> str:
    num_prompt, num_next = answer.num_prompt_tokens, answer.num_next_tokens
    counted = {
        "prompt": (num_prompt, _speed(num_prompt, answer.prompt_s)),
        "answer": (1 + num_next, _speed(num_next, answer.next_s)),
    }
    parts = [
        say(f"commands.talking.{what}_tokens", number=number, speed=speed)
        for what, (number, speed) in counted.items()
    ]
    if answer.ended_by != END_TOKEN:
        parts.append(ending(answer))
    return say("commands.semicolon").join(parts)


def _speed(num_tokens: int, time_s: float) -> str:
    """Return the speed in tokens per second, if there were any."""
    if num_tokens == 0:
        return ""
    speed = num_tokens / time_s
    shown = f"{speed:.0f}" if speed >= 10 else f"{speed:.1f}"
    return say("commands.talking.speed", speed=shown)
