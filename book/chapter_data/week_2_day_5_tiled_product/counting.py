"""Products, bytes, loads and registers."""

import itertools
from typing import Any

from tiny_llm_lab import measured
from tiny_llm_lab.experiments import kernel_times

TOKENS, INPUTS, OUTPUTS = 256, 896, 4864
"""A prompt of 256 tokens, and the widest matrix of Qwen2-0.5B but the head."""

TILE_TOKENS, PANEL_ROWS, GROUP = 12, 16, 64
BLOCK_COLUMNS = 256

VARIANTS = ("naive", "blocked", "int8", "threaded")


def work() -> dict[str, Any]:
    """Count what a product with 256 vectors does, and what it reads."""
    weights = INPUTS * OUTPUTS
    packed_mb = weights * (4 + 2 * 16 / GROUP) / 8 / 1e6
    return {
        "weights": weights,
        "giga_operations": 2 * TOKENS * weights / 1e9,
        "packed_mb": packed_mb,
        "read_ms": packed_mb / (measured.machine().read_bytes_per_s / 1e9),
        "one_per_byte": 2 * weights / packed_mb / 1e6,
        "many_per_byte": 2 * TOKENS * weights / packed_mb / 1e6,
    }


def tile() -> dict[str, Any]:
    """Count loads and registers of a tile, and the bytes of panels."""
    instructions = TILE_TOKENS * GROUP // 4
    float_steps = 3 * TILE_TOKENS
    return {
        "sums": TILE_TOKENS * PANEL_ROWS,
        "registers": 2 * TILE_TOKENS,
        "loads": TILE_TOKENS + 1,
        "instructions": instructions,
        "float_steps": float_steps,
        "share": instructions / (instructions + float_steps),
        "block_kb": 4 * PANEL_ROWS * BLOCK_COLUMNS / 1000,
        "panel_kb": INPUTS * PANEL_ROWS / 1000,
        "wide_panel_kb": OUTPUTS * PANEL_ROWS / 1000,
        "narrow_four_kb": 4 * INPUTS * PANEL_ROWS / 1000,
        "four_kb": 4 * OUTPUTS * PANEL_ROWS / 1000,
    }


def few() -> dict[str, dict[str, float]]:
    """Return the microseconds of a few vectors in tiles, and one after the other."""
    found = {
        str(number): {
            "tiled": times[kernel_times.KERNEL],
            "one_by_one": times[kernel_times.ONE_BY_ONE],
        }
        for number, name in kernel_times.FEW.items()
        for times in (measured.kernel_us(name),)
    }
    assert found["2"]["tiled"] > found["2"]["one_by_one"], "two are enough for tiles"
    assert found["8"]["tiled"] < found["8"]["one_by_one"], "eight are too few for tiles"
    assert found["8"]["tiled"] < 2 * found["2"]["tiled"], "six more cost more than two"
    return found


def ladder() -> dict[str, Any]:
    """Turn the times of the lab into factors and operations in a second."""
    times_us = measured.kernel_us(kernel_times.PRODUCT)
    operations = work()["giga_operations"]
    ms = {variant: times_us[variant] / 1e3 for variant in VARIANTS}
    rates = {f"{variant}_rate": operations / ms[variant] * 1e3 for variant in VARIANTS}
    factors = [before / after for before, after in itertools.pairwise(ms.values())]
    named = dict(zip(("blocking", "tiling", "threading"), factors, strict=True))
    peers = {
        "mlx": times_us["mx.quantized_matmul"] / 1e3,
        "torch": times_us["PyTorch, bfloat16"] / 1e3,
    }
    assert ms["threaded"] < peers["torch"], "the text says that the last rung is ahead"
    cycle_ns = measured.example_ns("byte_product")["a thousand cycles", ""] / 1000
    cycles = {
        variant: 2 * ms[variant] / operations / cycle_ns / 1e3 for variant in VARIANTS
    }
    return (
        ms
        | rates
        | named
        | peers
        | {"all": ms["naive"] / ms["threaded"], "cycles": cycles}
    )
