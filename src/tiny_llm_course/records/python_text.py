"""Applies a record to the reference's own text in Python."""

import ast
import functools
import importlib
import math
import warnings
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.places import REFERENCE
from tiny_llm_course.records.definitions import bare_definitions, with_helpers
from tiny_llm_course.records.replacing import Replacement, replaced
from tiny_llm_course.syllabus import public_names

AT_HAND = {"mx": mx, "math": math, "np": np}
"""What the text of a record may use besides the names of the file that it changes."""


def changed(name: str, symbol: str, changes: Sequence[Replacement]) -> ast.Module:
    """Return the text of a public name and its helpers with a record applied.

    Args:
        name: Of the record.
        symbol: The public name.
        changes: What the record says.
    """
    text = replaced(name, text_of(symbol), changes)
    bare = bare_definitions(ast.parse(text))
    return ast.Module(list(bare.values()), type_ignores=[])


def made(name: str, symbol: str, changes: Sequence[Replacement]) -> Any:  # noqa: ANN401
    """Return the function or class that a record makes of a public name."""
    file, own = symbol.split(".")
    with warnings.catch_warnings(action="ignore"):  # of what is wrong on purpose
        code = compile(changed(name, symbol, changes), f"<{name}>", "exec")
    names = {**AT_HAND, **vars(importlib.import_module(f"{REFERENCE.name}.{file}"))}
    exec(code, names)  # noqa: S102 - our own text, changed by us
    return names[own]


@functools.cache
def text_of(symbol: str) -> str:
    """Return the text of a public name and its helpers, without docstrings."""
    file, name = symbol.split(".")
    source = (REFERENCE / f"{file}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    lines = source.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            first = node.body[0]
            assert first.end_lineno is not None
            for number in range(first.lineno - 1, first.end_lineno):
                lines[number] = ""
            if len(node.body) == 1:
                lines[first.lineno - 1] = " " * first.col_offset + "pass"
    spans = {
        one.name: (one.lineno, one.end_lineno)
        for one in tree.body
        if isinstance(one, ast.FunctionDef | ast.ClassDef)
    }
    found = with_helpers(bare_definitions(tree), name, public_names())
    parts = ("\n".join(lines[spans[one][0] - 1 : spans[one][1]]) for one in found)
    return "\n\n\n".join(parts) + "\n"
