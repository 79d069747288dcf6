"""The starter in another language: other docstrings and comments around the same code.

English stands in the reference. What another language has stands in `stubs/` of its
folder, by the keys of `stub_texts`; what it lacks stays English.
"""

import functools
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tiny_llm_course.editing.stub_texts import texts, with_words
from tiny_llm_course.language import ENGLISH, folder_of, languages

Files = Mapping[Path, str]
"""The text of each file of a starter."""


def others() -> list[str]:
    """Return the languages that have stubs of their own, besides English."""
    return [one for one in languages() if one != ENGLISH and own_words(one)]


def english(files: Files) -> dict[str, str]:
    """Return what a starter in English says, by key."""
    return {
        one.key: one.words
        for path, source in files.items()
        for one in texts(source, path.name)
    }


def own_words(language: str) -> dict[str, str]:
    """Return what a language says instead, by key."""
    found = sorted(folder_of(language).glob("stubs/*.toml"))
    return {key: words for path in found for key, words in _read(path).items()}


@functools.cache
def _read(path: Path) -> dict[str, str]:
    found: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))
    return {key: words.strip("\n") for key, words in found.items()}


def translations(files: Files, language: str) -> dict[str, str]:
    """Return what is said in a language, by what all others say in its place.

    Args:
        files: The starter in English.
        language: Any.
    """
    words = {one: own_words(one) for one in others()} | {ENGLISH: english(files)}
    wanted = words.pop(language, {})
    return {
        said: wanted[key]
        for other in words.values()
        for key, said in other.items()
        if key in wanted
    }


def translated(files: Files, language: str) -> dict[Path, str]:
    """Return a starter in a language.

    Args:
        files: The starter in English.
        language: Any.
    """
    if language == ENGLISH:
        return dict(files)
    words = translations(files, language)
    return {path: with_words(text, path.name, words) for path, text in files.items()}


def language_of(files: Files) -> str:
    """Return the language that a learner's files have, going by most of their texts.

    Args:
        files: The starter in English, for its places: the files are read there.
    """
    if not others():
        return ENGLISH
    said = {words for path in files for words in _said_in(path)}
    words = {ENGLISH: english(files)} | {one: own_words(one) for one in others()}
    return max(words, key=lambda one: len(said & set(words[one].values())))


def _said_in(path: Path) -> Iterator[str]:
    """Yield what a file of the learner says, nothing if it cannot be parsed."""
    try:
        source = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
        yield from [one.words for one in texts(source, path.name)]
    except (FileNotFoundError, UnicodeDecodeError, SyntaxError):
        return
