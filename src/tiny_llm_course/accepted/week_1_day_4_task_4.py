"""Day 4, task 4: other right ways to write activations and feed-forward layers."""

import math
from collections.abc import Callable

import mlx.core as mx
from mlx import nn

from tiny_llm_course.specimens import specimen

RELU = "activations.relu"
GELU = "activations.gelu"
GELU_TANH = "activations.gelu_tanh"
SWISH = "activations.swish"
FEED_FORWARD = "feed_forward.FeedForward"
GATED = "feed_forward.GatedFeedForward"
WIDTH = "feed_forward.gated_hidden_dim"


@specimen(4, symbol=RELU)
def relu_by_where(x: mx.array) -> mx.array:
    return mx.where(x > 0, x, 0)


@specimen(4, symbol=RELU)
def relu_by_a_mask(x: mx.array) -> mx.array:
    return x * (x > 0)


@specimen(4, symbol=RELU)
def relu_by_the_absolute_value(x: mx.array) -> mx.array:
    return (x + mx.abs(x)) / 2


@specimen(4, symbol=RELU)
def library_relu(x: mx.array) -> mx.array:
    return nn.relu(x)


@specimen(4, symbol=GELU)
def gelu_in_the_input_dtype(x: mx.array) -> mx.array:
    return 0.5 * x * (1 + mx.erf(x / math.sqrt(2)))


@specimen(4, symbol=GELU)
def gelu_by_two_halves(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    half = 0.5 * wide
    return (half + half * mx.erf(wide * 0.5**0.5)).astype(x.dtype)


@specimen(4, symbol=GELU)
def library_gelu(x: mx.array) -> mx.array:
    return nn.gelu(x)


@specimen(4, symbol=GELU_TANH)
def approximation_in_the_input_dtype(x: mx.array) -> mx.array:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + mx.tanh(inner))


@specimen(4, symbol=GELU_TANH)
def approximation_by_a_sigmoid(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    twice = 2 * math.sqrt(2 / math.pi) * wide * (1 + 0.044715 * mx.square(wide))
    return (wide * mx.sigmoid(twice)).astype(x.dtype)


@specimen(4, symbol=GELU_TANH)
def approximation_with_the_factor_written_out(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    inner = 0.7978845608 * wide * (1 + 0.044715 * wide * wide)
    return (0.5 * wide * (1 + mx.tanh(inner))).astype(x.dtype)


@specimen(4, symbol=GELU_TANH)
def library_approximation(x: mx.array) -> mx.array:
    return nn.gelu_approx(x)


@specimen(4, symbol=SWISH)
def swish_by_division(x: mx.array, beta: float) -> mx.array:
    return x / (1 + mx.exp(-beta * x))


@specimen(4, symbol=SWISH)
def swish_by_tanh(x: mx.array, beta: float = 1.0) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide / 2 * (1 + mx.tanh(beta * wide / 2))).astype(x.dtype)


@specimen(4, symbol=SWISH)
def swish_in_the_input_dtype(x: mx.array, beta: float = 1.0) -> mx.array:
    return x * mx.sigmoid(x * beta)


@specimen(4, symbol=FEED_FORWARD)
class two_products_written_out:
    def __init__(
        self,
        w1: mx.array,
        b1: mx.array,
        w2: mx.array,
        b2: mx.array,
        activation: Callable[[mx.array], mx.array] = nn.relu,
    ) -> None:
        self.w1, self.w2 = w1.T, w2.T
        self.b1, self.b2 = b1, b2
        self.activation = activation

    def __call__(self, x: mx.array) -> mx.array:
        return self.b2 + self.activation(self.b1 + x @ self.w1) @ self.w2


@specimen(4, symbol=FEED_FORWARD)
class two_layers_in_float32:
    def __init__(
        self,
        w1: mx.array,
        b1: mx.array,
        w2: mx.array,
        b2: mx.array,
        activation: Callable[[mx.array], mx.array],
    ) -> None:
        self.arrays = [array.astype(mx.float32) for array in (w1, b1, w2, b2)]
        self.activation = activation

    def __call__(self, x: mx.array) -> mx.array:
        w1, b1, w2, b2 = self.arrays
        inner = mx.addmm(b1, x.astype(mx.float32), w1.T)
        return mx.addmm(b2, self.activation(inner), w2.T).astype(x.dtype)


@specimen(4, symbol=FEED_FORWARD)
class two_library_layers(nn.Module):
    def __init__(
        self,
        w1: mx.array,
        b1: mx.array,
        w2: mx.array,
        b2: mx.array,
        activation: Callable[[mx.array], mx.array],
    ) -> None:
        super().__init__()
        hidden_dim, dim = w1.shape
        self.first = nn.Linear(dim, hidden_dim)
        self.second = nn.Linear(hidden_dim, dim)
        self.first.weight, self.first.bias = w1, b1
        self.second.weight, self.second.bias = w2, b2
        self.activation = activation

    def __call__(self, x: mx.array) -> mx.array:
        return self.second(self.activation(self.first(x)))


class _Gated:
    """What a gated layer remembers."""

    def __init__(
        self,
        w_gate: mx.array,
        w_up: mx.array,
        w_down: mx.array,
        activation: Callable[[mx.array], mx.array],
    ) -> None:
        self.w_gate, self.w_up, self.w_down = w_gate, w_up, w_down
        self.activation = activation


@specimen(4, symbol=GATED)
class gated_by_einsum(_Gated):
    def __call__(self, x: mx.array) -> mx.array:
        gate = self.activation(mx.einsum("...e,ie->...i", x, self.w_gate))
        up = mx.einsum("...e,ie->...i", x, self.w_up)
        return mx.einsum("...i,ei->...e", up * gate, self.w_down)


@specimen(4, symbol=GATED)
class gated_in_one_product(_Gated):
    def __call__(self, x: mx.array) -> mx.array:
        both = x @ mx.concatenate([self.w_gate, self.w_up]).T
        gate, up = mx.split(both, 2, axis=-1)
        return (self.activation(gate) * up) @ mx.swapaxes(self.w_down, 0, 1)


@specimen(4, symbol=GATED)
class gated_in_float32(_Gated):
    def __call__(self, x: mx.array) -> mx.array:
        wide = x.astype(mx.float32)
        gate = self.activation(wide @ self.w_gate.T.astype(mx.float32))
        up = wide @ self.w_up.T.astype(mx.float32)
        return ((gate * up) @ self.w_down.T.astype(mx.float32)).astype(x.dtype)


@specimen(4, symbol=WIDTH)
def width_by_adding_one_less(dim: int, multiple_of: int = 64) -> int:
    least = (8 * dim + 2) // 3
    return (least + multiple_of - 1) // multiple_of * multiple_of


@specimen(4, symbol=WIDTH)
def width_by_a_remainder(dim: int, multiple_of: int = 64) -> int:
    least = math.ceil(8 * dim / 3)
    return least + -least % multiple_of


@specimen(4, symbol=WIDTH)
def width_by_a_quotient_in_floats(dim: int, multiple_of: int = 64) -> int:
    return multiple_of * math.ceil(8 * dim / 3 / multiple_of)
