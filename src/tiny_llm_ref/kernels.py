"""The kernels in C++ of this solution, as functions of arrays.

They run on the CPU. `pdm run build-ext` compiles those of src/extensions into a module
that stands beside this file, `pdm run build-ext-ref` those of src/extensions_ref.

The environment variable TINY_LLM_KERNELS decides who uses them: with "auto", the
default, the model does where MLX computes on a CPU and the module is built. With "none"
nobody does: all is computed by operations of MLX, as on a GPU, where MLX has kernels of
its own. With "own" the model uses them on every machine.
"""

import functools
import importlib
import os
from typing import TYPE_CHECKING, Any, Literal

import mlx.core as mx
from jaxtyping import Float

if TYPE_CHECKING:
    from .quantize import QuantizedWeights


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
        raise NotBuiltError(
            f"the kernels of {__package__}: expected a compiled module, got {error}; "
            "run: pdm run build-ext"
        ) from error


def are_on() -> bool:
    """Tell whether the model is to use the kernels."""
    chosen = os.environ.get("TINY_LLM_KERNELS", "auto")
    if chosen not in {"auto", "none", "own"}:
        raise ValueError(
            f"TINY_LLM_KERNELS: expected auto, none or own, got {chosen!r}"
        )
    if chosen == "auto":
        return mx.default_device() == mx.Device(mx.cpu) and _is_built()
    return chosen == "own"


def _is_built() -> bool:
    """Tell whether there is a compiled module."""
    try:
        built()
    except NotBuiltError:
        return False
    return True


def _weight(w: "QuantizedWeights") -> Any:  # noqa: ANN401 - of the module in C++
    """Hand the arrays of a quantised matrix to C++."""
    return built().Weight(w.weight, w.scales, w.biases, w.group_size, w.bits)


# Day 4: a quantised matrix times a vector.


def matvec_naive(
    x: Float[mx.array, " I"], w: "QuantizedWeights"
) -> Float[mx.array, " O"]:
    """Multiply a vector, one weight after the other.

        y = w x

    Args:
        x: In float32, float16 or bfloat16. So is the result.
        w: The matrix, O x I when it is unpacked.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().matvec_naive(x, _weight(w))


# Day 5: a quantised matrix times many vectors.

# Day 6: attention.


def _attend(
    rung: str,
    inputs: tuple[mx.array, mx.array, mx.array],
    scale: float,
    mask: mx.array | str | None,
) -> mx.array:
    """Hand everything to C++, and a mask as what it is: an array, or a name."""
    if isinstance(mask, str) and mask != "causal":
        raise ValueError(f"{rung}: expected 'causal', an array or None, got {mask!r}")
    is_causal = isinstance(mask, str)
    added = None if is_causal else mask
    return getattr(built(), rung)(*inputs, scale, is_causal, added)


def attention_online(
    query: Float[mx.array, "B H_q L D"],
    key: Float[mx.array, "B H S D"],
    value: Float[mx.array, "B H S D"],
    scale: float,
    mask: Float[mx.array, "..."] | Literal["causal"] | None = None,
) -> Float[mx.array, "B H_q L D"]:
    """Attend, one key after the other, with a running maximum.

        y = softmax(query key^T * scale + mask) value

    Args:
        query: In float32, float16 or bfloat16. So is the result.
        key: Of H heads, of which each serves H_q / H neighbouring query heads.
        value: Likewise.
        scale: Factor on the scores.
        mask: Added to the scores: any shape that broadcasts to `B x H_q x L x S`.
            With "causal", the last query sees all keys, and each one before it sees
            one less.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return _attend("attention_online", (query, key, value), scale, mask)


def attention_tiled(
    query: Float[mx.array, "B H_q L D"],
    key: Float[mx.array, "B H S D"],
    value: Float[mx.array, "B H S D"],
    scale: float,
    mask: Float[mx.array, "..."] | Literal["causal"] | None = None,
) -> Float[mx.array, "B H_q L D"]:
    """Attend, tile by tile, with all query heads that share a key head.

    Arguments and errors are those of `attention_online`.
    """
    return _attend("attention_tiled", (query, key, value), scale, mask)


def attention_split(
    query: Float[mx.array, "B H_q L D"],
    key: Float[mx.array, "B H S D"],
    value: Float[mx.array, "B H S D"],
    scale: float,
    mask: Float[mx.array, "..."] | Literal["causal"] | None = None,
) -> Float[mx.array, "B H_q L D"]:
    """Attend with few queries, to pieces of the keys in parallel.

    Arguments and errors are those of `attention_online`.
    """
    return _attend("attention_split", (query, key, value), scale, mask)


# Day 7: what stands between the products.
