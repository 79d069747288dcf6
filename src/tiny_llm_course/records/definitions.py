"""The functions and classes of a file in Python, bare, and which of them use which."""

import ast
from collections.abc import Iterable, Mapping

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


def bare_definitions(tree: ast.Module) -> dict[str, Definition]:
    """Return functions and classes by name, without docstrings and annotations."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, Definition) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node)]
    return {one.name: one for one in tree.body if isinstance(one, Definition)}


def name_of(node: ast.stmt) -> str:
    """Return the name of a definition, and nothing for another statement."""
    return node.name if isinstance(node, Definition) else ""


def with_helpers(
    own: Mapping[str, Definition], name: str, leave_out: Iterable[str]
) -> list[str]:
    """Return a name and those of its file that it uses, in the order of the file.

    Args:
        own: The definitions of the file.
        name: One of them.
        leave_out: What is no helper, although it may be used.
    """
    found = [name]
    for one in found:
        names = {node.id for node in ast.walk(own[one]) if isinstance(node, ast.Name)}
        helpers = names.intersection(own).difference(leave_out)
        found += [other for other in own if other in helpers and other not in found]
    return [one for one in own if one in found]
