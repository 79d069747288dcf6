"""The relatives of RMSNorm, which differ in the numbers that they measure together."""

import math

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo


class LayerNorm:
    """Bring each length-D vector to mean 0 and variance 1, then scale and shift it.

        y = (x - mean) / sqrt(variance + eps) * weight + bias
        mean = mean(x over D)   variance = mean((x - mean)^2 over D)

    Computed in float32 whatever the input dtype. The mean is subtracted before the
    square is taken: mean(x^2) - mean^2 loses its digits when the mean is large. The
    result has the dtype of `x`.

    Args:
        dim: Length D of the vectors.
        weight: Learned gain, one per channel. 1.0 is the identity.
        bias: Learned shift, one per channel. 0.0 is the identity.
        eps: Added to the variance, so in units of x squared.

    Raises:
        ValueError: `weight` or `bias` does not hold `dim` numbers.

    Source: Ba, Kiros and Hinton 2016 (arXiv:1607.06450), equations 3 and 4. The paper
        has no eps.
    """

    def __init__(
        self,
        dim: int,
        weight: Float[mx.array, " D"],
        bias: Float[mx.array, " D"],
        eps: float = 1e-5,
    ) -> None:
        todo("week 1, day 4, task 3")

    def __call__(self, x: Float[mx.array, "*N D"]) -> Float[mx.array, "*N D"]:
        """Normalise every vector along the last axis of `x`."""
        todo("week 1, day 4, task 3")


class BatchNorm:
    """Bring each channel to mean 0 and variance 1 over the whole batch.

        y = (x - mean) / sqrt(variance + eps) * weight + bias

    In training, mean and variance are those of the batch: of all n vectors of `x`,
    whatever axes they lie along. The variance divides by n. Each training call also
    moves the running statistics towards the batch,

        running_mean = (1 - momentum) * running_mean + momentum * mean
        running_var = (1 - momentum) * running_var + momentum * variance * n / (n - 1)

    and otherwise these take the place of the batch's. Computed in float32 whatever the
    input dtype. The running statistics stay in float32; the result has the dtype of
    `x`.

    Args:
        dim: Number D of channels.
        weight: Learned gain, one per channel. 1.0 is the identity.
        bias: Learned shift, one per channel. 0.0 is the identity.
        running_mean: Where the running mean starts. A training call replaces the
            attribute of this name and does not write into the array.
        running_var: Where the running variance starts, in the same way.
        eps: Added to the variance, so in units of x squared.
        momentum: Share of the batch in the new running statistics.

    Raises:
        ValueError: An array does not hold `dim` numbers.

    Source: Ioffe and Szegedy 2015 (arXiv:1502.03167), algorithms 1 and 2. The running
        average is PyTorch's; the paper averages over several batches at the end.
    """

    def __init__(
        self,
        dim: int,
        weight: Float[mx.array, " D"],
        bias: Float[mx.array, " D"],
        running_mean: Float[mx.array, " D"],
        running_var: Float[mx.array, " D"],
        eps: float = 1e-5,
        momentum: float = 0.1,
    ) -> None:
        todo("week 1, day 4, task 3")

    def __call__(
        self, x: Float[mx.array, "*N D"], training: bool = False
    ) -> Float[mx.array, "*N D"]:
        """Normalise every channel of `x`.

        Args:
            x: Activations.
            training: Measure `x`, and remember. Otherwise use what is remembered.

        Raises:
            ValueError: In training, `x` has one vector only, which has no n - 1.
        """
        todo("week 1, day 4, task 3")


class GroupNorm:
    """Bring each group of channels to mean 0 and variance 1 within its sample.

        y = (x - mean) / sqrt(variance + eps) * weight + bias

    The D channels are cut into `num_groups` runs of neighbours. Mean and variance are
    those of one run in one sample, over all of its positions. Computed in float32
    whatever the input dtype; the result has the dtype of `x`.

    Args:
        num_groups: Number of groups, which divides `dim`.
        dim: Number D of channels.
        weight: Learned gain, one per channel. 1.0 is the identity.
        bias: Learned shift, one per channel. 0.0 is the identity.
        eps: Added to the variance, so in units of x squared.

    Raises:
        ValueError: `num_groups` does not divide `dim`, or `weight` or `bias` does not
            hold `dim` numbers.

    Source: Wu and He 2018 (arXiv:1803.08494), equations 1, 2, 6 and 7, which have the
        channels in front of the positions; here they are last.
    """

    def __init__(
        self,
        num_groups: int,
        dim: int,
        weight: Float[mx.array, " D"],
        bias: Float[mx.array, " D"],
        eps: float = 1e-5,
    ) -> None:
        todo("week 1, day 4, task 3")

    def __call__(self, x: Float[mx.array, "N *L D"]) -> Float[mx.array, "N *L D"]:
        """Normalise every group of every sample; the samples lie along axis 0."""
        todo("week 1, day 4, task 3")


class PartialRMSNorm:
    """Rescale each length-D vector by a root mean square measured on a part of it.

        y = x / sqrt(mean(x * x over the first k) + eps) * weight
        k = ceil(fraction * D)

    All D channels are divided, also those that are not measured. The mean square is
    accumulated in float32 whatever the input dtype. The result has the dtype of `x`.

    Args:
        dim: Length D of the vectors.
        weight: Learned gain, one per channel. 1.0 is the identity.
        fraction: Share of the channels that is measured, above 0 and 1 at most.
        eps: Added to the mean square, so in units of x squared.

    Raises:
        ValueError: `weight` does not hold `dim` gains, or `fraction` is no such share.

    Source: Zhang and Sennrich 2019 (arXiv:1910.07467), section 4.2, where it is
        pRMSNorm. The paper has no eps.
    """

    def __init__(
        self,
        dim: int,
        weight: Float[mx.array, " D"],
        fraction: float = 0.0625,
        eps: float = 1e-5,
    ) -> None:
        todo("week 1, day 4, task 3")

    def __call__(self, x: Float[mx.array, "*N D"]) -> Float[mx.array, "*N D"]:
        """Normalise every vector along the last axis of `x`."""
        todo("week 1, day 4, task 3")
