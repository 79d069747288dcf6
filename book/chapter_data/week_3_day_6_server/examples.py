"""What the examples of known mistakes may call."""

import json
from typing import Any

from tiny_llm_course.grading.scenarios.scripted_engine import ChatTokenizer
from tiny_llm_ref.fields import BadRequestError, RefusedError


def told(read: Any, body: bytes | str) -> Any:  # noqa: ANN401 - of a solution
    """Return what comes of a body, or the name of the error."""
    try:
        return read(body if isinstance(body, bytes) else body.encode())
    except Exception as error:  # noqa: BLE001 - a wrong solution's
        return type(error).__name__


def asked(parse: Any, field: str, **more: Any) -> Any:  # noqa: ANN401 - of a solution
    """Return a parameter that comes of a body, or the name of the error."""
    least = {"model": "tiny", "prompt": "Hi"}
    if "chat" in parse.__name__:
        least = {"model": "tiny", "messages": [{"role": "user", "content": "Hi"}]}
    try:
        found = parse(json.dumps({**least, **more}).encode(), ChatTokenizer())
    except Exception as error:  # noqa: BLE001 - a wrong solution's
        return type(error).__name__
    return getattr(found, field, None) or getattr(found.params, field, None)


def examples() -> dict[str, Any]:
    """Return what the examples may call."""
    error = RefusedError("n: odd", status=503, code="odd", param="n")
    return {"told": told, "asked": asked, "error": error, "B": BadRequestError}
