"""The data of the preface: what the course counts, and the parts of the engine."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import arrow, blank, box, path, words
from tiny_llm_course.book.drawing import MUTED, SERIES, Drawing, Texts
from tiny_llm_course.book.facts import counts
from tiny_llm_course.grading.judgement.closeness import ALLOWED_ULPS
from tiny_llm_course.syllabus import tasks_of
from tiny_llm_lab import measured
from tiny_llm_lab.training.recipe import Recipe


def numbers() -> dict[str, Any]:
    """Return how large the course is, how close an answer has to be, and more."""
    return {**counts(), "allowed": int(ALLOWED_ULPS), "zh": what_chinese_costs()}


def what_chinese_costs() -> dict[str, float]:
    """Return what `pdm run lab bilingual` has measured, and for how much text."""
    alone, half, twice = measured.two_languages().values()
    recipe = Recipe()
    losses = {
        name: float(row["english_loss_per_byte"])
        for name, row in (("alone", alone), ("half", half), ("twice", twice))
    }
    return {
        **losses,
        "part": recipe.num_rows * recipe.context / float(alone["tokens"]),
        "file_mb": float(alone["file_bytes"]) / 1e6,
        "file_mb_two": float(half["file_bytes"]) / 1e6,
    }


PARTS = {
    "tokenizer": (),
    "embedding": ("embedding.Embedding",),
    "norm_1": ("layer_norm.RMSNorm",),
    "attention": ("basics.softmax", "qwen2_week1.Qwen2MultiHeadAttention"),
    "norm_2": ("layer_norm.RMSNorm",),
    "mlp": ("qwen2_week1.Qwen2MLP",),
    "norm_3": ("layer_norm.RMSNorm",),
    "head": ("embedding.Embedding",),
    "sampler": ("sampler.make_sampler",),
}
"""What a text passes through, from top to bottom: the public names that it takes."""

BLOCK = (2, 5)
"""The first and the last part of what is repeated."""


def drawings() -> dict[str, Drawing]:
    """Return the parts of the engine."""
    return {"map": draw_map}


def draw_map(text: Texts) -> Figure:
    """Draw the parts of the engine, and the days on which they are written."""
    figure = Figure(figsize=(5, 4.6))
    axes = figure.subplots()
    blank(axes, (-1.2, 10.5), (-8.9, 0.9))
    for row, (part, symbols) in enumerate(PARTS.items()):
        name = text["norm" if part.startswith("norm") else part]
        _draw_part(axes, row, name, _when(symbols, text), given=not symbols)
    _draw_block(axes, text["block"])
    _draw_loop(axes, text["loop"])
    return figure


def _when(symbols: Sequence[str], text: Texts) -> str:
    """Say on which days some public names are written."""
    if not symbols:
        return text["given"]
    days = [tasks_of(one)[0].address.day for one in symbols]
    if min(days) == max(days):
        return text["day"].format(day=days[0])
    return text["days"].format(first=min(days), last=max(days))


def _draw_part(axes: Axes, row: int, name: str, when: str, *, given: bool) -> None:
    """Draw one part, its days beside it, and the arrow to the next part."""
    colour = MUTED if given else SERIES[0]
    box(axes, (3.6, -row), name, colour)
    words(axes, (8.4, -row), when, ha="left", color=colour)
    if row + 1 < len(PARTS):
        arrow(axes, (3.6, -row - 0.32), (3.6, -row - 0.68), MUTED)


def _draw_block(axes: Axes, label: str) -> None:
    """Frame the parts that the model repeats."""
    top, bottom = -BLOCK[0] + 0.42, -BLOCK[1] - 0.42
    x = (0.1, 7.3, 7.3, 0.1, 0.1)
    axes.plot(x, (top, top, bottom, bottom, top), color=MUTED, linewidth=1, ls="--")
    words(axes, (0.3, -4), label, ha="left", size=8)


def _draw_loop(axes: Axes, label: str) -> None:
    """Lead from the chosen token back to the top."""
    top, bottom, left, middle = 0.75, -8.75, -0.7, 3.6
    corners = [(middle, bottom), (left, bottom), (left, top), (middle, top)]
    path(axes, [(middle, -8.32), *corners, (middle, 0.32)], SERIES[1], lw=1.6)
    look = {"color": SERIES[1], "rotation": 90, "size": 8}
    words(axes, (-1.1, -4), label, ha="left", **look)
