"""Week 1, day 4, task 4: activations and feed-forward layers.

The chapter: book/en/week-1-day-4-feed-forward-family.md
"""

import math
from collections.abc import Callable

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal, weight
from tiny_llm_course.oracle.cached import activations, feed_forward

RELU = "activations.relu"
GELU = "activations.gelu"
GELU_TANH = "activations.gelu_tanh"
SWISH = "activations.swish"
FEED_FORWARD = "feed_forward.FeedForward"
GATED = "feed_forward.GatedFeedForward"
WIDTH = "feed_forward.gated_hidden_dim"


# Not the solution's own: a layer is judged independently of its activation. Nor those
# of `mlx.nn`, each of which has to be compiled first.
def no_activation(x: mx.array) -> mx.array:
    """Return the input: with it, a gated layer is called bilinear."""
    return x


def relu(x: mx.array) -> mx.array:
    """Return max(x, 0)."""
    return mx.maximum(x, 0)


def gelu(x: mx.array) -> mx.array:
    """Return x times the share of the normal distribution below x."""
    return x * (1 + mx.erf(x / math.sqrt(2))) / 2


def silu(x: mx.array) -> mx.array:
    """Return x times its sigmoid."""
    return x * mx.sigmoid(x)


ACTIVATIONS: dict[str, Callable[[mx.array], mx.array]] = {
    "identity": no_activation,
    "sigmoid": mx.sigmoid,
    "tanh": mx.tanh,
    "relu": relu,
    "gelu": gelu,
    "silu": silu,
}

each_symbol = pytest.mark.parametrize(
    ("symbol", "oracle"),
    [
        (RELU, activations.relu),
        (GELU, activations.gelu),
        (GELU_TANH, activations.gelu_tanh),
    ],
    ids=["relu", "gelu", "gelu_tanh"],
)
each_activation = pytest.mark.parametrize("activation", ACTIVATIONS)
each_shape = pytest.mark.parametrize(
    ("shape", "hidden_dim"),
    [((8,), 12), ((3, 4), 6), ((2, 1, 5), 1), ((2, 3, 5, 7), 16)],
    ids=str,
)


def _curve(dtype: mx.Dtype) -> mx.array:
    """Return fine steps through the dip, and large values on both sides."""
    tails = mx.array([-1e4, -300.0, -41.0, -11.0, 11.0, 41.0, 300.0, 1e4])
    return mx.concatenate([mx.linspace(-6, 6, 97), tails]).astype(dtype)


@each_symbol
@each_dtype
@pytest.mark.parametrize("shape", [(5,), (2, 1), (3, 4, 7), (2, 2, 2, 3)], ids=str)
def test_task_4_activation_agrees_with_torch(
    grade: Grader,
    symbol: str,
    oracle: Callable[..., activations.Truth],
    shape: tuple[int, ...],
    dtype: mx.Dtype,
) -> None:
    x = normal(*shape, dtype=dtype, scale=3)

    grade.assert_close(Call(symbol, (x,)), oracle(x), dtype)


@each_symbol
@each_dtype
def test_task_4_activation_has_its_dip_and_its_tails(
    grade: Grader,
    symbol: str,
    oracle: Callable[..., activations.Truth],
    dtype: mx.Dtype,
) -> None:
    """A float16 square overflows from 256 on, its cube from 40.3 on."""
    x = _curve(dtype)

    grade.assert_close(Call(symbol, (x,)), oracle(x), dtype)


@each_dtype
@pytest.mark.parametrize("beta", [1.0, 0.0, 0.5, 1.702, 8.0])
def test_task_4_swish_agrees_with_torch(
    grade: Grader, beta: float, dtype: mx.Dtype
) -> None:
    """From x / 2 to nearly ReLU, with large values on both sides."""
    x = _curve(dtype)

    grade.assert_close(Call(SWISH, (x, beta)), activations.swish(x, beta), dtype)


@pytest.mark.parametrize("shape", [(2, 1), (3, 4, 7), (2, 2, 2, 3)], ids=str)
def test_task_4_swish_takes_any_shape(grade: Grader, shape: tuple[int, ...]) -> None:
    x = normal(*shape, scale=3)

    grade.assert_close(Call(SWISH, (x, 1.5)), activations.swish(x, 1.5), x.dtype)


@each_dtype
@each_shape
def test_task_4_layer_of_2017_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], hidden_dim: int, dtype: mx.Dtype
) -> None:
    _assert_two_layers(grade, normal(*shape, dtype=dtype, scale=2), hidden_dim, "relu")


@each_activation
def test_task_4_layer_of_2017_takes_any_activation(
    grade: Grader, activation: str
) -> None:
    """As many inputs as hidden units, so that nothing but the numbers tells."""
    _assert_two_layers(grade, normal(3, 6, scale=2), 6, activation)


def test_task_4_layer_of_2017_keeps_its_biases_on_a_row_of_zeros(grade: Grader) -> None:
    _assert_two_layers(grade, mx.zeros((2, 5)), 7, "relu")


def test_task_4_layer_of_2017_agrees_at_the_size_of_its_paper(grade: Grader) -> None:
    _assert_two_layers(grade, normal(1, 2, 512), 2048, "relu")


@each_dtype
@each_shape
def test_task_4_gated_layer_agrees_with_torch(
    grade: Grader, shape: tuple[int, ...], hidden_dim: int, dtype: mx.Dtype
) -> None:
    _assert_gated(grade, normal(*shape, dtype=dtype, scale=2), hidden_dim, "gelu")


@each_activation
def test_task_4_gated_layer_takes_any_activation(
    grade: Grader, activation: str
) -> None:
    """As many inputs as hidden units, so that nothing but the numbers tells."""
    _assert_gated(grade, normal(3, 6, scale=2), 6, activation)


def test_task_4_gated_layer_agrees_at_a_real_size(grade: Grader) -> None:
    """The width that belongs to 512, with sums of 1408 terms."""
    _assert_gated(grade, normal(1, 2, 512), 1408, "silu")


@pytest.mark.parametrize("dim", [1, 24, 64, 100, 512, 768, 896, 4096])
def test_task_4_width_is_a_multiple_of_64(grade: Grader, dim: int) -> None:
    """24 and 768 need no rounding, 896 is close above a multiple."""
    _assert_width(grade, Call(WIDTH, (dim,)), dim, 64)


@pytest.mark.parametrize("multiple_of", [1, 2, 3, 8, 128, 256, 1000])
@pytest.mark.parametrize("dim", [7, 10, 48, 4096])
def test_task_4_width_is_a_multiple_of_what_is_asked_for(
    grade: Grader, dim: int, multiple_of: int
) -> None:
    """With 1 and 2, the fraction of 8 / 3 of the width decides."""
    call = Call(WIDTH, (dim,), kwargs={"multiple_of": multiple_of})

    _assert_width(grade, call, dim, multiple_of)


def _assert_two_layers(
    grade: Grader, x: mx.array, hidden_dim: int, activation: str
) -> None:
    """Run the layer of 2017 with random weights; compare with PyTorch."""
    dim, dtype = x.shape[-1], x.dtype
    w1, w2 = weight(hidden_dim, dim, dtype, "1"), weight(dim, hidden_dim, dtype, "2")
    b1 = normal(hidden_dim, dtype=dtype, name="b1")
    b2 = normal(dim, dtype=dtype, name="b2")

    call = Call(FEED_FORWARD, (x,), build=(w1, b1, w2, b2, ACTIVATIONS[activation]))

    exact = feed_forward.two_layers(x, (w1, w2), (b1, b2), activation)
    grade.assert_close(call, exact, dtype)


def _assert_gated(grade: Grader, x: mx.array, hidden_dim: int, activation: str) -> None:
    """Run a gated layer with random weights; compare with PyTorch."""
    dim, dtype = x.shape[-1], x.dtype
    w_gate = weight(hidden_dim, dim, dtype, "gate")
    w_up = weight(hidden_dim, dim, dtype, "up")
    w_down = weight(dim, hidden_dim, dtype, "down")

    call = Call(GATED, (x,), build=(w_gate, w_up, w_down, ACTIVATIONS[activation]))

    exact = feed_forward.gated(x, (w_gate, w_up, w_down), activation)
    grade.assert_close(call, exact, dtype)


def _assert_width(grade: Grader, call: Call, dim: int, multiple_of: int) -> None:
    """Compare with the first multiple that is large enough, found by counting."""
    width = multiple_of
    while 3 * width < 8 * dim:
        width += multiple_of

    grade.assert_equal(call, width)
    is_whole = isinstance(grade.run(call), int)
    complaint = say("week_1_day_4_task_4.complaints.not_whole")
    grade.assert_that(is_whole, call, complaint)
