"""Mutants of the reference's Python: its text, but for one change at one place."""

import ast
import copy
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, UnionType
from typing import TypeVar

from tiny_llm_course.composed_mistakes.change import Place
from tiny_llm_course.composed_mistakes.changes import changes_at
from tiny_llm_course.composed_mistakes.tables import OTHER_COMPARISONS
from tiny_llm_course.composed_mistakes.text import (
    Definition,
    Slot,
    Text,
    text_of,
    whole_text_of,
)
from tiny_llm_course.specimens import Overlay

T = TypeVar("T")

LONGEST, CONTEXT = 120, 12
"""Characters of a line that is shown whole, and beside a change in a longer one."""

MADE_BY_PEOPLE = frozenset(
    {
        *("added_twice", "as_numpy", "brackets", "inside", "last_position", "one_off"),
        *("neighbours", "other_axis", "replaced", "transposed", "unit"),
        *("added", "as_stored", "axes_in_front", "axes_joined", "axis_after_the_first"),
        *("axis_at_the_end", "axis_in_front", "behind_the_loop", "besides", "columns"),
        *("cut_off", "default", "divided_twice", "fixed", "inside_the_loop"),
        *("joined_otherwise", "late_in_the_loop", "no_method", "none", "not_asked"),
        *("not_returned", "of_one_model", "small_number", "so_many_axes", "squeezed"),
        *("too_early", "too_late", "whole"),
    }
)
"""Kinds of composed changes that are larger than those of a machine."""

DTYPES = ("float32", "float16", "bfloat16", "uint32", "int32")

COMPARISONS = OTHER_COMPARISONS | {
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.NotIn: (ast.In,),
}


@dataclass(frozen=True, eq=False)
class Mutant:
    """A public name of the reference with one change.

    Attributes:
        symbol: The public name.
        name: The lines that have changed, before and after: it outlives any change
            elsewhere. The second of a kind ends in "(2)".
        code: The text, compiled.
    """

    symbol: str
    name: str
    code: CodeType

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return f"{self.symbol}: {self.name}"

    def as_solution(self) -> Overlay:
        """Return the reference with this name replaced. What it raises is its own."""
        text = whole_text_of(self.symbol)
        assert text is not None
        return Overlay(self.symbol, text.run(self.code))


def mutants_of(
    symbol: str,
    left_out: frozenset[str] = frozenset(),
    besides: frozenset[str] = frozenset(),
) -> list[Mutant]:
    """Return all mutants of a public name: no two of them are the same text.

    A helper is changed for all that the name uses of its file, as in a learner's file.

    Args:
        symbol: The public name.
        left_out: What is not changed: functions and classes by their names, other
            statements by their first lines.
        besides: What else of its file is changed: functions and classes that it uses.
    """
    own, text = text_of(symbol), whole_text_of(symbol)
    if own is None or text is None:
        return []
    others = _names_in(text) - _names_in(own) - besides
    before = ast.unparse(text.tree)
    seen, counts = {before}, Counter[str]()
    found: list[Mutant] = []
    parameters, known = frozenset(own.parameters), frozenset(own.names)
    for slot in list(_places(text.tree, left_out | others)):
        alternatives = changes_at(Place(slot, parameters, known))
        changed = (one.node for one in alternatives if one.kind not in MADE_BY_PEOPLE)
        for node in itertools.chain(changed, _others(slot.node)):
            after, code = _with(text, slot, node)
            if code is None or after in seen:
                continue
            seen.add(after)
            name = _difference(before, after)
            counts[name] += 1
            again = f" ({counts[name]})" if counts[name] > 1 else ""
            found.append(Mutant(symbol, name + again, code))
    return found


def _with(text: Text, slot: Slot, node: ast.AST) -> tuple[str, CodeType | None]:
    """Return a text with something else at one place, and compiled if it can be."""
    own = slot.node
    slot.put(node)
    try:
        return ast.unparse(text.tree), text.compiled()
    except (SyntaxError, TypeError, ValueError):
        return "", None  # it makes no program
    finally:
        slot.put(own)


def helpers_of(symbol: str) -> frozenset[str]:
    """Return what else of its file a public name uses, but for other public names."""
    text = text_of(symbol)
    return frozenset(_names_in(text) - {text.name} if text else ())


def _names_in(text: Text) -> set[str]:
    """Return the functions and classes of a text."""
    return {one.name for one in text.tree.body if isinstance(one, Definition)}


def _difference(before: str, after: str) -> str:
    """Return the lines in which two texts differ, before and after."""
    old, new = before.splitlines(), after.splitlines()
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    if len(old) == len(new) and sorted(old) != sorted(new):
        pairs = zip(old, new, strict=True)
        return "; ".join(_shown(*pair) for pair in pairs if pair[0] != pair[1])
    return " => ".join("; ".join(map(str.strip, lines)) for lines in (old, new))


def _shown(old: str, new: str) -> str:
    """Show two lines, or of long ones the places where they differ."""
    if len(old) <= LONGEST:
        return f"{old.strip()} => {new.strip()}"
    start = _num_shared(old, new)
    num_after = _num_shared(old[start:][::-1], new[start:][::-1])
    first = max(old.rfind(" ", 0, start - CONTEXT) + 1, 0)
    rest = max(num_after - CONTEXT, 0)
    return " => ".join(f"...{one[first : len(one) - rest]}..." for one in (old, new))


def _num_shared(a: str, b: str) -> int:
    """Return with how many characters both texts begin."""
    pairs = enumerate(zip(a, b, strict=False))
    return next((i for i, (one, other) in pairs if one != other), min(len(a), len(b)))


def _places(parent: ast.AST, left_out: set[str] | frozenset[str]) -> Iterator[Slot]:
    """Yield all places that have a promise to keep: errors have none."""
    for field, value in ast.iter_fields(parent):
        if field in {"decorator_list", "annotation"}:
            continue
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(node, ast.AST) or _refuses(node):
                continue
            if isinstance(node, ast.stmt) and called(node) in left_out:
                continue
            yield Slot(parent, field, index if isinstance(value, list) else None)
            yield from _places(node, left_out)


def called(node: ast.stmt) -> str:
    """Return what a list calls a statement: its name, or else its first line."""
    if isinstance(node, Definition):
        return node.name
    return ast.unparse(node).partition("\n")[0]


def _refuses(node: ast.AST) -> bool:
    """Tell whether a statement only checks what it is given."""
    if isinstance(node, ast.If):
        return all(isinstance(one, ast.Raise) for one in node.body)
    return isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr)


def _others(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node, besides what composing has."""
    if isinstance(node, ast.stmt):
        yield from _other_statements(node)
    elif isinstance(node, ast.BoolOp | ast.UnaryOp | ast.Compare):
        yield from _other_conditions(node)
    elif isinstance(node, ast.Attribute | ast.Constant | ast.arguments):
        yield from _other_values(node)
    else:
        yield from _other_operands(node)


def _other_conditions(
    node: ast.BoolOp | ast.UnaryOp | ast.Compare,
) -> Iterator[ast.AST]:
    """Yield what else may be asked."""
    match node:
        case ast.BoolOp(op, values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield ast.BoolOp(other, values)
            for rest in _without_one(values):
                yield ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Compare(left, ops, comparators):
            for i, op in enumerate(ops):
                for other in COMPARISONS.get(type(op), ()):
                    changed = [*ops[:i], other(), *ops[i + 1 :]]
                    yield ast.Compare(left, changed, comparators)
        case _:
            pass


def _other_values(
    node: ast.Attribute | ast.Constant | ast.arguments,
) -> Iterator[ast.AST]:
    """Yield other dtypes, texts and defaults."""
    match node:
        case ast.Attribute(value, name, ast.Load()):
            for other in DTYPES if name in DTYPES else ():
                yield ast.Attribute(value, other, ast.Load())
            if name == "dtype":
                yield ast.Attribute(ast.Name("mx", ast.Load()), DTYPES[0], ast.Load())
        case ast.Constant(None):
            yield ast.Constant(0)
        case ast.Constant(str() as words):
            yield ast.Constant(f"{words}_")
        case ast.arguments():
            for i in range(len(node.defaults)):
                required = copy.copy(node)
                required.defaults = node.defaults[i + 1 :]
                yield required
        case _:
            pass


def _other_operands(node: ast.AST) -> Iterator[ast.AST]:
    """Yield other orders of operations, fewer arguments, and the whole for a part."""
    match node:
        case ast.BinOp():
            yield from _other_orders(node)
        case ast.Call(function, arguments, keywords):
            for rest in _without_one(arguments):
                yield ast.Call(function, rest, keywords)
        case ast.Subscript(value, ctx=ast.Load()):
            yield value
        case ast.Tuple(values, ast.Load()) | ast.List(values, ast.Load()):
            for i in range(len(values) - 1):
                yield type(node)(_turned(values, i), ast.Load())
        case _:
            pass


def _other_statements(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield what may stand in the place of a statement."""
    if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Pass):
        yield ast.Pass()
    if isinstance(node, ast.AugAssign):
        target = copy.copy(node.target)
        yield ast.Assign([target], node.value)
        yield ast.AugAssign(node.target, ast.Sub(), node.value)
    if isinstance(node, ast.If | ast.While):
        changed = copy.copy(node)
        changed.test = ast.UnaryOp(ast.Not(), node.test)
        yield changed
    if isinstance(node, ast.For):
        yield ast.For(node.target, node.iter, [*node.body, ast.Break()], [])
    if isinstance(node, ast.FunctionDef | ast.For | ast.If | ast.While):
        for i, (first, second) in enumerate(itertools.pairwise(node.body)):
            if _follows(first, second):
                changed = copy.copy(node)
                changed.body = _turned(node.body, i)
                yield changed


def _follows(first: ast.stmt, second: ast.stmt) -> bool:
    """Tell whether the order of two statements may count."""
    if _refuses(first) or _refuses(second):
        return False
    both = (first, second)
    if not all(isinstance(one, ast.Assign | ast.AnnAssign) for one in both):
        return True
    written, seen = _names(first, ast.Store), _names(second, ast.Load | ast.Store)
    return not written.isdisjoint(seen)


def _names(node: ast.stmt, context: type[ast.expr_context] | UnionType) -> set[str]:
    """Return the variables and attributes that a statement writes, or also reads."""
    found = (one for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute))
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in found
        if isinstance(one.ctx, context)
    }


def _other_orders(node: ast.BinOp) -> Iterator[ast.BinOp]:
    """Yield the same operations in another order: (a + b) * c for a + b * c."""
    if isinstance(node.right, ast.BinOp):
        inner = node.right
        first = ast.BinOp(node.left, node.op, inner.left)
        yield ast.BinOp(first, inner.op, inner.right)
    if isinstance(node.left, ast.BinOp):
        inner = node.left
        last = ast.BinOp(inner.right, node.op, node.right)
        yield ast.BinOp(inner.left, inner.op, last)


def _without_one(values: list[ast.expr]) -> Iterator[list[ast.expr]]:
    """Yield a list without one of its entries, each in turn."""
    for i in range(len(values)):
        yield [*values[:i], *values[i + 1 :]]


def _turned(values: list[T], place: int) -> list[T]:
    """Return a list with an entry and the next one exchanged."""
    following = [values[place + 1], values[place]]
    return [*values[:place], *following, *values[place + 2 :]]
