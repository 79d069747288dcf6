"""What differs between the text at a place and what makes it right, as a sentence."""

import ast
from collections.abc import Iterator, Sequence

from tiny_llm_course.catalogue import say
from tiny_llm_course.composed_mistakes.words import function_of
from tiny_llm_course.repairs.quoting import code, is_short, two_codes

COMBINED: dict[type[ast.operator], str] = {
    ast.Add: "not_added",
    ast.Mult: "not_multiplied",
    ast.MatMult: "not_multiplied",
}


def told(got: ast.AST, expected: ast.AST) -> tuple[int, str]:
    """Return the line of what is wrong with a piece of code, and a sentence on it.

    Args:
        got: What stands there.
        expected: What makes it right. The smallest part that differs is named.
    """
    got, expected = _smallest(got, expected)
    if statement := _misplaced(got, expected):
        where = "early" if _comes_first(statement, got, expected) else "late"
        return statement.lineno, say(f"repairs.{where}", got=code(statement))
    return _line(got, expected), _sentence(got, expected)


def _line(got: object, expected: object) -> int:
    """Return the line where two pieces of code begin to differ."""
    for part, other in _differing(got, expected):
        if line := _line(part, other):
            return line
    node = _only_in(got, expected) or got
    name = node.func if isinstance(node, ast.Call) else node
    if isinstance(name, ast.Attribute):
        return name.end_lineno or 0
    return getattr(node, "lineno", 0)


def _sentence(got: ast.AST, expected: ast.AST) -> str:
    """Say what differs between the smallest parts that differ."""
    if isinstance(expected, ast.Pass):
        return say("repairs.surplus_line", got=code(got))
    if said := _argument(got, expected):
        return said
    if _holds(expected, got):
        return _missing(got, expected)
    if exchanged := _exchanged(got, expected):
        return _changed_places(*exchanged)
    own, right = two_codes(got, expected)
    key = "surplus" if _holds(got, expected) else "other"
    return say(f"repairs.{key}", got=own, expected=right)


def _changed_places(first: ast.AST, second: ast.AST) -> str:
    """Say which parts have changed places: arguments with a name are called by it."""
    if isinstance(first, ast.keyword) and isinstance(second, ast.keyword):
        names = {"a": f"`{first.arg}`", "b": f"`{second.arg}`"}
        return say("repairs.exchanged_arguments", **names)
    a, b = two_codes(first, second)
    return say("repairs.exchanged", a=a, b=b)


def _argument(got: ast.AST, expected: ast.AST) -> str:
    """Say that a call has an argument too many or too few, if that is all."""
    if missing := _only_in(expected, got):
        return say("repairs.not_handed_on", what=code(missing), to=_called(got))
    if surplus := _only_in(got, expected):
        return say("repairs.handed_on", what=code(surplus), to=_called(got))
    return ""


def _only_in(call: object, other: object) -> ast.AST | None:
    """Return the argument that only one of two calls of a function has."""
    match call, other:
        case ast.Call(f, args, named), ast.Call(g, fewer, less) if _alike(f, g):
            shown = [ast.unparse(one) for one in (*fewer, *less)]
            more = [one for one in (*args, *named) if ast.unparse(one) not in shown]
            is_one = len(args) + len(named) == len(fewer) + len(less) + 1
            return more[0] if is_one and len(more) == 1 else None
        case _:
            return None


def _called(call: ast.AST) -> str:
    """Return the name of the function that is called."""
    assert isinstance(call, ast.Call)
    return f"`{function_of(call)}`"


def _misplaced(got: ast.AST, expected: ast.AST) -> ast.stmt | None:
    """Return the statement that stands elsewhere in what makes the code right."""
    own, other = _statements(got), _statements(expected)
    if sorted(map(ast.unparse, own)) != sorted(map(ast.unparse, other)):
        return None
    moved = [one for one in own if _without(own, one) == _without(other, one)]
    return moved[0] if moved and _shown(own) != _shown(other) else None


def _comes_first(statement: ast.stmt, got: ast.AST, expected: ast.AST) -> bool:
    """Tell whether a statement stands too early."""
    shown = ast.unparse(statement)
    own, other = (_shown(_statements(one)) for one in (got, expected))
    return own.index(shown) < other.index(shown)


def _statements(node: ast.AST) -> list[ast.stmt]:
    """Return all simple statements of a compound one, in order."""
    if not isinstance(node, ast.FunctionDef | ast.For | ast.While | ast.If):
        return []
    return [one for one in _in_order(node) if not hasattr(one, "body")]


def _in_order(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield all statements below a node in the order of their lines."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.stmt):
            yield one
            yield from _in_order(one)


def _without(statements: Sequence[ast.stmt], left_out: ast.stmt) -> list[str]:
    """Return statements as text, without one of them."""
    shown = _shown(statements)
    shown.remove(ast.unparse(left_out))
    return shown


def _shown(statements: Sequence[ast.stmt]) -> list[str]:
    """Return statements as text."""
    return [ast.unparse(one) for one in statements]


def _smallest(got: ast.AST, expected: ast.AST) -> tuple[ast.AST, ast.AST]:
    """Return the smallest parts that hold all of a difference."""
    is_named = isinstance(got, ast.keyword) and is_short(got) and is_short(expected)
    differing = _differing(got, expected)
    if is_named or isinstance(got, ast.Constant) or len(differing) != 1:
        return got, expected
    a, b = differing[0]
    if isinstance(a, ast.operator | ast.cmpop) or not isinstance(a, ast.AST):
        return got, expected
    return _smallest(a, b) if isinstance(b, ast.AST) else (got, expected)


def _differing(got: object, expected: object) -> list[tuple[object, object]]:
    """Return the parts of two pieces of code that differ, if they have the same."""
    own, other = _parts(got), _parts(expected)
    if type(got) is not type(expected) or own.keys() != other.keys():
        return []
    pairs = [(one, other[place]) for place, one in own.items()]
    return [pair for pair in pairs if not _alike(*pair)]


def _parts(node: object) -> dict[str, object]:
    """Return what a piece of code consists of by place, and arguments by name."""
    found: dict[str, object] = {}
    for field, value in ast.iter_fields(node) if isinstance(node, ast.AST) else ():
        for index, one in enumerate(value if isinstance(value, list) else [value]):
            name = one.arg if isinstance(one, ast.keyword) else None
            found[f"{field} {name or index}"] = one
    return found


def _alike(a: object, b: object) -> bool:
    """Tell whether two parts of a text are the same."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, ast.AST) and isinstance(b, ast.AST):
        return a is b or ast.unparse(a) == ast.unparse(b)
    return a == b


def _holds(whole: ast.AST, part: ast.AST) -> bool:
    """Tell whether one piece of code stands inside another."""
    shown = ast.unparse(part)
    return isinstance(part, ast.expr) and any(
        type(one) is type(part) and ast.unparse(one) == shown
        for one in ast.walk(whole)
        if one is not whole and isinstance(one, ast.expr)
    )


def _missing(got: ast.AST, expected: ast.AST) -> str:
    """Say what is not done to a value."""
    value = code(got)
    match expected:
        case ast.BinOp(left, operator, right) if type(operator) in COMBINED:
            value, other = two_codes(got, right if _alike(left, got) else left)
            key = f"repairs.{COMBINED[type(operator)]}"
            return say(key, value=value, other=other)
        case ast.Call(ast.Attribute(_, "astype"), [dtype]):
            return say("repairs.no_cast", value=value, dtype=code(dtype))
        case ast.Call(ast.Attribute(_, "swapaxes")) | ast.Attribute(attr="T"):
            return say("repairs.not_transposed", value=value)
        case ast.Call(ast.Attribute(_, name), [first]) if _alike(first, got):
            return say("repairs.not_applied", value=value, function=f"`{name}`")
        case _:
            own, right = two_codes(got, expected)
            return say("repairs.other", got=own, expected=right)


def _exchanged(got: ast.AST, expected: ast.AST) -> Sequence[ast.AST]:
    """Return the two parts that have changed places, if that is all."""
    pairs = _differing(got, expected)
    if len(pairs) != 2:
        return ()
    (first, other), (second, another) = pairs
    if not (isinstance(first, ast.AST) and isinstance(second, ast.AST)):
        return ()
    crossed = _same_value(first, another) and _same_value(second, other)
    return (first, second) if crossed else ()


def _same_value(a: object, b: object) -> bool:
    """Tell whether two parts are the same, whatever the name of an argument."""
    values = (one.value if isinstance(one, ast.keyword) else one for one in (a, b))
    return _alike(*values)
