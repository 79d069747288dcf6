"""A whole run of `pdm run bench`: each engine, per token and per byte, and targets."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import INK, SERIES, Drawing, Texts
from tiny_llm_lab import measured
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B

WORK = (
    ("generate", 32),
    ("generate", 1024),
    ("prefill", 32),
    ("prefill", 256),
    ("prefill", 1024),
)
OURS = "tiny_llm_ref"
RUNGS = ("week 1", "cache", "quantised", "kernels", "everything")
"""The variants of the course's model, in the order of the days that they come from."""

PACKED = "4-bit, float32"
PEERS = {
    "ours": (OURS, PACKED, "everything"),
    "llama": ("llama.cpp", "q4_0", ""),
    "mlx": ("mlx_lm", "float32", ""),
    "torch": ("transformers", "bfloat16", ""),
}
"""The last rung and each peer in its fastest format: engine, weights, rung."""

Table = list[list[str]]


def numbers() -> dict[str, Any]:
    """Return what the text quotes: speeds, bytes, and ratios to the last rung."""
    machine = measured.machine()
    found = {name: _measured(name) for name in PEERS}
    return {
        **found,
        "over": {name: _ratios(found["ours"], found[name]) for name in PEERS},
        "rung": {
            rung.replace(" ", "_"): _of_rung(rung, before)
            for before, rung in itertools.pairwise(("week 1", *RUNGS))
        },
        "avx512": _over_the_best_peer(measured.bench(measured.AVX512)["rows"]),
        "avx2": _over_the_best_peer(measured.bench(measured.AVX2)["rows"]),
        "read": machine.read_bytes_per_s / 1e9,
        "best_read": machine.best_read_bytes_per_s / 1e9,
        "products": machine.flops_per_s / 1e9,
    }


def _measured(name: str) -> dict[str, float]:
    """Return what one engine does, generating at 32 tokens and reading 256."""
    engine, weights, rung = PEERS[name]
    row = measured.case_of(engine, weights, "generate", 32, rung)
    late = measured.case_of(engine, weights, "generate", 1024, rung)
    prompt = measured.case_of(engine, weights, "prefill", 256, rung)
    return {
        "speed": row["tokens_per_s"],
        "late": late["tokens_per_s"],
        "prompt": prompt["tokens_per_s"],
        "mb": row["bytes_moved"] / 1e6,
        "gb_per_s": row["tokens_per_s"] * row["bytes_moved"] / 1e9,
        "share": row["share_of_bandwidth"],
    }


def _ratios(own: Mapping[str, float], peer: Mapping[str, float]) -> dict[str, float]:
    """Return how many times as fast ours is, by kind of work."""
    return {kind: own[kind] / peer[kind] for kind in own}


def _over_the_best_peer(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return how many times as fast ours is as the fastest peer, by work."""
    found: dict[str, float] = {}
    for work in WORK:
        speeds: dict[bool, list[float]] = {True: [], False: []}
        for row in rows:
            if (row["work"], row["tokens"]) == work:
                speeds[row["engine"] == OURS].append(row["tokens_per_s"])
        found["_".join(map(str, work))] = max(speeds[True]) / max(speeds[False])
    return found


def _of_rung(rung: str, before: str) -> dict[str, float]:
    """Return how fast one variant is, early and late in a text, and its roof."""
    early, late = _row_of_rung(rung, 32), _row_of_rung(rung, 1024)
    dense = _row_of_rung("week 1", 32)["roofline_tokens_per_s"]
    return {
        "speed": early["tokens_per_s"],
        "times": early["tokens_per_s"] / _row_of_rung(before, 32)["tokens_per_s"],
        "late_s": 1 / late["tokens_per_s"],
        "roof_times": early["roofline_tokens_per_s"] / dense,
    }


def _row_of_rung(rung: str, context: int) -> Mapping[str, Any]:
    """Return the row of one variant of the course's model that generates."""
    weights = "float32" if rung in {"week 1", "cache"} else PACKED
    return measured.case_of(OURS, weights, "generate", context, rung)


def drawings() -> dict[str, Drawing]:
    """Return the speed of each rung below what memory allows it."""
    return {"rungs": draw_rungs}


def draw_rungs(text: Texts) -> Figure:
    """Draw a bar for each rung, and a line for its roof."""
    figure = Figure(figsize=(4, 2.6), layout="constrained")
    axes = figure.subplots()
    rows = [_row_of_rung(rung, 32) for rung in RUNGS]
    for place, row in enumerate(rows):
        speed, roof = row["tokens_per_s"], row["roofline_tokens_per_s"]
        axes.barh(place, speed, height=0.6, color=SERIES[0])
        axes.plot([roof] * 2, [place - 0.4, place + 0.4], color=INK, linewidth=1.5)
        written = f"{speed:.0f}" if speed > 9 else f"{speed:.1f}"
        label = text["of"].format(speed=written, roof=f"{roof:.0f}")
        axes.annotate(label, (2000, place), va="center", ha="right", size=9)
    axes.set_yticks(range(len(rows)), [text[rung.replace(" ", "_")] for rung in RUNGS])
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set(xscale="log", xlim=(0.3, 2500), xlabel=text["x"])
    return figure


def tables() -> dict[str, Table]:
    """Return speeds by engine, per token and per byte, and what was to be reached."""
    kept = measured.bench()
    return {
        "bench": [
            *([name, str(kept[key])] for key, name in _ABOUT.items()),
            ["command", f"`{kept['command']}`"],
        ],
        "speeds-large": speeds(kept["rows"], QWEN2_0_5B),
        "speeds-avx512": speeds(measured.bench(measured.AVX512)["rows"], QWEN2_0_5B),
        "speeds-avx2": speeds(measured.bench(measured.AVX2)["rows"], QWEN2_0_5B),
        "speeds-embedded": speeds(kept["rows"], EMBEDDED_MODEL),
        "bytes-large": bytes_read(kept["rows"]),
        "targets": [_target(one) for one in kept["promises"]],
    }


_ABOUT = {
    "machine": "machine",
    "date": "date",
    "read_bandwidth_gb_per_s": "reads, GB/s, in the median",
    "best_read_bandwidth_gb_per_s": "reads, GB/s, at best",
    "float32_gflop_per_s": "multiplies float32, GFLOP/s",
}


def speeds(rows: Sequence[Mapping[str, Any]], model: str) -> Table:
    """Return a line for each engine, with a cell for each kind of work."""
    return [
        [*_named(key), *(_speed(found.get(work)) for work in WORK)]
        for key, found in _by_engine(rows, model).items()
    ]


def bytes_read(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return what each engine reads for a token at a context of 32, and how fast."""
    found = {key: works[WORK[0]] for key, works in _by_engine(rows, QWEN2_0_5B).items()}
    return [
        [
            *_named(key),
            f"{row['bytes_moved'] / 1e6:,.0f}",
            _speed(row),
            f"{row['tokens_per_s'] * row['bytes_moved'] / 1e9:.1f}",
            f"{row['share_of_bandwidth']:.0%}",
        ]
        for key, row in found.items()
    ]


def _by_engine(
    rows: Sequence[Mapping[str, Any]], model: str
) -> dict[tuple[str, str, str], dict[tuple[str, int], Mapping[str, Any]]]:
    """Sort the rows of a model: first by engine, variant and weights, then by work."""
    found: dict[tuple[str, str, str], dict[tuple[str, int], Mapping[str, Any]]] = {}
    for row in rows:
        if row["model"] == model:
            engine = row["engine"], row["rung"], row["weights"]
            found.setdefault(engine, {})[row["work"], row["tokens"]] = row
    return found


def _named(key: tuple[str, str, str]) -> list[str]:
    """Return the first cells of a line: the engine, and its weights."""
    name, variant, weights = key
    return [f"course, {variant}" if variant else name, weights]


def _speed(row: Mapping[str, Any] | None) -> str:
    """Write tokens per second; a dash where they were not measured."""
    if row is None:
        return "-"
    speed = row["tokens_per_s"]
    return f"{speed:,.0f}" if speed >= 10 else f"{speed:.2g}"


def _target(one: Mapping[str, Any]) -> list[str]:
    """Write a figure to reach beside what was reached."""
    reached = "not measured" if one["reached"] is None else f"{one['reached']:.3g}"
    sign = "at most" if one["is_most"] else "at least"
    verdict = {True: "yes", False: "**no**", None: ""}[one["holds"]]
    return [one["what"], f"{sign} {one['bound']:g}", reached, verdict]
