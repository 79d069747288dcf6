"""Week 2, day 1: what a cache saves, how large it is, and what growing costs."""

from typing import Any

from tiny_llm_course.book.drawing import Drawing

from .counting import FIRST, SHAPES, STEP, growth, sizes_of, steps
from .measured_speeds import speeds
from .pictures import draw_buffer, draw_growth, draw_mask

PROMPT, ANSWER = 12, 32


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    return {
        "answer": steps(PROMPT, ANSWER),
        "longer": longer(),
        "answers": [steps(PROMPT, one) for one in (10, 100, 1_000, 10_000)],
        "size": {name: sizes_of(shape) for name, shape in SHAPES.items()},
        "growth": [growth(one) for one in (100, 1_000, 32_768)],
        "speed": speeds(),
    }


def longer() -> dict[str, float]:
    """Return by which factors the tokens grow with an answer ten times as long."""
    short, long = steps(PROMPT, ANSWER), steps(PROMPT, 10 * ANSWER)
    return {f"{name}_times": long[name] / short[name] for name in ("again", "once")}


def drawings() -> dict[str, Drawing]:
    """Return the buffer, the mask and the cost of growing."""
    return {
        "buffer": draw_buffer,
        "mask": draw_mask,
        "growth": draw_growth,
    }


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    return {"growing-cache": {"first": FIRST, "step": STEP}}
