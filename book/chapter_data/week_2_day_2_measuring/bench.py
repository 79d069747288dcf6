"""The tables of `pdm run bench`, as it was run for the book."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tiny_llm_course.places import RESULTS
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B

FILE = RESULTS / "bench.json"

WORK = (
    ("generate", 32),
    ("generate", 1024),
    ("prefill", 32),
    ("prefill", 256),
    ("prefill", 1024),
)

Table = list[list[str]]


def tables() -> dict[str, Table]:
    """Return speeds by engine, and what was to be reached. Empty before the run."""
    names = ("bench", "speeds-large", "speeds-embedded", "promises")
    if not FILE.exists():
        return {name: [] for name in names}
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        "bench": [
            *([name, str(kept[key])] for key, name in _ABOUT.items()),
            ["command", f"`{kept['command']}`"],
        ],
        "speeds-large": speeds(kept["rows"], QWEN2_0_5B),
        "speeds-embedded": speeds(kept["rows"], EMBEDDED_MODEL),
        "promises": [_promise(one) for one in kept["promises"]],
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
    lines: dict[tuple[str, str, str], dict[tuple[str, int], Mapping[str, Any]]] = {}
    for row in rows:
        if row["model"] == model:
            engine = row["engine"], row["rung"], row["weights"]
            lines.setdefault(engine, {})[row["work"], row["tokens"]] = row
    return [
        [
            f"course, {variant}" if variant else name,
            weights,
            *(_speed(found.get(work)) for work in WORK),
            _share(found.get(WORK[0])),
        ]
        for (name, variant, weights), found in lines.items()
    ]


def _speed(row: Mapping[str, Any] | None) -> str:
    """Write tokens per second; a dash where they were not measured."""
    if row is None:
        return "-"
    speed = row["tokens_per_s"]
    return f"{speed:,.0f}" if speed >= 10 else f"{speed:.2g}"


def _share(row: Mapping[str, Any] | None) -> str:
    """Write how much of the bandwidth was used."""
    return "-" if row is None else f"{row['share_of_bandwidth']:.0%}"


def _promise(one: Mapping[str, Any]) -> list[str]:
    """Write a figure to reach beside what was reached."""
    reached = "not measured" if one["reached"] is None else f"{one['reached']:.3g}"
    sign = "at most" if one["is_most"] else "at least"
    verdict = {True: "yes", False: "**no**", None: ""}[one["holds"]]
    return [one["what"], f"{sign} {one['bound']:g}", reached, verdict]
