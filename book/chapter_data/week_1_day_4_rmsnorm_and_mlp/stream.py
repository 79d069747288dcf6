"""The residual stream of the embedded model, and what its norms hand on."""

import functools
import math
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np
from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import SERIES, Texts
from tiny_llm_course.book.embedded import checkpoint, sizes, token_ids, weights
from tiny_llm_ref.basics import linear
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

from .float16 import FLOAT16_LARGEST
from .norms import TOKEN_A
from .writing import listed

SENTENCE = "Once upon a time, a brave snail lived in the forest."


@dataclass(frozen=True)
class Part:
    """What one layer of the model did to the tokens of a sentence.

    Attributes:
        stream: The residual stream before the MLP, tokens x E.
        after: The residual stream after the MLP.
        normed: What attention and the MLP are given, by the two norms.
        gate: The branch of w_gate before the SiLU, tokens x I.
        up: The branch of w_up.
    """

    stream: np.ndarray
    after: np.ndarray
    normed: tuple[np.ndarray, np.ndarray]
    gate: np.ndarray
    up: np.ndarray


@dataclass(frozen=True)
class Trace:
    """A sentence on its way through the embedded model.

    Attributes:
        embedded: The vectors of its tokens, tokens x E.
        parts: What each layer made of them.
        last: What the final norm gives.
    """

    embedded: np.ndarray
    parts: tuple[Part, ...]
    last: np.ndarray


@functools.cache
def trace() -> Trace:
    """Send a sentence through the embedded model, and keep what is on the way."""
    model = Qwen2ModelWeek1(checkpoint().model)
    x = start = model.embedding(mx.array([token_ids(SENTENCE)]))
    parts: list[Part] = []
    for block in model.layers:
        first = block.input_layernorm(x)
        middle = x + block.attention(first, "causal")
        second = block.post_attention_layernorm(middle)
        x = middle + block.mlp(second)
        gate, up = linear(second, block.mlp.w_gate), linear(second, block.mlp.w_up)
        normed = (np.array(first[0]), np.array(second[0]))
        stages = [np.array(one[0]) for one in (middle, x, gate, up)]
        parts.append(Part(stages[0], stages[1], normed, stages[2], stages[3]))
    return Trace(np.array(start[0]), tuple(parts), np.array(model.norm(x)[0]))


def partial() -> dict[str, Any]:
    """Estimate the root mean square from some channels, of toy and of real vectors."""
    first = TOKEN_A[:2]
    root = math.sqrt(sum(value**2 for value in first) / 2)
    vectors = np.concatenate([part.stream for part in trace().parts])
    num_channels = vectors.shape[1]
    num_taken = math.ceil(num_channels * 0.0625)
    ratio = _root_mean_square(vectors[:, :num_taken]) / _root_mean_square(vectors)
    result = np.array(TOKEN_A) / root
    return {
        "partial_mean_square": f"{root**2:g}",
        "partial_root": f"{root:.3f}",
        "partial_unit": listed(result, 3),
        "partial_result_rms": f"{_root_mean_square(result):.2f}",
        "num_taken": num_taken,
        "num_channels": num_channels,
        "partial_least": f"{ratio.min():.2f}",
        "partial_most": f"{ratio.max():.2f}",
        "partial_median": f"{np.median(ratio):.2f}",
        "num_vectors": len(ratio),
    }


def measured_stream() -> dict[str, Any]:
    """Measure the residual stream of the embedded model on one sentence."""
    run = trace()
    start, end = run.embedded, run.parts[-1].after
    streams = np.concatenate([start, *(part.stream for part in run.parts), end])
    off_centre = np.abs(streams.mean(axis=1)) / _root_mean_square(streams)
    given = np.concatenate(
        [*(one for part in run.parts for one in part.normed), run.last]
    )
    middle_gates = run.parts[2].gate
    gains = weights()
    return {
        "num_layers": sizes().num_hidden_layers,
        "num_tokens": len(start),
        "rms_start": f"{np.median(_root_mean_square(start)):.2g}",
        "rms_end": f"{np.median(_root_mean_square(end)):.0f}",
        "growth": f"{_growth(start, end):.0f}",
        "given_least": f"{_root_mean_square(given).min():.2f}",
        "given_most": f"{_root_mean_square(given).max():.2f}",
        "largest_entry": f"{np.abs(end).max():.0f}",
        "num_overflowing": int((np.square(end).sum(axis=1) > FLOAT16_LARGEST).sum()),
        "off_centre": f"{100 * np.median(off_centre):.1f}",
        "off_centre_most": f"{100 * off_centre.max():.0f}",
        "num_measured": len(off_centre),
        "middle_negative": f"{100 * np.mean(middle_gates < 0):.0f}",
        "last_gain": _span(gains["model.norm.weight"]),
        "first_gain": _span(gains["model.layers.0.input_layernorm.weight"]),
    }


def _growth(start: np.ndarray, end: np.ndarray) -> float:
    """Return by what factor the typical size of a vector grows."""
    return float(
        np.median(_root_mean_square(end)) / np.median(_root_mean_square(start))
    )


def _span(gains: mx.array) -> dict[str, float]:
    """Return the least and the largest of the gains of a norm."""
    return {"least": gains.min().item(), "most": gains.max().item()}


def _root_mean_square(x: np.ndarray) -> np.ndarray:
    """Return the root mean square of each row."""
    return np.sqrt(np.square(x.astype(np.float64)).mean(axis=-1))


def draw_growth(text: Texts) -> Figure:
    """Draw how long the vectors of the stream are, and what the norms hand on."""
    run = trace()
    states = [run.embedded]
    given: list[np.ndarray] = []
    for part in run.parts:
        states += [part.stream, part.after]
        given += part.normed
    given.append(run.last)
    figure = Figure(figsize=(5, 2.7))
    axes = figure.subplots()
    places = np.arange(len(states))
    for rows, colour, label in (
        (states, SERIES[1], text["stream"]),
        (given, SERIES[0], text["given"]),
    ):
        roots = np.array([_root_mean_square(one) for one in rows])
        least, most = roots.min(axis=1), roots.max(axis=1)
        axes.fill_between(places, least, most, color=colour, alpha=0.2, lw=0)
        middle = np.median(roots, axis=1)
        axes.plot(places, middle, "o-", ms=3, color=colour, label=label)
    axes.set_yscale("log")
    axes.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    axes.set_xticks(
        places[::2], [text["embedding"], *map(str, range(1, len(places[::2])))]
    )
    axes.set_xlabel(text["x"])
    axes.set_ylabel(text["y"])
    axes.legend(loc="upper left")
    return figure
