"""`mx.fast.metal_kernel` while a solution is graded: the simulator, and a GPU if any.

The simulator finds mistakes. Where there is a GPU of Apple's, it runs the kernel as
well, and what comes out of it is judged.
"""

import inspect
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.metal.faults import Side
from tiny_llm_course.metal.kernel import MetalFaultError, MetalKernel, metal_kernel
from tiny_llm_course.metal.of_mlx import METAL_KERNEL
from tiny_llm_course.metal.signature import SOURCE_FILE

Kernel = Callable[..., list[mx.array]]

ON_GPU: Any = METAL_KERNEL if mx.metal.is_available() else None
"""MLX's own, where it can run."""


class KernelFaultError(Exception):
    """A kernel of a solution has a mistake.

    Its first argument explains it. More of them show the lines in the solution's file.
    """

    def __str__(self) -> str:
        """Write each in a line of its own."""
        return "\n".join(self.args)


@dataclass(frozen=True)
class Source:
    """Where the text of a kernel stands.

    Attributes:
        file: The name of the solution's file. Empty if the text is not in it as it is.
        first_line: Where the text begins there.
    """

    file: str
    first_line: int

    def place(self, side: Side) -> str:
        """Show the line of a thread. Empty where it is not known."""
        if not self.file or side.line is None or side.file != SOURCE_FILE:
            return ""
        at = f"{self.file}:{self.first_line + side.line - 1}"
        return say("metal.places.source", line=side.line, at=at, text=side.text.strip())


@dataclass(frozen=True)
class GradedKernel:
    """A kernel of a solution. Made by `graded_kernel`.

    Attributes:
        simulated: In the simulator.
        on_gpu: On the GPU of this machine, if there is one.
        source: Where its text stands.
    """

    simulated: MetalKernel
    on_gpu: Kernel | None
    source: Source

    def __call__(self, **given: Any) -> list[mx.array]:  # noqa: ANN401 - as MLX has it
        """Run the kernel, as one of MLX's is called.

        Raises:
            KernelFaultError: It has a mistake.
            ValueError: As of `MetalKernel.run`.
        """
        of_mlx = {one: given.pop(one) for one in ("verbose", "stream") if one in given}
        try:
            found = self.simulated(**given)
        except MetalFaultError as error:
            sides = [one for one in (error.fault.here, error.fault.there) if one]
            places = dict.fromkeys(filter(None, map(self.source.place, sides)))
            raise KernelFaultError(str(error), *places) from None
        return self.on_gpu(**given, **of_mlx) if self.on_gpu else found


def graded_kernel(
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    *given: Any,  # noqa: ANN401
    **options: Any,  # noqa: ANN401
) -> GradedKernel:
    """Make a kernel of its body, as `mx.fast.metal_kernel` does."""
    own = (name, input_names, output_names, source, *given)
    on_gpu = ON_GPU(*own, **options) if ON_GPU else None
    options.pop("compile_options", None)  # of Metal's compiler
    return GradedKernel(
        metal_kernel(*own, **options),
        on_gpu,
        _found(source),
    )


def _found(source: str) -> Source:
    """Find the text of a kernel in one of the files that run, the innermost first."""
    frame = inspect.currentframe()
    while frame and source:
        file = frame.f_code.co_filename
        before, found, _ = "".join(linecache.getlines(file)).partition(source)
        if found:
            return Source(Path(file).name, before.count("\n") + 1)
        frame = frame.f_back
    return Source("", 1)
