"""The interactive figure of week 1, day 6, against the loop of the course."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import mlx.core as mx
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.checkpoint import LoadedCheckpoint, load
from tiny_llm_course.inference.meter import MeteredModel
from tiny_llm_ref.generate import simple_generate
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

CHAPTER, NAME = "week-1-day-6-generating", "one-token-at-a-time"
STORY, STORY_TOKENS = "Once upon a time there was a", 24


@dataclass
class Spy:
    """A model that notes how many positions it computes, and what it answers."""

    model: Callable[[mx.array], mx.array]
    lengths: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    logs: list[float] = field(default_factory=list)

    def __call__(self, inputs: mx.array) -> mx.array:
        """Score the tokens that follow, and note the likeliest."""
        logits = self.model(inputs)
        logs = logits[0, -1] - mx.logsumexp(logits[0, -1])
        self.lengths.append(inputs.shape[1])
        self.tokens.append(int(mx.argmax(logs).item()))
        self.logs.append(cast("float", mx.max(logs).item()))
        return logits


@functools.cache
def checkpoint() -> LoadedCheckpoint:
    """Load the embedded checkpoint, once."""
    return load()


@functools.cache
def spied(prompt: str) -> Spy:
    """Let the loop of the course run, and return what its model was asked."""
    loaded = checkpoint()
    tokenizer = loaded.tokenizer
    question = [{"role": "user", "content": "What is RMSNorm?"}]
    is_story = prompt == "story"
    text = STORY if is_story else loaded.chat_prompt(question)
    spy = Spy(Qwen2ModelWeek1(loaded.model))
    limit = STORY_TOKENS if is_story else loaded.context
    model = MeteredModel(spy, tokenizer.eos_token_id, limit)
    simple_generate(model, tokenizer, text, None)
    return spy


@pytest.mark.parametrize(
    ("prompt", "step"),
    [("question", 1), ("question", 4), ("question", 32), ("story", 2), ("story", 24)],
)
def test_shows_what_the_loop_of_the_course_computes(
    figure: OpenFigure, prompt: str, step: int
) -> None:
    spy = spied(prompt)

    figure.set(prompt=prompt, step=step)

    total, distinct = sum(spy.lengths[:step]), spy.lengths[step - 1]
    token = checkpoint().tokenizer.decode([spy.tokens[step - 1]])
    assert figure.read("now") == spy.lengths[step - 1]
    assert figure.read("total") == total
    assert figure.read("repeated") == total - distinct
    assert figure.read("share") == pytest.approx((total - distinct) / total)
    assert figure.read("token") == token.replace(" ", "·")
    assert figure.read("probability") == pytest.approx(
        math.exp(spy.logs[step - 1]), rel=1e-4
    )
    assert figure.read("sum") == pytest.approx(sum(spy.logs[:step]), abs=1e-3)


def test_the_question_ends_with_the_end_token(figure: OpenFigure) -> None:
    """The slider reaches the last step of the loop, and the button stops there."""
    figure.set(step=len(spied("question").lengths) - 1)
    figure.press("next")

    assert figure.read("now") == spied("question").lengths[-1]
    assert figure.read("token") == checkpoint().tokenizer.eos_token


def test_a_memory_leaves_one_position_a_step(figure: OpenFigure) -> None:
    figure.set(remember=True, step=10)

    assert figure.read("now") == 1
    assert figure.read("total") == spied("question").lengths[9]
    assert figure.read("repeated") == 0


def test_a_shorter_run_brings_the_slider_back(figure: OpenFigure) -> None:
    """The story has fewer steps than the answer to the question."""
    figure.set(step=32, prompt="story")

    assert figure.read("now") == spied("story").lengths[-1]
