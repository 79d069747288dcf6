"""The figures of Day 4 show what the norm and the activations of the course compute."""

from collections.abc import Callable

import mlx.core as mx
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own custom
from tests.book.conftest import OpenFigure

from tiny_llm_course.specimens import mistake
from tiny_llm_ref.basics import silu
from tiny_llm_ref.layer_norm import RMSNorm

CHAPTER = "week-1-day-4-rmsnorm-and-mlp"
VECTOR = np.array([-1.0, 5.0, 7.0, 5.0])
FLOAT32 = 1e-6

Opener = Callable[[str, str], OpenFigure]

ACTIVATIONS = {
    "none": lambda x: x,
    "sigmoid": torch.sigmoid,
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
}


@pytest.mark.parametrize(
    ("scale", "shift", "eps"),
    [(1, 0, "0"), (3, -4, "1e-6"), (-1.5, 7.5, "0.01"), (0.1, 0, "1"), (0, 2, "1")],
)
def test_norms_are_those_of_the_course_and_of_torch(
    open_figure: Opener, scale: float, shift: float, eps: str
) -> None:
    figure = open_figure(CHAPTER, "rms-norm-and-layer-norm")
    values = scale * (VECTOR + shift)
    norm = RMSNorm(4, mx.ones(4), float(eps))

    figure.set(scale=scale, shift=shift, eps=eps)

    expected = norm(mx.array(values.astype(np.float32))).tolist()
    layer_norm = F.layer_norm(torch.tensor(values), (4,), eps=float(eps)).tolist()
    assert figure.read("input") == pytest.approx(values.tolist(), rel=1e-12)
    assert figure.read("rms-norm") == pytest.approx(expected, rel=FLOAT32)
    assert figure.read("layer-norm") == pytest.approx(layer_norm, rel=1e-9, abs=1e-12)
    assert figure.read("root") == pytest.approx(np.sqrt(np.mean(values**2)))
    assert figure.read("deviation") == pytest.approx(np.std(values), abs=1e-12)


def test_zeros_without_eps_are_shown_as_nan(open_figure: Opener) -> None:
    figure = open_figure(CHAPTER, "rms-norm-and-layer-norm")

    figure.set(scale=0, eps="0")

    assert figure.read("rms-norm") == ["NaN"] * 4


def test_the_button_brings_the_vector_back(open_figure: Opener) -> None:
    figure = open_figure(CHAPTER, "rms-norm-and-layer-norm")
    assert figure.read("input") == (VECTOR + 4).tolist()

    figure.press("reset")

    assert figure.read("input") == VECTOR.tolist()
    assert figure.read("rms-norm") == pytest.approx([-0.2, 1, 1.4, 1], rel=FLOAT32)


@pytest.mark.parametrize("eps", [1e-6, 0.0])
@pytest.mark.parametrize("channels", [1, 64, 896])
def test_float16_figure_rounds_as_numpy_does(
    open_figure: Opener, channels: int, eps: float
) -> None:
    figure = open_figure(CHAPTER, "float16-overflow")
    figure.set(channels=channels, eps="0.000001" if eps else "0")

    for exponent in (-4.5, -3, -2.13, 0, 0.93, 1.2, 2.4, 2.41, 4.8):
        figure.set(exponent=exponent)

        x = np.float16(10.0**exponent)
        wide = RMSNorm(channels, mx.ones(channels), eps)
        right = wide(mx.full((channels,), float(x), dtype=mx.float16))[0].item()
        square, mean, norm = _in_float16(x, channels, eps)
        assert _number(figure.read("size")) == float(x)
        assert _number(figure.read("square")) == np.float32(x) ** 2
        assert _number(figure.read("square-16")) == square
        assert _number(figure.read("mean-16")) == mean
        assert _number(figure.read("norm-16")) == norm
        assert figure.read("norm") == pytest.approx(right, rel=2**-10)
        assert _number(figure.read("units-off")) == pytest.approx(_off(norm, x, eps))


def test_float16_figure_does_what_the_known_mistake_does(open_figure: Opener) -> None:
    figure = open_figure(CHAPTER, "float16-overflow")
    wrong = mistake("week_1_day_4", "computed_in_the_input_dtype")
    norm = wrong(1, mx.ones(1, dtype=mx.float16), 1e-6)

    for exponent in (-3, 0, 2, 2.6):
        figure.set(exponent=exponent)

        x = mx.array([10.0**exponent], dtype=mx.float16)
        expected = norm(x)[0].item()
        assert figure.read("norm-16") == pytest.approx(expected, rel=2**-9)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_product_behind_the_gate_is_that_of_torch(
    open_figure: Opener, activation: str
) -> None:
    figure = open_figure(CHAPTER, "swiglu-surface")
    figure.set(activation=activation)

    for gate, up in [(-1.3, 3), (2.5, -4), (-4, 4), (0.35, 0.5), (4, 0)]:
        figure.set(gate=gate, up=up)

        exact = torch.tensor(gate, dtype=torch.float64, requires_grad=True)
        activated = ACTIVATIONS[activation](exact)
        (slope,) = torch.autograd.grad(activated * up, exact)
        assert figure.read("activated") == pytest.approx(activated.item(), abs=1e-12)
        assert figure.read("product") == pytest.approx(activated.item() * up, abs=1e-11)
        assert figure.read("slope") == pytest.approx(slope.item(), abs=1e-8)


def test_the_gate_is_the_silu_of_the_course(open_figure: Opener) -> None:
    figure = open_figure(CHAPTER, "swiglu-surface")

    figure.set(gate=-2, up=1.5)

    expected = 1.5 * silu(mx.array(-2.0)).item()
    assert figure.read("product") == pytest.approx(expected, rel=FLOAT32)


def _in_float16(x: np.float16, channels: int, eps: float) -> tuple[float, float, float]:
    """Square, mean square and norm of equal channels, each step rounded to float16."""
    with np.errstate(over="ignore", divide="ignore"):
        square = x * x
        mean = np.float16(np.float64(channels) * square) / np.float16(channels)
        inverse = np.float16(1 / np.sqrt(np.float64(mean + np.float16(eps))))
        return float(square), float(mean), float(x * inverse)


def _off(norm: float, x: np.float16, eps: float) -> float:
    """Count how many ULPs of float16 a norm is away from the exact one."""
    exact = float(x) / np.sqrt(float(x) ** 2 + eps)
    return abs(norm - exact) / (2**-10 * exact)


def _number(shown: float | str) -> float:
    """Read a number, or one of the words that stand for what JSON cannot say."""
    return float(shown)
