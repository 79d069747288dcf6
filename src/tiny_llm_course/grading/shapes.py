"""Runs the types and shapes in annotations at every call."""

from typing import TypeVar

from beartype import BeartypeConf, beartype

T = TypeVar("T")

_CONFIGURATION = BeartypeConf(is_pep484_tower=True)
"""An int is welcome where a float is asked for, as type checkers have it."""


def checked(annotated: T) -> T:
    """Check the annotations of a function or class whenever it is called."""
    return beartype(conf=_CONFIGURATION)(annotated)
