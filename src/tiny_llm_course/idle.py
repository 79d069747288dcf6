"""Finds definitions whose bodies do nothing."""

import ast
import re

Function = ast.FunctionDef | ast.AsyncFunctionDef


def does_nothing(node: ast.stmt) -> bool:
    """Tell whether a definition has an empty body.

    An empty body is `pass`, `...`, `return`, `return None` or only a docstring. A
    subclass is never empty, since it inherits.
    """
    if isinstance(node, ast.ClassDef):
        is_plain = not (node.bases or node.keywords or node.decorator_list)
        return is_plain and all(_is_idle(one) or does_nothing(one) for one in node.body)
    if isinstance(node, Function):
        is_promise = re.search("abstract|overload", _decorators(node))
        return not is_promise and all(map(_is_idle, node.body))
    return False


def _is_idle(node: ast.stmt) -> bool:
    """Tell whether a statement has no effect and returns no value."""
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Return(value=None | ast.Constant(value=None)):
            return True
        case _:
            return False


def _decorators(node: Function) -> str:
    return " ".join(map(ast.unparse, node.decorator_list))
