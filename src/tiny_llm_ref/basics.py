"""Softmax, the linear layer and SiLU: the small operations all else is made of."""

import mlx.core as mx
from jaxtyping import Float


def softmax(x: Float[mx.array, "*N"], axis: int) -> Float[mx.array, "*N"]:
    """Turn scores into probabilities: positive, and summing to one along `axis`.

        y_i = exp(x_i - m) / sum_j exp(x_j - m),   m = max_j x_j

    Subtracting the maximum changes nothing in exact arithmetic, and keeps every
    exponent at or below zero, so that `exp` cannot overflow. The sum is best taken in
    float32, for long axes; the result has the dtype of `x`.

    Args:
        x: Scores. A score of -inf gets probability 0.
        axis: The axis whose entries compete with each other.

    Source: Goodfellow, Bengio and Courville 2016, Deep Learning, section 4.1.
    """
    wide = x.astype(mx.float32)
    exponentials = mx.exp(wide - mx.max(wide, axis=axis, keepdims=True))
    total = mx.sum(exponentials, axis=axis, keepdims=True)
    return (exponentials / total).astype(x.dtype)


def linear(
    x: Float[mx.array, "*N I"],
    w: Float[mx.array, "O I"],
    bias: Float[mx.array, " O"] | None = None,
) -> Float[mx.array, "*N O"]:
    """Apply a linear layer to every vector of `x`.

        y = x w^T + bias

    Args:
        x: Vectors of length I.
        w: One row per output: checkpoints store weights as outputs x inputs.
        bias: Added to every result. None adds nothing.
    """
    y = x @ w.T
    return y if bias is None else y + bias


def silu(x: Float[mx.array, "*N"]) -> Float[mx.array, "*N"]:
    """Let large entries through and hold small and negative ones back, smoothly.

        y = x * sigmoid(x) = x / (1 + exp(-x))

    Approaches x on the right and 0 on the left; its least value, about -0.278, is
    reached at x = -1.278. Shape and dtype are those of `x`.

    Source: Elfwing, Uchibe and Doya 2018 (arXiv:1702.03118), where it is SiL.
        Ramachandran et al. 2017 (arXiv:1710.05941) call it Swish with beta = 1.
    """
    return x * mx.sigmoid(x)
