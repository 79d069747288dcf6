"""`mx.fast.metal_kernel` while a solution is graded: the simulator, and a GPU if any.

The simulator finds mistakes. Where there is a GPU of Apple's, and the test is for it,
that runs the kernel as well, and what comes out of it is judged.
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
from tiny_llm_course.metal.signature import SOURCE_FILE

Kernel = Callable[..., list[mx.array]]


_OURS = __name__.partition(".")[0]


class KernelFaultError(Exception):
    """A kernel of a solution has a mistake.

    Its first argument explains it. More of them show the lines in the solution's file.
    """

    def __str__(self) -> str:
        """Write each in a line of its own."""
        return "\n".join(self.args)


class KernelNotCompiledError(KernelFaultError):
    """A kernel of a solution is not Metal."""


@dataclass(frozen=True)
class Source:
    """Where the text of a kernel stands.

    Attributes:
        file: The name of the solution's file.
        lines: What is in it.
        first_line: Where the text begins there. None if it is put together of parts.
    """

    file: str
    lines: tuple[str, ...]
    first_line: int | None

    def place(self, side: Side) -> str:
        """Show the line of a thread. Empty where it is not known."""
        if side.line is None or side.file != SOURCE_FILE:
            return ""
        text = side.text.strip()
        at = self._line_of(side.line, text)
        if at is None:
            return say("metal.places.composed", line=side.line, text=text)
        place = f"{self.file}:{at}"
        return say("metal.places.source", line=side.line, at=place, text=text)

    def _line_of(self, number: int, text: str) -> int | None:
        """Find a line of the kernel in the file. None if there are several like it."""
        if self.first_line is not None:
            return self.first_line + number - 1
        found = [at for at, line in enumerate(self.lines, 1) if line.strip() == text]
        return found[0] if len(found) == 1 else None


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
            is_refused = error.fault.kind == "language"
            what = KernelNotCompiledError if is_refused else KernelFaultError
            raise what(str(error), *places) from None
        if self.on_gpu and mx.default_device() == mx.gpu:
            return self.on_gpu(**given, **of_mlx)
        return found


def graded_kernel(
    of_mlx: Callable[..., Kernel] | None,
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    *given: Any,  # noqa: ANN401
    **options: Any,  # noqa: ANN401
) -> GradedKernel:
    """Make a kernel of its body, as `mx.fast.metal_kernel` does.

    Args:
        of_mlx: The function of MLX itself. None where it cannot run.
        name: Of the kernel. What follows is what a solution gives.
        input_names: Of its inputs.
        output_names: Of its outputs.
        source: The body of its function.
        *given: Any further argument of MLX's function, like `options`.
        **options: By name.
    """
    own = (name, input_names, output_names, source, *given)
    on_gpu = of_mlx(*own, **options) if of_mlx else None
    options.pop("compile_options", None)  # of Metal's compiler
    return GradedKernel(
        metal_kernel(*own, **options),
        on_gpu,
        _found(source),
    )


def _found(source: str) -> Source:
    """Find the text of a kernel in one of the files that run, the innermost first.

    One that is put together of parts is of the file that makes the kernel.
    """
    frame = inspect.currentframe()
    own = ""
    while frame and source:
        file = frame.f_code.co_filename
        lines = linecache.getlines(file)
        before, found, _ = "".join(lines).partition(source)
        if found:
            return Source(Path(file).name, tuple(lines), before.count("\n") + 1)
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        own = own or (file if package != _OURS else "")
        frame = frame.f_back
    return Source(Path(own).name, tuple(linecache.getlines(own)), None)
