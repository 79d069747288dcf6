"""Quantised matrices, in the packed format of MLX, and layers of them."""

from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.scenarios.architecture import (
    OF_BLOCK,
    Architecture,
    Weights,
    block_weights,
)


@dataclass(frozen=True)
class Stored:
    """A quantised matrix.

    Attributes:
        packed: The integers, packed into 32-bit words.
        scales: The step between neighbouring integers, one per group.
        biases: The value of the integer 0, one per group.
        group_size: The number of integers that share a scale and a bias.
        bits: The width of an integer.
    """

    packed: mx.array
    scales: mx.array
    biases: mx.array
    group_size: int
    bits: int

    def parts(self) -> dict[str, mx.array]:
        """Return the three arrays in the order in which `quantize` returns them."""
        arrays = (self.packed, self.scales, self.biases)
        return dict(zip(("packed", "scales", "biases"), arrays, strict=True))

    def fields(self) -> tuple[mx.array, mx.array, int, int, mx.array]:
        """Return all values, in the order of the fields of `QuantizedWeights`."""
        return self.scales, self.biases, self.group_size, self.bits, self.packed


def quantised(w: mx.array, group_size: int, bits: int) -> Stored:
    """Quantise as MLX does on a CPU, so that all machines agree on the truth."""
    arrays = mx.quantize(w, group_size, bits, stream=mx.cpu)
    return Stored(*arrays, group_size, bits)


def drawn(
    shape: tuple[int, ...],
    group_size: int,
    bits: int,
    dtype: mx.Dtype = mx.float32,
    *,
    scale: float = 1.0,
    bias: float = 4.0,
) -> Stored:
    """Draw every bit of some words, and a scale and a bias for each group.

    Args:
        shape: Of the matrix.
        group_size: The number of integers that share a scale and a bias.
        bits: The width of an integer.
        dtype: Of scales and biases.
        scale: The standard deviation of the scales.
        bias: The standard deviation of the biases.
    """
    *rows, length = shape
    rng = np.random.default_rng(bits)
    words = rng.integers(0, 2**32, (*rows, length * bits // 32), dtype=np.uint32)
    groups = (*rows, length // group_size)
    scales = normal(*groups, dtype=dtype, scale=scale, name="scales")
    biases = normal(*groups, dtype=dtype, scale=bias, name="biases")
    return Stored(mx.array(words), scales, biases, group_size, bits)


def dequantised(stored: Stored) -> mx.array:
    """Dequantise as MLX does on a CPU, for the same reason."""
    return mx.dequantize(
        stored.packed,
        stored.scales,
        stored.biases,
        group_size=stored.group_size,
        bits=stored.bits,
        stream=mx.cpu,
    )


@dataclass(frozen=True)
class PackedLayer:
    """The weights of a layer, with their matrices quantised.

    Attributes:
        matrices: Seven, in the order of `kernels.Layer`.
        vectors: Five, likewise.
        dense: All of them, unpacked, by their names in a checkpoint.
    """

    matrices: tuple[Stored, ...]
    vectors: tuple[mx.array, ...]
    dense: Weights


def packed_layer(
    sizes: Architecture, group_size: int, bits: int, dtype: mx.Dtype = mx.float32
) -> PackedLayer:
    """Draw the weights of a layer.

    Args:
        sizes: Of the model.
        group_size: The number of integers that share a scale and a bias.
        bits: The width of an integer.
        dtype: Of all else that is stored.
    """
    arrays = block_weights(sizes, dtype)
    matrices, vectors, dense = list[Stored](), list[mx.array](), dict(arrays)
    for name in OF_BLOCK.values():
        if arrays[name].ndim == 2:
            matrices.append(quantised(arrays[name], group_size, bits))
            dense[name] = dequantised(matrices[-1])
        else:
            vectors.append(arrays[name])
    return PackedLayer(tuple(matrices), tuple(vectors), dense)
