"""What may go wrong with loops and methods, and with what a function returns."""

import ast
import copy
import itertools
from collections.abc import Iterator

Wrong = tuple[ast.AST, str, ast.AST | str]
"""What stands there instead, the key of its sentence, and what fills its blank."""

Body = ast.FunctionDef | ast.For | ast.While | ast.If

BESIDES = {
    "softmax": "mx.softmax(y, axis=-1)",
    "argmax": "mx.argmax(y, axis=-1)",
    "log_softmax": "mx.log(mx.softmax(y, axis=-1))",
    "log": "mx.log(y)",
    "exp": "mx.exp(y)",
}
"""What somebody may do with a result that is complete without it."""


INPUTS = {"x", "query", "q"}
"""What may come with any number of axes in front."""

LETTERS = ("a_", "b_", "c_", "d_")

COUNT_AXES = (
    "{axes} = {x}.shape",
    "mx.einsum('{letters}->{letters}'.replace('_', ''), {x})",
)
"""Lines that fail where an input has another number of axes."""


def wrong_statements(node: ast.AST) -> Iterator[Wrong]:
    """Yield what may stand for a statement that has others around or inside it."""
    match node:
        case ast.Return(value) if value:
            yield from _done_besides(value)
            yield ast.Expr(value), "not_returned", value
        case ast.For() | ast.While():
            yield from _in_another_order(node)
            yield from _in_or_behind_a_loop(node)
        case ast.FunctionDef():
            yield from _in_or_behind_a_loop(node)
            yield from _with_so_many_axes(node)
        case ast.If():
            yield from _in_or_behind_a_loop(node)
        case ast.ClassDef():
            yield from _without_a_method(node)
        case _:
            pass


def _done_besides(value: ast.expr) -> Iterator[Wrong]:
    """Yield a result that goes through one function more."""
    for name, call in BESIDES.items():
        applied = ast.parse(call, mode="eval").body
        assert isinstance(applied, ast.Call)
        innermost = applied
        while isinstance(innermost.args[0], ast.Call):
            innermost = innermost.args[0]
        innermost.args[0] = value
        yield ast.Return(applied), "besides", f"`{name}`"


def _in_another_order(node: ast.For | ast.While) -> Iterator[Wrong]:
    """Yield each statement of a loop behind the one that follows it."""
    for i in range(len(node.body) - 1):
        later = node.body[i + 1]
        changed = copy.copy(node)
        changed.body = [*node.body[:i], later, node.body[i], *node.body[i + 2 :]]
        yield changed, "late_in_the_loop", _named_by(node.body[i])


def _in_or_behind_a_loop(node: Body) -> Iterator[Wrong]:
    """Yield the end of a loop behind it, and what follows a loop as its end."""
    for i, loop in enumerate(node.body):
        if not isinstance(loop, ast.For | ast.While):
            continue
        before, behind = node.body[:i], node.body[i + 1 :]
        if len(loop.body) > 1:
            shorter, changed = copy.copy(loop), copy.copy(node)
            shorter.body = loop.body[:-1]
            changed.body = [*before, shorter, loop.body[-1], *behind]
            yield changed, "behind_the_loop", _named_by(loop.body[-1])
        if behind:
            longer, changed = copy.copy(loop), copy.copy(node)
            longer.body = [*loop.body, behind[0]]
            changed.body = [*before, longer, *behind[1:]]
            yield changed, "inside_the_loop", _named_by(behind[0])


def _with_so_many_axes(function: ast.FunctionDef) -> Iterator[Wrong]:
    """Yield a function that takes only inputs of so many axes."""
    names = [one.arg for one in function.args.args if one.arg in INPUTS]
    for name, text in itertools.product(names[:1], COUNT_AXES):
        for number in (2, 3, 4):
            letters = LETTERS[:number]
            line = text.format(
                x=name, letters="".join(letters), axes=", ".join(letters)
            )
            changed = copy.copy(function)
            changed.body = [*ast.parse(line).body, *function.body]
            yield changed, "so_many_axes", f"{number}"


def _without_a_method(node: ast.ClassDef) -> Iterator[Wrong]:
    """Yield a class that lacks one of its methods."""
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name != "__init__":
            changed = copy.copy(node)
            changed.body = [other for other in node.body if other is not one]
            if changed.body:
                yield changed, "no_method", f"`{one.name}`"


def _named_by(statement: ast.stmt) -> ast.AST | str:
    """Return the part of a statement that tells which one it is."""
    match statement:
        case ast.Expr(value) | ast.Assign(value=value) | ast.AugAssign(value=value):
            return value
        case ast.Return():
            return "`return`"
        case _:
            return f"`{ast.unparse(statement).splitlines()[0].rstrip(':')}`"
