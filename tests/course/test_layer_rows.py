"""A layer of the reference for several texts at once equals the layer for each."""

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_ref import kernels
from tiny_llm_ref.compiled import built, packed
from tiny_llm_ref.quantize import QuantizedWeights, quantize

E, I, HEADS, KV_HEADS, D = 128, 192, 4, 2, 32  # noqa: E741 - the axes
EPS, BASE = 1e-6, 10000.0

Weights = tuple[list[QuantizedWeights], list[mx.array]]


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_LLM_KERNELS", "own")
    mx.random.seed(0)


def drawn(rows: int, columns: int, bits: int = 4) -> QuantizedWeights:
    w = mx.random.normal((rows, columns)) / columns**0.5
    words, scales, biases = quantize(w.astype(mx.float16), 64, bits)
    return QuantizedWeights(scales, biases, 64, bits, words)


def weights() -> Weights:
    shapes = [(E, E), (KV_HEADS * D, E), (KV_HEADS * D, E), (E, E)]
    shapes += [(I, E), (I, E), (E, I)]
    lengths = [E, KV_HEADS * D, KV_HEADS * D, E, E]
    return [drawn(*shape) for shape in shapes], [
        mx.random.normal((length,)) for length in lengths
    ]


@dataclass(frozen=True)
class Text:
    """New tokens, and keys and values of those before, with room for all."""

    x: mx.array
    offset: int
    keys: mx.array
    values: mx.array


def text_of(num_tokens: int, offset: int, num_spare: int = 3) -> Text:
    capacity = offset + num_tokens + num_spare
    is_taken = (mx.arange(capacity) < offset)[:, None]
    keys, values = (
        mx.where(is_taken, mx.random.normal((1, KV_HEADS, capacity, D)), mx.nan)
        for _ in range(2)
    )
    return Text(mx.random.normal((1, num_tokens, E)), offset, keys, values)


Tokens = tuple[list[int], list[int]]


def rows_layer(made: Weights, *, in_pages: bool = False) -> Any:  # noqa: ANN401
    """Make the operation, which is called as `LayerRows` in layer_rows.h."""
    matrices, vectors = made
    weights = [packed(w) for w in matrices]
    return built().LayerRows(weights, vectors, HEADS, EPS, BASE, in_pages)


def tokens_of(texts: list[Text]) -> Tokens:
    return [text.x.shape[1] for text in texts], [text.offset for text in texts]


def stream_of(texts: list[Text]) -> mx.array:
    return mx.concatenate([text.x for text in texts], axis=1)


def in_rows(x: mx.array, texts: list[Text]) -> list[mx.array]:
    """Cut the stream of all rows into that of each."""
    ends = accumulate((text.x.shape[1] for text in texts), initial=0)
    return [x[:, first:last] for first, last in pairwise(ends)]


def each_alone(made: Weights, texts: list[Text]) -> list[list[mx.array]]:
    """Carry each text through the layer, in copies of its buffers."""
    layer = kernels.Layer(*made, num_heads=HEADS, eps=EPS, base=BASE)
    return [
        list(
            kernels.run_layer(
                layer, text.x, text.keys + 0, text.values + 0, text.offset
            )
        )
        for text in texts
    ]


def assert_near(found: mx.array, right: mx.array) -> None:
    assert found.shape == right.shape
    assert mx.allclose(found, right, rtol=1e-5, atol=1e-5)


BATCHES = {
    "one token": [(1, 0)],
    "one row": [(1, 37)],
    "a prompt": [(40, 0)],
    "its second piece": [(21, 19)],
    "two": [(1, 3), (1, 30)],
    "eight": [(1, offset) for offset in (0, 7, 15, 16, 17, 63, 80, 300)],
    "mixed": [(1, 9), (24, 0), (1, 40), (1, 0), (5, 16)],
    "long": [(1, 700), (70, 33), (33, 0), (1, 1)],
}
each_batch = pytest.mark.parametrize("batch", BATCHES.values(), ids=list(BATCHES))


def assert_as_alone(made: Weights, texts: list[Text]) -> None:
    """Carry all texts through the layer at once, and compare with each alone."""
    right = each_alone(made, texts)
    keys, values = [text.keys for text in texts], [text.values for text in texts]

    y, *found = rows_layer(made)(
        stream_of(texts), *tokens_of(texts), keys, values, None
    )

    streams, keys, values = in_rows(y, texts), found[: len(texts)], found[len(texts) :]
    for i, text in enumerate(texts):
        last = text.offset + text.x.shape[1]
        assert_near(streams[i], right[i][0])
        assert_near(keys[i][:, :, :last], right[i][1][:, :, :last])
        assert_near(values[i][:, :, :last], right[i][2][:, :, :last])


@each_batch
def test_each_row_is_as_if_it_were_alone(batch: list[tuple[int, int]]) -> None:
    """What lies in the places after its tokens is NaN, and nobody looks at it."""
    assert_as_alone(weights(), [text_of(*one) for one in batch])


def test_matrices_may_have_different_bits() -> None:
    matrices, vectors = weights()
    matrices[2], matrices[5] = drawn(KV_HEADS * D, E, bits=8), drawn(I, E, bits=8)

    assert_as_alone((matrices, vectors), [text_of(1, 3), text_of(2, 0)])


def test_what_was_handed_out_does_not_change() -> None:
    """Even if a row continues from an earlier position: it moves to another buffer."""
    layer = rows_layer(weights())
    texts = [text_of(1, 4, num_spare=10), text_of(2, 0)]
    handed_out = texts[0].keys[:, :, :4]
    before = handed_out + 0
    mx.eval(handed_out, before)

    keys, values = [text.keys for text in texts], [text.values for text in texts]
    mx.eval(layer(stream_of(texts), *tokens_of(texts), keys, values, None))

    assert mx.array_equal(handed_out, before)


def test_buffers_are_written_in_place() -> None:
    """Otherwise the caches of all rows would be copied at each token."""
    layer = rows_layer(weights())
    texts = [text_of(1, 5, num_spare=400), text_of(3, 9, num_spare=400)]
    mx.eval([(text.x, text.keys, text.values) for text in texts])
    num_bytes = texts[0].keys.nbytes
    x, tokens = stream_of(texts), tokens_of(texts)
    keys, values = [text.keys for text in texts], [text.values for text in texts]
    mx.eval(x)
    before = mx.get_active_memory()
    mx.reset_peak_memory()

    mx.eval(layer(x, *tokens, keys, values, None))

    assert mx.get_peak_memory() - before < num_bytes / 4


@pytest.mark.parametrize(
    ("shape", "tokens", "said"),
    [
        ((1, 2, E + 1), ([1, 1], [0, 0]), f"expected shape (1, 2, {E}), got"),
        ((1, 3, E), ([1, 1], [0, 0]), "a vector for each of 2 new tokens, got 3"),
        ((2, E), ([1, 1], [0, 0]), "expected x of shape (1, T, E), got (2, 128)"),
        ((1, 2, E), ([2, 0], [0, 0]), "expected new tokens in each row, got 0"),
        ((1, 2, E), ([1, 1], [0]), "a length and an offset for each row, got 2 and"),
        ((1, 2, E), ([1, 1], [0, 8]), "room for the new tokens, got place 8 in 1 pa"),
        ((1, 2, E), ([1, 1], [0, -1]), "positions from 0 up to 1048575, got 1 from"),
        ((1, 2, E), ([1, 1], [0, 2**31 - 1]), "positions from 0 up to 1048575, got"),
        ((1, 3, E), ([1, 1, 1], [0, 0, 0]), "3 arrays of keys and of values, got 2"),
    ],
)
def test_what_does_not_fit_is_named(
    shape: tuple[int, ...], tokens: Tokens, said: str
) -> None:
    layer = rows_layer(weights())
    buffers = [mx.ones((1, KV_HEADS, 8, D))] * 2

    with pytest.raises(ValueError, match="LayerRows: ") as caught:
        layer(mx.ones(shape), *tokens, buffers, buffers, None)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((1, KV_HEADS, 8, D + 2), "expected shape (1, 2, 8, 32), got (1, 2, 8, 34)"),
        ((2, KV_HEADS, 8, D), "expected shape (1, 2, 8, 32), got (2, 2, 8, 32)"),
        ((1, KV_HEADS, 0, D), "expected room for tokens, got (1, 2, 0, 32)"),
        ((KV_HEADS, 8, D), "expected keys with four axes, got (2, 8, 32)"),
    ],
)
def test_buffers_that_do_not_fit_are_named(shape: tuple[int, ...], said: str) -> None:
    layer, tokens = rows_layer(weights()), ([1], [0])
    buffers = [mx.ones(shape)]

    with pytest.raises(ValueError, match="LayerRows: ") as caught:
        layer(mx.ones((1, 1, E)), *tokens, buffers, buffers, None)

    assert said in str(caught.value)


@dataclass(frozen=True)
class Pool:
    """Keys and values of several texts in pages, in no order, with NaN in between."""

    keys: mx.array
    values: mx.array
    table: list[list[int]]
    page_size: int

    def of(self, row: int, num_tokens: int) -> tuple[mx.array, mx.array]:
        """Return the keys and values of a text, 1 x H_kv x S x D."""
        pages = mx.array(self.table[row])
        keys, values = (
            one[pages].swapaxes(0, 1).reshape(1, KV_HEADS, -1, D)[:, :, :num_tokens]
            for one in (self.keys, self.values)
        )
        return keys, values


def pool_of(texts: list[Text], page_size: int, num_spare: int = 3) -> Pool:
    """Put texts into pages, and in front of them one that nobody has."""
    sizes = [(text.offset + text.x.shape[1] - 1) // page_size + 1 for text in texts]
    numbers = (1 + np.random.default_rng(0).permutation(sum(sizes))).tolist()
    shape = (1 + len(numbers) + num_spare, KV_HEADS, page_size, D)
    pages = [mx.full(shape, mx.nan) for _ in range(2)]
    table = []
    for text, size in zip(texts, sizes, strict=True):
        table.append([numbers.pop() for _ in range(size)])
        for position in range(text.offset):
            page, slot = table[-1][position // page_size], position % page_size
            pages[0][page, :, slot] = text.keys[0, :, position]
            pages[1][page, :, slot] = text.values[0, :, position]
    mx.eval(pages)
    return Pool(*pages, table, page_size)


def table_of(pool: Pool) -> mx.array:
    """Fill the table up with pages that are not there: nobody asks for them."""
    longest = 1 + max(map(len, pool.table))
    return mx.array(
        [[*row, -1, 10**6, *[-1] * longest][:longest] for row in pool.table], mx.int32
    )


@each_batch
@pytest.mark.parametrize("page_size", [1, 5, 16, 64])
def test_rows_in_pages_are_as_if_they_were_alone(
    batch: list[tuple[int, int]], page_size: int
) -> None:
    made, texts = weights(), [text_of(*one) for one in batch]
    right, pool = each_alone(made, texts), pool_of(texts, page_size)
    layer = rows_layer(made, in_pages=True)

    y, keys, values = layer(
        stream_of(texts), *tokens_of(texts), [pool.keys], [pool.values], table_of(pool)
    )

    written, streams = replace(pool, keys=keys, values=values), in_rows(y, texts)
    for i, text in enumerate(texts):
        last = text.offset + text.x.shape[1]
        found = written.of(i, last)
        assert_near(streams[i], right[i][0])
        assert_near(found[0], right[i][1][:, :, :last])
        assert_near(found[1], right[i][2][:, :, :last])


def test_pages_and_slots_of_others_stay_as_they_are() -> None:
    texts = [text_of(1, 20), text_of(5, 0)]
    pool = pool_of(texts, 16)
    layer = rows_layer(weights(), in_pages=True)
    before = np.array(pool.keys)

    _, keys, _ = layer(
        stream_of(texts), *tokens_of(texts), [pool.keys], [pool.values], table_of(pool)
    )

    changed = (np.array(keys).view(np.uint32) != before.view(np.uint32)).any(
        axis=(1, 3)
    )
    right = np.zeros_like(changed)
    right[pool.table[0][1], 4] = True
    right[pool.table[1][0], :5] = True
    assert (changed == right).all()


def test_pages_are_written_in_place() -> None:
    """Otherwise the pages of everybody would be copied at each token."""
    texts = [text_of(1, 20), text_of(5, 0)]
    pool = pool_of(texts, 16, num_spare=500)
    layer = rows_layer(weights(), in_pages=True)
    x, tokens = stream_of(texts), tokens_of(texts)
    mx.eval(x)
    before = mx.get_active_memory()
    mx.reset_peak_memory()

    mx.eval(layer(x, *tokens, [pool.keys], [pool.values], table_of(pool)))

    assert mx.get_peak_memory() - before < pool.keys.nbytes / 4


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (mx.array([[0], [4]]), "expected pages from 0 to 3, got 4"),
        (mx.array([[0], [-1]]), "expected pages from 0 to 3, got -1"),
        (mx.array([[0]]), "expected a table with 2 rows, got (1, 1)"),
        (mx.array([0, 1]), "expected a table with 2 rows, got (2,)"),
        (
            mx.zeros((2, 0), mx.int32),
            "expected room for the new tokens, got place 0 in",
        ),
        (mx.array([[0.0], [1.0]]), "expected a table of int32, got float32"),
        (None, "expected a table of pages, got none"),
    ],
)
def test_tables_that_do_not_fit_are_named(table: mx.array | None, said: str) -> None:
    layer = rows_layer(weights(), in_pages=True)
    pages = [mx.zeros((4, KV_HEADS, 16, D))]

    with pytest.raises(ValueError, match="LayerRows: ") as caught:
        layer(mx.ones((1, 2, E)), [1, 1], [0, 0], pages, pages, table)

    assert said in str(caught.value)


def test_a_table_without_pages_is_refused() -> None:
    layer, buffers = rows_layer(weights()), [mx.zeros((1, KV_HEADS, 16, D))]

    with pytest.raises(ValueError, match="expected no table of pages, got one"):
        layer(mx.ones((1, 1, E)), [1], [0], buffers, buffers, mx.array([[0]]))
