"""A whole run: which cases there are, and what came of them."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tiny_llm_course.bench.engines import Kind, MissingError
from tiny_llm_course.bench.machine import Machine
from tiny_llm_course.bench.models import args_of
from tiny_llm_course.bench.results import Row, row_of
from tiny_llm_course.bench.taking_turns import Case, Show, Worker, started, take_turns

WORK = {"prefill": (32, 256, 1024), "generate": (32, 1024)}


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes:
        models: Which weights.
        kinds: Which engines.
        work: Lengths of prompts and contexts, by the kind of work.
        num_rounds: How many turns each case has, warm-up apart.
        solution: Whose code ours is, as for `load_solution`.
    """

    models: Sequence[str]
    kinds: Sequence[Kind]
    work: dict[str, tuple[int, ...]]
    num_rounds: int
    solution: str


def run(
    plan: Plan, machine: Machine, package: str, show: Show, skip: Callable[[str], None]
) -> list[Row]:
    """Measure all cases, model by model.

    Args:
        plan: What to measure.
        machine: What this machine can do.
        package: What rows call the solution.
        show: Is told how many turns are done, of how many, and whose is next.
        skip: Is told in a line what is left out.
    """
    rows: list[Row] = []
    for model in plan.models:
        with contextlib.ExitStack() as stack:
            workers = list(_start(stack, plan, model, skip))
            cases = [
                Case(worker.kind, model, work, tokens)
                for work, tokens in _lengths(plan, model, skip)
                for worker in workers
            ]
            take_turns(workers, cases, plan.num_rounds, show)
            stored = {worker.kind: worker.stored for worker in workers}
        rows += [row_of(case, stored[case.kind], machine, package) for case in cases]
    return rows


def _start(
    stack: contextlib.ExitStack, plan: Plan, model: str, skip: Callable[[str], None]
) -> Iterator[Worker]:
    """Start the engines that are there."""
    for kind in plan.kinds:
        try:
            yield stack.enter_context(started(kind, model, plan.solution))
        except MissingError as error:
            skip(f"{model}: {kind.key} is left out: {error}")


def _lengths(
    plan: Plan, model: str, skip: Callable[[str], None]
) -> Iterator[tuple[str, int]]:
    """Go through the work that a model has positions for."""
    most = args_of(model).max_position_embeddings
    for work, lengths in plan.work.items():
        for tokens in lengths:
            if tokens <= most:
                yield work, tokens
            else:
                skip(f"{model}: {work} {tokens} is left out: it has {most} positions")
