"""Other ways to compile a kernel: to count its arithmetic, or only to run it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx

from tiny_llm_course.metal import compiling
from tiny_llm_course.metal.compiler import CompileError
from tiny_llm_course.metal.kernel import SEEDS, MetalFaultError, metal_kernel
from tiny_llm_course.metal.refusing import library_of
from tiny_llm_course.metal.signature import Assembled

_FAST = ("-O2", "-fno-sanitize=all")

_PATIENCE_S = 60.0


def counting(assembled: Assembled) -> Path:
    """Return a compiled kernel that counts its operations of floats.

    Raises:
        Refused: As of `library_of`.
    """
    library_of(assembled)
    from tiny_llm_course.metal.counting import text_with_counts  # needs libclang

    text = text_with_counts(assembled)
    return compiling.known_library(text) or compiling.kernel_library(text)


def fast(assembled: Assembled) -> Path:
    """Return a compiled kernel of which nothing is known but what comes out of it.

    Raises:
        Refused: As of `library_of`.
    """
    text = assembled.text
    try:
        known = compiling.known_library(text, *_FAST)
        return known or compiling.kernel_library(text, *_FAST)
    except CompileError:
        library_of(assembled)  # says why
        raise


def running_kernel(
    *definition: Any,  # noqa: ANN401 - as MLX has it
    **options: Any,  # noqa: ANN401
) -> Callable[..., list[mx.array]]:
    """Make a kernel that only runs, in one order of its threads, for whole models."""
    kernel = metal_kernel(*definition, **options)

    def run(**given: Any) -> list[mx.array]:  # noqa: ANN401
        result = kernel.run(
            **given, seeds=SEEDS[:1], limit_s=_PATIENCE_S, compiled=fast
        )
        if result.outputs is None:
            raise MetalFaultError(result.faults[0])
        return result.outputs  # no one has watched: what faults say is not known

    return run
