"""What the stream of the embedded model says on the way through the layers."""

import math
from functools import cache
from typing import Any

import mlx.core as mx
from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import bare, words
from tiny_llm_course.book.drawing import INK, SERIES, Texts
from tiny_llm_course.book.embedded import checkpoint, token_ids, tokens
from tiny_llm_ref.basics import softmax
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

from .by_hand import rms

PROMPT = "Once upon a time, there was"
CHOICE = "Once upon a time"


@cache
def _model() -> Qwen2ModelWeek1:
    """Build the model of this day on the embedded weights."""
    return Qwen2ModelWeek1(checkpoint().model)


@cache
def _stream(prompt: str) -> tuple[mx.array, ...]:
    """Return the stream behind the embedding, and behind each layer."""
    model = _model()
    x = model.embedding(mx.array([token_ids(prompt)]))
    states = [x]
    for layer in model.layers:
        x = layer(x, mask="causal")
        states.append(x)
    return tuple(state[0] for state in states)


def _read(state: mx.array) -> mx.array:
    """Hand a stream to the last norm and the head, wherever it was taken."""
    model = _model()
    return model.embedding.as_linear(model.norm(state))


def _lens() -> list[list[tuple[str, float]]]:
    """Return the likeliest token and its probability, per place and position."""
    rows = []
    for state in _stream(PROMPT):
        probabilities = softmax(_read(state), axis=-1)
        best = tokens(mx.argmax(probabilities, axis=-1).tolist())
        most = mx.max(probabilities, axis=-1).tolist()
        rows.append(list(zip(best, most, strict=True)))
    return rows


def lens_numbers() -> dict[str, Any]:
    """Return what the text says about the stream at the third token."""
    third, fourth = ([row[column] for row in _lens()] for column in (2, 3))
    told = [token.strip() for token, _ in fourth[1:]]
    assert told == ["ago"] * 4 + [","], f"the text says otherwise: {told}"
    return {
        "rms": [rms(state[2]) for state in _stream(PROMPT)],
        "best": [token.strip() for token, _ in third],
        "probability": [probability for _, probability in third],
    }


def choice() -> dict[str, Any]:
    """Return the two best scores for what follows `CHOICE`."""
    logits = _model()(mx.array([token_ids(CHOICE)]))[0]
    last, probabilities = logits[-1], softmax(logits, axis=-1)[-1]
    best = mx.argsort(-last)[:2].tolist()
    scores = [last[one].item() for one in best]
    return {
        "positions": logits.shape[0],
        "token": [token.strip() for token in tokens(best)],
        "logit": scores,
        "probability": [probabilities[one].item() for one in best],
        "difference": scores[0] - scores[1],
        "ratio": math.exp(scores[0] - scores[1]),
        "lowest": last.min().item(),
    }


def share_of_own_rows() -> float:
    """Return the share of tokens that the head finds again right in the embedding."""
    found = mx.argmax(_read(_model().embedding.weight), axis=-1)
    return mx.mean(found == mx.arange(found.size)).item()


def draw_stream(text: Texts) -> Figure:
    """Draw the likeliest token of every state of the stream, shaded by probability."""
    rows, read = _lens(), [token.strip() for token in tokens(token_ids(PROMPT))]
    layers = [text["layer"].format(number=i) for i in range(len(rows) - 1)]
    figure = Figure(figsize=(4.4, 2.5))
    axes = figure.subplots()
    axes.set(xlim=(-0.5, len(read) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    for y, row in enumerate(rows):
        for x, (token, probability) in enumerate(row):
            shade = {"color": SERIES[0], "alpha": 0.6 * probability, "lw": 0}
            axes.barh(y, 0.94, 0.9, x - 0.47, **shade)
            words(axes, (x, y), token.strip(), size=8)
    axes.set_xticks(range(len(read)), read)
    axes.set_yticks(range(len(rows)), [text["embedding"], *layers])
    axes.xaxis.tick_top()
    axes.tick_params(labelcolor=INK)
    bare(axes)
    return figure
