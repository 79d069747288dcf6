"""The compiled kernels: where they are, whether they are on, and what they read.

`pdm run build-ext` compiles those of src/extensions into a module beside this file,
`pdm run build-ext-ref` those of src/extensions_ref. What connects them with MLX is in
src/extensions_shared, for both.
"""

import functools
import importlib
import os
from typing import Any, Protocol, runtime_checkable

import mlx.core as mx
from jaxtyping import Float, UInt32


class NotBuiltError(ImportError):
    """The kernels have not been compiled, or cannot be loaded."""


@functools.cache
def built() -> Any:  # noqa: ANN401 - a module in C++ has no types
    """Return the compiled module.

    Raises:
        NotBuiltError: There is none, or it does not fit this Python or this MLX.
    """
    try:
        return importlib.import_module("._kernels", __package__)
    except ImportError as error:
        command = "build-ext-ref" if __package__ == "tiny_llm_ref" else "build-ext"
        raise NotBuiltError(
            f"the kernels of {__package__}: expected a compiled module, got {error}; "
            f"run: pdm run {command}"
        ) from error


def are_on() -> bool:
    """Tell whether the kernels compute, or operations of MLX do.

    The environment variable TINY_LLM_KERNELS decides. With "auto", the default, they
    are on where MLX computes on a CPU and the module is built. With "none" they are
    off, as on a GPU, where MLX has kernels of its own. With "own" they are on.

    A model, a layer or a cache asks once, when it is made, and stays with the answer. A
    function that is called by itself has nothing that was made before: it asks then.

    Raises:
        ValueError: The variable holds anything else.
    """
    chosen = os.environ.get("TINY_LLM_KERNELS", "auto")
    if chosen not in {"auto", "none", "own"}:
        raise ValueError(
            f"TINY_LLM_KERNELS: expected auto, none or own, got {chosen!r}"
        )
    if chosen == "auto":
        return mx.default_device() == mx.Device(mx.cpu) and _is_built()
    return chosen == "own"


@functools.cache
def _is_built() -> bool:
    """Tell whether there is a compiled module."""
    try:
        built()
    except NotBuiltError:
        return False
    return True


@runtime_checkable
class Packed(Protocol):
    """What the kernels read of a matrix, O x I: `quantize.QuantizedWeights` has it.

    Attributes:
        weight: The packed integers, one row per output.
        scales: One for each group of integers.
        biases: As many.
        group_size: How many integers share a scale and a bias.
        bits: Of each integer.
    """

    weight: UInt32[mx.array, "O words"]
    scales: Float[mx.array, "O groups"]
    biases: Float[mx.array, "O groups"]
    group_size: int
    bits: int


def packed(w: Packed) -> Any:  # noqa: ANN401 - of the module in C++
    """Return a quantised matrix as the functions in C++ take it."""
    return built().Weight(w.weight, w.scales, w.biases, w.group_size, w.bits)


def advise_huge_pages(*arrays: mx.array) -> None:
    """Ask for huge pages of memory for arrays that are read again and again.

    They stay where they are, and as they are. A processor reads ahead up to the end of
    a page, of 4 KB as a rule: out of pages of 2 MB it reads faster. Linux has them on
    request, and elsewhere nothing happens.

    Args:
        arrays: They are evaluated.
    """
    mx.eval(arrays)
    for array in arrays:
        built().prefer_large_pages(array)
