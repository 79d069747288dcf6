"""Weights as the checkpoint stores them, and as arithmetic wants them."""

import mlx.core as mx
from jaxtyping import Float
from mlx import nn


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
