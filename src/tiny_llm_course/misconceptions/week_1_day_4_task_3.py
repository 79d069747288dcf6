"""Day 4, task 3: what goes wrong in the norm family."""

import math
from typing import Any

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.norms import BatchNorm, GroupNorm, LayerNorm, PartialRMSNorm

LAYER = "norms.LayerNorm"
BATCH = "norms.BatchNorm"
GROUP = "norms.GroupNorm"
PARTIAL = "norms.PartialRMSNorm"


def _wide(x: mx.array) -> mx.array:
    """Return `x` in float32."""
    return x.astype(mx.float32)


def _centred(x: mx.array, axes: Any) -> mx.array:  # noqa: ANN401 - one axis or several
    """Return `x` minus its mean over `axes`."""
    return x - mx.mean(x, axis=axes, keepdims=True)


def _variance(x: mx.array, axes: Any, ddof: int = 0) -> mx.array:  # noqa: ANN401
    """Return the variance of `x` over `axes`."""
    return mx.var(x, axis=axes, keepdims=True, ddof=ddof)


def _affine(norm: Any, unit: mx.array, x: mx.array) -> mx.array:  # noqa: ANN401
    """Return `unit` times the gain plus the bias, in the dtype of `x`."""
    return (unit.reshape(x.shape) * _wide(norm.weight) + norm.bias).astype(x.dtype)


def _over(norm: Any, x: mx.array, axes: Any) -> mx.array:  # noqa: ANN401
    """Normalise over `axes`."""
    wide = _wide(x)
    unit = _centred(wide, axes) * mx.rsqrt(_variance(wide, axes) + norm.eps)
    return _affine(norm, unit, x)


@specimen(3, symbol=LAYER)
class layer_mean_kept(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        mean_square = mx.mean(wide * wide, axis=-1, keepdims=True)
        return _affine(self, wide * mx.rsqrt(mean_square + self.eps), x)


@specimen(3, symbol=LAYER)
class layer_not_centred(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        return _affine(self, wide * mx.rsqrt(_variance(wide, -1) + self.eps), x)


@specimen(3, symbol=LAYER)
class layer_mean_square_for_variance(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        mean_square = mx.mean(wide * wide, axis=-1, keepdims=True)
        return _affine(self, _centred(wide, -1) * mx.rsqrt(mean_square + self.eps), x)


@specimen(3, symbol=LAYER)
class layer_divided_by_one_less(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        variance = _variance(wide, -1, ddof=1)
        return _affine(self, _centred(wide, -1) * mx.rsqrt(variance + self.eps), x)


@specimen(3, symbol=LAYER)
class layer_root_forgotten(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        unit = _centred(wide, -1) / (_variance(wide, -1) + self.eps)
        return _affine(self, unit, x)


@specimen(3, symbol=LAYER)
class layer_eps_outside_the_root(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        unit = _centred(wide, -1) / (mx.sqrt(_variance(wide, -1)) + self.eps)
        return _affine(self, unit, x)


@specimen(3, symbol=LAYER)
class layer_eps_forgotten(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        return _affine(self, _centred(wide, -1) * mx.rsqrt(_variance(wide, -1)), x)


@specimen(3, symbol=LAYER)
class layer_eps_defaults_to_1e_6(LayerNorm):
    def __init__(
        self, dim: int, weight: mx.array, bias: mx.array, eps: float = 1e-6
    ) -> None:
        super().__init__(dim, weight, bias, eps)


@specimen(3, symbol=LAYER)
class layer_bias_forgotten(LayerNorm):
    def __init__(self, dim: int, weight: mx.array, *others: Any) -> None:  # noqa: ANN401
        super().__init__(dim, weight, mx.zeros(dim), *others[1:])


@specimen(3, symbol=LAYER)
class layer_bias_before_the_gain(LayerNorm):
    def __init__(
        self, dim: int, weight: mx.array, bias: mx.array, eps: float = 1e-5
    ) -> None:
        super().__init__(dim, weight, _wide(bias) * _wide(weight), eps)


@specimen(3, symbol=LAYER)
class layer_gain_forgotten(LayerNorm):
    def __init__(self, dim: int, weight: mx.array, *others: Any) -> None:  # noqa: ANN401
        super().__init__(dim, mx.ones_like(weight), *others)


@specimen(3, symbol=LAYER)
class layer_over_the_whole_sample(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        return _over(self, x, tuple(range(min(1, x.ndim - 1), x.ndim)))


@specimen(3, symbol=LAYER)
class layer_over_the_tokens(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        return _over(self, x, -2)


@specimen(3, symbol=LAYER)
class layer_in_the_input_dtype(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        centred = x - mx.mean(x, axis=-1, keepdims=True)
        variance = mx.mean(centred * centred, axis=-1, keepdims=True)
        return centred * mx.rsqrt(variance + self.eps) * self.weight + self.bias


@specimen(3, symbol=LAYER)
class layer_left_in_float32(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        return super().__call__(_wide(x))


@specimen(3, symbol=LAYER)
class layer_difference_of_squares(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        mean = mx.mean(wide, axis=-1, keepdims=True)
        variance = mx.mean(wide * wide, axis=-1, keepdims=True) - mean * mean
        return _affine(self, (wide - mean) * mx.rsqrt(variance + self.eps), x)


@specimen(3, symbol=LAYER)
class layer_changed_in_place(LayerNorm):
    def __call__(self, x: mx.array) -> mx.array:
        factor = mx.rsqrt(_variance(_wide(x), -1) + self.eps)
        x -= mx.mean(_wide(x), axis=-1, keepdims=True).astype(x.dtype)
        return _affine(self, x * factor, x)


class _Batch(BatchNorm):
    """BatchNorm in steps of which each can be done wrong."""

    def __call__(self, x: mx.array, training: bool = False) -> mx.array:
        wide = _wide(x)
        if training:
            mean, variance = self.measure(wide)
            count = x.size // x.shape[-1]
            self.remember(mean, variance, count)
        else:
            mean, variance = self.running_mean, self.running_var
        return self.normalise(x, mean, variance)

    def measure(self, wide: mx.array) -> tuple[mx.array, mx.array]:
        axes = tuple(range(wide.ndim - 1))
        return mx.mean(wide, axis=axes), mx.var(wide, axis=axes)

    def remember(self, mean: mx.array, variance: mx.array, count: int) -> None:
        self.move(mean, variance * (count / (count - 1)))

    def move(self, mean: mx.array, variance: mx.array) -> None:
        kept, share = 1 - self.momentum, self.momentum
        self.running_mean = kept * self.running_mean + share * mean
        self.running_var = kept * self.running_var + share * variance

    def normalise(self, x: mx.array, mean: mx.array, variance: mx.array) -> mx.array:
        return _affine(self, (_wide(x) - mean) * mx.rsqrt(variance + self.eps), x)


@specimen(3, symbol=BATCH)
class batch_over_the_first_axis(_Batch):
    def measure(self, wide: mx.array) -> tuple[mx.array, mx.array]:
        return mx.mean(wide, axis=0), mx.var(wide, axis=0)


@specimen(3, symbol=BATCH)
class batch_over_the_tokens(_Batch):
    def measure(self, wide: mx.array) -> tuple[mx.array, mx.array]:
        return mx.mean(wide, axis=-2, keepdims=True), _variance(wide, -2)


@specimen(3, symbol=BATCH)
class batch_over_the_channels(_Batch):
    def measure(self, wide: mx.array) -> tuple[mx.array, mx.array]:
        return mx.mean(wide, axis=-1, keepdims=True), _variance(wide, -1)


@specimen(3, symbol=BATCH)
class batch_unbiased_when_normalising(_Batch):
    def measure(self, wide: mx.array) -> tuple[mx.array, mx.array]:
        axes = tuple(range(wide.ndim - 1))
        return mx.mean(wide, axis=axes), mx.var(wide, axis=axes, ddof=1)

    def remember(self, mean: mx.array, variance: mx.array, count: int) -> None:
        del count
        self.move(mean, variance)


@specimen(3, symbol=BATCH)
class batch_biased_when_remembering(_Batch):
    def remember(self, mean: mx.array, variance: mx.array, count: int) -> None:
        del count
        self.move(mean, variance)


@specimen(3, symbol=BATCH)
class batch_biases_exchanged(batch_unbiased_when_normalising):
    def remember(self, mean: mx.array, variance: mx.array, count: int) -> None:
        self.move(mean, variance * ((count - 1) / count))


@specimen(3, symbol=BATCH)
class batch_momentum_reversed(_Batch):
    def move(self, mean: mx.array, variance: mx.array) -> None:
        kept, share = self.momentum, 1 - self.momentum
        self.running_mean = kept * self.running_mean + share * mean
        self.running_var = kept * self.running_var + share * variance


@specimen(3, symbol=BATCH)
class batch_momentum_always_0_1(_Batch):
    def __init__(self, *arguments: Any) -> None:  # noqa: ANN401 - those of BatchNorm
        super().__init__(*arguments[:6])


@specimen(3, symbol=BATCH)
class batch_statistics_added_up(_Batch):
    def move(self, mean: mx.array, variance: mx.array) -> None:
        self.running_mean = self.running_mean + self.momentum * mean
        self.running_var = self.running_var + self.momentum * variance


@specimen(3, symbol=BATCH)
class batch_never_remembers(_Batch):
    def move(self, mean: mx.array, variance: mx.array) -> None:
        del mean, variance


@specimen(3, symbol=BATCH)
class batch_remembers_the_last_batch(_Batch):
    def move(self, mean: mx.array, variance: mx.array) -> None:
        self.running_mean, self.running_var = mean, variance


@specimen(3, symbol=BATCH)
class batch_remembers_the_deviation(_Batch):
    def move(self, mean: mx.array, variance: mx.array) -> None:
        super().move(mean, mx.sqrt(variance))


@specimen(3, symbol=BATCH)
class batch_always_training(_Batch):
    def __call__(self, x: mx.array, training: bool = False) -> mx.array:
        del training
        return self.normalise(x, *self.measure(_wide(x)))

    def measure(self, wide: mx.array) -> tuple[mx.array, mx.array]:
        mean, variance = super().measure(wide)
        count = max(2, wide.size // wide.shape[-1])
        super().remember(mean, variance, count)
        return mean, variance


@specimen(3, symbol=BATCH)
class batch_trains_by_default(_Batch):
    def __call__(self, x: mx.array, training: bool = True) -> mx.array:
        return super().__call__(x, training)


@specimen(3, symbol=BATCH)
class batch_normalises_by_the_batch_in_use(_Batch):
    def __call__(self, x: mx.array, training: bool = False) -> mx.array:
        if training:
            return super().__call__(x, training)
        return self.normalise(x, *self.measure(_wide(x)))


@specimen(3, symbol=BATCH)
class batch_remembers_in_use(_Batch):
    def __call__(self, x: mx.array, training: bool = False) -> mx.array:
        y = super().__call__(x, training)
        if not training:
            super().__call__(x, True)
        return y


@specimen(3, symbol=BATCH)
class batch_running_statistics_in_training(_Batch):
    def __call__(self, x: mx.array, training: bool = False) -> mx.array:
        before = self.running_mean, self.running_var
        super().__call__(x, training)
        return self.normalise(x, *before)


@specimen(3, symbol=BATCH)
class batch_moved_statistics_in_training(_Batch):
    def __call__(self, x: mx.array, training: bool = False) -> mx.array:
        super().__call__(x, training)
        return self.normalise(x, self.running_mean, self.running_var)


@specimen(3, symbol=BATCH)
class batch_written_into_the_callers_arrays(_Batch):
    def move(self, mean: mx.array, variance: mx.array) -> None:
        self.running_mean += self.momentum * (mean - self.running_mean)
        self.running_var += self.momentum * (variance - self.running_var)


@specimen(3, symbol=BATCH)
class batch_eps_outside_the_root(_Batch):
    def normalise(self, x: mx.array, mean: mx.array, variance: mx.array) -> mx.array:
        return _affine(self, (_wide(x) - mean) / (mx.sqrt(variance) + self.eps), x)


@specimen(3, symbol=BATCH)
class batch_eps_forgotten(_Batch):
    def normalise(self, x: mx.array, mean: mx.array, variance: mx.array) -> mx.array:
        return _affine(self, (_wide(x) - mean) * mx.rsqrt(variance), x)


@specimen(3, symbol=BATCH)
class batch_root_forgotten(_Batch):
    def normalise(self, x: mx.array, mean: mx.array, variance: mx.array) -> mx.array:
        return _affine(self, (_wide(x) - mean) / (variance + self.eps), x)


@specimen(3, symbol=BATCH)
class batch_bias_forgotten(_Batch):
    def normalise(self, x: mx.array, mean: mx.array, variance: mx.array) -> mx.array:
        y = super().normalise(_wide(x), mean, variance)
        return (y - self.bias).astype(x.dtype)


@specimen(3, symbol=BATCH)
class batch_in_the_input_dtype(_Batch):
    def __call__(self, x: mx.array, training: bool = False) -> mx.array:
        if not training:
            return super().__call__(x, training)
        axes = tuple(range(x.ndim - 1))
        mean = mx.mean(x, axis=axes)
        variance = mx.mean(mx.square(x - mean), axis=axes)
        self.remember(mean, variance, x.size // x.shape[-1])
        unit = (x - mean) * mx.rsqrt(variance + self.eps)
        return unit * self.weight + self.bias


@specimen(3, symbol=BATCH)
class batch_left_in_float32(_Batch):
    def normalise(self, x: mx.array, mean: mx.array, variance: mx.array) -> mx.array:
        return super().normalise(_wide(x), mean, variance)


class _Group(GroupNorm):
    """GroupNorm in steps of which each can be done wrong."""

    axes: Any = (1, 3)

    def __call__(self, x: mx.array) -> mx.array:
        return _affine(self, self.unit(self.split(_wide(x))), x)

    def split(self, wide: mx.array) -> mx.array:
        size = wide.shape[-1] // self.num_groups
        return wide.reshape(
            wide.shape[0], math.prod(wide.shape[1:-1]), self.num_groups, size
        )

    def unit(self, groups: mx.array) -> mx.array:
        centred = _centred(groups, self.axes)
        return centred * mx.rsqrt(_variance(groups, self.axes) + self.eps)


@specimen(3, symbol=GROUP)
class group_channels_interleaved(_Group):
    axes = (1, 2)

    def split(self, wide: mx.array) -> mx.array:
        size = wide.shape[-1] // self.num_groups
        return wide.reshape(wide.shape[0], -1, size, self.num_groups)


@specimen(3, symbol=GROUP)
class group_number_for_size(_Group):
    def split(self, wide: mx.array) -> mx.array:
        return mx.unflatten(
            wide.reshape(wide.shape[0], -1, wide.shape[-1]), -1, (-1, self.num_groups)
        )


@specimen(3, symbol=GROUP)
class group_position_by_position(_Group):
    axes = 3


@specimen(3, symbol=GROUP)
class group_channel_by_channel(_Group):
    axes = 1


@specimen(3, symbol=GROUP)
class group_across_the_samples(_Group):
    axes = (0, 1, 3)


@specimen(3, symbol=GROUP)
class group_of_all_channels(_Group):
    axes = (1, 2, 3)


@specimen(3, symbol=GROUP)
class group_channels_taken_for_first(_Group):
    axes = 2

    def split(self, wide: mx.array) -> mx.array:
        return wide.reshape(wide.shape[0], self.num_groups, -1)


@specimen(3, symbol=GROUP)
class group_divided_by_one_less(_Group):
    def unit(self, groups: mx.array) -> mx.array:
        variance = _variance(groups, self.axes, ddof=1)
        return _centred(groups, self.axes) * mx.rsqrt(variance + self.eps)


@specimen(3, symbol=GROUP)
class group_mean_kept(_Group):
    def unit(self, groups: mx.array) -> mx.array:
        mean_square = mx.mean(mx.square(groups), axis=self.axes, keepdims=True)
        return groups * mx.rsqrt(mean_square + self.eps)


@specimen(3, symbol=GROUP)
class group_eps_outside_the_root(_Group):
    def unit(self, groups: mx.array) -> mx.array:
        deviation = mx.sqrt(_variance(groups, self.axes))
        return _centred(groups, self.axes) / (deviation + self.eps)


@specimen(3, symbol=GROUP)
class group_eps_forgotten(_Group):
    def unit(self, groups: mx.array) -> mx.array:
        return _centred(groups, self.axes) * mx.rsqrt(_variance(groups, self.axes))


@specimen(3, symbol=GROUP)
class group_bias_forgotten(_Group):
    def __call__(self, x: mx.array) -> mx.array:
        return (super().__call__(_wide(x)) - self.bias).astype(x.dtype)


@specimen(3, symbol=GROUP)
class group_one_gain_per_group(_Group):
    def __call__(self, x: mx.array) -> mx.array:
        unit = self.unit(self.split(_wide(x)))
        gain, bias = (
            _wide(learned[: self.num_groups])[:, None]
            for learned in (self.weight, self.bias)
        )
        return (unit * gain + bias).reshape(x.shape).astype(x.dtype)


@specimen(3, symbol=GROUP)
class group_in_the_input_dtype(_Group):
    def __call__(self, x: mx.array) -> mx.array:
        unit = self.unit(self.split(x)).reshape(x.shape)
        return unit * self.weight + self.bias

    def unit(self, groups: mx.array) -> mx.array:
        centred = _centred(groups, self.axes)
        variance = mx.mean(mx.square(centred), axis=self.axes, keepdims=True)
        return centred * mx.rsqrt(variance + self.eps)


@specimen(3, symbol=GROUP)
class group_left_in_float32(_Group):
    def __call__(self, x: mx.array) -> mx.array:
        return super().__call__(_wide(x))


class _Partial(PartialRMSNorm):
    """PartialRMSNorm in steps of which each can be done wrong."""

    def __init__(
        self, dim: int, weight: mx.array, fraction: float = 0.0625, eps: float = 1e-5
    ) -> None:
        super().__init__(dim, weight, fraction, eps)
        self.num_measured = self.count(dim, fraction)

    def count(self, dim: int, fraction: float) -> int:
        return math.ceil(fraction * dim)

    def measured(self, wide: mx.array) -> mx.array:
        return wide[..., : self.num_measured]

    def mean_square(self, wide: mx.array) -> mx.array:
        return mx.mean(mx.square(self.measured(wide)), axis=-1, keepdims=True)

    def factor(self, wide: mx.array) -> mx.array:
        return mx.rsqrt(self.mean_square(wide) + self.eps)

    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        return (wide * self.factor(wide) * self.weight).astype(x.dtype)


@specimen(3, symbol=PARTIAL)
class partial_rounded_down(_Partial):
    def count(self, dim: int, fraction: float) -> int:
        return int(fraction * dim)


@specimen(3, symbol=PARTIAL)
class partial_rounded_down_to_one_at_least(_Partial):
    def count(self, dim: int, fraction: float) -> int:
        return max(1, int(fraction * dim))


@specimen(3, symbol=PARTIAL)
class partial_fraction_ignored(_Partial):
    def count(self, dim: int, fraction: float) -> int:
        del fraction
        return math.ceil(0.0625 * dim)


@specimen(3, symbol=PARTIAL)
class partial_fraction_in_percent(_Partial):
    def count(self, dim: int, fraction: float) -> int:
        return math.ceil(fraction / 100 * dim)


@specimen(3, symbol=PARTIAL)
class partial_all_channels_measured(_Partial):
    def measured(self, wide: mx.array) -> mx.array:
        return wide


@specimen(3, symbol=PARTIAL)
class partial_last_channels_measured(_Partial):
    def measured(self, wide: mx.array) -> mx.array:
        return wide[..., -self.num_measured :]


@specimen(3, symbol=PARTIAL)
class partial_every_nth_channel_measured(_Partial):
    def measured(self, wide: mx.array) -> mx.array:
        return wide[..., :: wide.shape[-1] // self.num_measured]


@specimen(3, symbol=PARTIAL)
class partial_divided_by_dim(_Partial):
    def mean_square(self, wide: mx.array) -> mx.array:
        share = self.num_measured / wide.shape[-1]
        return super().mean_square(wide) * share


@specimen(3, symbol=PARTIAL)
class partial_sum_for_mean(_Partial):
    def mean_square(self, wide: mx.array) -> mx.array:
        return super().mean_square(wide) * self.num_measured


@specimen(3, symbol=PARTIAL)
class partial_only_the_measured_rescaled(_Partial):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        rest = wide[..., self.num_measured :]
        first = self.measured(wide) * self.factor(wide)
        both = mx.concatenate([first, rest], axis=-1)
        return (both * self.weight).astype(x.dtype)


@specimen(3, symbol=PARTIAL)
class partial_mean_subtracted(_Partial):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        centred = wide - mx.mean(self.measured(wide), axis=-1, keepdims=True)
        return (centred * self.factor(centred) * self.weight).astype(x.dtype)


@specimen(3, symbol=PARTIAL)
class partial_root_forgotten(_Partial):
    def factor(self, wide: mx.array) -> mx.array:
        return 1 / (self.mean_square(wide) + self.eps)


@specimen(3, symbol=PARTIAL)
class partial_eps_outside_the_root(_Partial):
    def factor(self, wide: mx.array) -> mx.array:
        return 1 / (mx.sqrt(self.mean_square(wide)) + self.eps)


@specimen(3, symbol=PARTIAL)
class partial_eps_forgotten(_Partial):
    def factor(self, wide: mx.array) -> mx.array:
        return mx.rsqrt(self.mean_square(wide))


@specimen(3, symbol=PARTIAL)
class partial_gain_forgotten(_Partial):
    def __call__(self, x: mx.array) -> mx.array:
        wide = _wide(x)
        return (wide * self.factor(wide)).astype(x.dtype)


@specimen(3, symbol=PARTIAL)
class partial_gain_before_the_norm(_Partial):
    def __call__(self, x: mx.array) -> mx.array:
        scaled = _wide(x) * self.weight
        return (scaled * self.factor(scaled)).astype(x.dtype)


@specimen(3, symbol=PARTIAL)
class partial_in_the_input_dtype(_Partial):
    def __call__(self, x: mx.array) -> mx.array:
        return x * self.factor(x) * self.weight


@specimen(3, symbol=PARTIAL)
class partial_left_in_float32(_Partial):
    def __call__(self, x: mx.array) -> mx.array:
        return super().__call__(_wide(x))
