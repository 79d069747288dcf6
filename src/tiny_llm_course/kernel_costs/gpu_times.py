"""Times kernels on the GPU of this machine, in turns with ours and with MLX's own.

On a Mac these are all kernels in Metal, on an NVIDIA GPU those that have a source in
CUDA. None of this has run on a real GPU yet: where it was written there is none.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import mlx.core as mx

from tiny_llm_course.kernel_costs.calls import CALLS
from tiny_llm_course.solution import Solution
from tiny_llm_course.speed.timing import Sample, in_turns

Call = Callable[[], Any]


def has_gpu() -> bool:
    """Tell whether kernels can be timed here."""
    return mx.is_available(mx.gpu)


def times(symbol: str, solutions: Sequence[Solution]) -> list[float | None]:
    """Return the microseconds of a call, as medians.

    Args:
        symbol: One of `CALLS`.
        solutions: Whose kernel is timed. One that does not run has no time.

    Returns:
        The time of each solution, then that of MLX's own operation.
    """
    usual = mx.default_device()
    mx.set_default_device(mx.gpu)
    try:
        calls = dict(enumerate(_calls(symbol, solutions)))
        for one in calls.values():
            _sample(one, 1)  # The first call compiles it.
        found = in_turns({at: partial(_sample, one) for at, one in calls.items()})
    finally:
        mx.set_default_device(usual)
    return [found[at].time_ns / 1000 if at in found else None for at in calls]


def _calls(symbol: str, solutions: Sequence[Solution]) -> Iterator[Call]:
    """Yield a call of each solution's kernel, then one of MLX's own operation."""
    call = CALLS[symbol]
    for solution in solutions:
        yield partial(solution.get(symbol), *call.large(solution))
    yield partial(call.of_mlx, *call.large(solutions[-1]))


def _sample(call: Call, count: int) -> Sample | None:
    """Return what a call takes, of so many in a row. None if it does not run.

    MLX starts a kernel when its result is asked for. So the results of all calls are
    asked for at once, and they share the wait for the GPU.
    """
    start = time.perf_counter_ns()
    try:
        mx.eval([call() for _ in range(count)])
    except Exception:  # noqa: BLE001 - the report says what is wrong, not the times
        return None
    taken_ns = (time.perf_counter_ns() - start) / count
    # Only the clock on the wall tells how long a GPU works.
    return Sample(1, 1, 0, wall_ns=taken_ns, cpu_ns=taken_ns, own_ns=taken_ns)
