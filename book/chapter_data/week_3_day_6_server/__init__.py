"""Week 3, day 6: what a server of ours sends, and what clients learn of errors."""

from collections.abc import Mapping, Sequence
from typing import Any

from .examples import examples as examples
from .talks import refusals, streams


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    chunks = streams()["usage"]
    return {
        "num_events": len(chunks),
        "num_with_text": sum(bool(one["content"]) for one in chunks),
    }


def tables() -> Mapping[str, Sequence[Sequence[str]]]:
    """Return what the real client raises for some requests."""
    return {"refusals": refusals()}


def data() -> dict[str, Any]:
    """Return what the interactive figure shows."""
    return {"events-of-a-stream": streams()}
