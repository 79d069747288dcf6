"""Parts of a layer so simple that they are nearly exact on every device.

A block gets its attention, MLP and norms as functions. These replace them: one mixes
the tokens, one is nonlinear, one rescales, and none multiplies matrices.
"""

from dataclasses import dataclass

import mlx.core as mx


@dataclass(frozen=True)
class Attention:
    """Give each token the mean of all tokens up to it, channels reversed and weighted.

    Attributes:
        weight: One factor per channel.
    """

    weight: mx.array

    def __call__(self, x: mx.array) -> mx.array:
        """Mix the tokens of `x`, which is N.. x L x E."""
        counts = mx.arange(1, x.shape[-2] + 1, dtype=mx.float32)[:, None]
        means = mx.cumsum(x.astype(mx.float32), axis=-2) / counts
        return (means[..., ::-1] * self.weight).astype(x.dtype)


@dataclass(frozen=True)
class MLP:
    """Cut off the negative channels, and weight the others.

    Attributes:
        weight: One factor per channel.
    """

    weight: mx.array

    def __call__(self, x: mx.array) -> mx.array:
        """Transform every entry of `x`."""
        return (mx.maximum(x.astype(mx.float32), 0) * self.weight).astype(x.dtype)


@dataclass(frozen=True)
class Norm:
    """Rescale each vector to unit root mean square, then by a gain.

    Attributes:
        weight: One gain per channel.
        eps: Added to the mean square.
    """

    weight: mx.array
    eps: float = 1e-6

    def __call__(self, x: mx.array) -> mx.array:
        """Normalise every vector of `x`."""
        wide = x.astype(mx.float32)
        mean_square = mx.mean(wide * wide, axis=-1, keepdims=True)
        unit = wide * mx.rsqrt(mean_square + self.eps)
        return (unit * self.weight).astype(x.dtype)


Parts = tuple[Attention, MLP, Norm, Norm]
"""Attention, MLP, and the norms before each of them."""
