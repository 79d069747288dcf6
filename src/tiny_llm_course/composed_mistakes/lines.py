"""What may go wrong with a whole line: a result, an assignment, a loop, a condition."""

import ast
from collections.abc import Iterator

from tiny_llm_course.composed_mistakes.change import (
    Change,
    Place,
    asked_for_none,
    helped,
)

RESULTS = (
    "in_float32",
    "axis_in_front",
    "axes_in_front",
    "axes_joined",
    "squeezed",
    "last_position",
    "transposed",
    "as_numpy",
)
"""What is done to a result, each by one of `HELPERS`."""


def returns(place: Place, node: ast.Return) -> Iterator[Change]:
    """Yield what may be done to a result that is right."""
    value = node.value
    if value is None or isinstance(value, ast.Tuple | ast.Constant):
        return
    for kind in RESULTS:
        yield place.change(ast.Return(helped(kind, [value])), kind)


def lines(place: Place, node: ast.stmt) -> Iterator[Change]:
    """Yield what may go wrong with a whole statement."""
    match node:
        case ast.Expr(ast.Call() as call):
            yield place.change(ast.Pass(), "missing", what=place.named(call))
        case ast.AugAssign(target):
            yield place.change(ast.Pass(), "unchanged", what=place.named(target))
            replaced = ast.Assign([target], node.value)
            yield place.change(replaced, "replaced", what=place.named(target))
        case ast.Assign(value=value):
            yield place.change(ast.Expr(value), "not_kept", what=place.named(value))
        case ast.For(target, over, body):
            turned = ast.Call(ast.Name("reversed", ast.Load()), [over], [])
            yield place.change(ast.For(target, turned, body, []), "backwards")
            fewer = ast.Subscript(over, ast.Slice(ast.Constant(1)), ast.Load())
            yield place.change(ast.For(target, fewer, body, []), "not_the_first")
            fewer = ast.Subscript(over, ast.Slice(None, ast.Constant(-1)), ast.Load())
            yield place.change(ast.For(target, fewer, body, []), "not_the_last")
        case ast.If(test, body, orelse):
            asked = asked_for_none(test)
            kind = "none" if asked else "condition"
            words = {"what": f"`{asked or ast.unparse(test)}`"}
            for always in (True, False):
                branch = ast.If(ast.Constant(always), body, orelse)
                yield place.change(branch, kind, **words)
        case _:
            pass
