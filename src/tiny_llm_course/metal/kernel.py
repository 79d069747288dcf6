"""`metal_kernel` as in MLX, for machines without a GPU of Apple's.

A kernel is written, called and answered as with `mx.fast.metal_kernel`. It runs in a
simulator, which names its mistakes: see `Result.faults`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.metal import process
from tiny_llm_course.metal.arguments import Kind
from tiny_llm_course.metal.buffers import Shape, array_of, buffers_of
from tiny_llm_course.metal.costs import Costs, costs_of
from tiny_llm_course.metal.faults import MOST_THREADS, Fault
from tiny_llm_course.metal.process import Job, Size
from tiny_llm_course.metal.refusing import Refused, library_of
from tiny_llm_course.metal.reporting import Reporter
from tiny_llm_course.metal.signature import (
    Assembled,
    Definition,
    Template,
    assemble,
)
from tiny_llm_course.metal.suspicions import confirmed

LIMIT_S = 10.0
"""How long a kernel may run, for all orders of its threads together."""

SEEDS = (0, 1)
"""The orders of its threads that are tried. 0 is the natural one."""

MOST_IN_GRID = 2**31
"""The most threads of a grid. As many would take the simulator minutes."""


class MetalFaultError(Exception):
    """A kernel has a mistake.

    Args:
        fault: The first that was found.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


@dataclass(frozen=True)
class Result:
    """What came of running a kernel.

    Args:
        outputs: Its arrays. None where it did not come so far.
        faults: Its mistakes, the cause first.
        costs: What it has cost, if that was counted.
    """

    outputs: list[mx.array] | None
    faults: tuple[Fault, ...]
    costs: Costs


@dataclass(frozen=True)
class MetalKernel:
    """A kernel that can be called with arrays. Made by `metal_kernel`.

    Args:
        definition: What was written.
        ensure_row_contiguous: Whether inputs of other strides are copied before.
    """

    definition: Definition
    ensure_row_contiguous: bool = True

    def __call__(  # noqa: PLR0913 - as MLX has it
        self,
        *,
        inputs: Sequence[mx.array | float],
        output_shapes: Sequence[Shape],
        output_dtypes: Sequence[mx.Dtype],
        grid: Size,
        threadgroup: Size,
        template: Template | None = None,
        init_value: float | None = None,
    ) -> list[mx.array]:
        """Run the kernel, as one of MLX's is called.

        Returns:
            One array for each output.

        Raises:
            MetalFaultError: The kernel has a mistake.
            ValueError: As of `run`.
        """
        result = self.run(
            inputs=inputs,
            output_shapes=output_shapes,
            output_dtypes=output_dtypes,
            grid=grid,
            threadgroup=threadgroup,
            template=template,
            init_value=init_value,
        )
        if result.faults or result.outputs is None:
            raise MetalFaultError(result.faults[0])
        return result.outputs

    def run(  # noqa: PLR0913 - as MLX has it, and more
        self,
        *,
        inputs: Sequence[mx.array | float],
        output_shapes: Sequence[Shape],
        output_dtypes: Sequence[mx.Dtype],
        grid: Size,
        threadgroup: Size,
        template: Template | None = None,
        init_value: float | None = None,
        seeds: Sequence[int] = SEEDS,
        limit_s: float = LIMIT_S,
        compares_orders: bool = False,
        counts_costs: bool = False,
        compiled: Callable[[Assembled], Path] = library_of,
    ) -> Result:
        """Run the kernel, and find its mistakes.

        Args:
            inputs: An array for each of the kernel's inputs. A number is an array
                without dimensions.
            output_shapes: The shapes of its outputs.
            output_dtypes: The dtypes of its outputs.
            grid: The number of threads, in three dimensions.
            threadgroup: Those of a threadgroup. It is cut to the grid.
            template: Values for names that the source uses.
            init_value: What the outputs hold at first. None for nothing at all.
            seeds: The orders of the threads that are tried. Each takes its time.
            limit_s: For all orders together.
            compares_orders: Whether outputs that depend on the order are a mistake.
            counts_costs: Whether what it costs is counted, which takes time.
            compiled: Compiles it. Others than the usual way stand in `variants.py`.

        Raises:
            ValueError: The kernel has another number of inputs or outputs, or a size
                is no size.
        """
        arrays = _arrays(inputs)
        self._check(arrays, output_shapes, output_dtypes)
        group = _cut(threadgroup, grid)
        # MLX counts what was asked for, before it is cut.
        if math.prod(threadgroup) > MOST_THREADS:
            return Result(None, (_too_many(threadgroup),), Costs())
        assembled = self.assembled(arrays, output_dtypes, template)
        try:
            library = compiled(assembled)
        except Refused as refused:
            return Result(None, refused.faults, Costs())
        outputs = list(zip(output_shapes, output_dtypes, strict=True))
        memory = buffers_of(
            assembled.buffers,
            arrays,
            outputs,
            init_value=init_value,
            ensure_row_contiguous=self.ensure_row_contiguous,
        )
        job = Job(
            library, grid, group, memory, seeds, limit_s, compares_orders, counts_costs
        )
        answer = process.run(job)
        reporter = Reporter(
            library, self.definition.source, self.definition.header, grid, group
        )
        made = zip(answer.outputs or (), outputs, strict=answer.outputs is not None)
        return Result(
            [array_of(values, *one) for values, one in made]
            if answer.outputs is not None
            else None,
            (*confirmed(assembled, job), *reporter.faults(answer.faults)),
            costs_of(answer.costs),
        )

    def assembled(
        self,
        inputs: Sequence[mx.array | float],
        output_dtypes: Sequence[mx.Dtype],
        template: Template | None = None,
    ) -> Assembled:
        """Return what is compiled for a call with these arrays.

        Args:
            inputs: As of `run`, like the others.
            output_dtypes: The dtypes of its outputs.
            template: Values for names that the source uses.
        """
        kinds = [Kind(one.dtype, one.ndim, one.size) for one in _arrays(inputs)]
        return assemble(self.definition, kinds, output_dtypes, template or ())

    def _check(
        self,
        inputs: Sequence[mx.array],
        shapes: Sequence[Shape],
        dtypes: Sequence[mx.Dtype],
    ) -> None:
        name = self.definition.name
        for what, given, wanted in (
            ("inputs", inputs, self.definition.input_names),
            ("shapes", shapes, self.definition.output_names),
            ("dtypes", dtypes, self.definition.output_names),
        ):
            if len(given) != len(wanted):
                counts = {"wanted": len(wanted), "given": len(given)}
                raise ValueError(say(f"metal.misuse.{what}", name=name, **counts))


def _arrays(inputs: Sequence[mx.array | float]) -> list[mx.array]:
    """Make arrays of numbers.

    MLX copies an array that is made of another, and leaves gaps out.
    """
    return [one if isinstance(one, mx.array) else mx.array(one) for one in inputs]


def metal_kernel(  # noqa: PLR0913, PLR0917 - as MLX has it
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str = "",
    ensure_row_contiguous: bool = True,
    atomic_outputs: bool = False,
) -> MetalKernel:
    """Make a kernel of its body, as `mx.fast.metal_kernel` does.

    Args:
        name: Of the kernel, for Metal's compiler.
        input_names: The names that the source has for its inputs.
        output_names: The names that it has for its outputs.
        source: The body of the kernel in Metal.
        header: What stands before the kernel: functions, mostly.
        ensure_row_contiguous: Whether inputs of other strides are copied before.
        atomic_outputs: Whether outputs are atomic.
    """
    definition = Definition(
        name, input_names, output_names, source, header, atomic_outputs
    )
    return MetalKernel(definition, ensure_row_contiguous)


def _cut(threadgroup: Size, grid: Size) -> Size:
    """Return the threadgroup as MLX starts it: no larger than the grid."""
    if len(grid) != 3 or len(threadgroup) != 3 or min(*grid, *threadgroup) < 1:
        sizes = {"grid": grid, "threadgroup": threadgroup}
        raise ValueError(say("metal.misuse.sizes", **sizes))
    if (threads := math.prod(grid)) > MOST_IN_GRID:
        sizes = {"threads": threads, "most": MOST_IN_GRID}
        raise ValueError(say("metal.misuse.grid", **sizes))
    x, y, z = map(min, threadgroup, grid)
    return x, y, z


def _too_many(group: Size) -> Fault:
    kind = "too_many_threads"
    threads = math.prod(group)
    return Fault(kind, say(f"metal.{kind}", threads=threads, most=MOST_THREADS))
