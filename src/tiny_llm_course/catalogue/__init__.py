"""Every sentence that a learner reads, one folder per language.

A key names the file and the entry: `say("grading.wrong_dtype", ...)` is the entry
`wrong_dtype` of `en/grading.toml`. Another language is another folder of files. What it
lacks is said in English.
"""

import functools
import tomllib
from pathlib import Path
from typing import Any

from tiny_llm_course.language import ENGLISH, current, folder_of


def say(key: str, **values: object) -> str:
    """Return the sentence under `key`, with `values` filled in.

    Args:
        key: File and entry, with a table between them where the file has tables.
        **values: What stands for the names in braces.
    """
    return str(_entry(key)).strip("\n").format(**values)


def lines(key: str) -> list[str]:
    """Return a list of sentences, such as the hints of a task."""
    entry: list[str] = _entry(key)
    return entry


def has(key: str) -> bool:
    """Tell whether there is anything under `key`."""
    return entry_of(ENGLISH, key) is not None


def _entry(key: str) -> Any:  # noqa: ANN401 - a text or a list
    """Look up a key in the language of now, then in English."""
    for language in (current(), ENGLISH):
        found = entry_of(language, key)
        if found is not None:
            return found
    raise KeyError(key)


def entry_of(language: str, key: str) -> Any:  # noqa: ANN401
    """Return what a language has under `key`: a text, a list, or None for nothing."""
    file, *names = key.split(".")
    entry: Any = sentences(folder_of(language) / f"{file}.toml")
    for name in names:
        if entry is None:
            break
        entry = entry.get(name)
    return entry


@functools.cache
def sentences(path: Path) -> dict[str, Any]:
    """Read a file of sentences. There are none where it is missing."""
    if not path.exists():
        return {}
    return tomllib.loads(path.read_text(encoding="utf-8"))
