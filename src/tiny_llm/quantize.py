"""Weights as the checkpoint stores them, and as arithmetic wants them."""

import mlx.core as mx
from jaxtyping import Float, UInt32
from mlx import nn

from tiny_llm_course import todo


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
    todo("week 2, day 3, task 1")


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
    todo("week 2, day 3, task 2")


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
        todo("week 2, day 3, task 3")

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
        todo("week 2, day 3, task 3")


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
    todo("week 2, day 3, task 3")


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
    todo("week 2, day 3, task 3")
