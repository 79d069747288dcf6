"""Every sentence that a learner reads, one folder per language.

A key names the file and the entry: `say("grading.wrong_dtype", ...)` is the entry
`wrong_dtype` of `en/grading.toml`. Another language is another folder of files.
"""

import functools
import tomllib
from pathlib import Path
from typing import Any

LANGUAGE = "en"


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


def _entry(key: str) -> Any:  # noqa: ANN401 - a text or a list
    file, *names = key.split(".")
    entry: Any = _file(file)
    for name in names:
        entry = entry[name]
    return entry


@functools.cache
def _file(name: str) -> dict[str, Any]:
    path = Path(__file__).parent / LANGUAGE / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))
