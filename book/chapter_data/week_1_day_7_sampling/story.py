"""What may follow the beginning of a story, and how likely."""

import functools
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import INK, MUTED, SERIES, Texts
from tiny_llm_course.book.embedded import checkpoint, token_ids, tokens
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

from .sampler import num_kept, sampled

PROMPT = "Once upon a time, a brave snail named Ida lived in the forest."
"""A text that many sentences can follow."""

NARROW = f"{PROMPT} She"
"""The same one word later, when few can."""

NUM_SHOWN = 14
"""Tokens with a bar of their own in the interactive figure."""


@functools.cache
def model() -> Qwen2ModelWeek1:
    """Build the model of Day 5 on the embedded weights."""
    return Qwen2ModelWeek1(checkpoint().model)


def next_log_probabilities(ids: mx.array) -> mx.array:
    """Run the model on N x L ids: log-probabilities N x V of the next token."""
    logits = model()(ids)[:, -1, :]
    return logits - mx.logsumexp(logits, axis=-1, keepdims=True)


@functools.cache
def likeliest_first(text: str) -> tuple[list[float], list[int]]:
    """Return the log-probabilities after `text`, sorted, and the ids they belong to."""
    row = next_log_probabilities(mx.array([token_ids(text)]))[0]
    order = mx.argsort(-row)
    return row[order].tolist(), order.tolist()


def described(text: str) -> dict[str, Any]:
    """Describe the distribution after `text`: its likeliest tokens, how many count."""
    log_probabilities, ids = likeliest_first(text)
    shares = np.exp(log_probabilities)
    return {
        "tokens": [one.strip() for one in tokens(ids[:14])],
        "shares": shares[:14].tolist(),
        "kept": int(np.sum(np.cumsum(shares) - shares < 0.9)),
        "of_five": float(shares[:5].sum()),
        "choices": _choices(shares),
    }


def _choices(shares: Sequence[float] | np.ndarray) -> float:
    """Return how many equally likely tokens would be as varied: exp(entropy)."""
    some = np.array([one for one in shares if one > 0], dtype=np.float64)
    return float(np.exp(-np.sum(some * np.log(some))))


def tail(temp: float) -> dict[str, float]:
    """Say what a temperature leaves to all but the 100 likeliest tokens."""
    log_probabilities, _ = likeliest_first(PROMPT)
    shares = np.array(sampled(mx.array([log_probabilities]), temp))[0]
    return {
        "temp": temp,
        "first": float(shares[0]),
        "percent": 100 * float(shares[100:].sum()),
        "choices": _choices(shares),
    }


def hot_first() -> dict[str, int]:
    """Count what top-p keeps of the model's row if a temperature goes first."""
    row = mx.array([likeliest_first(PROMPT)[0]])
    hot = mx.log(sampled(row, 2.0))
    return {
        "first": num_kept(sampled(hot, 1, 0.9)),
        "last": num_kept(sampled(row, 2.0, 0.9)),
    }


def draw_two_rows(text: Texts) -> Figure:
    """Draw what top-k and top-p keep of a wide and of a narrow distribution."""
    figure = Figure(figsize=(5, 2.6))
    panels = figure.subplots(1, 2, sharey=True)
    for panel, prompt in zip(panels, (PROMPT, NARROW), strict=True):
        _draw_row(panel, prompt)
        panel.set_title(f"... {' '.join(prompt.split()[-4:])}")
        panel.set_xlabel(text["x"])
    panels[0].set_ylabel(text["y"])
    return figure


def _draw_row(panel: Axes, prompt: str) -> None:
    """Draw the likeliest tokens after `prompt`, those of top-p 0.9 in colour."""
    shares = np.exp(likeliest_first(prompt)[0][:NUM_SHOWN])
    places = np.arange(1, NUM_SHOWN + 1)
    kept = np.cumsum(shares) - shares < 0.9
    panel.bar(places[kept], shares[kept], color=SERIES[0])
    panel.bar(places[~kept], shares[~kept], color=MUTED)
    panel.axvline(5.5, color=SERIES[1], linestyle="--")
    panel.set_axisbelow(True)
    panel.text(5.8, 0.6, "top_k = 5", color=INK, fontsize=8)
    panel.grid(visible=False, axis="x")
    panel.set_xticks([1, 5, 10, 14])
