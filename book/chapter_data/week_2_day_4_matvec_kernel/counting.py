"""Bytes, registers and instructions."""

from typing import Any

ROWS, COLUMNS, GROUP_SIZE = 4864, 896, 64


def qwen2_matrix() -> dict[str, Any]:
    """Count the gate of Qwen2-0.5B's MLP in 4 bits."""
    weights = ROWS * COLUMNS
    return {
        "rows": ROWS,
        "columns": COLUMNS,
        "weights": weights,
        "words": weights // 8,
        "groups": weights // GROUP_SIZE,
        "groups_of_a_row": COLUMNS // GROUP_SIZE,
        "mb": (weights / 2 + 2 * 2 * weights / GROUP_SIZE) / 1e6,
        "mb_float32_scales": (weights / 2 + 2 * 4 * weights / GROUP_SIZE) / 1e6,
    }


def registers() -> dict[str, Any]:
    """Count what fits into a register, and the most that a group can come to."""
    return {
        "floats_128": 128 // 32,
        "bytes_512": 512 // 8,
        "floats_512": 512 // 32,
        "largest_dot": 255 * 127 * 128,
        "float_exact": 2**24,
    }
