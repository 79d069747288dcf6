"""What the examples of known mistakes may call."""

from typing import Any

from tiny_llm_course.grading.scenarios.streams import PiecesTokenizer
from tiny_llm_ref.request import SamplingParams


def shown(stream: Any, *tokens: str | bytes, stop: tuple[str, ...] = ()) -> list[str]:  # noqa: ANN401
    """Return what a stream shows for each token, and at the end."""
    pieces = [one.encode() if isinstance(one, str) else one for one in tokens]
    found = stream(PiecesTokenizer(pieces), stop)
    return [*map(found.push, range(len(pieces))), found.finish()]


def examples() -> dict[str, Any]:
    """Return what the examples may call."""
    return {"shown": shown, "SamplingParams": SamplingParams}
