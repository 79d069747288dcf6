"""Root mean square normalisation, which keeps activations at one scale."""

import mlx.core as mx
from jaxtyping import Float


class RMSNorm:
    """Rescale each length-D vector to unit root mean square, then by a learned gain.

        y = x / sqrt(mean(x * x over D) + eps) * weight

    The mean square is accumulated in float32 whatever the input dtype: squaring
    float16 overflows from |x| = 256 on. The result has the dtype of `x`.

    Args:
        dim: Length D of the vectors.
        weight: Learned gain, one per channel. 1.0 is the identity.
        eps: Added to the mean square, so in units of x squared. Qwen2 uses 1e-6.

    Raises:
        ValueError: `weight` does not hold `dim` gains.

    Source: Zhang and Sennrich 2019 (arXiv:1910.07467), equation 4. The paper has
        no eps.
    """

    def __init__(
        self, dim: int, weight: Float[mx.array, " D"], eps: float = 1e-5
    ) -> None:
        if weight.shape != (dim,):
            raise ValueError(
                f"RMSNorm: expected a weight of shape ({dim},), got {weight.shape}"
            )
        self.weight = weight
        self.eps = eps

    def __call__(self, x: Float[mx.array, "*N D"]) -> Float[mx.array, "*N D"]:
        """Normalise every vector along the last axis of `x`."""
        wide = x.astype(mx.float32)
        mean_square = mx.mean(wide * wide, axis=-1, keepdims=True)
        unit = wide * mx.rsqrt(mean_square + self.eps)
        return (unit * self.weight.astype(mx.float32)).astype(x.dtype)
