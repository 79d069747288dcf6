"""What may go wrong with sums and products, signs, comparisons and conditions."""

import ast
from collections.abc import Iterator

from tiny_llm_course.composed_mistakes.change import Change, Place, asked_for_none
from tiny_llm_course.composed_mistakes.tables import (
    OTHER_AXES,
    OTHER_COMPARISONS,
    OTHER_OPERATORS,
    SMALL,
    UNITS,
)
from tiny_llm_course.composed_mistakes.words import MOST, OPERATIONS, function_of


def operations(place: Place, node: ast.BinOp) -> Iterator[Change]:
    """Yield what may go wrong with a sum, a product and the like."""
    left, right = place.named(node.left), place.named(node.right)
    kind = OPERATIONS.get(type(node.op))
    if kind:
        yield place.change(node.left, f"no_{kind}", left=left, right=right)
        if isinstance(node.op, ast.Add | ast.Mult):
            yield place.change(node.right, f"no_{kind}", left=right, right=left)
        if isinstance(node.op, ast.Div):
            yield place.change(node.right, "not_inverted", what=right)
            again = ast.BinOp(node, node.op, node.right)
            yield place.change(again, "divided_twice", left=left, right=right)
            for factor in UNITS:
                scaled = ast.BinOp(node, ast.Mult(), ast.Constant(factor))
                yield place.change(scaled, "unit", got=f"{factor:g}")
            yield from _small_numbers(place, node, right)
    if isinstance(node.op, ast.Add):
        again = ast.BinOp(node, node.op, node.right)
        yield place.change(again, "added_twice", left=left, right=right)
    yield from _brackets(place, node)
    yield from _pulled_inside(place, node)
    if not isinstance(node.op, ast.Add | ast.Mult):
        turned = ast.BinOp(node.right, node.op, node.left)
        yield place.change(turned, "turned", left=left, right=right)
    for other in OTHER_OPERATORS.get(type(node.op), ()):
        words = {
            "got": f"`{_symbol(other())}`",
            "expected": f"`{_symbol(node.op)}`",
        }
        changed = ast.BinOp(node.left, other(), node.right)
        yield place.change(changed, "operator", left=left, right=right, **words)


def _small_numbers(place: Place, node: ast.BinOp, what: str) -> Iterator[Change]:
    """Yield a division that is kept from 0 where nothing is to be added."""
    for small in SMALL:
        below = ast.BinOp(node.right, ast.Add(), ast.Constant(small))
        divided = ast.BinOp(node.left, node.op, below)
        yield place.change(divided, "small_number", what=what, got=f"{small:g}")


def _brackets(place: Place, node: ast.BinOp) -> Iterator[Change]:
    """Yield `a * (b + c)` for `a * b + c`, and the like."""
    if isinstance(node.left, ast.BinOp):
        inner = node.left
        right = ast.BinOp(inner.right, node.op, node.right)
        regrouped = ast.BinOp(inner.left, inner.op, right)
    elif isinstance(node.right, ast.BinOp):
        inner = node.right
        left = ast.BinOp(node.left, node.op, inner.left)
        regrouped = ast.BinOp(left, inner.op, inner.right)
    else:
        return
    shown = f"`{ast.unparse(node.right)[:MOST]}`"
    if type(inner.op) is not type(node.op) or isinstance(node.op, ast.Sub | ast.Div):
        yield place.change(regrouped, "brackets", what=shown)


def _pulled_inside(place: Place, node: ast.BinOp) -> Iterator[Change]:
    """Yield `f(a * b)` for `f(a) * b`, and the same for the other side."""
    for call, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(call, ast.Call) and call.args:
            inner = ast.BinOp(call.args[0], node.op, other)
            changed = ast.Call(call.func, [inner, *call.args[1:]], call.keywords)
            words = {"function": f"`{function_of(call).strip('_')}`"}
            yield place.change(changed, "inside", what=place.named(other), **words)


def signs(place: Place, node: ast.UnaryOp) -> Iterator[Change]:
    """Yield what is left when a minus is lost. A negative number is one thing."""
    is_number = isinstance(node.operand, ast.Constant)
    is_named = isinstance(place.slot.parent, ast.keyword)  # its call tries other axes
    for other in () if is_named else OTHER_AXES.get(ast.unparse(node), ()):
        words = {"got": str(other), "expected": ast.unparse(node)}
        yield place.change(ast.Constant(other), "other_axis", **words)
    if isinstance(node.op, ast.USub) and not is_number:
        yield place.change(node.operand, "sign", what=place.named(node.operand))


def choices(place: Place, node: ast.IfExp) -> Iterator[Change]:
    """Yield one side of a choice."""
    if asked := asked_for_none(node.test):
        what = f"`{asked}`"
        yield place.change(node.body, "none", what=what)
        yield place.change(node.orelse, "none", what=what)
        return
    what = place.named(node.body)
    yield place.change(node.body, "always", what=what)
    yield place.change(node.orelse, "never", what=what)


def comparisons(place: Place, node: ast.Compare) -> Iterator[Change]:
    """Yield what else may be asked."""
    sides = [node.left, *node.comparators]
    for i, operator in enumerate(node.ops):
        for other in OTHER_COMPARISONS.get(type(operator), ()):
            operators = [*node.ops[:i], other(), *node.ops[i + 1 :]]
            yield place.change(
                ast.Compare(node.left, operators, node.comparators),
                "comparison",
                left=place.named(sides[i]),
                right=place.named(sides[i + 1]),
                got=f"`{_sign(other())}`",
                expected=f"`{_sign(operator)}`",
            )


def questions(place: Place, node: ast.BoolOp) -> Iterator[Change]:
    """Yield what is asked when one of several questions is forgotten."""
    for i, left_out in enumerate(node.values):
        rest = [*node.values[:i], *node.values[i + 1 :]]
        asked = rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        what = f"`{ast.unparse(left_out)}`"
        yield place.change(asked, "not_asked", what=what)


def _symbol(operator: ast.operator) -> str:
    """Return how an operator is written."""
    nobody = ast.Name("a", ast.Load())
    return ast.unparse(ast.BinOp(nobody, operator, nobody))[2:-2]


def _sign(operator: ast.cmpop) -> str:
    """Return how a comparison is written."""
    nobody = ast.Name("a", ast.Load())
    return ast.unparse(ast.Compare(nobody, [operator], [nobody]))[2:-2]
