"""Weights as the checkpoint stores them, and as arithmetic wants them."""

import mlx.core as mx
from jaxtyping import Float, UInt32
from mlx import nn

from . import kernels


def dequantize_linear(
    mlx_layer: nn.Linear | nn.Embedding | nn.QuantizedLinear | nn.QuantizedEmbedding,
) -> Float[mx.array, "O I"]:
    """Return the dense weight of a layer that `mlx_lm` loaded, quantised or not.

    A quantised weight is stored as small integers q in groups, each group with a
    scale and a bias of its own:

        w = scale * q + bias

    Args:
        mlx_layer: A linear layer or an embedding. A dense one is handed back as is.
    """
    if isinstance(mlx_layer, nn.QuantizedLinear | nn.QuantizedEmbedding):
        return mx.dequantize(
            mlx_layer.weight,
            mlx_layer.scales,
            mlx_layer.biases,
            group_size=mlx_layer.group_size,
            bits=mlx_layer.bits,
        )
    return mlx_layer.weight


def quantize(
    w: Float[mx.array, "*N I"], group_size: int, bits: int
) -> tuple[
    UInt32[mx.array, "*N words"],
    Float[mx.array, "*N groups"],
    Float[mx.array, "*N groups"],
]:
    """Store weights as integers of a few bits, with a scale and a bias for each group.

        edge = low or high, whichever is farther from zero; high if neither is
        step = max((high - low) / (2^bits - 1), 1e-7), negative if the edge is high
        bias = edge,   scale = edge / round(edge / step)
        q = round((w - bias) / scale), held between 0 and 2^bits - 1

    Here low and high are the ends of a group. The last change of the step lets zero be
    hit exactly. Where round(edge / step) is 0, the scale is the step and the bias 0.

    All this is computed in float32, and halves are rounded to even. At the very end,
    scale and bias are rounded to the dtype of `w`.

    Args:
        w: Weights. Groups are neighbours along the last axis.
        group_size: How many weights share a scale and a bias.
        bits: Of each integer: 2, 4 or 8.

    Returns:
        The integers, 32 / bits of them in each word, the first in the lowest bits; the
        scales; the biases.

    Raises:
        ValueError: `group_size` does not divide the length of the last axis.

    Source: `mx.quantize`, whose results these are, bit for bit.
    """
    if w.shape[-1] % group_size:
        raise ValueError(
            f"quantize: expected rows of a multiple of {group_size} weights, "
            f"got shape {w.shape}"
        )
    largest = 2**bits - 1
    groups = mx.unflatten(w.astype(mx.float32), -1, (-1, group_size))
    scale, bias = _scale_and_bias(groups, largest)
    q = mx.clip(mx.round((groups - bias) / scale), 0, largest)
    packed = _pack(mx.flatten(q.astype(mx.uint32), -2, -1), bits)
    return packed, scale[..., 0].astype(w.dtype), bias[..., 0].astype(w.dtype)


def _scale_and_bias(
    groups: Float[mx.array, "*N groups G"], largest: int
) -> tuple[Float[mx.array, "*N groups 1"], Float[mx.array, "*N groups 1"]]:
    """Choose the scale and the bias of each group of G weights.

    Args:
        groups: The weights, in float32.
        largest: The largest integer that a weight may become.
    """
    low = mx.min(groups, axis=-1, keepdims=True)
    high = mx.max(groups, axis=-1, keepdims=True)
    from_low = mx.abs(low) > mx.abs(high)
    edge = mx.where(from_low, low, high)
    step = mx.maximum((high - low) / largest, 1e-7)
    step = mx.where(from_low, step, -step)
    steps_to_zero = mx.round(edge / step)
    is_at_zero = steps_to_zero == 0
    scale = mx.where(is_at_zero, step, edge / steps_to_zero)
    return scale, mx.where(is_at_zero, 0.0, edge)


def dequantize(
    packed: UInt32[mx.array, "*N words"],
    scales: Float[mx.array, "*N groups"],
    biases: Float[mx.array, "*N groups"],
    group_size: int,
    bits: int,
) -> Float[mx.array, "*N I"]:
    """Unpack the integers of a quantised weight, and scale and shift them.

        w = scale * q + bias

    Product and sum are each rounded to the dtype of the scales.

    Args:
        packed: Words of 32 bits, each with 32 / bits integers.
        scales: One for each group of integers.
        biases: Likewise.
        group_size: How many integers share a scale and a bias.
        bits: Of each integer: 2, 4 or 8.

    Source: `mx.dequantize`, whose results these are, bit for bit.
    """
    q = mx.unflatten(_unpack(packed, bits).astype(scales.dtype), -1, (-1, group_size))
    return mx.flatten(q * scales[..., None] + biases[..., None], -2, -1)


def _pack(q: UInt32[mx.array, "*N I"], bits: int) -> UInt32[mx.array, "*N words"]:
    """Put 32 / bits integers into each word, the first into the lowest bits."""
    shifts = mx.arange(0, 32, bits, dtype=mx.uint32)
    return mx.sum(mx.unflatten(q, -1, (-1, shifts.size)) << shifts, axis=-1)


def _unpack(
    packed: UInt32[mx.array, "*N words"], bits: int
) -> UInt32[mx.array, "*N I"]:
    """Take 32 / bits integers out of each word, those in the lowest bits first."""
    shifts = mx.arange(0, 32, bits, dtype=mx.uint32)
    return mx.flatten((packed[..., None] >> shifts) & (2**bits - 1), -2, -1)


class QuantizedWeights:
    """Hold a weight matrix as it is stored, packed.

    Args:
        scales: One for each group of integers.
        biases: Likewise. They have nothing to do with the bias of a layer.
        group_size: How many integers share a scale and a bias.
        bits: Of each integer.
        weight: The packed integers, one row per output.
    """

    def __init__(
        self,
        scales: Float[mx.array, "O groups"],
        biases: Float[mx.array, "O groups"],
        group_size: int,
        bits: int,
        weight: UInt32[mx.array, "O words"],
    ) -> None:
        self.scales = scales
        self.biases = biases
        self.group_size = group_size
        self.bits = bits
        self.weight = weight

    @staticmethod
    def from_mlx_layer(
        layer: nn.QuantizedLinear | nn.QuantizedEmbedding,
    ) -> "QuantizedWeights":
        """Take over the arrays of a quantised layer that `mlx_lm` loaded.

        Args:
            layer: Quantised. Nothing of it is copied.

        Raises:
            ValueError: Its format is one without biases, such as "mxfp4".
        """
        if layer.biases is None:
            raise ValueError(
                f"QuantizedWeights: expected a layer with biases, got {layer.mode!r}"
            )
        return QuantizedWeights(
            layer.scales, layer.biases, layer.group_size, layer.bits, layer.weight
        )


def quantized_matmul(  # noqa: PLR0913, PLR0917 - the course's public names fix these
    scales: Float[mx.array, "rows groups"],
    biases: Float[mx.array, "rows groups"],
    group_size: int,
    bits: int,
    a: Float[mx.array, "*N _"],
    b: UInt32[mx.array, "rows words"],
    transpose_b: bool = False,
) -> Float[mx.array, "*N _"]:
    """Multiply by a quantised matrix.

        a @ w, or a @ w^T,   where w is what `dequantize` makes of b

    Args:
        scales: One for each group of integers of `b`.
        biases: Likewise.
        group_size: How many integers share a scale and a bias.
        bits: Of each integer.
        a: Vectors, as long as w has rows, or columns if it is transposed.
        b: The packed integers. Groups run along the rows of w, transposed or not.
        transpose_b: Whether to multiply by the transpose of w, as linear layers do.
    """
    w = dequantize(b, scales, biases, group_size, bits)
    return a @ (w.T if transpose_b else w)


def quantized_linear(
    x: Float[mx.array, "*N I"],
    w: QuantizedWeights,
    bias: Float[mx.array, " O"] | None = None,
) -> Float[mx.array, "*N O"]:
    """Apply a linear layer whose weight is quantised to every vector of `x`.

        y = x w^T + bias

    The kernels, where they are on, do this without ever unpacking the whole matrix. On
    a GPU MLX does, with a kernel of its own.

    Args:
        x: Vectors of length I.
        w: The weight, outputs x inputs when it is unpacked.
        bias: Added to every result. None adds nothing.
    """
    if kernels.are_on():
        return kernels.quantized_linear(x, w, bias)
    if mx.default_device() == mx.gpu:
        y = kernels.quantized_product_of_mlx(x, w)
    else:
        y = quantized_matmul(
            w.scales, w.biases, w.group_size, w.bits, x, w.weight, transpose_b=True
        )
    return y if bias is None else y + bias
