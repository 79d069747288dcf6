"""Applies a record to the reference's own text in Python, and runs changed texts."""

import ast
import functools
import importlib
import math
import warnings
from collections.abc import Sequence
from textwrap import dedent
from types import CodeType
from typing import Any

import mlx.core as mx
import numpy as np
from mlx import nn

from tiny_llm_course.places import REFERENCE
from tiny_llm_course.records.definitions import (
    Definition,
    Function,
    Named,
    bare_definitions,
    name_of,
    with_helpers,
)
from tiny_llm_course.records.replacing import Replacement, replaced
from tiny_llm_course.syllabus import public_names

AT_HAND = {"mx": mx, "nn": nn, "math": math, "np": np}
"""What the text of a record may use besides the names of the file that it changes."""


def changed(name: str, symbol: str, changes: Sequence[Replacement] | str) -> ast.Module:
    """Return the text of a public name and its helpers with a record applied.

    Args:
        name: Of the record.
        symbol: The public name.
        changes: What the record says: what is replaced, or what is written otherwise.
    """
    own = symbol.partition(".")[2]
    if isinstance(changes, str):
        found = _definitions(text_of(symbol))
        _write_otherwise(found, own, dedent(changes))
    else:
        found = _definitions(replaced(name, text_of(symbol), changes))
    used: list[ast.stmt] = [found[one] for one in with_helpers(found, own, ())]
    return ast.Module(used, type_ignores=[])


def made(name: str, symbol: str, changes: Sequence[Replacement] | str) -> Any:  # noqa: ANN401
    """Return the function or class that a record makes of a public name."""
    file, own = symbol.split(".")
    code = compiled(changed(name, symbol, changes), name)
    return run(code, f"{REFERENCE.name}.{file}", own)


def compiled(tree: ast.Module, name: str) -> CodeType:
    """Compile a changed text.

    Args:
        tree: The text.
        name: What to call it.
    """
    with warnings.catch_warnings(action="ignore"):  # of what is wrong on purpose
        return compile(tree, f"<{name}>", "exec")


def run(code: CodeType, module: str, name: str, **besides: object) -> Any:  # noqa: ANN401
    """Return what a name stands for in a changed text.

    Args:
        code: The text, compiled.
        module: Where it comes from: it may use all names of that, and of these the one
            that it takes the place of as `right`.
        name: The function or class.
        **besides: What else it may use.
    """
    own = vars(importlib.import_module(module))
    names = {**AT_HAND, **own, "right": own.get(name), **besides}
    exec(code, names)  # noqa: S102 - our own text, changed by us
    return names[name]


def _definitions(text: str) -> dict[str, Named]:
    """Return the functions and classes of a text by name, bare."""
    return bare_definitions(ast.parse(text))


def _write_otherwise(found: dict[str, Named], own: str, text: str) -> None:
    """Put what a record has written in the place of what the reference has.

    Args:
        found: The definitions of the reference. They are changed.
        own: The public name among them.
        text: A body for it, or whole definitions.
    """
    written = ast.parse(text).body
    definition = found[own]
    assert isinstance(definition, Definition)
    if all(map(name_of, written)):
        others = bare_definitions(ast.Module(written, type_ignores=[]))
        for name, one in others.items():
            if isinstance(definition, ast.ClassDef) and _is_method(one):
                same = [each for each in definition.body if name_of(each) != name]
                definition.body = [*same, one]
            else:
                found[name] = one
    elif isinstance(definition, ast.ClassDef):
        (call,) = (one for one in definition.body if name_of(one) == "__call__")
        assert isinstance(call, Function)
        call.body = written
    else:
        definition.body = written


def _is_method(one: Named) -> bool:
    """Tell whether a definition belongs into a class."""
    arguments = one.args.args if isinstance(one, Function) else []
    return bool(arguments) and arguments[0].arg == "self"


@functools.cache
def text_of(symbol: str) -> str:
    """Return the text of a public name and its helpers, without docstrings."""
    file, name = symbol.split(".")
    source = (REFERENCE / f"{file}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    lines = source.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, Definition) and ast.get_docstring(node):
            first = node.body[0]
            assert first.end_lineno is not None
            for number in range(first.lineno - 1, first.end_lineno):
                lines[number] = ""
            if len(node.body) == 1:
                lines[first.lineno - 1] = " " * first.col_offset + "pass"
    spans = {
        name_of(one): (_first_line(one), one.end_lineno)
        for one in tree.body
        if isinstance(one, Named)
    }
    found = with_helpers(bare_definitions(tree), name, public_names())
    parts = ("\n".join(lines[spans[one][0] - 1 : spans[one][1]]) for one in found)
    return "\n\n\n".join(parts) + "\n"


def _first_line(one: Named) -> int:
    """Return where a definition begins: with the first of its decorators, if any."""
    decorators = one.decorator_list if isinstance(one, Definition) else []
    return min([one.lineno, *(decorator.lineno for decorator in decorators)])
