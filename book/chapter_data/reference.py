"""The data of the reference: signatures, dtypes, closeness, settings."""

import importlib
import inspect
import re
import textwrap
from typing import Any

import mlx.core as mx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import PAPER, SERIES, Drawing, Texts
from tiny_llm_course.book.embedded import checkpoint, head_dim
from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.closeness import (
    ALLOWED_ULPS,
    Truth,
    epsilon,
    ulps_off,
)
from tiny_llm_course.syllabus import tasks

BITS = {"float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)}
"""The bits of exponent and fraction. One more bit is the sign."""


def numbers() -> dict[str, Any]:
    """Return all that stands in the tables."""
    symbols = [symbol for task in tasks() for symbol in task.symbols]
    # Of namesakes, such as those of two weeks, the first is shown.
    call = {one.split(".")[1]: _signature(one) for one in reversed(symbols)}
    config = checkpoint().config
    return {
        "call": call,
        "block": _folded(call["Qwen2TransformerBlock"]),
        "batch_norm": _folded(call["BatchNorm"]),
        "engine": _folded(call["Engine"]),
        "bytes_per_token": _without_module_of_dtype(call["bytes_per_token"]),
        "matmul": _folded(call["quantized_matmul"]),
        "dtype": {name: _limits(name) for name in BITS},
        "square": _first_overflow(),
        "allowed": int(ALLOWED_ULPS),
        "near_100": _near_100(),
        "cancelled": _cancelled(),
        "unit_near_100": 100 * epsilon(mx.float16),
        "config": config,
        "head_dim": head_dim(),
    }


def phrases() -> dict[str, str]:
    """Return what stands in the tables as a word."""
    is_tied = checkpoint().config["tie_word_embeddings"]
    return {"tied": say(f"book.{'yes' if is_tied else 'no'}")}


def _signature(symbol: str) -> str:
    """Return the arguments of a public name, with defaults and without annotations."""
    file, name = symbol.split(".")
    found = inspect.signature(
        getattr(importlib.import_module(f"tiny_llm_ref.{file}"), name)
    )
    bare = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in found.parameters.values()
    ]
    # A default that is a function has its place in memory in its name.
    return re.sub(r"<function (\w+) at \w+>", r"\1", f"{name}{inspect.Signature(bare)}")


def _without_module_of_dtype(call: str) -> str:
    """Write the default dtype as a person would."""
    return call.replace("mlx.core.", "mx.")


def _folded(call: str) -> str:
    """Return the arguments of a long call in lines that fit a page."""
    arguments = call.partition("(")[2].removesuffix(")")
    return textwrap.fill(
        arguments + ",", 64, initial_indent="    ", subsequent_indent="    "
    )


def _limits(name: str) -> dict[str, float]:
    """Derive the limits of a dtype from its bits, and compare with MLX."""
    exponent, fraction = BITS[name]
    bias = 2 ** (exponent - 1) - 1
    step = 2.0**-fraction
    dtype = getattr(mx, name)
    assert step == epsilon(dtype)
    assert (mx.array(1, dtype) + mx.array(step, dtype)).item() == 1 + step
    return {
        "bytes": (1 + exponent + fraction) // 8,
        "fraction": fraction,
        "epsilon": step,
        "one_in": 2**fraction,
        "digits": int(fraction * np.log10(2)),
        "largest": (2 - step) * 2.0**bias,
        "normal": 2.0 ** (1 - bias),
        "smallest": 2.0 ** (1 - bias - fraction),
        "whole": 2 ** (fraction + 1),
    }


def _first_overflow() -> int:
    """Return the first whole number whose square is infinite in float16."""
    whole = mx.arange(1, 400).astype(mx.float16)
    return int(whole[mx.argmax(mx.isinf(whole * whole))].item())


def _near_100() -> list[dict[str, float]]:
    """Measure two float16 results where the truth is 100."""
    truth = Truth(np.array([100.0]), np.array([100.0]))
    results = [100.25, 100.5]
    off = [ulps_off(mx.array([one], mx.float16), truth)[0] for one in results]
    return [{"got": got, "units": one} for got, one in zip(results, off, strict=True)]


def _cancelled() -> dict[str, float]:
    """Measure a float32 sum whose large terms cancel."""
    large = mx.array(10000.0)
    small = mx.array(0.001)
    exact = float(np.float64(np.float32(0.001)))
    got = (large + small) - large
    terms = 2 * 10000 + exact
    by_terms = ulps_off(got[None], Truth(np.array([exact]), np.array([terms])))
    by_value = ulps_off(got[None], Truth(np.array([exact]), np.array([exact])))
    return {
        "exact": exact,
        "got": float(got.item()),
        "by_terms": by_terms[0],
        "by_value": by_value[0],
    }


def drawings() -> dict[str, Drawing]:
    """Return how three dtypes spend their bits, and how far apart their numbers lie."""
    return {"bits": _draw_bits, "spacing": _draw_spacing}


def _draw_bits(text: Texts) -> Figure:
    """Draw a bar of bits per dtype."""
    figure = Figure(figsize=(5, 1.9))
    axes = figure.add_subplot()
    for row, (name, (exponent, fraction)) in enumerate(BITS.items()):
        left = 0
        for part, width in enumerate((1, exponent, fraction)):
            axes.barh(-row, width, left=left, height=0.6, color=SERIES[part], ec=PAPER)
            if part:
                place = (left + width / 2, -row)
                axes.annotate(str(width), place, color=PAPER, ha="center", va="center")
            left += width
        axes.annotate(name, (-0.6, -row), ha="right", va="center")
    for part, (name, x) in enumerate(
        {"sign": 0, "exponent": 4, "fraction": 16}.items()
    ):
        axes.annotate(text[name], (x, 0.5), color=SERIES[part], va="bottom")
    axes.set_xlim(-6.5, 32.5)
    axes.set_ylim(-2.5, 1.0)
    axes.axis("off")
    return figure


def _draw_spacing(text: Texts) -> Figure:
    """Draw the distance between neighbours against size, for each dtype."""
    figure = Figure(figsize=(5, 3.2))
    axes = figure.add_subplot()
    _draw_staircase(axes, "bfloat16", SERIES[1], label_at=(1e-2, 1.0))
    _draw_staircase(axes, "float16", SERIES[0], label_at=(1e-8, 4e-7))
    _draw_staircase(axes, "float32", SERIES[2], label_at=(1e2, 1e-8))
    axes.set_xscale("log", base=10)
    axes.set_yscale("log", base=10)
    axes.set_xlim(1e-9, 1e7)
    axes.set_ylim(1e-17, 1e7)
    axes.set_xlabel(text["x"])
    axes.set_ylabel(text["y"])
    axes.tick_params(labelsize=8)
    return figure


def _draw_staircase(
    axes: Axes, name: str, colour: str, label_at: tuple[float, float]
) -> None:
    """Draw one dtype: the distance doubles with every power of two."""
    limits = _limits(name)
    sizes = 2.0 ** np.arange(-32, 25)
    sizes = sizes[(sizes >= limits["smallest"]) & (sizes <= limits["largest"])]
    steps = np.maximum(sizes * limits["epsilon"], limits["smallest"])
    axes.step(sizes, steps, where="post", color=colour)
    if limits["largest"] < 2.0**24:
        ends = (sizes[0], limits["largest"])
        axes.plot((sizes[-1], ends[1]), (steps[-1], steps[-1]), color=colour)
        axes.plot(ends, (steps[0], steps[-1]), "o", color=colour, markersize=4)
    axes.annotate(name, label_at, color=colour)
