"""When a draft pays: what a step costs by its tokens, and how many are kept."""

from typing import Any

from tiny_llm_lab import measured
from tiny_llm_lab.bench.models import EMBEDDED_MODEL
from tiny_llm_lab.experiments.draft_arithmetic import kept, speed

LENGTH = 4
"""How many tokens are proposed."""

SHARES = (0.3, 0.5, 0.7, 0.9)
"""How often a proposal is right."""

DRAFT_COST = 0.1
"""What a step of the draft takes, as a part of one of the large model."""

FEW, MANY = 4, 32
"""Texts in a step: a server that is nearly alone, and one that is full."""


def times_as_long(num_texts: int) -> float:
    """Return by how much proposals for all its texts make a step longer."""
    found = sorted(measured.step_ms(EMBEDDED_MODEL).items())
    return _on_line(found, num_texts * (LENGTH + 1)) / _on_line(found, num_texts)


def _on_line(found: list[tuple[int, float]], tokens: int) -> float:
    """Return the milliseconds of a step, on the line between two measured ones."""
    place = max(1, next(i for i, (one, _) in enumerate(found) if one >= tokens))
    (x0, y0), (x1, y1) = found[place - 1], found[place]
    return y0 + (y1 - y0) * (tokens - x0) / (x1 - x0)


def faster(share: float, longer: float, cost: float = DRAFT_COST) -> float:
    """Return how many times as fast a text is with a draft as without."""
    return speed(kept(share, LENGTH), LENGTH, cost, longer)


def draft_numbers() -> dict[str, Any]:
    """Return what a draft brings, by how often it is right and how full a step is."""
    few, many = times_as_long(FEW), times_as_long(MANY)
    rows = [
        {
            "share": share,
            "kept": kept(share, LENGTH),
            "few": faster(share, few),
            "many": faster(share, many),
        }
        for share in SHARES
    ]
    assert rows[0]["few"] < 1 < rows[-1]["few"]
    assert all(row["many"] < row["few"] for row in rows)
    return {
        "length": LENGTH,
        "cost": DRAFT_COST,
        "few": FEW,
        "many": MANY,
        "few_tokens": FEW * (LENGTH + 1),
        "many_tokens": MANY * (LENGTH + 1),
        "longer_few": few,
        "longer_many": many,
        "rows": rows,
        "itself": faster(1.0, few, cost=1.0),
    }
