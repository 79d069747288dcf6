"""What the figure of the tiles starts from: matrices, and registers of processors."""

from typing import Any

from .counting import GROUP, INPUTS, OUTPUTS

HIDDEN, KEYS, VOCABULARY = INPUTS, 128, 151936

MATRICES = {
    "key": (HIDDEN, KEYS),
    "query": (HIDDEN, HIDDEN),
    "gate": (HIDDEN, OUTPUTS),
    "down": (OUTPUTS, HIDDEN),
    "head": (HIDDEN, VOCABULARY),
}
"""Inputs and outputs of the matrices of Qwen2-0.5B."""

REGISTERS = {
    "AVX512": {"count": 32, "bytes": 64},
    "AVX2": {"count": 16, "bytes": 32},
    "NEON": {"count": 32, "bytes": 16},
}


def figure_data() -> dict[str, Any]:
    """Return sizes, and the bytes of a weight with its share of scale and bias."""
    return {
        "matrices": MATRICES,
        "registers": REGISTERS,
        "weight_bytes": (4 + 2 * 16 / GROUP) / 8,
    }
