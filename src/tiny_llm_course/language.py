"""The language that learners read: chosen, remembered, that of the locale, or English.

A language is a folder of sentences, in the catalogue or in the folder that the
environment variable TINY_LLM_LANGUAGES names. Processes that the course starts speak
the same language, since the choice is a variable of the environment.
"""

import contextlib
import functools
import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path

ENGLISH = "en"
"""Every sentence is written in it. What another language lacks is read in English."""

SETTING = "TINY_LLM_LANG"
FURTHER = "TINY_LLM_LANGUAGES"

LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The first of them that is set counts, as for all programs."""

CATALOGUE = Path(__file__).with_name("catalogue")

REMEMBERED = ".language"
"""A file of the checkout: the language that a command was last asked for."""


def current() -> str:
    """Return the language to speak now.

    A choice that does not exist counts as none: commands refuse it when they start.
    """
    return next(filter(None, map(known, _wishes())), ENGLISH)


def _wishes() -> Iterator[str]:
    """Yield what may name the language, the first that exists counts."""
    yield os.environ.get(SETTING, "")
    yield _remembered()
    yield next(filter(None, map(os.environ.get, LOCALE)), "")


def memory() -> Path:
    """Return the file of the checkout to work on, which `places` reads more of."""
    return Path(
        os.environ.get("TINY_LLM_HOME") or Path(__file__).parents[2], REMEMBERED
    )


def _remembered() -> str:
    """Return what the learner has chosen for this checkout, or an empty text."""
    try:
        return memory().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def remember(language: str) -> None:
    """Keep a choice for this checkout, so that it need not be typed again.

    Where nothing can be written, the choice counts this once.

    Args:
        language: One of `languages()`.
    """
    if language != _remembered():
        with contextlib.suppress(OSError):
            memory().write_text(f"{language}\n", encoding="utf-8")


def chosen() -> str | None:
    """Return the language of the setting, if it is one."""
    return known(os.environ.get(SETTING, ""))


def unknown_choice() -> str | None:
    """Return the setting if there is one, and no such language."""
    setting = os.environ.get(SETTING, "")
    return setting if setting and not known(setting) else None


def known(name: str) -> str | None:
    """Return the language that a name of a locale means, if there is one.

    Args:
        name: As in `zh_CN.UTF-8`, or `zh`. The country counts where it has its own.
    """
    whole = re.split(r"[.@]", name)[0].replace("-", "_")
    own = (whole, whole.partition("_")[0])
    return next((one for one in own if one in languages()), None)


def languages() -> tuple[str, ...]:
    """Return all languages, English first."""
    return tuple(_folders(os.environ.get(FURTHER, "")))


def folder_of(language: str) -> Path:
    """Return the folder with the sentences of a language."""
    return _folders(os.environ.get(FURTHER, ""))[language]


@functools.cache
def _folders(further: str) -> dict[str, Path]:
    """Return the folder of each language.

    Args:
        further: A folder with languages that the catalogue has not, or an empty text.
    """
    places = [CATALOGUE, *([Path(further)] if further else [])]
    found = {
        path.parent.name: path.parent
        for place in places
        for path in sorted(place.glob("*/grading.toml"))
    }
    return {ENGLISH: found.pop(ENGLISH), **found}


@contextlib.contextmanager
def speaking(language: str | None) -> Generator[None]:
    """Choose a language for this process and those that it starts, for a while.

    Args:
        language: Its name, or None to leave the choice as it is.
    """
    before = os.environ.get(SETTING)
    if language is not None:
        os.environ[SETTING] = language
    try:
        yield
    finally:
        if before is not None:
            os.environ[SETTING] = before
        elif language is not None:
            del os.environ[SETTING]
