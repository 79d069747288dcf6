"""Day 4, task 4: what goes wrong in activations and feed-forward layers."""

import math

import mlx.core as mx
from mlx import nn

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.activations import gelu, gelu_tanh, relu, swish
from tiny_llm_ref.basics import linear
from tiny_llm_ref.feed_forward import Activation, FeedForward, GatedFeedForward

RELU = "activations.relu"
GELU = "activations.gelu"
GELU_TANH = "activations.gelu_tanh"
SWISH = "activations.swish"
FEED_FORWARD = "feed_forward.FeedForward"
GATED = "feed_forward.GatedFeedForward"
WIDTH = "feed_forward.gated_hidden_dim"


@specimen(4, symbol=RELU)
def relu_reduces_axis_0(x: mx.array) -> mx.array:
    return mx.max(x, 0)


@specimen(4, symbol=RELU)
def relu_keeps_the_negative(x: mx.array) -> mx.array:
    return mx.minimum(x, 0)


@specimen(4, symbol=RELU)
def relu_is_the_absolute_value(x: mx.array) -> mx.array:
    return mx.abs(x)


@specimen(4, symbol=RELU)
def relu_is_a_step(x: mx.array) -> mx.array:
    return (x > 0).astype(x.dtype)


@specimen(4, symbol=RELU)
def relu_leaks(x: mx.array) -> mx.array:
    return mx.maximum(x, 0.01 * x)


@specimen(4, symbol=RELU)
def relu_stops_at_6(x: mx.array) -> mx.array:
    return mx.clip(x, 0, 6)


@specimen(4, symbol=RELU)
def relu_left_in_float32(x: mx.array) -> mx.array:
    return relu(x.astype(mx.float32))


@specimen(4, symbol=RELU)
def relu_in_place(x: mx.array) -> mx.array:
    x *= x > 0
    return x


@specimen(4, symbol=GELU)
def tanh_in_the_exact_gelu(x: mx.array) -> mx.array:
    return gelu_tanh(x)


@specimen(4, symbol=GELU)
def sigmoid_in_the_exact_gelu(x: mx.array) -> mx.array:
    return swish(x, 1.702)


@specimen(4, symbol=GELU)
def gelu_is_silu(x: mx.array) -> mx.array:
    return swish(x, 1.0)


@specimen(4, symbol=GELU)
def gelu_without_the_root_of_2(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide * (1 + mx.erf(wide)) / 2).astype(x.dtype)


@specimen(4, symbol=GELU)
def gelu_times_the_root_of_2(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide * (1 + mx.erf(wide * math.sqrt(2))) / 2).astype(x.dtype)


@specimen(4, symbol=GELU)
def gelu_divides_by_2_in_erf(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide * (1 + mx.erf(wide / 2)) / 2).astype(x.dtype)


@specimen(4, symbol=GELU)
def gelu_without_the_half(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide * (1 + mx.erf(wide / math.sqrt(2)))).astype(x.dtype)


@specimen(4, symbol=GELU)
def gelu_without_the_one(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide * mx.erf(wide / math.sqrt(2)) / 2).astype(x.dtype)


@specimen(4, symbol=GELU)
def gelu_without_x(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return ((1 + mx.erf(wide / math.sqrt(2))) / 2).astype(x.dtype)


@specimen(4, symbol=GELU)
def gelu_of_the_share_above(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide * (1 - mx.erf(wide / math.sqrt(2))) / 2).astype(x.dtype)


@specimen(4, symbol=GELU)
def gelu_of_the_density(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    density = mx.exp(-wide * wide / 2) / math.sqrt(2 * math.pi)
    return (wide * density).astype(x.dtype)


@specimen(4, symbol=GELU)
def gelu_left_in_float32(x: mx.array) -> mx.array:
    return gelu(x.astype(mx.float32))


@specimen(4, symbol=GELU)
def gelu_in_place(x: mx.array) -> mx.array:
    x *= (1 + mx.erf(x / math.sqrt(2))) / 2
    return x


def _with_tanh(x: mx.array, inner: mx.array) -> mx.array:
    """Return the approximation with something else inside the tangent."""
    return (x.astype(mx.float32) / 2 * (1 + mx.tanh(inner))).astype(x.dtype)


@specimen(4, symbol=GELU_TANH)
def erf_in_the_approximation(x: mx.array) -> mx.array:
    return gelu(x)


@specimen(4, symbol=GELU_TANH)
def sigmoid_in_the_approximation(x: mx.array) -> mx.array:
    return swish(x, 1.702)


@specimen(4, symbol=GELU_TANH)
def cube_forgotten(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return _with_tanh(x, math.sqrt(2 / math.pi) * (wide + 0.044715 * wide))


@specimen(4, symbol=GELU_TANH)
def square_for_cube(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return _with_tanh(x, math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide))


@specimen(4, symbol=GELU_TANH)
def cubic_term_forgotten(x: mx.array) -> mx.array:
    return _with_tanh(x, math.sqrt(2 / math.pi) * x.astype(mx.float32))


@specimen(4, symbol=GELU_TANH)
def cubic_term_ten_times_as_large(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return _with_tanh(x, math.sqrt(2 / math.pi) * (wide + 0.44715 * wide**3))


@specimen(4, symbol=GELU_TANH)
def cubic_term_without_the_factor(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return _with_tanh(x, math.sqrt(2 / math.pi) * wide + 0.044715 * wide**3)


@specimen(4, symbol=GELU_TANH)
def root_of_2_over_pi_forgotten(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return _with_tanh(x, wide + 0.044715 * wide**3)


@specimen(4, symbol=GELU_TANH)
def root_of_pi_over_2(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return _with_tanh(x, math.sqrt(math.pi / 2) * (wide + 0.044715 * wide**3))


@specimen(4, symbol=GELU_TANH)
def no_root_over_2_over_pi(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return _with_tanh(x, 2 / math.pi * (wide + 0.044715 * wide**3))


@specimen(4, symbol=GELU_TANH)
def factor_rounded_to_0_8(x: mx.array) -> mx.array:
    wide = x.astype(mx.float32)
    return _with_tanh(x, 0.8 * (wide + 0.044715 * wide**3))


@specimen(4, symbol=GELU_TANH)
def approximation_without_the_half(x: mx.array) -> mx.array:
    return 2 * gelu_tanh(x)


@specimen(4, symbol=GELU_TANH)
def approximation_left_in_float32(x: mx.array) -> mx.array:
    return gelu_tanh(x.astype(mx.float32))


@specimen(4, symbol=GELU_TANH)
def approximation_in_place(x: mx.array) -> mx.array:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    x *= 0.5 * (1 + mx.tanh(inner))
    return x


@specimen(4, symbol=SWISH)
def beta_ignored(x: mx.array, beta: float) -> mx.array:
    del beta
    return swish(x, 1.0)


@specimen(4, symbol=SWISH)
def beta_outside(x: mx.array, beta: float) -> mx.array:
    return (beta * x.astype(mx.float32) * mx.sigmoid(x)).astype(x.dtype)


@specimen(4, symbol=SWISH)
def beta_inside_and_outside(x: mx.array, beta: float) -> mx.array:
    return (beta * swish(x.astype(mx.float32), beta)).astype(x.dtype)


@specimen(4, symbol=SWISH)
def beta_divides(x: mx.array, beta: float) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide * mx.sigmoid(wide / mx.array(beta))).astype(x.dtype)


@specimen(4, symbol=SWISH)
def beta_added(x: mx.array, beta: float) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide * mx.sigmoid(wide + beta)).astype(x.dtype)


@specimen(4, symbol=SWISH)
def swish_without_x(x: mx.array, beta: float) -> mx.array:
    return mx.sigmoid(beta * x)


@specimen(4, symbol=SWISH)
def swish_with_the_sign_flipped(x: mx.array, beta: float) -> mx.array:
    return swish(x, -beta)


@specimen(4, symbol=SWISH)
def swish_overflows(x: mx.array, beta: float) -> mx.array:
    power = mx.exp(beta * x.astype(mx.float32))
    return (x * power / (1 + power)).astype(x.dtype)


@specimen(4, symbol=SWISH)
def hard_swish(x: mx.array, beta: float) -> mx.array:
    wide = x.astype(mx.float32)
    return (wide * mx.clip(beta * wide + 3, 0, 6) / 6).astype(x.dtype)


@specimen(4, symbol=SWISH)
def swish_left_in_float32(x: mx.array, beta: float) -> mx.array:
    return swish(x.astype(mx.float32), beta)


@specimen(4, symbol=SWISH)
def swish_in_place(x: mx.array, beta: float) -> mx.array:
    x *= mx.sigmoid(beta * x)
    return x


@specimen(4, symbol=FEED_FORWARD)
class first_bias_forgotten(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(self.activation(linear(x, self.w1)), self.w2, self.b2)


@specimen(4, symbol=FEED_FORWARD)
class second_bias_forgotten(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(self.activation(linear(x, self.w1, self.b1)), self.w2)


@specimen(4, symbol=FEED_FORWARD)
class both_biases_forgotten(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(self.activation(linear(x, self.w1)), self.w2)


@specimen(4, symbol=FEED_FORWARD)
class first_bias_after_the_activation(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        hidden = self.activation(linear(x, self.w1)) + self.b1
        return linear(hidden, self.w2, self.b2)


@specimen(4, symbol=FEED_FORWARD)
class bias_subtracted(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        hidden = self.activation(linear(x, self.w1, -self.b1))
        return linear(hidden, self.w2, -self.b2)


@specimen(4, symbol=FEED_FORWARD)
class activation_forgotten(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(linear(x, self.w1, self.b1), self.w2, self.b2)


@specimen(4, symbol=FEED_FORWARD)
class activation_always_relu(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(relu(linear(x, self.w1, self.b1)), self.w2, self.b2)


@specimen(4, symbol=FEED_FORWARD)
class activation_on_both_layers(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return self.activation(super().__call__(x))


@specimen(4, symbol=FEED_FORWARD)
class activation_on_the_output_only(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        hidden = linear(x, self.w1, self.b1)
        return self.activation(linear(hidden, self.w2, self.b2))


@specimen(4, symbol=FEED_FORWARD)
class activation_before_the_first_layer(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        hidden = linear(self.activation(x), self.w1, self.b1)
        return linear(hidden, self.w2, self.b2)


@specimen(4, symbol=FEED_FORWARD)
class both_weights_not_transposed(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return self.activation(x @ self.w1 + self.b1) @ self.w2 + self.b2


@specimen(4, symbol=FEED_FORWARD)
class weights_of_the_layers_swapped(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return self.activation(x @ self.w2 + self.b1) @ self.w1 + self.b2


@specimen(4, symbol=FEED_FORWARD)
class input_added_to_the_layer(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return x + super().__call__(x)


@specimen(4, symbol=FEED_FORWARD)
class two_layers_left_in_float32(FeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return super().__call__(x.astype(mx.float32))


@specimen(4, symbol=GATED)
class activation_on_the_up_branch(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        up = self.activation(linear(x, self.w_up))
        return linear(linear(x, self.w_gate) * up, self.w_down)


@specimen(4, symbol=GATED)
class activation_on_both_branches(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        gate = self.activation(linear(x, self.w_gate))
        return linear(gate * self.activation(linear(x, self.w_up)), self.w_down)


@specimen(4, symbol=GATED)
class activation_on_the_product(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        product = linear(x, self.w_gate) * linear(x, self.w_up)
        return linear(self.activation(product), self.w_down)


@specimen(4, symbol=GATED)
class activation_after_w_down(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        product = linear(x, self.w_gate) * linear(x, self.w_up)
        return self.activation(linear(product, self.w_down))


@specimen(4, symbol=GATED)
class gate_without_activation(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(linear(x, self.w_gate) * linear(x, self.w_up), self.w_down)


@specimen(4, symbol=GATED)
class gate_always_silu(GatedFeedForward):
    def __init__(
        self,
        w_gate: mx.array,
        w_up: mx.array,
        w_down: mx.array,
        activation: Activation,
    ) -> None:
        del activation
        super().__init__(w_gate, w_up, w_down, nn.silu)


@specimen(4, symbol=GATED)
class gate_times_its_activation(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        gate = linear(x, self.w_gate)
        gate = gate * self.activation(gate)
        return linear(gate * linear(x, self.w_up), self.w_down)


@specimen(4, symbol=GATED)
class gate_added(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        gate = self.activation(linear(x, self.w_gate))
        return linear(gate + linear(x, self.w_up), self.w_down)


@specimen(4, symbol=GATED)
class gate_from_the_up_branch(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        up = linear(x, self.w_up)
        return linear(self.activation(up) * up, self.w_down)


@specimen(4, symbol=GATED)
class gate_without_anything_to_let_through(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return linear(self.activation(linear(x, self.w_gate)), self.w_down)


@specimen(4, symbol=GATED)
class gated_weights_not_transposed(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return (self.activation(x @ self.w_gate) * (x @ self.w_up)) @ self.w_down


@specimen(4, symbol=GATED)
class input_added_to_the_gated_layer(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return x + super().__call__(x)


@specimen(4, symbol=GATED)
class gated_layer_left_in_float32(GatedFeedForward):
    def __call__(self, x: mx.array) -> mx.array:
        return super().__call__(x.astype(mx.float32))


@specimen(4, symbol=WIDTH)
def width_rounded_down(dim: int, multiple_of: int = 64) -> int:
    return 8 * dim // 3 // multiple_of * multiple_of


@specimen(4, symbol=WIDTH)
def width_rounded_to_the_nearest(dim: int, multiple_of: int = 64) -> int:
    return round(8 * dim / 3 / multiple_of) * multiple_of


@specimen(4, symbol=WIDTH)
def width_rounded_down_before_up(dim: int, multiple_of: int = 64) -> int:
    return -(-int(8 * dim / 3) // multiple_of) * multiple_of


@specimen(4, symbol=WIDTH)
def width_not_rounded_to_a_multiple(dim: int, multiple_of: int = 64) -> int:
    del multiple_of
    return -(-8 * dim // 3)


@specimen(4, symbol=WIDTH)
def width_always_one_multiple_more(dim: int, multiple_of: int = 64) -> int:
    return (8 * dim // 3 // multiple_of + 1) * multiple_of


@specimen(4, symbol=WIDTH)
def width_always_a_multiple_of_64(dim: int, multiple_of: int = 64) -> int:
    del multiple_of
    return -(-8 * dim // (3 * 64)) * 64


@specimen(4, symbol=WIDTH)
def width_rounded_before_the_factor(dim: int, multiple_of: int = 64) -> int:
    return -(-8 * (-(-dim // multiple_of) * multiple_of) // 3)


@specimen(4, symbol=WIDTH)
def width_of_four_times_dim(dim: int, multiple_of: int = 64) -> int:
    return -(-4 * dim // multiple_of) * multiple_of


@specimen(4, symbol=WIDTH)
def width_of_two_thirds_of_dim(dim: int, multiple_of: int = 64) -> int:
    return -(-2 * dim // (3 * multiple_of)) * multiple_of


@specimen(4, symbol=WIDTH)
def width_of_three_eighths_of_dim(dim: int, multiple_of: int = 64) -> int:
    return -(-3 * dim // (8 * multiple_of)) * multiple_of


@specimen(4, symbol=WIDTH)
def width_with_a_rounded_factor(dim: int, multiple_of: int = 64) -> int:
    return math.ceil(2.67 * dim / multiple_of) * multiple_of


@specimen(4, symbol=WIDTH)
def width_as_a_float(dim: int, multiple_of: int = 64) -> float:
    return float(-(-8 * dim // (3 * multiple_of)) * multiple_of)
