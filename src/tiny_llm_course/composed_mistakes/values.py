"""What may go wrong with numbers, names, and the parts of an array."""

import ast
from collections.abc import Iterator

from tiny_llm_course.composed_mistakes.change import Change, Place, helped
from tiny_llm_course.composed_mistakes.tables import FAMILIES, OF_QWEN2, SPREAD

AXES_ADDED = ("axis_at_the_end", "axis_after_the_first")
"""What is done to an array that has to fit to another."""


def constants(place: Place, node: ast.Constant) -> Iterator[Change]:
    """Yield what is easily taken for a number, or the other flag."""
    value = node.value
    if isinstance(value, bool):
        yield place.change(ast.Constant(not value), "flag", got=str(not value))
        return
    if not isinstance(value, int | float):
        return
    for other in dict.fromkeys((value + 1, value - 1, 2 * value, value / 2, -value)):
        if other != value and (isinstance(value, float) or other == int(other)):
            number = type(value)(other)
            words = {"got": f"{number:g}", "expected": f"{value:g}"}
            yield place.change(ast.Constant(number), "number", **words)


def names(place: Place, node: ast.Name | ast.Attribute) -> Iterator[Change]:
    """Yield what is easily taken for a name."""
    if isinstance(node.ctx, ast.Store):
        return
    if isinstance(node, ast.Attribute) and node.attr == "T":
        yield place.change(node.value, "not_transposed", what=place.named(node))
        ends = [ast.Constant(0), ast.UnaryOp(ast.USub(), ast.Constant(1))]
        yield place.change(helped("reshaped", [node.value, *ends]), "reshaped")
        return
    own = node.id if isinstance(node, ast.Name) else node.attr
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "args":
        yield from _of_one_model(place, node)
    if own in SPREAD:
        for kind in AXES_ADDED:
            spread = helped(kind, [node])
            yield place.change(spread, kind, what=place.named(node))
    for family in FAMILIES:
        for other in family if own in family else ():
            if other == own or other not in place.known:
                continue
            taken: ast.expr = ast.Name(other, ast.Load())
            if isinstance(node, ast.Attribute):
                taken = ast.Attribute(node.value, other, ast.Load())
            words = {"got": place.named(taken), "expected": place.named(node)}
            yield place.change(taken, "instead", **words)


def _of_one_model(place: Place, node: ast.Attribute) -> Iterator[Change]:
    """Yield what one model has, where the model at hand is to be asked."""
    if node.attr in OF_QWEN2:
        number = OF_QWEN2[node.attr]
        words = {"what": f"`{node.attr}`", "got": f"{number:g}"}
        yield place.change(ast.Constant(number), "of_one_model", **words)


def _lookups(place: Place, node: ast.Subscript) -> Iterator[Change]:
    """Yield a look-up along the second axis in place of the first, or one row off."""
    if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Name):
        for operator in (ast.Sub(), ast.Add()):
            beside = ast.BinOp(node.slice, operator, ast.Constant(1))
            changed = ast.Subscript(node.value, beside, ast.Load())
            yield place.change(changed, "one_off", what=place.named(node.slice))
        along = ast.Tuple([ast.Slice(), node.slice], ast.Load())
        columns = ast.Subscript(node.value, along, ast.Load())
        yield place.change(columns, "columns", what=place.named(node.value))


def slices(place: Place, node: ast.Slice) -> Iterator[Change]:
    """Yield other ends of a range."""
    if node.lower:
        yield place.change(ast.Slice(None, node.upper), "slice")
    if node.upper:
        yield place.change(ast.Slice(node.lower, None), "slice")
    for operator in (ast.Add(), ast.Sub()):
        if node.lower:
            lower = ast.BinOp(node.lower, operator, ast.Constant(1))
            yield place.change(ast.Slice(lower, node.upper), "slice")
        if node.upper:
            upper = ast.BinOp(node.upper, operator, ast.Constant(1))
            yield place.change(ast.Slice(node.lower, upper), "slice")


def subscripts(place: Place, node: ast.Subscript) -> Iterator[Change]:
    """Yield the whole of what only a part belongs of."""
    yield from _lookups(place, node)
    if isinstance(node.ctx, ast.Load) and _has_slice(node.slice):
        yield place.change(node.value, "whole", what=place.named(node.value))


def _has_slice(index: ast.expr) -> bool:
    """Tell whether an index leaves the number of axes as it is, or adds some."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(isinstance(one, ast.Slice) for one in parts)
