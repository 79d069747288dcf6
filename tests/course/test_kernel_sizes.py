"""Kernels index with an int, so arrays that are too large for that are refused."""

from collections.abc import Callable

import mlx.core as mx
import pytest

from tiny_llm_ref import kernels

ROOM = 2**31 - 1
"""Sizes that a buffer could have. None of these arrays is ever evaluated."""


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    try:
        kernels.built()
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))


def zeros(*shape: int, dtype: mx.Dtype = mx.float32) -> mx.array:
    """Return zeros that take no memory, being lazy."""
    return mx.broadcast_to(mx.zeros((), dtype), shape)


def matvec(num_words: int, bits: int) -> mx.array:
    """Multiply a row of that many words."""
    module = kernels.built()
    num_columns = num_words * 32 // bits
    words = zeros(1, num_words, dtype=mx.uint32)
    scales = zeros(1, num_columns // 128)
    weight = module.Weight(words, scales, scales, 128, bits)
    return module.matvec_naive(zeros(num_columns), weight)


def attention(length: int) -> mx.array:
    """Attend with that many queries and keys."""
    x = zeros(1, 1, length, 64)
    return kernels.built().attention_tiled(x, x, x, 1.0, is_causal=True, mask=None)


def rope(offset: int) -> mx.array:
    """Rotate a token at this position."""
    return kernels.built().rope(zeros(1, 1, 1, 64), offset, 10000.0)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (
            lambda: matvec(2**24, 4),
            "matvec_naive: expected rows of fewer than 2^27 weights, got 134217728",
        ),
        (
            # 2^32 bits: in 32 of them, none are left.
            lambda: matvec(2**27, 8),
            "matvec_naive: expected rows of fewer than 2^27 weights, got 536870912",
        ),
        (
            lambda: attention(2**25),
            "attention_tiled: expected fewer than 2^31 numbers, got 2147483648",
        ),
        (
            lambda: rope(ROOM),
            "rope: expected positions from 0 up to 1048575, got 1 from 2147483647 on",
        ),
    ],
    ids=["columns", "words", "queries", "positions"],
)
def test_what_an_int_does_not_count_is_refused(
    call: Callable[[], mx.array], complaint: str
) -> None:
    with pytest.raises(ValueError, match="expected") as error:
        call()

    assert str(error.value) == complaint
