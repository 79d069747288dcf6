"""Errors for arrays that the matrix-vector products cannot take."""

from collections.abc import Callable

import mlx.core as mx
import pytest

from tiny_llm_course.grading.judgement.closeness import Truth, is_close, wide
from tiny_llm_ref import kernels
from tiny_llm_ref.quantize import QuantizedWeights

VARIANTS = ("naive", "blocked", "simd", "int8", "threaded")


def _weights(bits: int = 4, group_size: int = 32) -> QuantizedWeights:
    packed, scales, biases = mx.quantize(
        mx.random.normal((6, 128)), group_size, bits, stream=mx.cpu
    )
    return QuantizedWeights(scales, biases, group_size, bits, packed)


@pytest.fixture(params=VARIANTS)
def variant(
    request: pytest.FixtureRequest,
) -> Callable[[mx.array, QuantizedWeights], mx.array]:
    try:
        kernels.built()
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))
    return getattr(kernels, f"matvec_{request.param}")


@pytest.mark.parametrize(
    ("x", "complaint"),
    [
        (mx.zeros((64,)), r"expected shape \(128,\), got \(64,\)"),
        (mx.zeros((1, 128)), r"expected shape \(128,\), got \(1, 128\)"),
        (mx.zeros((128,), mx.int32), "expected float32, float16 or bfloat16"),
    ],
)
def test_a_vector_that_does_not_fit_is_refused(
    variant: Callable[[mx.array, QuantizedWeights], mx.array],
    x: mx.array,
    complaint: str,
) -> None:
    with pytest.raises(ValueError, match=complaint):
        variant(x, _weights())


def _without_a_row(w: QuantizedWeights) -> QuantizedWeights:
    return QuantizedWeights(w.scales[1:], w.biases, w.group_size, w.bits, w.weight)


def _with_mixed_dtypes(w: QuantizedWeights) -> QuantizedWeights:
    halves = w.biases.astype(mx.float16)
    return QuantizedWeights(w.scales, halves, w.group_size, w.bits, w.weight)


def _in_three_bits(w: QuantizedWeights) -> QuantizedWeights:
    return QuantizedWeights(w.scales, w.biases, w.group_size, 3, w.weight)


def _in_other_groups(w: QuantizedWeights) -> QuantizedWeights:
    return QuantizedWeights(w.scales, w.biases, 48, w.bits, w.weight)


def _in_signed_words(w: QuantizedWeights) -> QuantizedWeights:
    signed = w.weight.view(mx.int32)
    return QuantizedWeights(w.scales, w.biases, w.group_size, w.bits, signed)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (_without_a_row, r"expected shape \(6, 4\), got \(5, 4\)"),
        (_with_mixed_dtypes, "scales and biases of one dtype"),
        (_in_three_bits, "expected 2, 4 or 8 bits, got 3"),
        (_in_other_groups, "expected groups of 32, 64 or 128, got 48"),
        (_in_signed_words, "expected words of uint32, got int32"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    variant: Callable[[mx.array, QuantizedWeights], mx.array],
    spoil: Callable[[QuantizedWeights], QuantizedWeights],
    complaint: str,
) -> None:
    with pytest.raises(ValueError, match=complaint):
        variant(mx.zeros((128,)), spoil(_weights()))


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("group_size", [32, 64, 128])
def test_all_cores_compute_what_one_does(bits: int, group_size: int) -> None:
    """To the last digit: cores only decide how many rows are computed at once."""
    try:
        kernels.built()
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))
    x, w = mx.random.normal((128,)), _weights(bits, group_size)

    one, all_cores = kernels.matvec_int8(x, w), kernels.matvec_threaded(x, w)

    dense = mx.dequantize(w.weight, w.scales, w.biases, group_size, bits)
    scale = wide(mx.abs(dense)) @ wide(mx.abs(x))
    assert is_close(all_cores, Truth(wide(one), scale))


def test_a_matrix_without_rows_gives_nothing(
    variant: Callable[[mx.array, QuantizedWeights], mx.array],
) -> None:
    w = _weights()
    empty = QuantizedWeights(
        w.scales[:0], w.biases[:0], w.group_size, w.bits, w.weight[:0]
    )

    assert variant(mx.zeros((128,)), empty).shape == (0,)


def test_a_matrix_without_columns_gives_zeros(
    variant: Callable[[mx.array, QuantizedWeights], mx.array],
) -> None:
    """The sum is empty, and nothing is divided by the bytes of a row."""
    nothing = mx.zeros((6, 0))
    words = mx.zeros((6, 0), mx.uint32)

    y = variant(mx.zeros((0,)), QuantizedWeights(nothing, nothing, 32, 4, words))

    assert y.tolist() == [0.0] * 6
