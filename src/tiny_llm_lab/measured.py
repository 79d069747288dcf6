"""What was measured for the book: the one source of the figures that Week 2 quotes.

`pdm run bench` and the labs have left their rows in `book/results`. The speeds of the
machine are those of the bench, in every chapter.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tiny_llm_course.places import RESULTS
from tiny_llm_lab.bench.machine import Machine
from tiny_llm_lab.bench.models import QWEN2_0_5B
from tiny_llm_lab.experiments import (
    bilingual,
    inner_loops,
    kernel_times,
    matvec_ladder,
    operation_costs,
    paged_times,
    speculation,
    step_costs,
    sum_costs,
    worked_examples,
)
from tiny_llm_lab.records import Row

BENCH = "bench"

AVX512 = "bench-avx512"
"""A run beside ONNX Runtime and OpenVINO."""

AVX2 = "bench-avx2"
"""The same on a machine without AVX-512."""


def bench(run: str = BENCH) -> Mapping[str, Any]:
    """Return a run of the bench: the machine, a row per case, of a whole one targets.

    Args:
        run: The name of its file, without `.json`.
    """
    return json.loads((RESULTS / f"{run}.json").read_text(encoding="utf-8"))


def machine() -> Machine:
    """Return how fast the machine of the book reads memory and multiplies."""
    run = bench()
    return Machine(
        1e9 * run["read_bandwidth_gb_per_s"],
        1e9 * run["float32_gflop_per_s"],
        1e9 * run["best_read_bandwidth_gb_per_s"],
    )


def case_of(
    engine: str, weights: str, work: str, tokens: int, rung: str = ""
) -> Mapping[str, Any]:
    """Return the row of one engine on the random model of the size of Qwen2-0.5B."""
    asked = {
        "model": QWEN2_0_5B,
        "engine": engine,
        "rung": rung,
        "weights": weights,
        "work": work,
        "tokens": tokens,
    }
    return next(row for row in bench()["rows"] if asked.items() <= row.items())


def speed_of_rung(rung: str, model: str, tokens: int) -> float:
    """Return the tokens per second that our model generates with one rung's code.

    Args:
        rung: The result of a day, as the table of the bench names it.
        model: A model of `bench.models`.
        tokens: How many tokens the cache holds.
    """
    asked = {"rung": rung, "model": model, "work": "generate", "tokens": tokens}
    row = next(row for row in bench()["rows"] if asked.items() <= row.items())
    return float(row["tokens_per_s"])


def ladder() -> Sequence[Row]:
    """Return the rows of `pdm run lab matvec-ladder`."""
    return matvec_ladder.LAB.kept(RESULTS).read()


def ladder_us(variant: str) -> float:
    """Return the microseconds of one way to multiply by the gate of Qwen2-0.5B."""
    gate = matvec_ladder.SHAPES[0].name
    asked = {"matrix": gate, "rung": variant}
    row = next(row for row in ladder() if asked.items() <= row.items())
    return float(row["time_us"])


def kernel_us(work: str) -> dict[str, float]:
    """Return the microseconds of each way to do some work of Days 5 to 7."""
    return kernel_times.times_us(kernel_times.LAB.kept(RESULTS).read(), work)


def paged_us(work: paged_times.Work) -> dict[str, float]:
    """Return the microseconds of each way to attend to pages."""
    return paged_times.times_us(paged_times.LAB.kept(RESULTS).read(), work)


def operation_us() -> float:
    """Return what one operation of MLX takes on the CPU, however small it is."""
    return kernel_us(kernel_times.ADDITION)["mx.add"]


def additions_us(joined: int) -> dict[int, float]:
    """Return what an operation of MLX that adds so often takes, by its numbers."""
    rows = operation_costs.LAB.kept(RESULTS).read()
    return operation_costs.times_us(rows, joined)


def step_ms(model: str) -> dict[int, float]:
    """Return the milliseconds of a step of the engine, by its tokens in all.

    Four of them are of texts that generate, the others of a prompt.
    """
    return step_costs.times_ms(step_costs.LAB.kept(RESULTS).read(), model)


def speculated() -> Sequence[Row]:
    """Return the rows of `pdm run lab speculation`."""
    return speculation.LAB.kept(RESULTS).read()


def sum_us(which: str = "least_us") -> dict[int, float]:
    """Return what it takes two processes to add up the numbers of so many tokens."""
    return sum_costs.times_us(sum_costs.LAB.kept(RESULTS).read(), which)


def two_languages() -> dict[str, Row]:
    """Return what was measured of models that know one language or two, by arm."""
    rows = bilingual.LAB.kept(RESULTS).read()
    return {str(row["arm"]): row for row in rows}


def example_ns(program: str, built_for: str = "plain") -> dict[tuple[str, str], float]:
    """Return what a worked example took, by what was timed and where its numbers were.

    Args:
        program: Its file in `src/worked_examples`, without the ending.
        built_for: "plain", "native" for the processor of the book alone, or "avx2".
    """
    return {
        (str(row["what"]), str(row["numbers_in"])): float(row["time_ns"])
        for row in worked_examples.LAB.kept(RESULTS).read()
        if (row["program"], row["built_for"]) == (program, built_for)
    }


def instructions_of(function: str) -> list[str]:
    """Return the inner loop of a function of an example, as it was compiled."""
    return [
        str(row["instruction"])
        for row in inner_loops.LAB.kept(RESULTS).read()
        if row["function"] == function
    ]
