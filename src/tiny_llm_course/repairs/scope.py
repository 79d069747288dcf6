"""The names that a learner may use at a place in their text."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tiny_llm_course.composed_mistakes.text import Slot, Text, slots


@dataclass(frozen=True)
class Scope:
    """What a function can read.

    Attributes:
        parameters: Its parameters, without `self`.
        variables: What it assigns.
        attributes: What its class assigns to `self`.
        unread: Those of the first two that it never reads.
    """

    parameters: tuple[str, ...]
    variables: tuple[str, ...]
    attributes: tuple[str, ...]
    unread: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters and variables."""
        return tuple(dict.fromkeys((*self.parameters, *self.variables)))

    def values(self) -> Iterator[ast.expr]:
        """Yield an expression for each value, those first that are never read."""
        for name in sorted(self.names, key=lambda one: one not in self.unread):
            yield ast.Name(name, ast.Load())
        for name in self.attributes:
            yield ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())


def places(text: Text) -> Iterator[tuple[Slot, Scope]]:
    """Yield each place of a text with what may be read there."""
    for one in text.tree.body:
        attributes = tuple(dict.fromkeys(_attributes(one)))
        for function in _functions(one):
            scope = _scope(function, attributes)
            for slot in slots(function):
                yield slot, scope


def _functions(definition: ast.stmt) -> Iterator[ast.FunctionDef]:
    """Yield a function, or the methods of a class."""
    if isinstance(definition, ast.FunctionDef):
        yield definition
    elif isinstance(definition, ast.ClassDef):
        for one in definition.body:
            yield from _functions(one)


def _attributes(definition: ast.AST) -> Iterator[str]:
    """Yield what is assigned to `self`."""
    for node in ast.walk(definition):
        match node:
            case ast.Attribute(ast.Name("self"), name, ast.Store()):
                yield name
            case _:
                pass


def _scope(function: ast.FunctionDef, attributes: tuple[str, ...]) -> Scope:
    """Return what a function can read."""
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name)]
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
    arguments = function.args
    parameters = [one.arg for one in (*arguments.args, *arguments.kwonlyargs)]
    parameters = [one for one in parameters if one != "self"]
    variables = [one.id for one in names if isinstance(one.ctx, ast.Store)]
    unread = {*parameters, *variables} - read
    known = tuple(dict.fromkeys(variables))
    return Scope(tuple(parameters), known, attributes, frozenset(unread))
