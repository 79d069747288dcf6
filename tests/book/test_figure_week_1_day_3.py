"""Week 1, day 3: the figure of the heads reads the heads that the reference reads."""

from collections.abc import Callable

import mlx.core as mx
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.specimens import mistake
from tiny_llm_ref.attention import scaled_dot_product_attention_grouped

CHAPTER = "week-1-day-3-grouped-query-attention"
NAME = "grouped-heads"

# Layers, query heads, width of a head: as in their config.json.
SIZES = {
    "embedded": (5, 4, 64),
    "Qwen2-0.5B": (24, 14, 64),
    "Qwen2-1.5B": (28, 12, 128),
    "Qwen2-7B": (28, 28, 128),
}

SETTINGS = [
    ("embedded", 1),
    ("embedded", 2),
    ("Qwen2-0.5B", 7),
    ("Qwen2-1.5B", 3),
    ("Qwen2-7B", 4),
    ("Qwen2-7B", 28),
]


@pytest.mark.parametrize(("model", "num_kv_heads"), SETTINGS)
@pytest.mark.parametrize("in_turns", [False, True])
def test_heads_read_what_the_code_reads(
    figure: OpenFigure,
    model: str,
    num_kv_heads: int,
    in_turns: bool,
) -> None:
    """The known mistake takes them in turns; the reference does not."""
    figure.set(model=model, kv_heads=num_kv_heads, head=1, in_turns=in_turns)

    attend = mistake("week_1_day_3", "key_heads_taken_in_turns") if in_turns else None
    reads = _heads_read(SIZES[model][1], num_kv_heads, attend)
    right = _heads_read(SIZES[model][1], num_kv_heads)
    assert figure.read("all") == reads
    assert figure.read("reads") == reads[1]
    assert figure.read("shared_by") == [
        head for head, read in enumerate(reads) if read == reads[1]
    ]
    assert figure.read("wrong") == sum(map(int.__ne__, reads, right))


@pytest.mark.parametrize(("model", "num_kv_heads"), SETTINGS)
def test_bytes_are_those_of_the_arrays(
    figure: OpenFigure,
    model: str,
    num_kv_heads: int,
) -> None:
    figure.set(model=model, kv_heads=num_kv_heads, tokens=12)

    layers, heads, head_dim = SIZES[model]
    keys = mx.zeros((layers, num_kv_heads, 1, head_dim), dtype=mx.bfloat16)
    assert figure.read("per_token") == 2 * keys.nbytes
    assert figure.read("cache") == 2 * keys.nbytes * 4096
    assert figure.read("share") == pytest.approx(num_kv_heads / heads, rel=1e-12)


def test_first_state_is_the_published_model(figure: OpenFigure) -> None:
    assert figure.read("all") == _heads_read(14, 2)
    assert figure.read("per_token") == 12288


def test_a_model_brings_its_own_number_of_heads(figure: OpenFigure) -> None:
    """Those of the model before it might not divide its query heads."""
    figure.set(kv_heads=7)

    figure.set(model="Qwen2-7B")

    assert figure.read("all") == _heads_read(28, 4)


def _heads_read(
    num_heads: int, num_kv_heads: int, attend: Callable[..., mx.array] | None = None
) -> list[int]:
    """Let every key/value head hand over its number, and see what arrives."""
    attend = attend or scaled_dot_product_attention_grouped
    query = mx.zeros((num_heads, 1, 1))
    key = mx.zeros((num_kv_heads, 1, 1))
    value = mx.arange(num_kv_heads, dtype=mx.float32).reshape(num_kv_heads, 1, 1)
    return [round(one) for one in attend(query, key, value).flatten().tolist()]
