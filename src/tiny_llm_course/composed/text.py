"""The text of a public name of the reference, ready to be changed and compiled."""

import ast
import functools
import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import mlx.core as mx

from tiny_llm_course.places import REFERENCE

Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Text:
    """What a public name consists of.

    Attributes:
        symbol: The name, as "file.name".
        tree: Its function or class, and after it those of its file that it uses,
            without docstrings and annotations.
    """

    symbol: str
    tree: ast.Module

    @property
    def parameters(self) -> set[str]:
        """The names that its author shares with every learner."""
        own = self.tree.body[0]
        return {one.arg for one in ast.walk(own) if isinstance(one, ast.arg)}

    @property
    def names(self) -> set[str]:
        """All names that occur in it."""
        return {
            getattr(one, "id", "")
            or getattr(one, "attr", "")
            or getattr(one, "arg", "")
            for one in ast.walk(self.tree)
        }

    def compiled(self) -> CodeType:
        """Compile it as it stands now."""
        with warnings.catch_warnings(action="ignore"):  # of what is wrong on purpose
            return compile(self.tree, f"<{self.symbol}>", "exec")

    def run(self, code: CodeType) -> Any:  # noqa: ANN401 - a function or a class
        """Return what the name stands for in a compiled text of it."""
        file, name = self.symbol.split(".")
        module = importlib.import_module(f"{REFERENCE.name}.{file}")
        names = {**vars(module), **{one.__name__: one for one in HELPERS}}
        exec(code, names)  # noqa: S102 - our own text, changed by us
        return names[name]


@functools.cache
def text_of(symbol: str) -> Text | None:
    """Return the text of a public name, or None if the reference has none.

    It is one for all: what is changed in it has to be put back.
    """
    file, name = symbol.split(".")
    own = _definitions(REFERENCE / f"{file}.py")
    if name not in own:
        return None
    found = [name]
    for one in found:
        names = {node.id for node in ast.walk(own[one]) if isinstance(node, ast.Name)}
        found += [other for other in own if other in names and other not in found]
    return Text(symbol, ast.Module([own[one] for one in found], type_ignores=[]))


@functools.cache
def _definitions(path: Path) -> dict[str, Definition]:
    """Return the functions and classes of a file by name, bare."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    found = (one for one in tree.body if isinstance(one, Definition))
    return {one.name: one for one in found}


def reshaped(x: mx.array, *axes: int) -> mx.array:
    """Reshape `x` as if that exchanged two axes."""
    shape = list(x.shape)
    a, b = axes
    shape[a], shape[b] = shape[b], shape[a]
    return x.reshape(shape)


def cut_otherwise(x: mx.array, axis: int, sizes: tuple[int, int]) -> mx.array:
    """Cut an axis as if its inner part came first."""
    return mx.unflatten(x, axis, sizes[::-1]).swapaxes(axis, axis - 1)


def linear_as_stored(
    x: mx.array, w: mx.array, bias: mx.array | None = None
) -> mx.array:
    """Apply a linear layer without a transpose."""
    return x @ w if bias is None else x @ w + bias


HELPERS = (reshaped, cut_otherwise, linear_as_stored)
"""What changed texts may call besides the names of their own file."""


@dataclass(frozen=True)
class Slot:
    """A place in a text that holds a node.

    Attributes:
        parent: The node around it.
        field: The name of its field there.
        index: Its place in that field, if this is a list.
    """

    parent: ast.AST
    field: str
    index: int | None

    @property
    def node(self) -> ast.AST:
        """What stands there."""
        held: Any = getattr(self.parent, self.field)
        return held if self.index is None else held[self.index]

    def put(self, node: ast.AST) -> None:
        """Put something else there."""
        located = ast.copy_location(node, self.node)
        ast.fix_missing_locations(located)
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def slots(parent: ast.AST) -> Iterator[Slot]:
    """Yield all places below a node in which something may go wrong.

    What only refuses bad input is left alone, but for what it refuses, and so are
    parameters.
    """
    for field, value in ast.iter_fields(parent):
        if field in {"args", "decorator_list"} and isinstance(parent, ast.FunctionDef):
            continue
        if isinstance(parent, ast.UnaryOp) and isinstance(value, ast.Constant):
            continue  # a negative axis or number is one thing
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(node, ast.If) and _refuses(node):
                yield from _limits(node)
            if not isinstance(node, ast.AST) or _refuses(node) or _may_crash(node):
                continue
            slot = Slot(parent, field, index if isinstance(value, list) else None)
            yield slot
            yield from slots(node)


def _limits(check: ast.If) -> Iterator[Slot]:
    """Yield the comparisons that tell how small or large a value may be."""
    for slot in slots(ast.Expr(check.test)):
        node = slot.node
        is_limit = isinstance(node, ast.Compare) and not isinstance(
            node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot
        )
        if is_limit:
            yield Slot(check, "test", None) if node is check.test else slot


def _refuses(node: ast.AST) -> bool:
    """Tell whether a statement only checks what it is given."""
    if isinstance(node, ast.If):
        return all(isinstance(one, ast.Raise) for one in node.body)
    return isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr)


UNCHECKED = {"put_along_axis", "take_along_axis", "argpartition", "argsort", "arange"}
"""Of wrong indices MLX writes where nothing is its own, and of a step of 0 no end."""


def _may_crash(node: ast.AST) -> bool:
    """Tell whether a change here might end the process, or never end."""
    names = (one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute))
    is_small = isinstance(node, ast.expr | ast.Assign | ast.Return)
    return is_small and not UNCHECKED.isdisjoint(names)
