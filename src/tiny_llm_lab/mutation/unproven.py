"""Mutants that no test can reject, and why: `equivalent_python.toml`."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("equivalent_python.toml")


@dataclass(frozen=True)
class Group:
    """Mutants of one public name that do what it promises, all for one reason.

    Attributes:
        day: Where they pass every test, such as "week 1, day 1".
        symbol: The public name.
        reason: Why they keep every promise.
        mutants: Their names.
        unchanged: What is not changed at all on that day: functions and classes by
            their names, other statements by their first lines.
        besides: What else of its file is changed on that day.
    """

    day: str
    symbol: str
    reason: str
    mutants: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()

    @property
    def keys(self) -> set[str]:
        """What tells its mutants from all others."""
        return {f"{self.symbol}: {name}" for name in self.mutants}


@functools.cache
def groups() -> tuple[Group, ...]:
    """Read the list."""
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))["groups"]
    return tuple(map(_group, entries))


def _group(entry: dict[str, Any]) -> Group:
    """Read one entry."""
    for name in ("mutants", "unchanged", "besides"):
        entry[name] = tuple(entry.get(name, ()))
    return Group(**entry)


def equivalent(day: str) -> set[str]:
    """Return the keys of the mutants of a day that are listed."""
    return set[str]().union(*(one.keys for one in groups() if one.day == day))


def left_out(day: str, symbol: str) -> frozenset[str]:
    """Return what is not changed under a name on a day."""
    return frozenset(name for one in _of(day, symbol) for name in one.unchanged)


def besides(day: str, symbol: str) -> frozenset[str]:
    """Return what else of its file is changed under a name on a day."""
    return frozenset(name for one in _of(day, symbol) for name in one.besides)


def _of(day: str, symbol: str) -> list[Group]:
    """Return what is listed of a name on a day."""
    return [one for one in groups() if (one.day, one.symbol) == (day, symbol)]
