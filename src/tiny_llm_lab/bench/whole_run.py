"""A whole run: its cases, and their results."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tiny_llm_course.catalogue import say
from tiny_llm_lab.bench.engines import ATTENTION, MACHINE, Kind, MissingError
from tiny_llm_lab.bench.interleaved import (
    Case,
    Show,
    Skip,
    Worker,
    started,
    take_turns,
)
from tiny_llm_lab.bench.machine import PRODUCT_ROWS, READ_MB, Machine
from tiny_llm_lab.bench.models import args_of
from tiny_llm_lab.bench.results import Row, machine_of, row_of
from tiny_llm_lab.wording import cell, worded

# The shortest comes first: longer ones are left out if they would take too long.
WORK = {"generate": (32, 1024), "prefill": (32, 256, 1024), "attend": (4096,)}

OF_MACHINE = {"read": (READ_MB,), "multiply": (PRODUCT_ROWS,)}


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes:
        models: The models' weights.
        kinds: The engines. The machine is measured in any case.
        work: Lengths of prompts and contexts, by the kind of work.
        num_rounds: The number of turns of each case, without warm-up.
        solution: The solution to time, named as for `load_solution`.
    """

    models: Sequence[str]
    kinds: Sequence[Kind]
    work: dict[str, tuple[int, ...]]
    num_rounds: int
    solution: str


@dataclass(frozen=True)
class Measured:
    """The results of a run.

    Attributes:
        rows: A row for each case that times a model.
        machine: What the machine can do.
        attention_s: Seconds of attention in all layers, by model and context.
    """

    rows: list[Row]
    machine: Machine
    attention_s: dict[tuple[str, int], float]


def run(plan: Plan, package: str, show: Show, skip: Skip) -> Measured:
    """Measure all cases, model by model.

    Args:
        plan: What to measure.
        package: The name of the solution in the rows.
        show: Called with the number of finished turns, their total, and the next case.
        skip: Called with a line about each case that is left out.
    """
    done: list[tuple[Case, Worker]] = []
    for model in plan.models:
        with contextlib.ExitStack() as stack:
            workers = list(_start(stack, plan, model, skip))
            cases = list(_cases(plan, model, workers, skip))
            take_turns(workers, cases, plan.num_rounds, show, skip)
        worker_of = {worker.kind: worker for worker in workers}
        done += [(case, worker_of[case.kind]) for case in cases if case.steps_s]
    machine = machine_of([case for case, _ in done])
    rows = [
        row_of(case, worker.stored, machine, package)
        for case, worker in done
        if case.kind not in {MACHINE, ATTENTION}
    ]
    attention_s = {
        (case.model, case.tokens): median(case.steps_s)
        for case, _ in done
        if case.kind == ATTENTION
    }
    return Measured(rows, machine, attention_s)


def _start(
    stack: contextlib.ExitStack, plan: Plan, model: str, skip: Skip
) -> Iterator[Worker]:
    """Start the engines that are available and have work."""
    work = {name for name, _ in planned(plan, model)} | OF_MACHINE.keys()
    for kind in (*plan.kinds, MACHINE):
        if work.isdisjoint(kind.work):
            continue
        try:
            yield stack.enter_context(started(kind, model, plan.solution))
        except MissingError as error:
            named = {"model": cell(model), "engine": kind.key}
            skip(say("lab.no_engine", **named, error=error))


def _cases(
    plan: Plan, model: str, workers: Sequence[Worker], skip: Skip
) -> Iterator[Case]:
    """Yield the cases of all engines, grouped by work."""
    most = args_of(model).max_position_embeddings
    for work, lengths in plan.work.items():
        for tokens in lengths:
            if tokens > most:
                named = {"model": cell(model), "work": worded("bench", work)}
                skip(say("lab.too_short", **named, tokens=tokens, most=most))
    for work, tokens in planned(plan, model):
        for worker in workers:
            if work in worker.kind.work:
                yield Case(worker.kind, model, work, tokens)


def planned(plan: Plan, model: str) -> Iterator[tuple[str, int]]:
    """Yield the work that fits a model's context, and that of the machine."""
    most = args_of(model).max_position_embeddings
    for work, lengths in plan.work.items():
        yield from ((work, tokens) for tokens in lengths if tokens <= most)
    for work, lengths in OF_MACHINE.items():
        yield from ((work, size) for size in lengths)
