"""A layer of the reference as one operation equals its kernels in sequence."""

from typing import Any, NoReturn

import mlx.core as mx
import pytest

from tiny_llm_ref import kernels
from tiny_llm_ref.kv_cache import TinyKvFullCache
from tiny_llm_ref.paged_kv_cache import TinyKvPagedCache, TinyKvPagedPool
from tiny_llm_ref.quantize import QuantizedWeights, quantize
from tiny_llm_ref.qwen2_week2 import Qwen2TransformerBlock

E, I, HEADS, KV_HEADS, D = 128, 192, 4, 2, 32  # noqa: E741 - the axes
EPS, BASE = 1e-6, 10000.0


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_LLM_KERNELS", "own")
    mx.random.seed(0)


def packed(rows: int, columns: int, bits: int = 4) -> QuantizedWeights:
    w = mx.random.normal((rows, columns)) / columns**0.5
    words, scales, biases = quantize(w.astype(mx.float16), 64, bits)
    return QuantizedWeights(scales, biases, 64, bits, words)


def weights() -> tuple[list[QuantizedWeights], list[mx.array]]:
    shapes = [(E, E), (KV_HEADS * D, E), (KV_HEADS * D, E), (E, E)]
    shapes += [(I, E), (I, E), (E, I)]
    lengths = [E, KV_HEADS * D, KV_HEADS * D, E, E]
    return [packed(*shape) for shape in shapes], [
        mx.random.normal((length,)) for length in lengths
    ]


def layer_of(
    matrices: list[QuantizedWeights], vectors: list[mx.array]
) -> kernels.Layer:
    return kernels.Layer(matrices, vectors, num_heads=HEADS, eps=EPS, base=BASE)


def stubbed(*_: object, **__: object) -> NoReturn:
    raise NotImplementedError


def unused(*_: object) -> NoReturn:
    raise AssertionError


def block_of(
    matrices: list[QuantizedWeights] | None = None,
    vectors: list[mx.array] | None = None,
    *,
    use_flash_attention: bool = True,
) -> Qwen2TransformerBlock:
    """Make a layer of these weights, or of any."""
    if matrices is None or vectors is None:
        matrices, vectors = weights()
    (wq, wk, wv, wo, gate, up, down), (bq, bk, bv, norm_1, norm_2) = matrices, vectors
    return Qwen2TransformerBlock(
        *(HEADS, KV_HEADS, E, I, EPS, wq, wk, wv, wo, bq, bk, bv, gate, up, down),
        *(norm_1, norm_2, 64, BASE, use_flash_attention),
    )


def by_kernels(
    matrices: list[QuantizedWeights],
    vectors: list[mx.array],
    x: mx.array,
    buffers: tuple[mx.array, mx.array],
    offset: int,
) -> list[mx.array]:
    """Compute a layer with one call for each kernel."""
    wq, wk, wv, wo, gate, up, down = matrices
    bq, bk, bv, norm_1, norm_2 = vectors
    L = x.shape[1]  # noqa: N806 - the axis
    last = offset + L

    def heads(y: mx.array, number: int) -> mx.array:
        return y.reshape(1, L, number, D)

    normed = kernels.rms_norm(x, norm_1, EPS)
    query = heads(kernels.quantized_linear(normed, wq, bq), HEADS)
    key = heads(kernels.quantized_linear(normed, wk, bk), KV_HEADS)
    value = heads(kernels.quantized_linear(normed, wv, bv), KV_HEADS)
    query = kernels.rope(query, offset, BASE).swapaxes(1, 2)
    keys, values = (mx.array(one) for one in buffers)
    keys[:, :, offset:last] = kernels.rope(key, offset, BASE).swapaxes(1, 2)
    values[:, :, offset:last] = value.swapaxes(1, 2)
    attend = kernels.attention_split if L < 16 else kernels.attention_tiled
    seen = (keys[:, :, :last], values[:, :, :last])
    found = attend(query, *seen, 1 / D**0.5, "causal").swapaxes(1, 2)
    attended = kernels.quantized_linear(found.reshape(1, L, E), wo)
    h, normed = kernels.add_rms_norm(x, attended, norm_2, EPS)
    opened = kernels.swiglu(
        kernels.quantized_linear(normed, gate), kernels.quantized_linear(normed, up)
    )
    return [h + kernels.quantized_linear(opened, down), keys, values]


@pytest.mark.parametrize("offset", [0, 5])
@pytest.mark.parametrize("num_tokens", [1, 2, 33, 600])
def test_a_layer_is_its_kernels_in_a_row(num_tokens: int, offset: int) -> None:
    """Of a long text, it takes the tokens in pieces, which changes nothing."""
    matrices, vectors = weights()
    x = mx.random.normal((1, num_tokens, E))
    keys = mx.random.normal((1, KV_HEADS, num_tokens + 10, D))
    values = mx.random.normal((1, KV_HEADS, num_tokens + 10, D))

    right = by_kernels(matrices, vectors, x, (keys, values), offset)
    found = kernels.run_layer(layer_of(matrices, vectors), x, keys, values, offset)

    for one, other in zip(found, right, strict=True):
        assert mx.allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("num_tokens", [1, 2])
def test_matrices_of_a_layer_may_have_different_bits(num_tokens: int) -> None:
    """`mlx_lm` stores some checkpoints so. Then no two matrices share a rounded x."""
    matrices, vectors = weights()
    matrices[2], matrices[5] = packed(KV_HEADS * D, E, bits=8), packed(I, E, bits=8)
    x = mx.random.normal((1, num_tokens, E))
    buffers = tuple(mx.random.normal((1, KV_HEADS, 40, D)) for _ in range(2))

    right = by_kernels(matrices, vectors, x, buffers, 5)
    found = kernels.run_layer(layer_of(matrices, vectors), x, *buffers, 5)

    for one, other in zip(found, right, strict=True):
        assert mx.allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("num_tokens", [1, 2])
def test_a_stream_may_be_a_slice_of_another_array(num_tokens: int) -> None:
    matrices, vectors = weights()
    wide = mx.random.normal((1, num_tokens, 2 * E))
    buffers = tuple(mx.random.normal((1, KV_HEADS, 40, D)) for _ in range(2))

    right = by_kernels(matrices, vectors, wide[..., ::2] + 0, buffers, 5)
    layer = layer_of(matrices, vectors)
    found = kernels.run_layer(layer, wide[..., ::2], *buffers, 5)

    for one, other in zip(found, right, strict=True):
        assert mx.allclose(one, other, rtol=1e-5, atol=1e-6)


def test_what_was_handed_out_does_not_change() -> None:
    """Even if a text continues from an earlier position."""
    block, cache = block_of(), TinyKvFullCache()
    new = mx.random.normal((1, KV_HEADS, 9, D))
    handed_out = cache.update_and_fetch(new, new)[0]
    mx.eval(handed_out)
    cache.offset = 4

    mx.eval(block(mx.ones((1, 1, E)), 4, cache, "causal"))

    assert mx.array_equal(handed_out, new)


def test_a_cache_is_written_in_place() -> None:
    """Otherwise a long text would be copied at each token."""
    block, cache = block_of(), TinyKvFullCache()
    x = mx.random.normal((1, 1, E))
    mx.eval(cache.update_and_fetch(*[mx.zeros((1, KV_HEADS, 40, D))] * 2)[:2])
    num_bytes = 2 * 80 * KV_HEADS * D * 4
    for _ in range(3):
        mx.eval(block(x, cache.offset, cache, "causal"))
    before = mx.get_active_memory()
    mx.reset_peak_memory()

    mx.eval(block(x, cache.offset, cache, "causal"))

    assert mx.get_peak_memory() - before < num_bytes / 4


def test_a_layer_in_one_operation_agrees_with_one_in_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They agree within the error of rounding activations to 8 bits."""
    made = weights()
    x = mx.random.normal((1, 20, E))
    found = block_of(*made)(x, 0, TinyKvFullCache(), "causal")
    monkeypatch.setenv("TINY_LLM_KERNELS", "none")

    right = block_of(*made)(x, 0, TinyKvFullCache(), "causal")

    assert mx.max(mx.abs(found - right)) < 0.05 * mx.max(mx.abs(right))


@pytest.mark.parametrize("num_tokens", [1, 5, 40])
def test_a_text_in_pages_takes_the_operation_too(
    num_tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A draft and its judge rewind their caches, which only pages can."""
    block, pool = block_of(), TinyKvPagedPool()
    full, paged = TinyKvFullCache(), TinyKvPagedCache(pool)
    before, x = (mx.random.normal((1, length, E)) for length in (20, num_tokens))
    block(before, 0, full, "causal")
    block(before, 0, paged, "causal")
    paged.rewind(3)
    block(before[:, -3:], 17, paged, "causal")
    monkeypatch.setattr(TinyKvPagedCache, "update_and_fetch", unused)

    found = block(x, 20, paged, "causal")

    assert mx.allclose(found, block(x, 20, full, "causal"), rtol=1e-5, atol=1e-5)
    assert paged.offset == 20 + num_tokens


def test_a_layer_that_is_not_written_is_left_to_the_operations_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its task is optional, and the model of the day needs none."""
    monkeypatch.setattr(kernels, "Layer", stubbed)
    block, cache = block_of(), TinyKvFullCache()
    assert block.whole_layer is not None

    y = block(mx.ones((1, 2, E)), 0, cache, "causal")

    assert not block.whole_layer.suits(mx.ones((1, 2, E)), 2, cache, "causal")
    assert (y.shape, cache.offset) == ((1, 2, E), 2)


def test_without_flash_attention_a_layer_is_many_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels, "run_layer", unused)
    block = block_of(use_flash_attention=False)

    y = block(mx.ones((1, 2, E)), 0, TinyKvFullCache(), "causal")

    assert y.shape == (1, 2, E)


@pytest.mark.parametrize(("made_with", "then"), [("own", "none"), ("none", "own")])
def test_a_layer_stays_with_what_it_was_made_for(
    monkeypatch: pytest.MonkeyPatch, made_with: str, then: str
) -> None:
    """The environment is asked once, and not at each token."""
    monkeypatch.setenv("TINY_LLM_KERNELS", made_with)
    block, cache = block_of(), TinyKvFullCache()
    monkeypatch.setenv("TINY_LLM_KERNELS", then)
    calls: list[int] = []
    whole = kernels.run_layer

    def counted(*inputs: Any) -> Any:  # noqa: ANN401
        calls.append(1)
        return whole(*inputs)

    monkeypatch.setattr(kernels, "run_layer", counted)

    mx.eval(block(mx.ones((1, 2, E)), 0, cache, "causal"))

    assert len(calls) == (made_with == "own")


def test_a_cache_without_buffers_is_left_to_the_operations_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A learner may have written it, while the layer is ours."""
    monkeypatch.setattr(kernels, "run_layer", unused)
    block, cache = block_of(), TinyKvFullCache()
    assert block.whole_layer is not None

    assert block.whole_layer.suits(mx.ones((1, 2, E)), 0, cache, "causal")
    del cache.buffers

    assert not block.whole_layer.suits(mx.ones((1, 2, E)), 0, cache, "causal")


class OwnCache(TinyKvFullCache):
    """A cache of the learner's own, which may do anything with keys and values."""


@pytest.mark.parametrize(
    ("x", "offset", "cache", "mask"),
    [
        (mx.ones((1, 2, E)), 3, TinyKvFullCache(), "causal"),
        (mx.ones((2, 2, E)), 0, TinyKvFullCache(), "causal"),
        (mx.ones((1, 2, E)), 0, OwnCache(), "causal"),
        (mx.ones((1, 2, E)), 0, TinyKvFullCache(), None),
        (mx.ones((1, 2, E), mx.float16), 0, TinyKvFullCache(), "causal"),
    ],
    ids=["another offset", "two texts", "another cache", "no mask", "float16"],
)
def test_what_the_operation_does_not_compute_is_left_to_others(
    monkeypatch: pytest.MonkeyPatch,
    x: mx.array,
    offset: int,
    cache: TinyKvFullCache,
    mask: str | None,
) -> None:
    monkeypatch.setattr(kernels, "run_layer", unused)

    y = block_of()(x, offset, cache, mask)

    assert (y.shape, cache.offset) == (x.shape, 2)


def test_positions_beyond_the_table_are_refused() -> None:
    cache = TinyKvFullCache()

    with pytest.raises(ValueError, match="expected positions below 64"):
        block_of()(mx.ones((1, 65, E)), 0, cache, "causal")


@pytest.mark.parametrize(
    ("x", "keys", "offset", "said"),
    [
        ((1, 2, E + 1), (1, KV_HEADS, 8, D), 0, f"expected shape (1, 2, {E}), got"),
        ((1, 2, E), (1, KV_HEADS, 8, D + 2), 0, "expected shape (1, 2, 8, 32), got"),
        ((1, 2, E), (1, KV_HEADS, 8, D), 7, "expected room for the new tokens, got"),
        ((1, 2, E), (1, KV_HEADS, 8, D), -1, "expected room for the new tokens, got"),
        ((1, 2, E), (1, KV_HEADS, 8, D), 2**31 - 1, "expected room for the new token"),
        ((2, E), (1, KV_HEADS, 8, D), 0, "expected x of shape (1, L, E), got (2, 128)"),
    ],
)
def test_what_does_not_fit_is_named(
    x: tuple[int, ...], keys: tuple[int, ...], offset: int, said: str
) -> None:
    layer = layer_of(*weights())

    with pytest.raises(ValueError, match="Layer: ") as caught:
        kernels.run_layer(layer, mx.ones(x), mx.ones(keys), mx.ones(keys), offset)

    assert said in str(caught.value)


def test_matrices_that_do_not_fit_are_named() -> None:
    matrices, vectors = weights()
    matrices[3] = packed(E, I)

    with pytest.raises(ValueError, match=r"a matrix of shape \(128, 128\), got"):
        layer_of(matrices, vectors)
