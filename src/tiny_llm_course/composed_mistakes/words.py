"""What a place in the reference's text is called in a sentence."""

import ast
from collections.abc import Set as AbstractSet

from tiny_llm_course.catalogue import say

MOST = 48
"""A longer expression is called by what it does."""

OPERATIONS: dict[type[ast.operator], str] = {
    ast.Add: "sum",
    ast.Sub: "difference",
    ast.Mult: "product",
    ast.Div: "quotient",
    ast.MatMult: "matrix_product",
}

BETWEEN: dict[type[ast.operator], str] = {
    ast.Add: "plus",
    ast.Sub: "minus",
    ast.Mult: "times",
    ast.Div: "over",
    ast.MatMult: "times",
}


def function_of(call: ast.Call) -> str:
    """Return the name of what is called, without what it belongs to."""
    called = call.func
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def named(node: ast.AST, parameters: AbstractSet[str]) -> str:
    """Say what an expression is, in the words that a learner shares.

    Args:
        node: The expression.
        parameters: Names that stand in the public signature: they are shown as code.
    """
    match node:
        case ast.Call():
            words = _call(node, parameters)
        case ast.BinOp():
            words = _operation(node, parameters)
        case ast.Name(name):
            words = f"`{name}`" if name in parameters else _spoken(name)
        case ast.Attribute(value, "T") | ast.Subscript(value):
            words = named(value, parameters)
        case ast.Attribute(attr=name):
            words = f"`{name}`"
        case ast.UnaryOp(operand=operand):
            words = f"{say('composed.words.minus')} {named(operand, parameters)}"
        case _:
            words = f"`{ast.unparse(node)[:MOST]}`"
    return words


def _spoken(name: str) -> str:
    """Turn a name of the reference's own into words."""
    words = name.strip("_").replace("_", " ")
    return say("composed.words.the", words=words) if len(words) > 1 else f"`{name}`"


def _call(node: ast.Call, parameters: AbstractSet[str]) -> str:
    """Say what a call does, and to what."""
    function = function_of(node)
    key = f"composed.functions.{function.strip('_')}"
    of = node.args[0] if node.args else node.func
    if isinstance(node.func, ast.Attribute) and _is_value(node.func.value):
        of = node.func.value
    names = [named(one, parameters) for one in [of, *node.args[1:2]]]
    try:
        return say(key, of=names[0], second=names[-1])
    except KeyError:
        shown = f"`{function.strip('_')}`"
        if len(names[0]) > MOST or not node.args:
            return shown
        return say("composed.words.call", function=shown, of=names[0])


def _is_value(node: ast.AST) -> bool:
    """Tell whether a method belongs to a value, and not to a module or an object."""
    return not (isinstance(node, ast.Name) and node.id in {"mx", "self", "math"})


def _operation(node: ast.BinOp, parameters: AbstractSet[str]) -> str:
    """Say what is computed of what."""
    left, right = named(node.left, parameters), named(node.right, parameters)
    between = BETWEEN.get(type(node.op))
    if between and len(left) + len(right) < MOST:
        return f"{left} {say(f'composed.words.{between}')} {right}"
    return say(f"composed.words.{OPERATIONS.get(type(node.op), 'result')}")
