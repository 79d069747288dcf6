"""What may be changed in a text so that it becomes right, the likeliest first."""

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tiny_llm_course.composed_mistakes.changes import changes_of
from tiny_llm_course.composed_mistakes.tables import OTHER_FUNCTIONS
from tiny_llm_course.composed_mistakes.text import HELPERS, Slot, Text
from tiny_llm_course.composed_mistakes.words import function_of
from tiny_llm_course.records.definitions import name_of
from tiny_llm_course.repairs.scope import Scope, places

NO_REPAIRS = {
    *("unit", "small_number", "divided_twice", "added_twice", "twice", "columns"),
    *("cut_off", "added", "fixed", "besides", "so_many_axes", "no_method"),
    *("not_returned", "as_stored", "of_one_model", "not_kept", "not_handed_on"),
}
"""Mistakes that are no remedy for any other."""

LEAVING_OUT = {"missing", "unchanged", "left_out"}
"""Mistakes that leave something out. As a remedy they come first: what can be left out
explains why any change that makes it do nothing is a remedy, too."""

CONDITIONS = {"condition", "none", "always", "never"}
"""Mistakes that take away a condition. As a remedy that is the last resort."""

REDUCING = {
    *("softmax", "sum", "mean", "max", "min", "argmax", "cumsum", "logsumexp", "var"),
    *("sort", "argsort", "concatenate", "stack", "split", "repeat", "any", "all"),
}
"""Functions that run along an axis."""

APPLIED = ("sqrt", "rsqrt", "square", "exp", "log", "sigmoid", "abs", "logsumexp")
"""Functions of MLX that may be missing around a value."""

LONGEST_PIECE = 50
"""Characters of an expression that may stand for a name."""

INDICES = ("None", "..., None", "..., None, :", ":, None", "-1", "..., -1, :", "0")
"""Indices that may be missing at the end of a value."""

BY_A_NUMBER = ((ast.Add(), 1), (ast.Sub(), 1), (ast.Mult(), 2), (ast.Div(), 2))
"""How a value is off by a number."""

NUMBERS = ("0", "1", "-1", "2", "None")
"""Constants that are easily confused with a name."""


@dataclass(frozen=True)
class Repair:
    """Something else at a place of a text.

    Attributes:
        slot: The place.
        node: What stands there instead.
    """

    slot: Slot
    node: ast.AST


def repairs_of(
    text: Text, aspect: str = "value", pieces: Sequence[ast.expr] = ()
) -> Iterator[Repair]:
    """Yield the changes of a text that may make it right.

    What can be left out comes first, then small changes: numbers, axes, operators. Then
    what may be missing, and last all other names that can be read at a place.

    Args:
        text: What a learner wrote.
        aspect: What is wrong with its result: "value", "shape", "dtype" or "error".
        pieces: What may stand for a number or a name, if its own names are there.
    """
    undone = list(_mistakes_undone(text))
    yield from _left_out(text)
    yield from (repair for kind, repair in undone if kind in LEAVING_OUT)
    yield from _at(text, _unread)
    if aspect == "dtype":
        yield from _at(text, _dtypes)
    small = (one for one in undone if one[0] not in {*LEAVING_OUT, *CONDITIONS})
    yield from (repair for _, repair in small)
    yield from _at(text, _placed(pieces))
    for others in ORDERS[aspect]:
        yield from _at(text, others)
    yield from (repair for kind, repair in undone if kind in CONDITIONS)


def _at(
    text: Text, others: Callable[[Slot, Scope], Iterator[ast.expr]]
) -> Iterator[Repair]:
    """Yield what may stand at each place that holds a value, results first."""
    own = [one for one in places(text) if _is_value(one[0])]
    for slot, scope in sorted(own, key=lambda one: not _is_result(one[0])):
        for node in others(slot, scope):
            yield Repair(slot, node)


def pieces_of(text: Text) -> list[ast.expr]:
    """Return the small expressions of a text that are made of public names only.

    They are copies: where the reference itself is repaired, one may be put inside
    the expression that it comes from.
    """
    found: dict[str, ast.expr] = {}
    for node in ast.walk(text.tree):
        is_stored = isinstance(getattr(node, "ctx", None), ast.Store)
        if isinstance(node, ast.expr) and not isinstance(node, ast.Name | ast.Constant):
            names, shown = _names_in(node), ast.unparse(node)
            is_short = len(shown) <= LONGEST_PIECE and not is_stored
            if is_short and names and names <= text.parameters:
                found[shown] = copy.deepcopy(node)
    return list(found.values())


def _names_in(node: ast.expr) -> set[str]:
    """Return the names that an expression reads, without modules and builtins."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return names - {"mx", "math", "int", "len", "float", "range"}


def _placed(
    pieces: Sequence[ast.expr],
) -> Callable[[Slot, Scope], Iterator[ast.expr]]:
    """Return what yields the pieces that can be read at a place."""
    named = [(one, _names_in(one)) for one in pieces]

    def others(slot: Slot, scope: Scope) -> Iterator[ast.expr]:
        if isinstance(slot.node, ast.Name | ast.Attribute | ast.Constant):
            yield from (one for one, names in named if names <= {*scope.names})

    return others


def _is_value(slot: Slot) -> bool:
    """Tell whether a place holds a value, and not a target, a function or a module."""
    node = slot.node
    if not isinstance(node, ast.expr) or isinstance(node, ast.Slice | ast.Starred):
        return False
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return False
    if isinstance(slot.parent, ast.Call) and slot.field == "func":
        return False
    is_owner = isinstance(slot.parent, ast.Attribute)
    return not (is_owner and isinstance(node, ast.Name) and node.id in {"mx", "self"})


def _is_result(slot: Slot) -> bool:
    """Tell whether a value is what a function returns."""
    return isinstance(slot.parent, ast.Return)


def _is_step(slot: Slot) -> bool:
    """Tell whether a value is all of a line, an operand or the first argument."""
    parent = slot.parent
    if isinstance(parent, ast.Call):
        return slot.field == "args" and slot.index == 0
    return isinstance(parent, ast.Assign | ast.Return | ast.BinOp | ast.AugAssign)


def _mistakes_undone(text: Text) -> Iterator[tuple[str, Repair]]:
    """Yield the changes that would make mistakes of a right text, by kind.

    Most of them undo one of a wrong text: an axis is another axis either way.
    """
    helpers = {one.__name__ for one in HELPERS}
    for change in changes_of(text):
        names = {one.id for one in ast.walk(change.node) if isinstance(one, ast.Name)}
        if change.kind not in NO_REPAIRS and helpers.isdisjoint(names):
            yield change.kind, Repair(change.slot, change.node)


def _left_out(text: Text) -> Iterator[Repair]:
    """Yield a text without one of the lines that change a value it has already.

    And without a choice, or a call, for one of its arguments but the first, which
    mistakes leave. What a helper makes is not left out: `mlx_lm`'s layers, which are
    right, would do the work of the learner's.
    """
    helpers = {name_of(one) for one in text.tree.body}
    loops = [one for one in ast.walk(text.tree) if isinstance(one, ast.While)]
    looped = {id(node) for one in loops for node in ast.walk(one)}
    for slot, _ in places(text):
        match slot.node:
            case ast.Assign([target], value) if id(slot.node) not in looped:
                names = {one.id for one in ast.walk(value) if isinstance(one, ast.Name)}
                is_known = isinstance(target, ast.Name) and target.id in names
                if is_known or isinstance(target, ast.Subscript):
                    yield Repair(slot, ast.Pass())
            case ast.Call(ast.Name(name), _) if name in helpers:
                pass
            case ast.Call(_, [_, *others]):
                yield from (Repair(slot, one) for one in others)
            case ast.IfExp(_, first, second):
                yield from (Repair(slot, one) for one in (second, first))
            case _:
                pass


def _unread(slot: Slot, scope: Scope) -> Iterator[ast.expr]:
    """Yield what can be made of a value and a parameter that is never read."""
    for name in scope.parameters:
        if name not in scope.unread:
            continue
        read = ast.Name(name, ast.Load())
        yield read
        if _is_step(slot):
            yield from _with(slot.node, read)
        if isinstance(slot.node, ast.Call):
            call = slot.node
            yield ast.Call(call.func, [*call.args, read], call.keywords)
            named = ast.keyword(name, read)
            yield ast.Call(call.func, call.args, [*call.keywords, named])


def _calls(slot: Slot, scope: Scope) -> Iterator[ast.expr]:
    """Yield a call of a similar function, and one with an axis or the axes kept."""
    del scope
    call = slot.node
    if not isinstance(call, ast.Call):
        return
    function = function_of(call)
    if isinstance(call.func, ast.Attribute):
        for other in _similar(function):
            called = ast.Attribute(call.func.value, other, ast.Load())
            yield ast.Call(called, call.args, call.keywords)
    given = {one.arg for one in call.keywords}
    if function in REDUCING:
        for added in _axes(given):
            yield ast.Call(call.func, call.args, [*call.keywords, *added])


def _axes(given: set[str | None]) -> Iterator[list[ast.keyword]]:
    """Yield the axis that a call may lack, and `keepdims`."""
    kept = ast.keyword("keepdims", ast.Constant(True))
    if "axis" in given:
        yield [kept]
        return
    for axis in (-1, -2, 0, 1):
        along = ast.keyword("axis", ast.Constant(axis))
        yield [along]
        if "keepdims" not in given:
            yield [along, kept]


def _similar(function: str) -> list[str]:
    """Return the functions of MLX that one is easily taken for."""
    taken = [one for one, others in OTHER_FUNCTIONS.items() if function in others]
    own = OTHER_FUNCTIONS.get(function, ())
    return [one for one in dict.fromkeys((*taken, *own)) if "." not in one]


def _dtypes(slot: Slot, scope: Scope) -> Iterator[ast.expr]:
    """Yield a value in float32, or in the dtype of a parameter."""
    node = slot.node
    assert isinstance(node, ast.expr)
    if isinstance(node, ast.Constant | ast.Compare | ast.BoolOp) or _is_cast(node):
        return
    dtypes = ["mx.float32", *(f"{name}.dtype" for name in scope.parameters[:2])]
    for dtype in dtypes:
        wanted = ast.parse(dtype, mode="eval").body
        cast = ast.Attribute(node, "astype", ast.Load())
        yield ast.Call(cast, [wanted], [])


def _is_cast(node: ast.expr) -> bool:
    """Tell whether a value has been given a dtype just so."""
    return isinstance(node, ast.Call) and function_of(node) == "astype"


def _turned(slot: Slot, scope: Scope) -> Iterator[ast.expr]:
    """Yield a value with its last axes exchanged, negated or inverted."""
    del scope
    node = slot.node
    assert isinstance(node, ast.expr)
    if isinstance(node, ast.Constant):
        return
    moved = ast.Attribute(node, "swapaxes", ast.Load())
    for axes in ((-1, -2), (1, 2), (0, 1)):
        yield ast.Call(moved, [ast.Constant(one) for one in axes], [])
    if isinstance(slot.parent, ast.If | ast.IfExp | ast.While):
        yield ast.UnaryOp(ast.Not(), node)
    elif _is_step(slot):
        yield ast.UnaryOp(ast.USub(), node)
        for operator in (ast.Sub(), ast.Div()):
            yield ast.BinOp(ast.Constant(1), operator, node)


def _names(slot: Slot, scope: Scope) -> Iterator[ast.expr]:
    """Yield usual constants, and all other names that can be read at a place."""
    node = slot.node
    is_leaf = isinstance(node, ast.Name | ast.Attribute | ast.Constant)
    if not is_leaf or isinstance(getattr(node, "value", None), str):
        return
    own = ast.unparse(node)
    for number in NUMBERS:
        if number != own:
            yield ast.parse(number, mode="eval").body
    for value in scope.values():
        is_alike = isinstance(node, ast.Constant) or isinstance(value, type(node))
        if is_alike and ast.unparse(value) != own:
            yield value


def _indexed(slot: Slot, scope: Scope) -> Iterator[ast.expr]:
    """Yield a part of a value, or the value with one axis more."""
    del scope
    if isinstance(slot.node, ast.Constant) or not _is_step(slot):
        return
    for index in INDICES:
        part = ast.parse(f"x[{index}]", mode="eval").body
        assert isinstance(part, ast.Subscript)
        assert isinstance(slot.node, ast.expr)
        yield ast.Subscript(slot.node, part.slice, ast.Load())


def _applied(slot: Slot, scope: Scope) -> Iterator[ast.expr]:
    """Yield a function of a value."""
    del scope
    if isinstance(slot.node, ast.Constant) or not _is_step(slot):
        return
    assert isinstance(slot.node, ast.expr)
    for name in APPLIED:
        function = ast.Attribute(ast.Name("mx", ast.Load()), name, ast.Load())
        yield ast.Call(function, [slot.node], [])
    softmax = ast.parse("mx.softmax(x, axis=-1)", mode="eval").body
    assert isinstance(softmax, ast.Call)
    yield ast.Call(softmax.func, [slot.node], softmax.keywords)


def _combined(slot: Slot, scope: Scope) -> Iterator[ast.expr]:
    """Yield a value combined with another that can be read at its place."""
    if isinstance(slot.node, ast.Constant) or not _is_step(slot):
        return
    for value in scope.values():
        yield from _with(slot.node, value)


def _counted(slot: Slot, scope: Scope) -> Iterator[ast.expr]:
    """Yield a value that is one more or less, twice or half as large."""
    del scope
    node = slot.node
    assert isinstance(node, ast.expr)
    if not isinstance(node, ast.Constant) and _is_step(slot):
        for operator, number in BY_A_NUMBER:
            yield ast.BinOp(node, operator, ast.Constant(number))


def _with(node: ast.AST, value: ast.expr) -> Iterator[ast.expr]:
    """Yield the sum, product, quotient and difference of two values."""
    assert isinstance(node, ast.expr)
    for operator in (ast.Add(), ast.Mult(), ast.Div(), ast.Sub()):
        yield ast.BinOp(node, operator, value)


ORDERS = {
    "value": (_calls, _counted, _names, _turned, _combined, _applied, _indexed),
    "dtype": (_names, _calls),
    "shape": (_calls, _indexed, _turned, _names, _counted),
    "error": (_calls, _names, _indexed, _turned, _counted, _dtypes),
}
"""What is tried, by what is wrong with a result."""
