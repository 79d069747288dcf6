"""The relatives of RMSNorm, which differ in the numbers that they measure together."""

import math

import mlx.core as mx
from jaxtyping import Float


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
        self.weight = _checked("LayerNorm: weight", weight, dim)
        self.bias = _checked("LayerNorm: bias", bias, dim)
        self.eps = eps

    def __call__(self, x: Float[mx.array, "*N D"]) -> Float[mx.array, "*N D"]:
        """Normalise every vector along the last axis of `x`."""
        unit = _standardised(x.astype(mx.float32), (-1,), self.eps)
        return _scaled_and_shifted(unit, self.weight, self.bias).astype(x.dtype)


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
        self.weight = _checked("BatchNorm: weight", weight, dim)
        self.bias = _checked("BatchNorm: bias", bias, dim)
        self.running_mean = _checked("BatchNorm: running_mean", running_mean, dim)
        self.running_var = _checked("BatchNorm: running_var", running_var, dim)
        self.eps = eps
        self.momentum = momentum

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
        wide = x.astype(mx.float32)
        if training:
            mean, variance = self._measured(wide)
        else:
            mean, variance = self.running_mean, self.running_var
        unit = (wide - mean) * mx.rsqrt(variance + self.eps)
        return _scaled_and_shifted(unit, self.weight, self.bias).astype(x.dtype)

    def _measured(
        self, x: Float[mx.array, "*N D"]
    ) -> tuple[Float[mx.array, " D"], Float[mx.array, " D"]]:
        """Return mean and variance of each channel, and remember some of both."""
        num_vectors = x.size // x.shape[-1]
        if num_vectors < 2:
            raise ValueError(
                "BatchNorm: expected two vectors at least to train on, got shape "
                f"{x.shape}; pass training=False"
            )
        axes = tuple(range(x.ndim - 1))
        mean = mx.mean(x, axis=axes)
        variance = mx.mean(mx.square(x - mean), axis=axes)
        unbiased = variance * (num_vectors / (num_vectors - 1))
        self.running_mean = self._moved(self.running_mean, mean)
        self.running_var = self._moved(self.running_var, unbiased)
        return mean, variance

    def _moved(
        self, running: Float[mx.array, " D"], batch: Float[mx.array, " D"]
    ) -> Float[mx.array, " D"]:
        """Move a running statistic towards that of a batch."""
        old = running.astype(mx.float32)
        return (1 - self.momentum) * old + self.momentum * batch


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
        if dim % num_groups != 0:
            raise ValueError(
                "GroupNorm: expected num_groups to divide dim, got "
                f"{num_groups} and {dim}"
            )
        self.num_groups = num_groups
        self.weight = _checked("GroupNorm: weight", weight, dim)
        self.bias = _checked("GroupNorm: bias", bias, dim)
        self.eps = eps

    def __call__(self, x: Float[mx.array, "N *L D"]) -> Float[mx.array, "N *L D"]:
        """Normalise every group of every sample; the samples lie along axis 0."""
        groups = _split_groups(x.astype(mx.float32), self.num_groups)
        unit = _standardised(groups, (1, 3), self.eps).reshape(x.shape)
        return _scaled_and_shifted(unit, self.weight, self.bias).astype(x.dtype)


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
        if not 0 < fraction <= 1:
            raise ValueError(
                "PartialRMSNorm: expected a fraction above 0 and 1 at most, got "
                f"{fraction}"
            )
        self.weight = _checked("PartialRMSNorm: weight", weight, dim)
        self.num_measured = math.ceil(fraction * dim)
        self.eps = eps

    def __call__(self, x: Float[mx.array, "*N D"]) -> Float[mx.array, "*N D"]:
        """Normalise every vector along the last axis of `x`."""
        wide = x.astype(mx.float32)
        measured = wide[..., : self.num_measured]
        mean_square = mx.mean(measured * measured, axis=-1, keepdims=True)
        unit = wide * mx.rsqrt(mean_square + self.eps)
        return (unit * self.weight.astype(mx.float32)).astype(x.dtype)


def _checked(name: str, array: mx.array, dim: int) -> mx.array:
    """Return `array`, once it is known to hold one number per channel."""
    if array.shape != (dim,):
        raise ValueError(f"{name}: expected shape ({dim},), got {array.shape}")
    return array


def _standardised(
    x: Float[mx.array, "*N"], axes: tuple[int, ...], eps: float
) -> Float[mx.array, "*N"]:
    """Bring `x` to mean 0 and variance 1 over `axes`, but for eps."""
    centred = x - mx.mean(x, axis=axes, keepdims=True)
    variance = mx.mean(centred * centred, axis=axes, keepdims=True)
    return centred * mx.rsqrt(variance + eps)


def _scaled_and_shifted(
    unit: Float[mx.array, "*N D"],
    weight: Float[mx.array, " D"],
    bias: Float[mx.array, " D"],
) -> Float[mx.array, "*N D"]:
    """Give each channel its learned scale and mean, in float32."""
    return unit * weight.astype(mx.float32) + bias.astype(mx.float32)


def _split_groups(
    x: Float[mx.array, "N *L D"], num_groups: int
) -> Float[mx.array, "N positions groups channels"]:
    """Line up the positions of each sample, and cut the channels into groups."""
    positions = math.prod(x.shape[1:-1])
    return x.reshape(x.shape[0], positions, num_groups, x.shape[-1] // num_groups)
