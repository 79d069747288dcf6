"""Counts what kernels cost, in a process of its own, which a solution may crash.

Where there is a GPU for them they are timed as well.
"""

import json
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.engine import fence
from tiny_llm_course.kernel_costs import gpu_times
from tiny_llm_course.kernel_costs.calls import CALLS
from tiny_llm_course.metal.costs import Costs
from tiny_llm_course.metal.kernel import SEEDS, MetalFaultError, metal_kernel
from tiny_llm_course.metal.variants import counting
from tiny_llm_course.records.replacing import Replacement, replaced
from tiny_llm_course.solution import Solution, load_solution

Row = dict[str, float]
"""What a kernel costs, by the name of the column."""


@dataclass
class Count:
    """What was counted for all kernels of a call.

    Attributes:
        costs: Of each kernel.
        num_outputs: Of the last one, which computes the result.
    """

    costs: list[Costs]
    num_outputs: int = 0

    def row(self) -> Row:
        """Return the costs, those that grow with the result for one number of it."""
        total = {
            one.name: sum(getattr(costs, one.name) for costs in self.costs)
            for one in fields(Costs)
        }
        flops = sum(total[one] for one in ("adds", "multiplies", "other_operations"))
        turns = total["threadgroup_turns"] - total["fewest_threadgroup_turns"]
        return {
            "read": total["bytes_read"] / self.num_outputs,
            "written": total["bytes_written"] / self.num_outputs,
            "lines": total["lines"] / max(total["accesses"], 1),
            "conflicts": turns,
            "barriers": total["barriers"],
            "flops": flops / self.num_outputs,
        }


@contextmanager
def counted(
    changes: Sequence[Replacement] = (),
    template: Mapping[str, Any] = MappingProxyType({}),
    **sizes: tuple[int, int, int],
) -> Generator[Count]:
    """Count what runs inside, on any machine in the simulator.

    Args:
        changes: Of the kernels' sources.
        template: Values that take the place of those that the kernels are called with.
        **sizes: A `grid` or a `threadgroup` that does.
    """
    found = Count([])

    def make(*definition: Any, **options: Any) -> Callable[..., list[mx.array]]:  # noqa: ANN401 - as MLX has it
        if changes:
            options["source"] = replaced("a variant", options["source"], changes)
        kernel = metal_kernel(*definition, **options)

        def call(**given: Any) -> list[mx.array]:  # noqa: ANN401
            values = {**dict(given.get("template", ())), **template}
            given = {**given, **sizes, "template": list(values.items())}
            result = kernel.run(
                **given, seeds=SEEDS[:1], counts_costs=True, compiled=counting
            )
            if result.outputs is None or result.faults:
                raise MetalFaultError(result.faults[0])
            found.costs.append(result.costs)
            found.num_outputs = sum(one.size for one in result.outputs)
            return result.outputs

        return call

    usual = mx.fast.metal_kernel
    mx.fast.metal_kernel = make
    try:
        yield found
    finally:
        mx.fast.metal_kernel = usual


def row_of(solution: Solution, symbol: str) -> Row | None:
    """Return what a kernel of a solution costs. None if it does not run."""
    try:
        with counted() as found:
            mx.eval(solution.get(symbol)(*CALLS[symbol].small(solution)))
    except Exception:  # noqa: BLE001 - the report says what is wrong, not the costs
        return None
    return found.row() if found.costs else None


def rows_of(symbol: str, solutions: Sequence[Solution]) -> list[Row | None]:
    """Return what a kernel of each solution costs, and in the end what MLX's own does.

    Of MLX's own only the time is known, so without a GPU there is nothing.
    """
    rows = [row_of(one, symbol) for one in solutions]
    run = [one for one, row in zip(solutions, rows, strict=True) if row]
    if not run or not gpu_times.has_gpu():
        return [*rows, None]
    *taken, of_mlx = gpu_times.times(symbol, run)
    for row, time in zip(filter(None, rows), taken, strict=True):
        row.update({"time": time} if time else {})
    return [*rows, {"time": of_mlx} if of_mlx else None]


def _main(scratch: str, folders: str, *symbols: str) -> None:
    """Print the costs of some kernels, in each of several solutions."""
    if scratch:
        fence.enter(Path(scratch), has_gpu=mx.is_available(mx.gpu))
    mx.set_default_device(mx.cpu)
    solutions = [load_solution(one) for one in folders.split("\n")]
    found = {one: rows_of(one, solutions) for one in symbols}
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    _main(*sys.argv[1:])
