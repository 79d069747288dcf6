"""The kernels in C++ of this solution, as functions of arrays.

They run on the CPU. `pdm run build-ext` compiles those of src/extensions into a module
that stands beside this file, `pdm run build-ext-ref` those of src/extensions_ref. What
stands between kernels and MLX is in src/extensions_shared, for both.

The environment variable TINY_LLM_KERNELS decides who uses them: with "auto", the
default, the model does where MLX computes on a CPU and the module is built. With "none"
nobody does: all is computed by operations of MLX, as on a GPU, where MLX has kernels of
its own. With "own" the model uses them on every machine.
"""

import functools
import importlib
import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import mlx.core as mx
from jaxtyping import Float, UInt8

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
        command = "build-ext-ref" if __package__ == "tiny_llm_ref" else "build-ext"
        raise NotBuiltError(
            f"the kernels of {__package__}: expected a compiled module, got {error}; "
            f"run: pdm run {command}"
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


@functools.cache
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


def settle(*arrays: mx.array) -> None:
    """Keep arrays that are read again and again in large pages of memory.

    They stay where they are, and as they are. A processor reads ahead up to the end of
    a page, of 4 KB as a rule: out of pages of 2 MB it reads faster. Linux has them on
    request, and elsewhere nothing happens.

    Args:
        arrays: They are evaluated.
    """
    mx.eval(arrays)
    for array in arrays:
        built().prefer_large_pages(array)


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


def matvec_blocked(
    x: Float[mx.array, " I"], w: "QuantizedWeights"
) -> Float[mx.array, " O"]:
    """Multiply a vector, a word of weights and four rows at a time.

        y = w x

    Args:
        x: In float32, float16 or bfloat16. So is the result.
        w: The matrix, O x I when it is unpacked.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().matvec_blocked(x, _weight(w))


def matvec_simd(
    x: Float[mx.array, " I"], w: "QuantizedWeights"
) -> Float[mx.array, " O"]:
    """Multiply a vector, several weights in one instruction.

        y = w x

    Args:
        x: In float32, float16 or bfloat16. So is the result.
        w: The matrix, O x I when it is unpacked.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().matvec_simd(x, _weight(w))


def matvec_int8(
    x: Float[mx.array, " I"], w: "QuantizedWeights"
) -> Float[mx.array, " O"]:
    """Multiply a vector that is rounded to 8 bits, group by group.

        y_o = sum over groups g of  s_og * sx_g * sum(q_w * q_x) + b_og * sum(x)

    Args:
        x: In float32, float16 or bfloat16. So is the result.
        w: The matrix, O x I when it is unpacked.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().matvec_int8(x, _weight(w))


def matvec_threaded(
    x: Float[mx.array, " I"], w: "QuantizedWeights"
) -> Float[mx.array, " O"]:
    """Do what `matvec_int8` does, on all cores.

        y_o = sum over groups g of  s_og * sx_g * sum(q_w * q_x) + b_og * sum(x)

    Args:
        x: In float32, float16 or bfloat16. So is the result.
        w: The matrix, O x I when it is unpacked.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().matvec_threaded(x, _weight(w))


# Day 5: a quantised matrix times many vectors.


def matmul_naive(
    x: Float[mx.array, "L I"], w: "QuantizedWeights"
) -> Float[mx.array, "L O"]:
    """Multiply vectors, one product of two numbers after the other.

        y[t] = w x[t]

    Args:
        x: In float32, float16 or bfloat16. So is the result.
        w: The matrix, O x I when it is unpacked.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().matmul_naive(x, _weight(w))


def matmul_blocked(
    x: Float[mx.array, "L I"], w: "QuantizedWeights"
) -> Float[mx.array, "L O"]:
    """Multiply vectors by a block of the matrix after the other, in floats.

    Args:
        x: In float32, float16 or bfloat16. So is the result.
        w: The matrix, O x I when it is unpacked.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().matmul_blocked(x, _weight(w))


def pack_panel(
    w: "QuantizedWeights", first_row: int
) -> tuple[
    UInt8[mx.array, "quads 16 4"],
    Float[mx.array, "groups 16"],
    Float[mx.array, "groups 16"],
]:
    """Lay out 16 rows of a matrix in the order in which a tile reads them.

    Args:
        w: The matrix.
        first_row: Of the 16. What the result has for rows behind the last is arbitrary.

    Returns:
        The integers: four inputs of the first output, the same four of the second, and
        so on; the scales, those of a group side by side; the biases, likewise. With 4
        bits, the even inputs of a block of up to 64 come before its odd ones.

    Raises:
        ValueError: There is no such row, or the matrix is none.
    """
    return tuple(built().pack_panel(_weight(w), first_row))


def matmul_int8(
    x: Float[mx.array, "L I"], w: "QuantizedWeights"
) -> Float[mx.array, "L O"]:
    """Multiply vectors, rounded to 8 bits, in tiles that stay in registers.

    Args:
        x: In float32, float16 or bfloat16. So is the result.
        w: The matrix, O x I when it is unpacked.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().matmul_int8(x, _weight(w))


def matmul_threaded(
    x: Float[mx.array, "L I"], w: "QuantizedWeights"
) -> Float[mx.array, "L O"]:
    """Multiply vectors like `matmul_int8`, on all cores.

    Args:
        x: In float32, float16 or bfloat16. So is the result.
        w: The matrix, O x I when it is unpacked.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().matmul_threaded(x, _weight(w))


def quantized_linear(
    x: Float[mx.array, "*N I"],
    w: "QuantizedWeights",
    bias: Float[mx.array, " O"] | None = None,
) -> Float[mx.array, "*N O"]:
    """Apply a linear layer whose weight is quantised to every vector of `x`.

        y = x w^T + bias

    One vector goes through the product with a vector, which reads the matrix once and
    does no more. For several the matrix is packed into panels first.

    Args:
        x: Vectors of length I, in float32, float16 or bfloat16. So is the result.
        w: The weight, O x I when it is unpacked.
        bias: Added to every result. None adds nothing.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    num_tokens = math.prod(x.shape[:-1])
    if num_tokens == 1:
        y = matvec_threaded(x.reshape(-1), w)
    else:
        y = matmul_threaded(x.reshape(num_tokens, x.shape[-1]), w)
    y = y.reshape(*x.shape[:-1], len(w.scales))
    return y if bias is None else y + bias


def quantized_product_of_mlx(
    x: Float[mx.array, "*N I"], w: "QuantizedWeights"
) -> Float[mx.array, "*N O"]:
    """Multiply with the kernel of MLX, where it computes on a GPU.

    Args:
        x: Vectors of length I.
        w: The weight, O x I when it is unpacked.
    """
    return mx.quantized_matmul(
        x, w.weight, w.scales, w.biases, group_size=w.group_size, bits=w.bits
    )


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


def attention_of_mlx(
    query: Float[mx.array, "B H_q L D"],
    key: Float[mx.array, "B H S D"],
    value: Float[mx.array, "B H S D"],
    scale: float,
    mask: Float[mx.array, "..."] | Literal["causal"] | None = None,
) -> Float[mx.array, "B H_q L D"]:
    """Attend with the kernel of MLX, where those of this course are off.

    Arguments are those of `attention_online`. It asks for a mask in the dtype of the
    query.
    """
    return mx.fast.scaled_dot_product_attention(
        query, key, value, scale=scale, mask=mask
    )


# Day 7: what stands between the products.


def rms_norm(
    x: Float[mx.array, "*N D"], weight: Float[mx.array, " D"], eps: float
) -> Float[mx.array, "*N D"]:
    """Rescale each length-D vector to unit root mean square, then by a learned gain.

        y = x / sqrt(mean(x * x over D) + eps) * weight

    Computed in float32. The result has the dtype of `x`.

    Args:
        x: In float32, float16 or bfloat16, like all inputs of the functions below.
        weight: Learned gain, one per channel.
        eps: Added to the mean square, so in units of x squared.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().rms_norm(x, weight, eps)


def add_rms_norm(
    x: Float[mx.array, "*N D"],
    residual: Float[mx.array, "*N D"],
    weight: Float[mx.array, " D"],
    eps: float,
) -> tuple[Float[mx.array, "*N D"], Float[mx.array, "*N D"]]:
    """Add two arrays, and normalise the sum in the same pass.

        h = x + residual
        y = h / sqrt(mean(h * h over D) + eps) * weight

    Args:
        x: What a layer has computed.
        residual: The stream that it is added to, of the same dtype.
        weight: As in `rms_norm`, like the next one.
        eps: Added to the mean square.

    Returns:
        The sum h, and y.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """
    return built().add_rms_norm(x, residual, weight, eps)


def rope(
    x: Float[mx.array, "B L H D"], offset: int, base: float
) -> Float[mx.array, "B L H D"]:
    """Rotate the pairs (x_i, x_(i + D/2)) of each head by angles of its position.

        angle(p, i) = p * base ^ (-2 i / D),   p = offset .. offset + L - 1
        (a, b) -> (a cos - b sin, b cos + a sin)

    Args:
        x: Queries or keys, heads after tokens.
        offset: Position of the first token, in all B sequences.
        base: Ratio of the slowest to the fastest rotation, nearly.

    Raises:
        ValueError: D is odd, a position is below 0 or 2^20 or more, or a dtype does not
            fit.
    """
    return built().rope(x, offset, base)


def swiglu(
    gate: Float[mx.array, "*N"], up: Float[mx.array, "*N"]
) -> Float[mx.array, "*N"]:
    """Let `up` through a gate, number by number.

        y = gate * sigmoid(gate) * up

    Args:
        gate: What opens the gate.
        up: What goes through, of the same shape and dtype.

    Raises:
        ValueError: Shapes or dtypes differ.
    """
    return built().swiglu(gate, up)


class Layer:
    """A whole layer of the model as one operation: all kernels, one after the other.

        h = x + attention(rms_norm(x), cache)
        y = h + mlp(rms_norm(h))

    Keys and values are written into buffers that have room for more than are there, and
    in place: whoever hands them over gives them away. Slices of them that are in use
    stay as they are: the new tokens then go into copies.

    Args:
        matrices: The seven weights: queries, keys, values, output, gate, up, down.
        vectors: The biases of queries, keys and values, then the gains of both norms.
        num_heads: Number of query heads H. Their width D is E / H.
        eps: Of both norms.
        base: Of the rotation of queries and keys.

    Raises:
        ValueError: Shapes or dtypes do not fit.
    """

    def __init__(
        self,
        matrices: Sequence["QuantizedWeights"],
        vectors: Sequence[Float[mx.array, " _"]],
        *,
        num_heads: int,
        eps: float,
        base: float,
    ) -> None:
        weights = [_weight(w) for w in matrices]
        self._layer = built().Layer(weights, list(vectors), num_heads, eps, base)

    def __call__(
        self,
        x: Float[mx.array, "1 L E"],
        keys: Float[mx.array, "1 H_kv C D"],
        values: Float[mx.array, "1 H_kv C D"],
        offset: int,
    ) -> tuple[
        Float[mx.array, "1 L E"],
        Float[mx.array, "1 H_kv C D"],
        Float[mx.array, "1 H_kv C D"],
    ]:
        """Carry the stream of L new tokens through the layer.

        Args:
            x: In float32.
            keys: Those of `offset` tokens, and room for L more.
            values: Likewise.
            offset: How many tokens came before.

        Returns:
            The stream, and both buffers with the new tokens in them.

        Raises:
            ValueError: Shapes or dtypes do not fit, or there is no room.
        """
        return tuple(self._layer(x, keys, values, offset))
