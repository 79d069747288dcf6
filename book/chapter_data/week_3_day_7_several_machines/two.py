"""What a token takes on one machine and on two: arithmetic, and sums measured here."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import mlx.core as mx

from tiny_llm_lab import measured
from tiny_llm_lab.bench.models import QWEN2_0_5B
from tiny_llm_lab.experiments.sum_costs import TOKENS
from tiny_llm_ref.roofline import bytes_per_token

MEMORY_BYTES_PER_S = 273e9
"""Of a Mac mini with an M4 Pro, as Apple gives it."""

LINK_BYTES_PER_S = 80e9 / 8
"""Of Thunderbolt 5, in each direction."""

LATENCIES_US = (300, 50)
"""Of a message between two Macs: with TCP, and with RDMA over Thunderbolt 5."""

BITS, GROUP_SIZE = 4, 64

PIECE = 128
"""Tokens of a prompt in one step."""


def _sizes(hidden: int, layers: int, heads: tuple[int, int], width: int) -> Any:  # noqa: ANN401
    return SimpleNamespace(
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads[0],
        num_key_value_heads=heads[1],
        intermediate_size=width,
        vocab_size=152_000,
        tie_word_embeddings=hidden < 1000,
    )


MODELS = {
    "Qwen2-0.5B": _sizes(896, 24, (14, 2), 4864),
    "Qwen2-7B": _sizes(3584, 28, (28, 4), 18944),
    "Qwen2-72B": _sizes(8192, 80, (64, 8), 29568),
}


def num_sums(sizes: Any) -> int:  # noqa: ANN401
    """Return how many sums a token needs."""
    return 2 * sizes.num_hidden_layers


def one_ms(sizes: Any) -> float:  # noqa: ANN401
    """Return what a token takes where the memory is all that limits it."""
    num_bytes = bytes_per_token(sizes, 1, BITS, GROUP_SIZE, mx.float16)
    return num_bytes / MEMORY_BYTES_PER_S * 1e3


def two_ms(sizes: Any, latency_us: float) -> float:  # noqa: ANN401
    """Return what a token takes on two machines: half of the layers, head and sums."""
    bytes_of_a_weight = BITS / 8 + 2 * 2 / GROUP_SIZE
    head = sizes.vocab_size * sizes.hidden_size * bytes_of_a_weight
    head_ms = head / MEMORY_BYTES_PER_S * 1e3
    layers_ms = (one_ms(sizes) - head_ms) / 2
    return head_ms + layers_ms + num_sums(sizes) * latency_us / 1e3


def two_macs() -> Sequence[Sequence[str]]:
    """Return a row for each model: its gigabytes, and the milliseconds of a token."""
    rows = [
        [
            name,
            f"{one_ms(sizes) * MEMORY_BYTES_PER_S / 1e12:.1f}",
            str(num_sums(sizes)),
            f"{one_ms(sizes):.1f}",
            *(f"{two_ms(sizes, one):.1f}" for one in LATENCIES_US),
        ]
        for name, sizes in MODELS.items()
    ]
    small, middle, large = MODELS.values()
    slow_us, fast_us = LATENCIES_US
    assert two_ms(small, fast_us) > one_ms(small), "the prose says that it is slower"
    assert two_ms(middle, slow_us) > one_ms(middle), "the same"
    assert two_ms(middle, fast_us) < 0.8 * one_ms(middle)
    assert two_ms(large, slow_us) < 0.9 * one_ms(large)
    return rows


def prompt_ms(tokens: int = 1024) -> float:
    """Return what the numbers of a prompt take on their way, in the middle model."""
    sizes = MODELS["Qwen2-7B"]
    num_bytes = tokens * sizes.hidden_size * 2
    return num_sums(sizes) * num_bytes / LINK_BYTES_PER_S * 1e3


def here() -> dict[str, Any]:
    """Return what sums take on this machine, beside a step of the model."""
    us = measured.sum_us()
    one, many = TOKENS[0], PIECE
    sizes = MODELS["Qwen2-0.5B"]
    whole_ms, parts_ms = (
        1e3 / measured.speed_of_rung(rung, QWEN2_0_5B, 32)
        for rung in ("everything", "kernels")
    )
    return {
        "one_us": us[one],
        "median_us": measured.sum_us("time_us")[one],
        "many_us": us[many],
        "many": many,
        "many_mb": many * sizes.hidden_size * 4 / 1e6,
        "num_sums": num_sums(sizes),
        "all_ms": num_sums(sizes) * us[one] / 1e3,
        "whole_ms": whole_ms,
        "parts_ms": parts_ms,
    }
