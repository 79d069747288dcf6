"""Compiles kernels before they are called, several at a time."""

import os
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx

from tiny_llm_course.metal.kernel import MetalKernel, metal_kernel
from tiny_llm_course.metal.refusing import Refused, library_of
from tiny_llm_course.metal.signature import Assembled


class NotRunError(Exception):
    """A kernel is only noted, and has no result."""


@dataclass(frozen=True)
class Notes:
    """The kernels that were called while they were noted.

    Attributes:
        kernels: What would have been compiled for them.
    """

    kernels: list[Assembled] = field(default_factory=list[Assembled])

    def compile(self) -> None:
        """Compile all of them: a core waits for one while another begins the next."""
        distinct = list({one.text: one for one in self.kernels}.values())
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(_compiled, distinct))


@dataclass(frozen=True)
class _Noted:
    kernel: MetalKernel
    notes: Notes

    def __call__(
        self,
        *,
        inputs: Sequence[mx.array | float],
        output_dtypes: Sequence[mx.Dtype],
        template: Sequence[tuple[str, Any]] | None = None,
        **_: object,
    ) -> None:
        self.notes.kernels.append(
            self.kernel.assembled(inputs, output_dtypes, template)
        )
        raise NotRunError


@contextmanager
def noting() -> Generator[Notes]:
    """Note the kernels that are called meanwhile, and run none of them.

    A call of one raises NotRunError.
    """
    notes, usual = Notes(), mx.fast.metal_kernel

    def noted(*given: Any, **options: Any) -> _Noted:  # noqa: ANN401 - as MLX has it
        options.pop("compile_options", None)
        return _Noted(metal_kernel(*given, **options), notes)

    mx.fast.metal_kernel = noted
    try:
        yield notes
    finally:
        mx.fast.metal_kernel = usual


def _compiled(one: Assembled) -> None:
    # Whoever runs it is told why.
    with suppress(Refused):
        library_of(one)
