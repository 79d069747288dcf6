"""The ladder of `byte_product.h`: predicted, compiled and measured."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import words
from tiny_llm_course.book.drawing import MUTED, SERIES, Texts
from tiny_llm_lab import measured

TOKENS, COLUMNS, CACHE_ROWS, GATE_ROWS = 240, 896, 64, 4864
"""The products of the example: four panels that stay in the cache, and a gate."""

PANEL_ROWS, LANES, REGISTERS = 16, 16, 32
"""Rows of a panel, floats in a register of 64 bytes, and how many of them there are."""

TILES = (1, 2, 4, 6, 8, 12, 16, 24, 30, 40)
"""Tokens of a tile, as the example turns this knob."""

TILE = 12
"""Tokens of a tile of bytes."""

ADD_LATENCY, MULTIPLY_LATENCY = 3, 4
"""Cycles until a sum can be added to: plain, and where it is multiplied as well."""

PER_CYCLE = 4
"""Instructions that begin in a cycle, as the text assumes."""


@cache
def _times(kind: str = "plain") -> dict[tuple[str, str], float]:
    return measured.example_ns("byte_product", kind)


def _cycle_ns(kind: str = "plain") -> float:
    return _times(kind)["a thousand cycles", ""] / 1000


def cycles(rung: str, kind: str = "plain") -> float:
    """Return the cycles for a product of two numbers, on panels in the cache."""
    products = TOKENS * COLUMNS * CACHE_ROWS
    return _times(kind)[rung, "cache"] / products / _cycle_ns(kind)


def predicted_tile(num_tokens: int) -> float:
    """Return the cycles for a product in tiles of so many tokens, before measuring.

    For four tokens or more, one load begins in a cycle: of the panel, or of a token.
    With fewer, the sums wait for their latency.
    """
    return max(MULTIPLY_LATENCY, num_tokens + 1) / num_tokens / LANES


def numbers() -> dict[str, Any]:
    """Return what the text quotes."""
    _hold_claims()
    times = _times()
    packing, tiles = times["packing", "cache"], times["VNNI", "cache"]
    gate_ms = times["tiles of bytes", "gate"] / 1e6
    pieces = {
        size: times[f"pieces of {size} panels", "gate"] for size in (1, 4, 16, 64)
    }
    together = {
        rows: times[f"lanes, {rows} rows", "gate"] / 1e6
        for rows in (16, 64, 256, 1024, GATE_ROWS)
    }
    return {
        "cycle_ns": _cycle_ns(),
        "rows": CACHE_ROWS,
        "columns": COLUMNS,
        "tokens": TOKENS,
        "gate_rows": GATE_ROWS,
        "multiply_latency": MULTIPLY_LATENCY,
        "plain": {"predicted": ADD_LATENCY, "cycles": cycles("plain")},
        "unpacked": {"predicted": ADD_LATENCY, "cycles": cycles("unpacked once")},
        "loops": _compiled("panel_in_loops") | {"cycles": cycles("lanes in loops")},
        "lanes": _lanes(),
        "tile": {str(size): _tile(size) for size in TILES},
        "float": _compiled("float_tile_avx512<12>"),
        "bytes": _compiled("byte_tile") | {"cycles": cycles("bytes")},
        "vnni": _vnni(),
        "together": {str(rows): ms for rows, ms in together.items()},
        "all_over_one": together[GATE_ROWS] / together[PANEL_ROWS],
        "all_mb": 4 * GATE_ROWS * COLUMNS / 1e6,
        "packing_tokens": packing / tiles * TOKENS,
        "gate_ms": gate_ms,
        "gate_half_ms": gate_ms / 2,
        "panel_us": gate_ms * 1e3 / (GATE_ROWS / PANEL_ROWS),
        "pieces": {str(size): ns / 1e6 for size, ns in pieces.items()},
        "lanes_over_vnni": cycles("lanes") / cycles("VNNI"),
    }


def _compiled(function: str) -> dict[str, Any]:
    """Return how an inner loop was compiled: as a listing, and counted by name."""
    loop = measured.instructions_of(function)
    named = Counter(line.split()[0] for line in loop)
    return {
        "instructions": len(loop),
        "assembly": "\n".join(loop),
        "named": dict(named),
        "moves": sum(number for name, number in named.items() if "movdqa" in name),
    }


def _lanes() -> dict[str, Any]:
    """Return the rung in lanes: its sums wait, and its instructions take their time."""
    found = _compiled("panel_in_lanes")
    return found | {
        "waits": ADD_LATENCY / PANEL_ROWS,
        "predicted": found["instructions"] / PANEL_ROWS / PER_CYCLE,
        "cycles": cycles("lanes"),
        "times": cycles("unpacked once") / cycles("lanes"),
    }


def _tile(num_tokens: int) -> dict[str, float]:
    """Return a tile of floats."""
    own = cycles(f"tiles of {num_tokens}")
    narrow = cycles(f"tiles of {num_tokens}", "avx2")
    return {"predicted": predicted_tile(num_tokens), "cycles": own, "avx2": narrow}


def _vnni() -> dict[str, Any]:
    """Return the tile of bytes: 64 products in an instruction, one in a cycle."""
    return _compiled("byte_tile_vnni") | {
        "predicted": predicted_tile(TILE) / 4,
        "peak_giga": 2 * 4 * LANES / _cycle_ns(),
        "cycles": cycles("VNNI"),
        "giga": 2 / cycles("VNNI") / _cycle_ns(),
    }


def _hold_claims() -> None:
    """Fail where a new run no longer shows what the text says."""
    for rung in ("plain", "unpacked once"):
        assert abs(cycles(rung) / ADD_LATENCY - 1) < 0.15, f"{rung}: not its latency"
    assert cycles("lanes in loops") > 3 * cycles("lanes"), "the shuffles cost nothing"
    lanes = _lanes()
    assert lanes["waits"] < lanes["cycles"] < 1.1 * lanes["predicted"], "lanes"
    assert cycles("tiles of 1") > cycles("lanes"), "wide registers do not wait"
    for size in (size for size in TILES if size <= REGISTERS):
        above = cycles(f"tiles of {size}") / predicted_tile(size)
        assert 0.9 < above < 1.4, f"tiles of {size}: {above:.2f} times as predicted"
    assert cycles("tiles of 40") > 1.05 * cycles("tiles of 30"), "no end of registers"
    narrow, too_wide = (cycles(f"tiles of {size}", "avx2") for size in (6, 8))
    assert narrow < 1.3 * cycles("tiles of 12"), "wide registers are not done in halves"
    assert too_wide > 1.2 * narrow, "no end of the registers of AVX2"
    assert (
        _times()["lanes, 4864 rows", "gate"] > 1.1 * _times()["lanes, 16 rows", "gate"]
    )
    assert cycles("bytes") > 1.2 * cycles("lanes"), "plain C++ is good at bytes"


def draw_knob(text: Texts) -> Figure:
    """Draw the cycles for a product over the tokens of a tile, for two widths.

    An upright line stands where the registers are used up.
    """
    figure = Figure(figsize=(5, 2.9))
    axes = figure.subplots()
    places = range(1, max(TILES) + 1)
    expected: Sequence[float] = [predicted_tile(size) for size in places]
    axes.plot(places, expected, color=MUTED, linestyle="--", label=text["predicted"])
    kinds = (("plain", "o", SERIES[0], 31.5), ("avx2", "s", SERIES[1], 6.5))
    for kind, marker, colour, last in kinds:
        own = [cycles(f"tiles of {size}", kind) for size in TILES]
        axes.plot(TILES, own, marker, color=colour, label=text[kind])
        axes.axvline(last, color=colour, linewidth=1)
    words(axes, (32.2, 0.18), text["full"], ha="left", color=SERIES[0])
    axes.set(xlabel=text["x"], ylabel=text["y"], ylim=(0, None), xlim=(0, 47))
    axes.legend(loc="upper center")
    return figure
