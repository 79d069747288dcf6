"""Reading the JSON files of a checkpoint, which may hold anything."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tiny_llm_course.catalogue import say
from tiny_llm_course.checkpoint.errors import CheckpointError, plain, shown

MAX_TEXT_BYTES = 16 * 2**20
"""Tokenizers of Qwen have up to 11 MB; reading takes up to 50 times the memory."""
MAX_OBJECT_BYTES = 4 * 2**20
MAX_DEPTH = 20
"""Limit for nested settings. Qwen2's are 4 deep; Python's reader fails at 1,000."""


@dataclass(frozen=True)
class Numbers:
    """The range of numbers that an entry may hold.

    Attributes:
        least: The smallest.
        most: The largest.
        whole: Whether only integers are allowed.
    """

    least: float
    most: float
    whole: bool = False

    def __contains__(self, value: object) -> bool:
        """Tell whether a JSON value is such a number. True and NaN are not."""
        if not isinstance(value, int if self.whole else int | float):
            return False
        return not isinstance(value, bool) and self.least <= value <= self.most

    def __str__(self) -> str:
        key = "checkpoint.whole_number" if self.whole else "checkpoint.number"
        return say(key, least=self.least, most=self.most)


def check_files(folder: Path) -> None:
    """Check that the files that libraries open in `folder` are regular and not too big.

    Opening a named pipe would block, and reading a device might never end.

    Raises:
        CheckpointError: Naming the file.
    """
    for path in sorted([*folder.iterdir(), *folder.glob("additional_*/*")]):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise CheckpointError(say("checkpoint.no_file", path=path))
        if path.suffix in {".json", ".jinja", ".txt"}:
            _check_size(path, MAX_TEXT_BYTES)


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON file that holds an object.

    Raises:
        CheckpointError: There is no such file, or it holds something else.
    """
    if not path.exists():
        raise CheckpointError(
            say("checkpoint.missing", folder=path.parent, name=path.name)
        )
    _check_size(path, MAX_OBJECT_BYTES)
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise _too_deep(path) from error
    except (OSError, ValueError) as error:
        got = plain(str(error))
        raise CheckpointError(say("checkpoint.no_json", path=path, got=got)) from error
    if not isinstance(content, dict):
        raise CheckpointError(
            say("checkpoint.no_object", path=path, got=shown(content))
        )
    _check_depth(path, content)
    return content


def read_optional(path: Path) -> dict[str, Any]:
    """Read an optional JSON file; return an empty object if there is none."""
    return read_object(path) if path.exists() else {}


def _check_size(path: Path, most: int) -> None:
    """Check that a file is small enough to be read at once."""
    if path.stat().st_size > most:
        names = {"path": path, "most": most, "got": path.stat().st_size}
        raise CheckpointError(say("checkpoint.too_large", **names))


def _check_depth(path: Path, content: Any) -> None:  # noqa: ANN401
    level: Collection[Any] = [content]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise _too_deep(path)


def _inside(content: Any) -> Collection[Any]:  # noqa: ANN401
    """Return the values in a list or an object."""
    if isinstance(content, dict):
        return content.values()
    return content if isinstance(content, list) else ()


def _too_deep(path: Path) -> CheckpointError:
    return CheckpointError(say("checkpoint.too_deep", path=path, most=MAX_DEPTH))


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN, Infinity and -Infinity, which Python reads but JSON forbids."""
    raise ValueError(name)
