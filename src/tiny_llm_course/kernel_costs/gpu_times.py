"""Times kernels on the GPU of this machine, in turns with ours and with MLX's own.

On a Mac these are all kernels in Metal, on an NVIDIA GPU those that have a source in
CUDA. None of this has run on a real GPU yet: where it was written there is none.
"""

import random
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import mlx.core as mx

from tiny_llm_course.kernel_costs.calls import CALLS
from tiny_llm_course.solution import Solution

ROUNDS = 9
SAMPLE_S = 0.005
"""A kernel is called so often in a row that a round takes about this long."""

SEED = 0

Step = Callable[[], Any]


def has_gpu() -> bool:
    """Tell whether kernels can be timed here."""
    return mx.is_available(mx.gpu)


def times(symbol: str, solutions: Sequence[Solution]) -> list[float | None]:
    """Return the microseconds of a call, as medians.

    MLX starts a kernel when its result is asked for. So a round asks for the results of
    many calls at once, and the wait for the GPU is shared by all of them.

    Args:
        symbol: One of `CALLS`.
        solutions: Whose kernel is timed. One that does not run has no time.

    Returns:
        The time of each solution, then that of MLX's own operation.
    """
    mx.set_default_device(mx.gpu)
    steps = [_step(symbol, solution) for solution in solutions]
    call = CALLS[symbol]
    given = call.large(solutions[-1])
    steps.append(lambda: call.of_mlx(*given))
    counts = [_count(step) for step in steps]
    taken: list[list[float]] = [[] for _ in steps]
    order, rng = list(range(len(steps))), random.Random(SEED)  # noqa: S311
    for _ in range(ROUNDS):
        rng.shuffle(order)
        for at in order:
            if counts[at]:
                taken[at].append(1e6 * _seconds(steps[at], counts[at]) / counts[at])
    return [median(one) if one else None for one in taken]


def _step(symbol: str, solution: Solution) -> Step:
    """Return a call of a solution's kernel."""
    given = CALLS[symbol].large(solution)
    return lambda: solution.get(symbol)(*given)


def _count(step: Step) -> int:
    """Return how often to call a kernel in a round. 0 if it does not run."""
    try:
        _seconds(step, 1)  # The first call compiles it.
    except Exception:  # noqa: BLE001 - the report says what is wrong, not the times
        return 0
    return max(1, round(SAMPLE_S / _seconds(step, 1)))


def _seconds(step: Step, count: int) -> float:
    """Return how long some calls in a row take."""
    start = time.perf_counter()
    mx.eval([step() for _ in range(count)])
    return time.perf_counter() - start
