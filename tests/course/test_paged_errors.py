"""Attention to pages refuses what would be read outside of them, in one line."""

import mlx.core as mx
import pytest

from tiny_llm_ref import kernels
from tiny_llm_ref.attention import paged_attention

Q = (2, 4, 3, 8)
PAGES = (5, 2, 4, 8)


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    try:
        kernels.built()
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))


def attend(
    *,
    query: tuple[int, ...] = Q,
    keys: tuple[int, ...] = PAGES,
    values: tuple[int, ...] = PAGES,
    table: list[list[int]] | None = None,
    lens: tuple[float, ...] = (4, 7),
    dtype: mx.Dtype = mx.int32,
) -> mx.array:
    """Call a kernel, with a causal mask."""
    pages = mx.array(table or [[0, -1], [3, 4]]), mx.array(lens, dtype)
    given = mx.zeros(query), mx.zeros(keys), mx.zeros(values)
    return kernels.paged_attention_tiled(*given, *pages, 1.0, "causal")


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"table": [[0, -1], [3, -1]]}, "row 1: expected pages from 0 to 4, got -1"),
        ({"table": [[5, -1], [3, 4]]}, "row 0: expected pages from 0 to 4, got 5"),
        ({"lens": (2, 7)}, "row 0: expected 3 tokens or more, got 2"),
        ({"lens": (4, 9)}, "row 1: expected 8 tokens at most, got 9"),
        ({"lens": (4, 7, 1)}, " expected shape (2,), got (3,)"),
        ({"table": [[0, 1]]}, " expected shape (2, 2), got (1, 2)"),
        ({"lens": (4.0, 7.0), "dtype": mx.float32}, " expected integers, got float32"),
        ({"values": (5, 2, 5, 8)}, " expected shape (5, 2, 4, 8), got (5, 2, 5, 8)"),
        ({"keys": (5, 2, 4, 9)}, " expected shape (5, 2, 4, 8), got (5, 2, 4, 9)"),
        ({"query": (2, 3, 3, 8)}, " expected query heads to be a multiple of 2 key"),
        ({"query": (2, 4, 8)}, " expected four axes, got (2, 4, 8)"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match="paged_attention_tiled") as raised:
        attend(**wrong)  # type: ignore[arg-type]

    assert complaint.strip() in str(raised.value)


def test_what_fits_is_not() -> None:
    assert attend().shape == Q


def test_another_mask_is_refused() -> None:
    given = (mx.zeros(Q), mx.zeros(PAGES), mx.zeros(PAGES), mx.zeros((2, 2)))

    with pytest.raises(ValueError, match="expected 'causal' or None, got 'none'"):
        kernels.paged_attention_online(*given, mx.zeros(2), 1.0, "none")  # type: ignore[arg-type]


def test_another_page_size_is_refused() -> None:
    given = (mx.zeros(Q), mx.zeros(PAGES), mx.zeros(PAGES), mx.zeros((2, 2)))

    with pytest.raises(ValueError, match="expected pages of 16 tokens, got 4"):
        paged_attention(*given, mx.zeros(2), 16)
