"""The results of a run: a row per case, and their file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import mlx.core as mx

from tiny_llm_course.doctor.system import describe_cpu
from tiny_llm_course.solution import load_solution
from tiny_llm_lab.bench.engines import Stored
from tiny_llm_lab.bench.interleaved import NUM_THREADS, Case
from tiny_llm_lab.bench.machine import Machine, num_product_flops
from tiny_llm_lab.bench.models import args_of
from tiny_llm_lab.records import four_digits

Row = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Cost:
    """The cost of some work, whatever engine does it.

    Attributes:
        flops: Operations.
        num_bytes: Bytes that are moved, weights included.
        seconds: The shortest time in which the machine can do it.
    """

    flops: int
    num_bytes: int
    seconds: float


def machine_of(cases: Sequence[Case]) -> Machine:
    """Compute the machine's speeds from all steps that measured them.

    Medians are used, as for the engines, which met the same disturbances.
    """
    reads = [
        1e6 * case.tokens / step_s
        for case in cases
        if case.work == "read"
        for step_s in case.steps_s
    ]
    products = [
        num_product_flops(case.tokens) / step_s
        for case in cases
        if case.work == "multiply"
        for step_s in case.steps_s
    ]
    return Machine(median(reads), median(products), max(reads))


def cost_of(case: Case, stored: Stored, machine: Machine) -> Cost:
    """Compute the cost of a case, with the functions of Day 2.

    Every weight is moved once for all tokens of a prompt, and only the last one goes
    through the head. The engines of Week 1 do more than that.
    """
    reference = load_solution("ref")
    count_flops = reference.get("roofline.flops_per_token")
    count_bytes = reference.get("roofline.bytes_per_token")
    config, tokens = args_of(case.model), case.tokens
    dtype: mx.Dtype = getattr(mx, stored.dtype)
    num_bytes = count_bytes(config, tokens, stored.bits, stored.group_size, dtype)
    if stored.weight_bytes is not None:
        without = count_bytes(config, 0, stored.bits, stored.group_size, dtype)
        num_bytes += stored.weight_bytes - without
    flops = count_flops(config, tokens)
    if case.work == "prefill":
        head = 2 * config.vocab_size * config.hidden_size
        flops += sum(count_flops(config, one) - head for one in range(1, tokens))
    rates = machine.flops_per_s, machine.read_bytes_per_s
    seconds, _ = reference.get("roofline.roofline")(flops, num_bytes, *rates)
    return Cost(flops, num_bytes, seconds)


def row_of(case: Case, stored: Stored, machine: Machine, solution: str) -> Row:
    """Compare the time of a case with what the machine can do.

    Args:
        case: A measured case.
        stored: How its engine stores the model.
        machine: What this machine can do.
        solution: The package whose models were measured.
    """
    cost = cost_of(case, stored, machine)
    step_s = median(case.steps_s)
    num_new = case.tokens if case.work == "prefill" else 1
    return {
        "engine": case.kind.name or solution,
        "rung": case.kind.variant,
        "model": case.model,
        "weights": stored.weights,
        "work": case.work,
        "tokens": case.tokens,
        "tokens_per_s": four_digits(num_new / step_s),
        "bytes_moved": cost.num_bytes,
        "share_of_bandwidth": four_digits(
            cost.num_bytes / step_s / machine.read_bytes_per_s
        ),
        "roofline_tokens_per_s": four_digits(num_new / cost.seconds),
        "num_steps": len(case.steps_s),
    }


def about(command: str, machine: Machine) -> dict[str, Any]:
    """Describe where rows come from."""
    return {
        "machine": describe_cpu(),
        "threads": NUM_THREADS,
        "command": command,
        "date": date.today().isoformat(),
        "read_bandwidth_gb_per_s": four_digits(machine.read_bytes_per_s / 1e9),
        "best_read_bandwidth_gb_per_s": four_digits(
            machine.best_read_bytes_per_s / 1e9
        ),
        "float32_gflop_per_s": four_digits(machine.flops_per_s / 1e9),
    }


def write(path: Path, kept: Mapping[str, Any]) -> None:
    """Write a JSON object atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(kept, indent=2, ensure_ascii=False)
    unfinished = path.with_suffix(".new")
    unfinished.write_text(text + "\n", encoding="utf-8")
    unfinished.replace(path)
