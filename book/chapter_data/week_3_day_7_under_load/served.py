"""What `pdm run serve-bench` has measured: read from `book/results`."""

import json
from typing import Any

from tiny_llm_course.places import RESULTS
from tiny_llm_lab.serving.cases import ANSWER, PROMPT
from tiny_llm_lab.serving.whole_run import SHORT


def served() -> dict[str, Any]:
    """Return the promises by their keys, and the tokens per second of each server."""
    kept = json.loads((RESULTS / "serve.json").read_text(encoding="utf-8"))
    medians = {(row["what"], row["server"]): row["median"] for row in kept["rows"]}
    return {
        "machine": kept["machine"],
        "turns": {row["server"]: len(row["turns"]) for row in kept["rows"]},
        "lengths": (PROMPT, ANSWER),
        "short": SHORT,
        "reached": {one["key"]: one["reached"] for one in kept["promises"]},
        "bound": {one["key"]: one["bound"] for one in kept["promises"]},
        "alone": medians["1 stream", "ours"],
        "ours": medians["8 streams", "ours"],
        "llama": medians["8 streams", "llama.cpp"],
        "mlx_lm": medians["8 streams", "mlx_lm"],
        "first_ms": 1000 * medians["first of a prefix", "ours"],
        "second_ms": 1000 * medians["second of it", "ours"],
        "usual_ms": 1000 * medians["gap, usual", "ours"],
        "long_ms": 1000 * medians["gap, long prompt", "ours"],
    }
