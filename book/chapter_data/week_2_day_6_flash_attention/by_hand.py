"""Four scores, one after the other, and in two pieces."""

import math
from typing import Any

SCORES = (1.0, 3.0, 2.0, 4.0)
VALUES = (10.0, 20.0, 30.0, 40.0)

MORE_SCORES = (2.0, 0.0, 5.0, 3.0)
MORE_VALUES = (30.0, 20.0, 60.0, 50.0)
"""Of the keys that the interactive figure has besides these."""


def one_by_one() -> dict[str, Any]:
    """Go through the keys with a running maximum, and compare with the softmax."""
    top, total, summed = -math.inf, 0.0, 0.0
    rows: list[dict[str, float]] = []
    for score, value in zip(SCORES, VALUES, strict=True):
        new_top = max(top, score)
        shrunk, weight = math.exp(top - new_top), math.exp(score - new_top)
        total, summed = total * shrunk + weight, summed * shrunk + weight * value
        top = new_top
        rows.append(
            {
                "score": score,
                "value": value,
                "top": top,
                "shrunk": shrunk,
                "weight": weight,
                "total": total,
                "sum": summed,
            }
        )
    weights = [math.exp(score - max(SCORES)) for score in SCORES]
    direct = sum(w * v for w, v in zip(weights, VALUES, strict=True)) / sum(weights)
    return {"rows": rows, "y": summed / total, "direct": direct}


def eight_keys() -> dict[str, Any]:
    """Return the keys of the interactive figure, which begin with those of the text."""
    return {"scores": SCORES + MORE_SCORES, "values": VALUES + MORE_VALUES}


def in_pieces() -> dict[str, Any]:
    """Let two pieces collect two keys each, and merge them."""
    pieces = [_piece(slice(0, 2)), _piece(slice(2, 4))]
    top = max(piece["top"] for piece in pieces)
    for piece in pieces:
        piece["share"] = math.exp(piece["top"] - top)
    total = sum(piece["total"] * piece["share"] for piece in pieces)
    summed = sum(piece["sum"] * piece["share"] for piece in pieces)
    return {"each": pieces, "total": total, "sum": summed, "y": summed / total}


def _piece(keys: slice) -> dict[str, float]:
    """Return the maximum, the sum of weights, and the weighted value of some keys."""
    top = max(SCORES[keys])
    weights = [math.exp(score - top) for score in SCORES[keys]]
    summed = sum(w * v for w, v in zip(weights, VALUES[keys], strict=True))
    return {"top": top, "total": sum(weights), "sum": summed}
