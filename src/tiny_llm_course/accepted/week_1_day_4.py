"""Day 4: other right ways to write RMSNorm, SiLU and the MLP."""

from collections.abc import Callable

import mlx.core as mx
from mlx import nn

from tiny_llm_course.specimens import specimen

RMS_NORM = "layer_norm.RMSNorm"
SILU = "basics.silu"
MLP = "qwen2_week1.Qwen2MLP"


class _Norm:
    """What an RMSNorm remembers."""

    def __init__(self, dim: int, weight: mx.array, eps: float = 1e-5) -> None:
        self.dim = dim
        self.weight = weight
        self.eps = eps


@specimen(1, symbol=RMS_NORM)
class cast_back_before_the_gain(_Norm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        mean_square = mx.mean(mx.square(wide), axis=-1, keepdims=True)
        unit = wide * mx.rsqrt(mean_square + self.eps)
        return self.weight.astype(x.dtype) * unit.astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class root_and_division(_Norm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        mean_square = mx.sum(wide**2, axis=-1, keepdims=True) / self.dim
        return (wide / mx.sqrt(mean_square + self.eps) * self.weight).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class gain_first(_Norm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        factor = (mx.mean(mx.power(wide, 2), axis=-1) + self.eps) ** -0.5
        return (wide * self.weight * factor[..., None]).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class length_over_root_of_dim(_Norm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        rms = mx.linalg.norm(wide, axis=-1, keepdims=True) / self.dim**0.5
        unit = wide / mx.sqrt(rms * rms + self.eps)
        return (unit * self.weight.astype(mx.float32)).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class squares_by_einsum:
    def __init__(
        self, dim: int, weight: mx.array, eps: float = 1e-5, *, name: str = "norm"
    ) -> None:
        self.name = name
        self.share = 1.0 / dim
        self.gain = weight.astype(mx.float32)
        self.variance_epsilon = mx.array(eps)

    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        mean_square = mx.einsum("...d,...d->...", wide, wide) * self.share
        factor = mx.rsqrt(mean_square + self.variance_epsilon)
        unit = wide * mx.expand_dims(factor, -1)
        return (unit * self.gain).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class compiled_norm(_Norm):
    def __call__(self, x: mx.array) -> mx.array:
        return mx.compile(self.normalise)(x)

    def normalise(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        mean_square = (wide * wide).mean(-1, keepdims=True)
        return (self.weight * (wide * mx.rsqrt(mean_square + self.eps))).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class library_rms_norm(_Norm):
    def __call__(self, x: mx.array) -> mx.array:
        return mx.fast.rms_norm(x, self.weight, self.eps).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class library_layer(nn.RMSNorm):
    def __init__(self, dim: int, weight: mx.array, eps: float = 1e-5) -> None:
        super().__init__(dim, eps)
        self.weight = weight

    def __call__(self, x: mx.array) -> mx.array:
        """Cast: beside a float32 gain the library gives a float32 result."""
        return super().__call__(x).astype(x.dtype)


@specimen(2, symbol=SILU)
def division_by_one_plus_exp(x: mx.array) -> mx.array:
    return x / (1 + mx.exp(-x))


@specimen(2, symbol=SILU)
def silu_in_float32(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide / (1.0 + mx.exp(mx.negative(wide)))).astype(x.dtype)


@specimen(2, symbol=SILU)
def sigmoid_by_tanh(x: mx.array) -> mx.array:
    return 0.5 * x * (1 + mx.tanh(0.5 * x))


@specimen(2, symbol=SILU)
def sigmoid_in_two_halves(x: mx.array) -> mx.array:
    decay = mx.exp(-mx.abs(x))
    return x * mx.where(x >= 0, 1 / (1 + decay), decay / (1 + decay))


@specimen(2, symbol=SILU)
def sigmoid_by_logaddexp(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide * mx.exp(-mx.logaddexp(0.0, -wide))).astype(x.dtype)


@specimen(2, symbol=SILU)
def library_silu(x: mx.array) -> mx.array:
    return nn.silu(x)


@specimen(2, symbol=MLP)
class products_written_out:
    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        w_gate: mx.array,
        w_up: mx.array,
        w_down: mx.array,
    ) -> None:
        assert w_gate.shape == w_up.shape == (hidden_dim, dim)
        self.w_gate, self.w_up = w_gate.T, w_up.T
        self.w_down = w_down.T

    def __call__(self, x: mx.array) -> mx.array:
        gate = x @ self.w_gate
        return (gate * mx.sigmoid(gate) * (x @ self.w_up)) @ self.w_down


@specimen(2, symbol=MLP)
class gate_and_up_in_one_product:
    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        w_gate: mx.array,
        w_up: mx.array,
        w_down: mx.array,
    ) -> None:
        del dim
        self.hidden_dim = hidden_dim
        self.w_gate_up = mx.concatenate([w_gate, w_up], axis=0)
        self.w_down = w_down

    def __call__(self, x: mx.array) -> mx.array:
        both = mx.matmul(x, self.w_gate_up.swapaxes(0, 1))
        gate, up = mx.split(both, [self.hidden_dim], axis=-1)
        return mx.matmul(up * (gate / (1 + mx.exp(-gate))), mx.transpose(self.w_down))


@specimen(2, symbol=MLP)
class products_by_einsum:
    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        w_gate: mx.array,
        w_up: mx.array,
        w_down: mx.array,
        activation: Callable[[mx.array], mx.array] = nn.silu,
    ) -> None:
        self.sizes = (dim, hidden_dim)
        self.w_gate, self.w_up, self.w_down = w_gate, w_up, w_down
        self.activation = activation

    def __call__(self, x: mx.array) -> mx.array:
        return mx.einsum("...i,ei->...e", self._inside(x), self.w_down)

    def _inside(self, x: mx.array) -> mx.array:
        gate = mx.einsum("...e,ie->...i", x, self.w_gate)
        return self.activation(gate) * mx.einsum("...e,ie->...i", x, self.w_up)


@specimen(2, symbol=MLP)
class library_layers(nn.Module):
    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        w_gate: mx.array,
        w_up: mx.array,
        w_down: mx.array,
    ) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, dim, bias=False)
        self.gate_proj.weight = w_gate
        self.up_proj.weight = w_up
        self.down_proj.weight = w_down

    def __call__(self, x: mx.array) -> mx.array:
        return self.down_proj(nn.silu(self.gate_proj(x)) * self.up_proj(x))


@specimen(2, symbol=MLP)
class mlp_in_float32:
    def __init__(
        self,
        dim: int,
        hidden_dim: int,
        w_gate: mx.array,
        w_up: mx.array,
        w_down: mx.array,
    ) -> None:
        self.dim, self.hidden_dim = dim, hidden_dim
        self.weights = [w.astype(mx.float32) for w in (w_gate, w_up, w_down)]

    def __call__(self, x: mx.array) -> mx.array:
        w_gate, w_up, w_down = self.weights
        rows = x.reshape(-1, self.dim).astype(mx.float32)
        gate = rows @ w_gate.T
        inside = gate * mx.sigmoid(gate) * (rows @ w_up.T)
        return (inside @ w_down.T).reshape(x.shape).astype(x.dtype)
