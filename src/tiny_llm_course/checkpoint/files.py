"""Reading the JSON files of a checkpoint."""

import json
from pathlib import Path
from typing import Any

from tiny_llm_course.checkpoint.errors import CheckpointError


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds an object.

    Raises:
        CheckpointError: There is no such file, or it holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"{path.parent}: no {path.name}") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: expected JSON, got {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path}: expected a JSON object, got {content!r:.40}")
    return content


def read_optional(path: Path) -> dict[str, Any]:
    """Read a JSON file that a checkpoint may leave out: an empty object if it does."""
    return read_object(path) if path.exists() else {}
