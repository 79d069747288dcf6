"""What may go wrong at a place of the reference's text."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from tiny_llm_course.composed_mistakes import (
    calls,
    lines,
    operations,
    statements,
    values,
    whole,
)
from tiny_llm_course.composed_mistakes.change import Change, Place
from tiny_llm_course.composed_mistakes.text import Text, slots

OF_KIND: dict[type[ast.AST], Callable[[Place, Any], Iterator[Change]]] = {
    ast.Call: calls.calls,
    ast.BinOp: operations.operations,
    ast.UnaryOp: operations.signs,
    ast.Compare: operations.comparisons,
    ast.BoolOp: operations.questions,
    ast.IfExp: operations.choices,
    ast.Constant: values.constants,
    ast.Name: values.names,
    ast.Attribute: values.names,
    ast.Slice: values.slices,
    ast.Subscript: values.subscripts,
    ast.Return: lines.returns,
}
"""What may stand at a place, by the kind of what should be there."""


def changes_of(text: Text) -> Iterator[Change]:
    """Yield all that may go wrong in a text, one at a time."""
    parameters, known = frozenset(text.parameters), frozenset(text.names)
    for slot in slots(text.tree):
        yield from changes_at(Place(slot, parameters, known))


def changes_at(place: Place) -> Iterator[Change]:
    """Yield all that may stand at one place."""
    node = place.slot.node
    if type(node) in OF_KIND:
        yield from OF_KIND[type(node)](place, node)
    elif isinstance(node, ast.FunctionDef):
        for changed, kind, words in whole.changed_functions(node, place.known):
            yield place.change(changed, kind, **words)
    elif isinstance(node, ast.stmt):
        yield from lines.lines(place, node)
    for changed, kind, what in statements.wrong_statements(node):
        words = what if isinstance(what, str) else place.named(what)
        yield place.change(changed, kind, what=words)
