"""Several texts in one step take the operation for rows of a layer where it suits."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import pytest
from mlx import nn
from mlx_lm.models.qwen2 import Model, ModelArgs

from tiny_llm_ref.kv_cache import BatchingKvCache, TinyKvCache, TinyKvFullCache
from tiny_llm_ref.layer_rows import LayerRows
from tiny_llm_ref.paged_kv_cache import TinyKvPagedCache, TinyKvPagedPool
from tiny_llm_ref.qwen2_week3 import Qwen2ModelWeek3, run_pieces

NUM_LAYERS = 2
ARGS = ModelArgs(
    model_type="qwen2",
    hidden_size=128,
    num_hidden_layers=NUM_LAYERS,
    intermediate_size=192,
    num_attention_heads=4,
    num_key_value_heads=2,
    rms_norm_eps=1e-6,
    vocab_size=64,
    max_position_embeddings=64,
)
STEPS = [[[5, 6, 7], [8]], [[9], [10] * 20], [[11], [12]], [[13, 14], [15]]]
"""What two texts are shown in each step."""

Caches = list[list[TinyKvCache]]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Qwen2ModelWeek3:
    monkeypatch.setenv("TINY_LLM_KERNELS", "own")
    mx.random.seed(0)
    network = Model(ARGS)
    nn.quantize(network, 64, 4)
    return Qwen2ModelWeek3(network, enable_flash_attn=True)


def full(num_texts: int = 2) -> Caches:
    return [[TinyKvFullCache() for _ in range(NUM_LAYERS)] for _ in range(num_texts)]


def paged(num_texts: int = 2, num_pages: int | None = None) -> Caches:
    """Caches that take pages themselves. A pool that may not grow is made at once."""
    pools = [TinyKvPagedPool(4, num_pages) for _ in range(NUM_LAYERS)]
    return [[TinyKvPagedCache(pool) for pool in pools] for _ in range(num_texts)]


def paged_by_another() -> Caches:
    """Caches whose pages are taken by somebody else, for all layers alike."""
    pools = [TinyKvPagedPool(4, 32) for _ in range(NUM_LAYERS)]
    tables = [list(range(3, 12)), list(range(31, 22, -1))]
    return [[TinyKvPagedCache(pool, table) for pool in pools] for table in tables]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the layers that ran in one operation."""
    counted: list[int] = []
    whole = LayerRows.__call__

    def call(self: LayerRows, *inputs: Any) -> mx.array:  # noqa: ANN401
        counted.append(1)
        return whole(self, *inputs)

    monkeypatch.setattr(LayerRows, "__call__", call)
    return counted


def without_rows(model: Qwen2ModelWeek3, caches: Caches) -> list[mx.array]:
    """Run all steps with one operation after the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LayerRows, "suits", lambda *_: False)
        return [run_pieces(model, pieces, caches) for pieces in STEPS]


@pytest.mark.parametrize(
    "make", [full, paged, paged_by_another], ids=lambda make: make.__name__
)
def test_several_texts_agree_with_operations_one_by_one(
    model: Qwen2ModelWeek3, calls: list[int], make: Callable[[], Caches]
) -> None:
    """They agree within the error of rounding activations to 8 bits."""
    right, caches = without_rows(model, full()), make()

    found = [run_pieces(model, pieces, caches) for pieces in STEPS]

    assert len(calls) == NUM_LAYERS * len(STEPS)
    for one, other in zip(found, right, strict=True):
        assert mx.max(mx.abs(one - other)) < 0.05 * mx.max(mx.abs(other))
    assert [cache[0].offset for cache in caches] == [7, 23]


@pytest.mark.parametrize("make", [full, paged], ids=lambda make: make.__name__)
def test_slots_of_a_batch_agree_with_operations_one_by_one(
    model: Qwen2ModelWeek3, calls: list[int], make: Callable[[], Caches]
) -> None:
    """One of them is idle, and the others stand at places of their own."""
    batches = [in_slots(model, make()) for _ in range(2)]
    new, offsets = mx.array([[5, 6], [0, 0], [7, 8]]), [3, 0, 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LayerRows, "suits", lambda *_: False)
        right = model(new, offsets, batches[0])
    calls.clear()

    found = model(new, offsets, batches[1])

    assert len(calls) == NUM_LAYERS
    for row in (0, 2):
        off = mx.max(mx.abs(found[row] - right[row]))
        assert off < 0.05 * mx.max(mx.abs(right[row]))
    assert [slot and slot.offset for slot in batches[1][0].slots] == [5, None, 3]


def in_slots(model: Qwen2ModelWeek3, caches: Caches) -> list[BatchingKvCache]:
    """Show the first pieces to the model, and put the texts into slots 0 and 2."""
    run_pieces(model, STEPS[0], caches)
    batch = [BatchingKvCache(3) for _ in range(NUM_LAYERS)]
    for one, *own in zip(batch, *caches, strict=True):
        one.add_request(own[0], 0)
        one.add_request(own[1], 2)
    return batch


def test_a_row_with_another_offset_than_its_slot_does_not_suit(
    model: Qwen2ModelWeek3,
) -> None:
    batch = in_slots(model, full())[0]
    whole, x = model.layers[0].whole_layer, mx.zeros((3, 1, 128))

    assert whole.suits(x, [3, 0, 1], batch, "causal")
    assert whole.suits(x, [3, 9, 1], batch, "causal")
    assert not whole.suits(x, [3, 0, 2], batch, "causal")
    assert not whole.suits(x, [3, 0, 1], batch, None)
    assert not whole.suits(x[:2], [3, 0], batch, "causal")
    assert not whole.suits(x, [0, 0, 0], BatchingKvCache(3), "causal")


@pytest.mark.parametrize("make", [full, paged], ids=lambda make: make.__name__)
def test_operations_may_take_over_and_hand_back(
    model: Qwen2ModelWeek3, make: Callable[[], Caches]
) -> None:
    """A step that does not suit writes to the same places, and reads from them."""
    right, caches = without_rows(model, full()), make()
    for pieces in STEPS[:1]:
        run_pieces(model, pieces, caches)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LayerRows, "suits", lambda *_: False)
        for pieces in STEPS[1:3]:
            run_pieces(model, pieces, caches)

    found = run_pieces(model, STEPS[3], caches)

    assert mx.max(mx.abs(found - right[3])) < 0.05 * mx.max(mx.abs(right[3]))


def test_pages_of_its_own_go_back_to_the_pool(model: Qwen2ModelWeek3) -> None:
    caches = paged(num_pages=16)
    for pieces in STEPS:
        run_pieces(model, pieces, caches)
    taken = [cache.pool.num_in_use for cache in caches[0]]

    for cache in [*caches[0], *caches[1]]:
        cache.release()

    assert taken == [2 + 6] * NUM_LAYERS
    assert [cache.pool.num_in_use for cache in caches[0]] == [0] * NUM_LAYERS


@pytest.mark.parametrize(("num_tokens", "num_pages"), [(3, 1), (4, 1), (5, 2), (8, 2)])
def test_a_page_is_taken_when_the_one_before_is_full(
    model: Qwen2ModelWeek3, num_tokens: int, num_pages: int
) -> None:
    """Not earlier: somebody else could use it."""
    caches = paged(1, num_pages=16)

    run_pieces(model, [[5] * num_tokens], caches)

    assert [len(cache.block_table) for cache in caches[0]] == [num_pages] * NUM_LAYERS


def test_a_step_copies_no_pool(model: Qwen2ModelWeek3) -> None:
    """Nor a buffer. What a step makes does not depend on how much room there is."""
    caches = paged(num_pages=2000)
    for pieces in STEPS[:2]:
        run_pieces(model, pieces, caches)
    pages = caches[0][0].pool.key_pages
    before = mx.get_active_memory()
    mx.reset_peak_memory()

    run_pieces(model, STEPS[2], caches)

    assert mx.get_peak_memory() - before < pages.nbytes / 4


def test_a_piece_without_logits_copies_no_pool_either(model: Qwen2ModelWeek3) -> None:
    """It is computed when the step returns: put off, it would keep the pool in use."""
    caches = paged(num_pages=2000)
    run_pieces(model, STEPS[0], caches)
    size = caches[0][0].pool.key_pages.nbytes
    before = mx.get_active_memory()
    mx.reset_peak_memory()

    run_pieces(model, STEPS[1], caches, 0)
    run_pieces(model, STEPS[2], caches)

    assert mx.get_peak_memory() - before < size / 4


def test_missing_pages_of_another_are_named(model: Qwen2ModelWeek3) -> None:
    caches = [[TinyKvPagedCache(TinyKvPagedPool(4, 8), [2])] * NUM_LAYERS]

    with pytest.raises(ValueError, match="expected room for the new tokens"):
        run_pieces(model, [[1, 2, 3, 4, 5]], caches)


class OwnCache(TinyKvFullCache):
    """A cache of the learner's own, which may do anything with keys and values."""


def mixed() -> Caches:
    return [full(1)[0], paged(1)[0]]


def of_two_pools() -> Caches:
    return [paged(1)[0], paged(1)[0]]


def of_ones_own() -> Caches:
    return [[OwnCache() for _ in range(NUM_LAYERS)] for _ in range(2)]


@pytest.mark.parametrize(
    "make", [mixed, of_two_pools, of_ones_own], ids=lambda make: make.__name__
)
def test_other_caches_are_left_to_operations_one_by_one(
    model: Qwen2ModelWeek3, calls: list[int], make: Callable[[], Caches]
) -> None:
    right, caches = without_rows(model, full()), make()

    found = [run_pieces(model, pieces, caches) for pieces in STEPS]

    assert not calls
    assert mx.allclose(found[3], right[3], rtol=1e-4, atol=1e-4)


def test_a_cache_without_buffers_does_not_suit(model: Qwen2ModelWeek3) -> None:
    rows, caches = model.layers[0].whole_layer.rows, full()
    x, own = mx.zeros((1, 2, 128)), [text[0] for text in caches]

    assert rows.suits(x, [1, 1], own)
    del own[1].buffers
    assert not rows.suits(x, [1, 1], own)


def test_float16_and_positions_beyond_the_table_do_not_suit(
    model: Qwen2ModelWeek3,
) -> None:
    rows, own = model.layers[0].whole_layer.rows, [TinyKvFullCache()]

    assert rows.suits(mx.zeros((1, 64, 128)), [64], own)
    assert not rows.suits(mx.zeros((1, 65, 128)), [65], own)
    assert not rows.suits(mx.zeros((1, 2, 128), mx.float16), [2], own)


def test_without_kernels_no_step_is_one_operation(
    monkeypatch: pytest.MonkeyPatch, calls: list[int]
) -> None:
    monkeypatch.setenv("TINY_LLM_KERNELS", "none")
    network = Model(ARGS)
    nn.quantize(network, 64, 4)
    model = Qwen2ModelWeek3(network, enable_flash_attn=True)

    run_pieces(model, STEPS[0], full())

    assert not calls
