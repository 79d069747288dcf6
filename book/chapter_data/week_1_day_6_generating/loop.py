"""The loop of the course on the embedded model, and what it chose from."""

import contextlib
import functools
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import mlx.core as mx

from tiny_llm_course.book.embedded import checkpoint, tokens
from tiny_llm_course.inference.meter import MeteredModel
from tiny_llm_ref.generate import simple_generate
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

QUESTION = "What is RMSNorm?"
STORY = "Once upon a time there was a"
STORY_TOKENS = 24


@functools.cache
def model() -> Qwen2ModelWeek1:
    """Build the model of the course, once."""
    return Qwen2ModelWeek1(checkpoint().model)


@dataclass
class Recorder:
    """A model that keeps what it was shown and what it answered.

    Attributes:
        model: Who answers.
        seen: The ids of each call.
        logits: Those of the last position, for each call.
    """

    model: Callable[[mx.array], mx.array]
    seen: list[list[int]] = field(default_factory=list)
    logits: list[mx.array] = field(default_factory=list)

    def __call__(self, inputs: mx.array) -> mx.array:
        """Score the tokens that follow, and keep them."""
        answer = self.model(inputs)
        self.seen.append(cast("list[int]", inputs[0].tolist()))
        self.logits.append(answer[0, -1].astype(mx.float32))
        return answer


@dataclass(frozen=True)
class Run:
    """What the loop of the course did with a prompt.

    Attributes:
        prompt: The ids of the prompt.
        chosen: The ids that were chosen, the end token included.
        logits: What each was chosen from.
        answer: The text.
    """

    prompt: list[int]
    chosen: list[int]
    logits: list[mx.array]
    answer: str


@functools.cache
def run(prompt: str, limit: int = 256) -> Run:
    """Let the loop of the course continue a text greedily.

    Args:
        prompt: The text.
        limit: After so many tokens the end token is put in the model's mouth.
    """
    tokenizer = checkpoint().tokenizer
    recorder = Recorder(model())
    limited = MeteredModel(recorder, tokenizer.eos_token_id, limit)
    with contextlib.redirect_stdout(io.StringIO()):
        answer = simple_generate(limited, tokenizer, prompt, None)
    chosen = [mx.argmax(one).item() for one in recorder.logits]
    return Run(
        recorder.seen[0], cast("list[int]", chosen), recorder.logits, answer.strip()
    )


def chat(question: str) -> str:
    """Write a question as the model is used to see it."""
    return checkpoint().chat_prompt([{"role": "user", "content": question}])


def piece(token: int) -> str:
    """Write a token so that spaces and line breaks can be seen."""
    (text,) = tokens([token])
    return text.replace(" ", "·").replace("\n", "\\n")


def log_probabilities(logits: mx.array) -> mx.array:
    """Turn logits of length V into log-probabilities."""
    return logits - mx.logsumexp(logits)


def candidates(logits: mx.array, count: int) -> list[dict[str, Any]]:
    """Return the likeliest tokens, with their logits and probabilities."""
    logs = log_probabilities(logits)
    best = cast("list[int]", mx.argsort(-logs)[:count].tolist())
    return [
        {
            "token": piece(one),
            "logit": logits[one].item(),
            "p": mx.exp(logs[one]).item(),
            "log": logs[one].item(),
        }
        for one in best
    ]
