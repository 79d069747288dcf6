"""Day 4, task 3: other right ways to write the norm family."""

import math
from typing import Any

import mlx.core as mx
from mlx import nn

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.norms import BatchNorm

LAYER = "norms.LayerNorm"
BATCH = "norms.BatchNorm"
GROUP = "norms.GroupNorm"
PARTIAL = "norms.PartialRMSNorm"


class _Affine:
    """What a norm with a gain and a bias remembers."""

    def __init__(
        self, dim: int, weight: mx.array, bias: mx.array, eps: float = 1e-5
    ) -> None:
        self.dim = dim
        self.weight = weight
        self.bias = bias
        self.eps = eps


@specimen(3, symbol=LAYER)
class layer_by_mx_var(_Affine):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        mean = wide.mean(-1, keepdims=True)
        deviation = mx.sqrt(wide.var(-1, keepdims=True) + self.eps)
        return ((wide - mean) / deviation * self.weight + self.bias).astype(x.dtype)


@specimen(3, symbol=LAYER)
class layer_cast_back_before_the_gain(_Affine):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        centred = wide - mx.mean(wide, axis=-1, keepdims=True)
        variance = mx.mean(centred**2, axis=-1, keepdims=True)
        unit = (centred * mx.rsqrt(variance + self.eps)).astype(x.dtype)
        return unit * self.weight + self.bias


@specimen(3, symbol=LAYER)
class layer_library_operation(_Affine):
    def __call__(self, x: mx.array) -> mx.array:
        return mx.fast.layer_norm(x, self.weight, self.bias, self.eps)


@specimen(3, symbol=LAYER)
class layer_rows_by_einsum(_Affine):
    def __call__(self, x: mx.array) -> mx.array:
        rows = x.reshape(-1, self.dim).astype(mx.float32)
        centred = rows - (mx.sum(rows, axis=1) / self.dim)[:, None]
        variance = mx.einsum("nd,nd->n", centred, centred) / self.dim
        unit = centred / mx.sqrt(variance + self.eps)[:, None]
        y = unit * self.weight + self.bias
        return y.reshape(x.shape).astype(x.dtype)


@specimen(3, symbol=BATCH)
class batch_rows_flattened(BatchNorm):
    def __call__(self, x: mx.array, training: bool = False) -> mx.array:
        rows = x.astype(mx.float32).reshape(-1, x.shape[-1])
        if training:
            mean = rows.mean(0)
            squares = mx.sum((rows - mean) ** 2, axis=0)
            self._remember(mean, squares / (len(rows) - 1))
            variance = squares / len(rows)
        else:
            mean, variance = self.running_mean, self.running_var
        unit = (rows - mean) / mx.sqrt(variance + self.eps)
        y = unit * self.weight + self.bias
        return y.reshape(x.shape).astype(x.dtype)

    def _remember(self, mean: mx.array, variance: mx.array) -> None:
        self.running_mean = self.running_mean + self.momentum * (
            mean - self.running_mean
        )
        self.running_var = self.running_var + self.momentum * (
            variance - self.running_var
        )


@specimen(3, symbol=BATCH)
class batch_gain_and_spread_folded(BatchNorm):
    def __call__(self, x: mx.array, training: bool = False) -> mx.array:
        wide = x.astype(mx.float32)
        if training:
            axes = list(range(x.ndim - 1))
            mean = mx.mean(wide, axes)
            wide = wide - mean
            variance = mx.mean(wide * wide, axes)
            count = x.size / x.shape[-1]
            kept = 1 - self.momentum
            self.running_mean = kept * self.running_mean + self.momentum * mean
            self.running_var = kept * self.running_var + variance * (
                self.momentum * count
            ) / (count - 1)
            shift = self.bias
            factor = self.weight * mx.rsqrt(variance + self.eps)
        else:
            factor = self.weight * mx.rsqrt(self.running_var + self.eps)
            shift = self.bias - self.running_mean * factor
        return (wide * factor + shift).astype(x.dtype)


@specimen(3, symbol=BATCH)
class batch_by_mx_var(BatchNorm):
    def __call__(self, x: mx.array, training: bool = False) -> mx.array:
        wide = x.astype(mx.float32)
        axes = tuple(range(wide.ndim))[:-1]
        mean, variance = self.running_mean, self.running_var
        if training:
            mean, variance = wide.mean(axes), wide.var(axes)
            for name, new in (
                ("running_mean", mean),
                ("running_var", wide.var(axes, ddof=1)),
            ):
                old = getattr(self, name)
                setattr(self, name, old * (1 - self.momentum) + new * self.momentum)
        unit = ((wide - mean) * (variance + self.eps) ** -0.5).astype(x.dtype)
        return unit * self.weight + self.bias


class _Groups(_Affine):
    """What a GroupNorm remembers."""

    def __init__(self, num_groups: int, dim: int, *learned: Any) -> None:  # noqa: ANN401
        super().__init__(dim, *learned)
        self.num_groups = num_groups


@specimen(3, symbol=GROUP)
class group_channels_moved_forward(_Groups):
    def __call__(self, x: mx.array) -> mx.array:
        moved = mx.moveaxis(x.astype(mx.float32), -1, 1)
        groups = moved.reshape(x.shape[0], self.num_groups, -1)
        centred = groups - groups.mean(-1, keepdims=True)
        variance = mx.square(centred).mean(-1, keepdims=True)
        unit = (centred / mx.sqrt(variance + self.eps)).reshape(moved.shape)
        y = mx.moveaxis(unit, 1, -1) * self.weight + self.bias
        return y.astype(x.dtype)


@specimen(3, symbol=GROUP)
class group_by_group(_Groups):
    def __call__(self, x: mx.array) -> mx.array:
        axes = tuple(range(1, x.ndim))
        parts = [
            self._unit(part, axes)
            for part in mx.split(x.astype(mx.float32), self.num_groups, axis=-1)
        ]
        y = mx.concatenate(parts, axis=-1) * self.weight + self.bias
        return y.astype(x.dtype)

    def _unit(self, part: mx.array, axes: tuple[int, ...]) -> mx.array:
        centred = part - mx.mean(part, axis=axes, keepdims=True)
        variance = mx.mean(centred * centred, axis=axes, keepdims=True)
        return centred * mx.rsqrt(variance + self.eps)


@specimen(3, symbol=GROUP)
class group_cast_back_before_the_gain(_Groups):
    def __call__(self, x: mx.array) -> mx.array:
        groups = mx.unflatten(x.astype(mx.float32), -1, (self.num_groups, -1))
        axes = (*range(1, groups.ndim - 2), groups.ndim - 1)
        centred = groups - mx.mean(groups, axis=axes, keepdims=True)
        variance = mx.mean(mx.square(centred), axis=axes, keepdims=True)
        unit = mx.flatten(centred * mx.rsqrt(variance + self.eps), -2, -1)
        return unit.astype(x.dtype) * self.weight + self.bias


@specimen(3, symbol=GROUP)
class group_library_layer(nn.GroupNorm):
    def __init__(
        self,
        num_groups: int,
        dim: int,
        weight: mx.array,
        bias: mx.array,
        eps: float = 1e-5,
    ) -> None:
        super().__init__(num_groups, dim, eps, pytorch_compatible=True)
        self.weight, self.bias = weight, bias


class _Partial:
    """What a PartialRMSNorm remembers."""

    def __init__(
        self, dim: int, weight: mx.array, fraction: float = 0.0625, eps: float = 1e-5
    ) -> None:
        self.dim = dim
        self.weight = weight
        self.fraction = fraction
        self.eps = eps
        self.count = math.ceil(dim * fraction)


@specimen(3, symbol=PARTIAL)
class partial_root_and_division(_Partial):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        first = mx.split(wide, [self.count], axis=-1)[0]
        mean_square = mx.sum(first**2, axis=-1, keepdims=True) / self.count
        return (wide / mx.sqrt(mean_square + self.eps) * self.weight).astype(x.dtype)


@specimen(3, symbol=PARTIAL)
class partial_by_a_mask(_Partial):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        mask = (mx.arange(self.dim) < self.count) / self.count
        mean_square = mx.sum(wide * wide * mask, axis=-1, keepdims=True)
        factor = mx.rsqrt(mean_square + self.eps)
        return self.weight * (wide * factor).astype(x.dtype)


@specimen(3, symbol=PARTIAL)
class partial_gain_first(_Partial):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        first = mx.take(wide, mx.arange(self.count), axis=-1)
        factor = (first.square().mean(-1) + self.eps) ** -0.5
        return (wide * self.weight * factor[..., None]).astype(x.dtype)
