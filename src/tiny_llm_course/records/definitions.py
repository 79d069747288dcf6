"""The functions and classes of a file in Python, bare, and which of them use which.

A text that has a name, such as the source of a kernel, is among them.
"""

import ast
from collections.abc import Iterable, Mapping

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
Named = Definition | ast.Assign


def bare_definitions(tree: ast.Module) -> dict[str, Named]:
    """Return functions and classes by name, without docstrings and annotations."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, Definition) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node)]
    named = (one for one in tree.body if isinstance(one, Named))
    return {name_of(one): one for one in named if name_of(one)}


def name_of(node: ast.stmt) -> str:
    """Return the name of a definition or a text, and nothing for other statements."""
    if isinstance(node, Definition):
        return node.name
    match node:
        case ast.Assign([ast.Name(name)], ast.Constant(str())):
            return name
        case _:
            return ""


def with_helpers(
    own: Mapping[str, Named], name: str, leave_out: Iterable[str]
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
