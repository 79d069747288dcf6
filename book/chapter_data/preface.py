"""The data of the preface: what the course counts, and the parts of the engine."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import arrow, blank, box, path, words
from tiny_llm_course.book.drawing import MUTED, SERIES, style
from tiny_llm_course.book.facts import counts
from tiny_llm_course.grading.judgement.closeness import ALLOWED_ULPS
from tiny_llm_course.syllabus import tasks_of


def numbers() -> dict[str, int]:
    """Return how large the course is, and how close an answer has to be."""
    return {**counts(), "allowed": int(ALLOWED_ULPS)}


def _day(symbol: str) -> str:
    """Return the day on which a public name is written, in the syllabus."""
    return f"Day {tasks_of(symbol)[0].address.day}"


PARTS = (
    ("tokenizer: text to token ids", "given"),
    ("embedding: token ids to vectors", _day("embedding.Embedding")),
    ("RMSNorm", _day("layer_norm.RMSNorm")),
    ("attention, with positions and mask", "Days 1 to 3"),
    ("RMSNorm", _day("layer_norm.RMSNorm")),
    ("SwiGLU MLP", _day("qwen2_week1.Qwen2MLP")),
    ("RMSNorm", _day("layer_norm.RMSNorm")),
    ("head: a score for each possible next token", _day("embedding.Embedding")),
    ("sampler: choose one of them", _day("sampler.make_sampler")),
)
"""What a text passes through, from top to bottom, and when it is written."""

BLOCK = (2, 5)
"""The first and the last part of what is repeated."""


def drawings() -> dict[str, Figure]:
    """Draw the parts of the engine."""
    with style():
        figure = Figure(figsize=(5, 4.6))
        axes = figure.subplots()
        blank(axes, (-1.2, 10.5), (-8.9, 0.9))
        for row, (name, day) in enumerate(PARTS):
            _draw_part(axes, row, name, day)
        _draw_block(axes)
        _draw_loop(axes)
        return {"map": figure}


def _draw_part(axes: Axes, row: int, name: str, day: str) -> None:
    """Draw one part, the day beside it, and the arrow to the next part."""
    colour = MUTED if day == "given" else SERIES[0]
    box(axes, (3.6, -row), name, colour)
    words(axes, (8.4, -row), day, ha="left", color=colour)
    if row + 1 < len(PARTS):
        arrow(axes, (3.6, -row - 0.32), (3.6, -row - 0.68), MUTED)


def _draw_block(axes: Axes) -> None:
    """Frame the parts that the model repeats."""
    top, bottom = -BLOCK[0] + 0.42, -BLOCK[1] - 0.42
    x = (0.1, 7.3, 7.3, 0.1, 0.1)
    axes.plot(x, (top, top, bottom, bottom, top), color=MUTED, linewidth=1, ls="--")
    words(axes, (0.3, -4), "one block,\nDay 5;\nrepeated", ha="left", size=8)


def _draw_loop(axes: Axes) -> None:
    """Lead from the chosen token back to the top."""
    top, bottom, left, middle = 0.75, -8.75, -0.7, 3.6
    corners = [(middle, bottom), (left, bottom), (left, top), (middle, top)]
    path(axes, [(middle, -8.32), *corners, (middle, 0.32)], SERIES[1], lw=1.6)
    look = {"color": SERIES[1], "rotation": 90, "size": 8}
    words(axes, (-1.1, -4), "the loop appends the token: Day 6", ha="left", **look)
