"""Quantised matrices, the words as MLX makes and reads them."""

from dataclasses import dataclass

import mlx.core as mx


@dataclass(frozen=True)
class Stored:
    """A quantised matrix.

    Attributes:
        packed: The integers, in words of 32 bits.
        scales: One for each group.
        biases: Likewise.
        group_size: How many integers share a scale and a bias.
        bits: Of each integer.
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
        """Return all in the order of the fields of `QuantizedWeights`."""
        return self.scales, self.biases, self.group_size, self.bits, self.packed


def quantised(w: mx.array, group_size: int, bits: int) -> Stored:
    """Quantise as MLX does on a CPU, so that the truth is one on every machine."""
    arrays = mx.quantize(w, group_size, bits, stream=mx.cpu)
    return Stored(*arrays, group_size, bits)


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
