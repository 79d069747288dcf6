"""Checks the types and shapes in annotations at every call."""

from typing import Any

from beartype import BeartypeConf, beartype

_CONFIGURATION = BeartypeConf(is_pep484_tower=True)
"""An int is accepted for a float, as in type checkers."""


def checked(annotated: Any) -> Any:  # noqa: ANN401 - a function or a class
    """Check the annotations of a function or class whenever it is called."""
    return beartype(conf=_CONFIGURATION)(annotated)
