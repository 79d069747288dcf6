"""What may go wrong with a function as a whole."""

import ast
import copy
import itertools
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from tiny_llm_course.composed_mistakes.tables import FAMILIES, TOGETHER, USUAL_VALUES

Changed = tuple[ast.FunctionDef, str, dict[str, str]]
"""A function, the kind of what is wrong with it, and the words for that."""

LIMITS = (10, 20, 30, 50, 80, 88, 100)
"""Where somebody cuts off who fears that `exp` overflows."""

FURTHEST = 3
"""So many lines too late or too early may one stand."""


def changed_functions(
    function: ast.FunctionDef, known: AbstractSet[str]
) -> Iterator[Changed]:
    """Yield a function with what may go wrong in all of it.

    Args:
        function: The right one.
        known: Names that occur in its text.
    """
    yield from _exchanges(function, known)
    yield from _fixed(function)
    yield from _defaults(function)
    yield from _added(function)
    yield from _orders(function)
    yield from _cut_off(function)
    yield from _widened(function)


def _exchanges(function: ast.FunctionDef, known: AbstractSet[str]) -> Iterator[Changed]:
    """Yield two names of one kind that are taken for each other all along."""
    pairs = [
        ((a, b),)
        for family in FAMILIES
        for a, b in itertools.combinations(sorted(known & set(family)), 2)
    ]
    read = {
        getattr(node, "id", "") or getattr(node, "attr", "")
        for node in ast.walk(function)
        if isinstance(getattr(node, "ctx", None), ast.Load)
    }
    for exchanged in (*pairs, *TOGETHER):
        if not all(read & set(pair) for pair in exchanged):
            continue
        changed = copy.deepcopy(function)
        for a, b in exchanged:
            changed = Exchange(a, b).visit(changed)
        a, b = exchanged[0]
        yield changed, "exchanged", {"a": f"`{a}`", "b": f"`{b}`"}


def _fixed(function: ast.FunctionDef) -> Iterator[Changed]:
    """Yield arguments that are not looked at."""
    for name, default in _arguments(function):
        values: dict[Any, None] = dict.fromkeys(USUAL_VALUES.get(name, ()))
        if isinstance(default, ast.Constant):
            values[default.value] = None
        for value in values:
            first = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))
            words = {"what": f"`{name}`", "got": _shown(value)}
            yield _with_body(function, [first, *function.body]), "fixed", words


def _defaults(function: ast.FunctionDef) -> Iterator[Changed]:
    """Yield other defaults."""
    for place, default in enumerate(function.args.defaults):
        value = getattr(default, "value", None)
        if isinstance(value, bool):
            others: list[float] = [not value]
        elif isinstance(value, int | float):
            factors = (2, 4, 10, 100)
            scaled = [value * one for one in factors] + [value / one for one in factors]
            others = [type(value)(one) for one in (*scaled, 0, 1) if one != value]
        else:
            continue
        own = function.args.args[place - len(function.args.defaults)].arg
        for other in others:
            changed = copy.copy(function)
            changed.args = copy.copy(function.args)
            changed.args.defaults = list(function.args.defaults)
            changed.args.defaults[place] = ast.Constant(other)
            words = {"got": _shown(other), "expected": _shown(value)}
            yield changed, "default", {"what": f"`{own}`", **words}


def _added(function: ast.FunctionDef) -> Iterator[Changed]:
    """Yield a result to which an argument is added."""
    for name, _ in _arguments(function)[:1]:
        changed = copy.deepcopy(function)
        for node in ast.walk(changed):
            if isinstance(node, ast.Return) and node.value:
                node.value = ast.BinOp(
                    ast.Name(name, ast.Load()), ast.Add(), node.value
                )
        yield changed, "added", {"what": f"`{name}`"}


def _cut_off(function: ast.FunctionDef) -> Iterator[Changed]:
    """Yield a function that is kept from large entries."""
    if [name for name, _ in _arguments(function)][:1] != ["x"]:
        return
    for limit in LIMITS:
        cut = ast.parse(f"x = mx.clip(x, -{limit}, {limit})").body
        words = {"what": "`x`", "got": str(limit)}
        yield _with_body(function, [*cut, *function.body]), "cut_off", words


def _widened(function: ast.FunctionDef) -> Iterator[Changed]:
    """Yield a function whose first argument is cast for good."""
    for name, _ in _arguments(function)[:1]:
        cast = ast.parse(f"{name} = {name}.astype(mx.float32)").body
        yield _with_body(function, [*cast, *function.body]), "in_float32", {}


def _orders(function: ast.FunctionDef) -> Iterator[Changed]:
    """Yield lines that stand too early or too late."""
    body = function.body
    for place, line in enumerate(body[:-1]):
        rest = [*body[:place], *body[place + 1 :]]
        first, last = max(0, place - FURTHEST), min(len(body) - 1, place + FURTHEST + 1)
        for other in range(first, last):
            if other == place:
                continue
            kind = "too_early" if other < place else "too_late"
            moved = _with_body(function, [*rest[:other], line, *rest[other:]])
            yield moved, kind, {"what": _what_it_does(line)}


def _what_it_does(line: ast.stmt) -> str:
    """Return what a line sets, or else how it begins."""
    if isinstance(line, ast.Assign):
        return f"`{ast.unparse(line.targets[0]).removeprefix('self.')}`"
    if isinstance(line, ast.AugAssign):
        return f"`{ast.unparse(line.target).removeprefix('self.')}`"
    return f"`{ast.unparse(line).splitlines()[0].removeprefix('self.')}`"


def _arguments(function: ast.FunctionDef) -> list[tuple[str, ast.expr | None]]:
    """Return the names of what a function is called with, and their defaults."""
    names = [one.arg for one in function.args.args]
    defaults = function.args.defaults
    rest: list[ast.expr | None] = [None] * (len(names) - len(defaults))
    both = zip(names, [*rest, *defaults], strict=True)
    return [(name, default) for name, default in both if name != "self"]


def _with_body(function: ast.FunctionDef, body: list[ast.stmt]) -> ast.FunctionDef:
    """Return a function with other lines in it."""
    changed = copy.copy(function)
    changed.body = body
    return changed


def _shown(value: object) -> str:
    """Write a number or a word as code."""
    shown = f"{value:g}" if isinstance(value, float) else repr(value)
    return f"`{shown}`"


@dataclass
class Exchange(ast.NodeTransformer):
    """Put two names in the place of each other wherever they are read.

    Attributes:
        a: The one.
        b: The other.
    """

    a: str
    b: str

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Exchange a variable."""
        if isinstance(node.ctx, ast.Load):
            node.id = self._other(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        """Exchange an attribute."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.attr = self._other(node.attr)
        return node

    def _other(self, name: str) -> str:
        return {self.a: self.b, self.b: self.a}.get(name, name)
