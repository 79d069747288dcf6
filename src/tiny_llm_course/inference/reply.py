"""One answer: the solution's loop, limited and timed from outside."""

import contextlib
import io
import sys
from collections.abc import Generator
from dataclasses import dataclass
from typing import TextIO

from tiny_llm_course.catalogue import say
from tiny_llm_course.inference.blame import SolutionError, blame
from tiny_llm_course.inference.engine import Engine
from tiny_llm_course.inference.loaders import LOADERS
from tiny_llm_course.inference.meter import MeteredModel

END_TOKEN = "end_token"  # noqa: S105 - no password
MAX_TOKENS = "max_tokens"
CONTEXT = "context"
INTERRUPT = "interrupt"
"""What ends an answer, as the catalogue has it under `talking.ended_by`."""


@dataclass(frozen=True)
class Reply:
    """What was generated, why it ended, and how long it took.

    Attributes:
        text: The answer.
        ended_by: END_TOKEN, MAX_TOKENS, CONTEXT or INTERRUPT.
        num_prompt_tokens: Length of the prompt.
        prompt_s: Time from the prompt to the first token of the answer.
        num_next_tokens: Length of the answer after its first token.
        next_s: Time that these took.
    """

    text: str
    ended_by: str
    num_prompt_tokens: int
    prompt_s: float
    num_next_tokens: int
    next_s: float


def reply(engine: Engine, prompt: str) -> Reply:
    """Let the solution's loop continue `prompt`; it prints the answer as it goes.

    Ctrl-C ends the answer; the text so far is kept.

    Raises:
        CourseError: The prompt is longer than the model's context.
        SolutionError: The solution does not run.
    """
    tokenizer = engine.checkpoint.tokenizer
    num_prompt_tokens = engine.checkpoint.check_length(prompt)
    # The last token is chosen but never passed to the model: hence the 1.
    room = engine.checkpoint.context - num_prompt_tokens + 1
    limit = min(room, engine.max_tokens)
    metered = MeteredModel(engine.model, tokenizer.eos_token_id, limit)
    ended_by = END_TOKEN
    try:
        with complete_last_line(), blame(engine.solution):
            sampler = () if LOADERS[engine.loader].has_caches else (engine.sampler,)
            engine.generate(metered, tokenizer, prompt, *sampler)
        if metered.num_calls == 0:
            raise SolutionError(say("commands.talking.no_call"))
    except KeyboardInterrupt:
        ended_by = INTERRUPT
    steps_s = metered.steps_s()
    if metered.is_over:
        ended_by = CONTEXT if limit == room else MAX_TOKENS
    return Reply(
        tokenizer.decode(metered.ids[num_prompt_tokens:].tolist()),
        ended_by,
        num_prompt_tokens,
        prompt_s=steps_s[0],
        num_next_tokens=len(steps_s[1:]),
        next_s=sum(steps_s[1:]),
    )


class LineWatcher(io.TextIOBase):
    """Standard output that knows whether its last line is complete."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_complete = True

    def write(self, text: str) -> int:
        """Pass `text` on."""
        if text:
            self.is_complete = text.endswith("\n")
        return self._stream.write(text)

    def flush(self) -> None:
        """Show what was written."""
        self._stream.flush()


@contextlib.contextmanager
def complete_last_line() -> Generator[None]:
    """Print a line break if the loop's last line is incomplete."""
    watcher = LineWatcher(sys.stdout)
    try:
        with contextlib.redirect_stdout(watcher):
            yield
    finally:
        if not watcher.is_complete:
            print()
