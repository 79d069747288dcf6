"""Templates: `(a|b)` is a choice, `{slot}` is filled in."""

import random
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from math import prod
from typing import Any

CHOICE = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
SLOT = re.compile(r"\{(\w+)\}")


def read_toml(name: str) -> dict[str, Any]:
    """Read one of the text files that lie beside this module."""
    source = resources.files("tiny_llm_lab.corpus") / name
    return tomllib.loads(source.read_text(encoding="utf-8"))


def expand(template: str, slots: Mapping[str, str], rng: random.Random) -> str:
    """Choose one alternative of each `(a|b)`, then fill each `{slot}`."""
    chosen = CHOICE.sub(lambda match: rng.choice(match[1].split("|")), template)
    return SLOT.sub(lambda match: slots[match[1]], chosen)


def count(template: str) -> int:
    """Count the ways to choose in `template`, whatever fills its slots."""
    return prod(len(match[1].split("|")) for match in CHOICE.finditer(template))


def slots_of(*templates: str) -> set[str]:
    """Name the slots that occur in any of `templates`."""
    return {name for template in templates for name in SLOT.findall(template)}


def with_article(words: str) -> str:
    """Put "a" or "an" before `words`, by their first letter."""
    return ("an " if words[0].lower() in "aeio" else "a ") + words


def capitalised(text: str) -> str:
    """Make the first letter of `text` a capital and leave the others alone."""
    return text[:1].upper() + text[1:]
