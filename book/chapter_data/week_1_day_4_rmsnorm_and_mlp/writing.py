"""How the numbers of this chapter are written."""

from collections.abc import Sequence

import mlx.core as mx
import numpy as np


def scientific(value: float) -> str:
    """Write a small number in TeX, as 6.0 x 10^-8."""
    digits, exponent = f"{value:.1e}".split("e")
    return rf"{digits} \times 10^{{{int(exponent)}}}"


def listed(
    values: Sequence[float] | np.ndarray | mx.array,
    digits: int = 4,
    *,
    fixed: bool = False,
) -> str:
    """Write a vector: (-0.2, 1, 1.4, 1).

    Args:
        values: Its entries.
        digits: Significant ones, or those behind the point.
        fixed: The latter.
    """
    kind = f".{digits}f" if fixed else f".{digits}g"
    plain = [round(float(value), 6) + 0.0 for value in values]  # -0.0 becomes 0.0
    return f"({', '.join(format(value, kind) for value in plain)})"
