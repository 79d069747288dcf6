"""All that is said to learners outside of the book, by key: what a language translates.

A key of the catalogue is that of `say`, with the place in a list behind it; what the
starter says has the keys of `editing.stub_texts`, below `stubs/`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tiny_llm_course.catalogue import sentences
from tiny_llm_course.editing import starter
from tiny_llm_course.editing.translation import english, own_words
from tiny_llm_course.language import ENGLISH, folder_of
from tiny_llm_course.places import Checkout, here

NOT_SAID = "patterns"
"""A list of the catalogue with what programs look for."""


def units(language: str, checkout: Checkout | None = None) -> Mapping[str, str]:
    """Return all that a language says, by key. English has all that there is to say.

    Args:
        language: One of `language.languages()`.
        checkout: Where the reference is, whose docstrings are the English ones.
    """
    if language == ENGLISH:
        stubs = english(starter.files(checkout or here()))
    else:
        stubs = own_words(language)
    said: dict[str, str] = {}
    for path in sorted(folder_of(language).glob("*.toml")):
        said |= of_file(path)
    return said | {f"stubs/{key}": words for key, words in stubs.items()}


def of_file(path: Path) -> dict[str, str]:
    """Return what a file of the catalogue says, by key."""
    return dict(_flat(path.stem, sentences(path)))


def _flat(key: str, entry: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - of TOML
    """Yield the texts in a part of the catalogue."""
    if isinstance(entry, str):
        yield key, entry.strip("\n")
    elif isinstance(entry, dict):
        for name, part in entry.items():
            if name != NOT_SAID:
                yield from _flat(f"{key}.{name}", part)
    else:
        for place, part in enumerate(entry):
            yield from _flat(f"{key}.{place}", part)
