"""A table of pages counts by its numbers, however they lie in memory."""

from collections.abc import Callable

import mlx.core as mx
import pytest

from tiny_llm_course.doctor.system import find_compiler
from tiny_llm_ref import kernels

TABLE = mx.array([[4, 1, 3], [0, 2, 5]], mx.int32)
LENS = mx.array([9, 12], mx.int32)

Laid = Callable[[mx.array], mx.array]

pytestmark = pytest.mark.skipif(
    find_compiler() is None, reason="there is no C++ compiler"
)


def attended(table: mx.array, lens: mx.array) -> mx.array:
    """Return what the kernel makes of the same keys and values each time."""
    with mx.stream(mx.cpu):
        query = mx.random.normal((2, 4, 1, 8), key=mx.random.key(0))
        pages = mx.random.normal((2, 6, 2, 4, 8), key=mx.random.key(1))
        return kernels.paged_attention_tiled(
            query, pages[0], pages[1], table, lens, 0.3, "causal"
        )


@pytest.mark.parametrize(
    "laid",
    [
        lambda x: x.astype(mx.int64),
        lambda x: x.astype(mx.uint8),
        lambda x: x + 0,
        lambda x: mx.repeat(x, 2, axis=-1)[..., ::2],
        lambda x: mx.concatenate([x, x], axis=-1)[..., : x.shape[-1]],
        lambda x: mx.contiguous(x[..., ::-1])[..., ::-1],
        lambda x: mx.contiguous(x.T).T,
    ],
    ids=["wide", "narrow", "lazy", "every other", "part", "backwards", "by columns"],
)
def test_numbers_are_read_in_their_order(laid: Laid) -> None:
    expected = attended(TABLE, LENS)

    assert mx.array_equal(attended(laid(TABLE), laid(LENS)), expected)
    assert mx.array_equal(attended(laid(TABLE), LENS), expected)
