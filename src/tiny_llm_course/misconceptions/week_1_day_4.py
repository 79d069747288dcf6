"""Day 4: what goes wrong in RMSNorm, SiLU and the MLP."""

import math

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.basics import linear, silu
from tiny_llm_ref.layer_norm import RMSNorm
from tiny_llm_ref.qwen2_week1 import Qwen2MLP

RMS_NORM = "layer_norm.RMSNorm"
SILU = "basics.silu"
MLP = "qwen2_week1.Qwen2MLP"


def _mean_square(x: mx.array) -> mx.array:
    """Return the mean square of each vector, in float32."""
    return mx.mean(mx.square(x.astype(mx.float32)), axis=-1, keepdims=True)


def _rescaled(norm: RMSNorm, x: mx.array, factor: mx.array) -> mx.array:
    """Return `x` times `factor` times the gain, in the dtype of `x`."""
    return (x.astype(mx.float32) * factor * norm.weight).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class eps_outside_the_root(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        root = mx.sqrt(_mean_square(x))
        return _rescaled(self, x, 1 / (root + self.eps))


@specimen(1, symbol=RMS_NORM)
class eps_after_the_inverse_root(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        return _rescaled(self, x, mx.rsqrt(_mean_square(x)) + self.eps)


@specimen(1, symbol=RMS_NORM)
class eps_forgotten(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        return _rescaled(self, x, mx.rsqrt(_mean_square(x)))


@specimen(1, symbol=RMS_NORM)
class eps_argument_ignored(RMSNorm):
    def __init__(self, dim: int, weight: mx.array, eps: float = 1e-5) -> None:
        del eps
        super().__init__(dim, weight)


@specimen(1, symbol=RMS_NORM)
class eps_always_1e_6(RMSNorm):
    def __init__(self, dim: int, weight: mx.array, eps: float = 1e-5) -> None:
        del eps
        super().__init__(dim, weight, 1e-6)


@specimen(1, symbol=RMS_NORM)
class eps_defaults_to_1e_6(RMSNorm):
    def __init__(self, dim: int, weight: mx.array, eps: float = 1e-6) -> None:
        super().__init__(dim, weight, eps)


@specimen(1, symbol=RMS_NORM)
class eps_under_another_name(RMSNorm):
    def __init__(self, dim: int, weight: mx.array, epsilon: float = 1e-5) -> None:
        super().__init__(dim, weight, epsilon)


@specimen(1, symbol=RMS_NORM)
class eps_as_a_floor(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        return _rescaled(self, x, mx.rsqrt(mx.maximum(_mean_square(x), self.eps)))


@specimen(1, symbol=RMS_NORM)
class eps_added_to_the_sum(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        dim = x.shape[-1]
        return _rescaled(self, x, mx.rsqrt((_mean_square(x) * dim + self.eps) / dim))


@specimen(1, symbol=RMS_NORM)
class sum_for_mean(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        sum_of_squares = _mean_square(x) * x.shape[-1]
        return _rescaled(self, x, mx.rsqrt(sum_of_squares + self.eps))


@specimen(1, symbol=RMS_NORM)
class divided_by_one_less(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        dim = x.shape[-1]
        mean_square = _mean_square(x) * dim / mx.array(dim - 1.0)
        return _rescaled(self, x, mx.rsqrt(mean_square + self.eps))


@specimen(1, symbol=RMS_NORM)
class square_of_the_mean(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        mean = mx.mean(x.astype(mx.float32), axis=-1, keepdims=True)
        return _rescaled(self, x, mx.rsqrt(mx.square(mean) + self.eps))


@specimen(1, symbol=RMS_NORM)
class mean_subtracted(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        centred = wide - mx.mean(wide, axis=-1, keepdims=True)
        unit = centred * mx.rsqrt(_mean_square(centred) + self.eps)
        return (unit * self.weight).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class variance_for_mean_square(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        variance = mx.var(x.astype(mx.float32), axis=-1, keepdims=True)
        return _rescaled(self, x, mx.rsqrt(variance + self.eps))


@specimen(1, symbol=RMS_NORM)
class root_forgotten(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        return _rescaled(self, x, 1 / (_mean_square(x) + self.eps))


@specimen(1, symbol=RMS_NORM)
class multiplied_by_the_root(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        return _rescaled(self, x, mx.sqrt(_mean_square(x) + self.eps))


@specimen(1, symbol=RMS_NORM)
class mean_over_the_whole_array(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        mean_square = mx.mean(mx.square(x.astype(mx.float32)))
        return _rescaled(self, x, mx.rsqrt(mean_square + self.eps))


@specimen(1, symbol=RMS_NORM)
class mean_over_the_first_axis(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        squares = mx.square(x.astype(mx.float32))
        mean_square = mx.mean(squares, axis=0, keepdims=True)
        return _rescaled(self, x, mx.rsqrt(mean_square + self.eps))


@specimen(1, symbol=RMS_NORM)
class mean_over_the_tokens(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        squares = mx.square(x.astype(mx.float32))
        mean_square = mx.mean(squares, axis=-2, keepdims=True)
        return _rescaled(self, x, mx.rsqrt(mean_square + self.eps))


@specimen(1, symbol=RMS_NORM)
class axis_1_for_the_last(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        squares = mx.square(x.astype(mx.float32))
        mean_square = mx.mean(squares, axis=1, keepdims=True)
        return _rescaled(self, x, mx.rsqrt(mean_square + self.eps))


@specimen(1, symbol=RMS_NORM)
class axis_2_for_the_last(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        squares = mx.square(x.astype(mx.float32))
        mean_square = mx.mean(squares, axis=2, keepdims=True)
        return _rescaled(self, x, mx.rsqrt(mean_square + self.eps))


@specimen(1, symbol=RMS_NORM)
class keepdims_forgotten(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        mean_square = mx.mean(mx.square(x.astype(mx.float32)), axis=-1)
        return _rescaled(self, x, mx.rsqrt(mean_square + self.eps))


@specimen(1, symbol=RMS_NORM)
class computed_in_the_input_dtype(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        mean_square = mx.mean(x * x, axis=-1, keepdims=True)
        return x * mx.rsqrt(mean_square + self.eps) * self.weight


@specimen(1, symbol=RMS_NORM)
class squared_before_the_upcast(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        squares = mx.square(x).astype(mx.float32)
        mean_square = mx.mean(squares, axis=-1, keepdims=True)
        return _rescaled(self, x, mx.rsqrt(mean_square + self.eps))


@specimen(1, symbol=RMS_NORM)
class mean_square_rounded_to_the_input_dtype(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        mean_square = _mean_square(x).astype(x.dtype)
        return _rescaled(self, x, mx.rsqrt(mean_square + self.eps))


@specimen(1, symbol=RMS_NORM)
class norm_left_in_float32(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        return super().__call__(x.astype(mx.float32))


@specimen(1, symbol=RMS_NORM)
class dtype_of_the_gain(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        unit = x.astype(mx.float32) * mx.rsqrt(_mean_square(x) + self.eps)
        return self.weight * unit.astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class input_changed_in_place(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        dtype = x.dtype
        x *= mx.rsqrt(_mean_square(x) + self.eps)
        return (x * self.weight).astype(dtype)


@specimen(1, symbol=RMS_NORM)
class gain_forgotten(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        return (wide * mx.rsqrt(_mean_square(x) + self.eps)).astype(x.dtype)


@specimen(1, symbol=RMS_NORM)
class gain_plus_one(RMSNorm):
    def __init__(self, dim: int, weight: mx.array, eps: float = 1e-5) -> None:
        super().__init__(dim, weight.astype(mx.float32) + 1, eps)


@specimen(1, symbol=RMS_NORM)
class gain_before_the_norm(RMSNorm):
    def __call__(self, x: mx.array) -> mx.array:
        scaled = x.astype(mx.float32) * self.weight
        return (scaled * mx.rsqrt(_mean_square(scaled) + self.eps)).astype(x.dtype)


@specimen(2, symbol=SILU)
def sigmoid_without_x(x: mx.array) -> mx.array:
    return mx.sigmoid(x)


@specimen(2, symbol=SILU)
def sign_of_the_exponent_flipped(x: mx.array) -> mx.array:
    return x * mx.sigmoid(-x)


@specimen(2, symbol=SILU)
def parentheses_forgotten(x: mx.array) -> mx.array:
    return x / 1 + mx.exp(-x)


@specimen(2, symbol=SILU)
def exponential_overflows(x: mx.array) -> mx.array:
    return x * mx.exp(x) / (1 + mx.exp(x))


@specimen(2, symbol=SILU)
def relu_for_silu(x: mx.array) -> mx.array:
    return mx.maximum(x, 0)


@specimen(2, symbol=SILU)
def negative_inputs_clamped(x: mx.array) -> mx.array:
    return mx.maximum(x, 0) * mx.sigmoid(x)


@specimen(2, symbol=SILU)
def gelu_for_silu(x: mx.array) -> mx.array:
    return x * (1 + mx.erf(x / math.sqrt(2))) / 2


@specimen(2, symbol=SILU)
def sigmoid_of_1_702_x(x: mx.array) -> mx.array:
    return x * mx.sigmoid(1.702 * x)


@specimen(2, symbol=SILU)
def tanh_for_sigmoid(x: mx.array) -> mx.array:
    return x * mx.tanh(x)


@specimen(2, symbol=SILU)
def silu_left_in_float32(x: mx.array) -> mx.array:
    return silu(x.astype(mx.float32))


@specimen(2, symbol=SILU)
def silu_in_place(x: mx.array) -> mx.array:
    x *= mx.sigmoid(x)
    return x


@specimen(2, symbol=MLP)
class arguments_under_other_names(Qwen2MLP):
    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        gate: mx.array,
        up: mx.array,
        down: mx.array,
    ) -> None:
        super().__init__(hidden_size, intermediate_size, gate, up, down)


@specimen(2, symbol=MLP)
class silu_on_the_up_branch(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        up = silu(linear(x, self.w_up))
        return linear(linear(x, self.w_gate) * up, self.w_down)


@specimen(2, symbol=MLP)
class silu_on_both_branches(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        gate, up = silu(linear(x, self.w_gate)), silu(linear(x, self.w_up))
        return linear(gate * up, self.w_down)


@specimen(2, symbol=MLP)
class silu_on_the_product(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(silu(linear(x, self.w_gate) * linear(x, self.w_up)), self.w_down)


@specimen(2, symbol=MLP)
class silu_after_w_down(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        return silu(linear(linear(x, self.w_gate) * linear(x, self.w_up), self.w_down))


@specimen(2, symbol=MLP)
class silu_forgotten(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(linear(x, self.w_gate) * linear(x, self.w_up), self.w_down)


@specimen(2, symbol=MLP)
class sigmoid_gate(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        gate = mx.sigmoid(linear(x, self.w_gate))
        return linear(gate * linear(x, self.w_up), self.w_down)


@specimen(2, symbol=MLP)
class gelu_gate(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        gate = gelu_for_silu(linear(x, self.w_gate))
        return linear(gate * linear(x, self.w_up), self.w_down)


@specimen(2, symbol=MLP)
class branches_added(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(silu(linear(x, self.w_gate)) + linear(x, self.w_up), self.w_down)


@specimen(2, symbol=MLP)
class up_branch_forgotten(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(silu(linear(x, self.w_gate)), self.w_down)


@specimen(2, symbol=MLP)
class weights_not_transposed(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        return (silu(x @ self.w_gate) * (x @ self.w_up)) @ self.w_down


@specimen(2, symbol=MLP)
class input_added_to_the_mlp(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        return x + super().__call__(x)


@specimen(2, symbol=MLP)
class mlp_left_in_float32(Qwen2MLP):
    def __call__(self, x: mx.array) -> mx.array:
        return super().__call__(x.astype(mx.float32))
