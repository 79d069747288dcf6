"""The text of a public name of the reference, ready to be changed and compiled."""

import ast
import functools
import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.places import REFERENCE
from tiny_llm_course.records import python_text
from tiny_llm_course.records.definitions import (
    Definition,
    bare_definitions,
    name_of,
    with_helpers,
)
from tiny_llm_course.records.record import Record
from tiny_llm_course.specimens import Specimen
from tiny_llm_course.syllabus import public_names


@dataclass(frozen=True)
class Text:
    """What a public name consists of, in one right way to write it.

    Attributes:
        module: The name of the module that it stands in.
        name: What it is called there.
        tree: Its function or class among the helpers of its file that it uses, without
            docstrings and annotations.
    """

    module: str
    name: str
    tree: ast.Module

    @property
    def own(self) -> ast.stmt:
        """Its function or class alone."""
        return next(one for one in self.tree.body if name_of(one) == self.name)

    @property
    def parameters(self) -> set[str]:
        """The names that its author shares with every learner."""
        return {one.arg for one in ast.walk(self.own) if isinstance(one, ast.arg)}

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
        return python_text.compiled(self.tree, self.name)

    def run(self, code: CodeType) -> Any:  # noqa: ANN401 - a function or a class
        """Return what the name stands for in a compiled text of it."""
        helpers = {one.__name__: one for one in HELPERS}
        return python_text.run(code, self.module, self.name, **helpers, mx=CarefulMlx())


def text_of(symbol: str) -> Text | None:
    """Return the reference's text of a public name, or None if it has none."""
    return _text_of(symbol, public_names())


def whole_text_of(symbol: str) -> Text | None:
    """Return the same with all that it uses of its file, other public names, too."""
    return _text_of(symbol, frozenset())


def _text_of(symbol: str, apart: frozenset[str]) -> Text | None:
    """Return the reference's text of a public name without some of what it uses."""
    file, name = symbol.split(".")
    return _text(f"{REFERENCE.name}.{file}", REFERENCE / f"{file}.py", name, apart)


def text_of_variant(variant: Specimen) -> Text | None:
    """Return the text of a known solution, right or wrong, if it is in Python."""
    if isinstance(variant.implementation, Record):
        return _text_of_record(variant.implementation)
    module = variant.implementation.__module__
    path = Path(importlib.import_module(module).__file__ or "")
    text = text_in(path, module, variant.name)
    return None if text is None or _is_risky(text.own) else text


def text_in(path: Path, module: str, name: str) -> Text | None:
    """Return the text of a public name in any file, without other public names.

    Args:
        path: The file.
        module: What it has been imported as.
        name: The function or class.
    """
    return _text(module, path, name, public_names())


@functools.cache
def _text(module: str, path: Path, name: str, apart: frozenset[str]) -> Text | None:
    """Return the text of a name, with the helpers that do not stand apart.

    It is one for all: what is changed in it has to be put back.
    """
    own = _definitions(path)
    if name not in own:
        return None
    # In the order of the file: a class stands below those that it inherits from.
    found = with_helpers(own, name, apart)
    body: list[ast.stmt] = [own[one] for one in found]
    return Text(module, name, ast.Module(body, type_ignores=[]))


@functools.cache
def _text_of_record(record: Record) -> Text | None:
    """Return the reference's text with a record applied, if it is in Python."""
    tree, ours = record.text, text_of(record.symbol)
    if tree is None or ours is None or (_is_risky(tree) and not _is_risky(ours.tree)):
        return None
    file, name = record.symbol.split(".")
    return Text(f"{REFERENCE.name}.{file}", name, tree)


@functools.cache
def _definitions(path: Path) -> dict[str, Definition]:
    """Return the functions and classes of a file by name, bare."""
    named = bare_definitions(ast.parse(path.read_text(encoding="utf-8")))
    # Texts stay as they are: a change in a kernel's source would have to be compiled.
    found = {name: one for name, one in named.items() if isinstance(one, Definition)}
    for one in found.values():
        one.decorator_list = [each for each in one.decorator_list if not _is_mark(each)]
    return found


def _is_risky(definition: ast.AST) -> bool:
    """Tell whether a change anywhere may never end, or write where nothing is."""
    nodes = list(ast.walk(definition))
    return any(isinstance(one, ast.While) for one in nodes) or any(
        isinstance(one, ast.Attribute) and one.attr == "slice_update" for one in nodes
    )


def _is_mark(decorator: ast.expr) -> bool:
    """Tell whether a decorator only says what is a known solution."""
    return ast.unparse(decorator).startswith("specimen(")


def reshaped(x: mx.array, *axes: int) -> mx.array:
    """Reshape `x` as if that exchanged two axes."""
    shape = list(x.shape)
    a, b = axes
    shape[a], shape[b] = shape[b], shape[a]
    return x.reshape(shape)


def cut_otherwise(x: mx.array, axis: int, sizes: tuple[int, int]) -> mx.array:
    """Cut an axis as if its inner part came first."""
    return mx.unflatten(x, axis, sizes[::-1]).swapaxes(axis, axis - 1)


def joined_otherwise(x: mx.array, *axes: int) -> mx.array:
    """Join the last two axes as if the last one came first."""
    del axes
    return mx.flatten(x.swapaxes(-2, -1), -2, -1)


def linear_as_stored(
    x: mx.array, w: mx.array, bias: mx.array | None = None
) -> mx.array:
    """Apply a linear layer without a transpose."""
    return x @ w if bias is None else x @ w + bias


def in_float32(y: Any) -> Any:  # noqa: ANN401 - any result
    """Widen an array."""
    return y.astype(mx.float32)


def axis_in_front(y: Any) -> Any:  # noqa: ANN401
    """Put an axis of length 1 in front of an array."""
    return y[None]


def axes_in_front(y: Any) -> Any:  # noqa: ANN401
    """Put two axes of length 1 in front of an array."""
    return y[None, None]


def axis_at_the_end(y: Any) -> Any:  # noqa: ANN401
    """Put an axis of length 1 behind the others of an array."""
    return y[..., None]


def axis_after_the_first(y: Any) -> Any:  # noqa: ANN401
    """Put an axis of length 1 between the first of an array and the others."""
    return mx.expand_dims(y, 1)


def axes_joined(y: Any) -> Any:  # noqa: ANN401
    """Join all axes of an array but the last."""
    return y.reshape(-1, y.shape[-1])


def squeezed(y: Any) -> Any:  # noqa: ANN401
    """Drop all axes of length 1 of an array."""
    return y.squeeze()


def last_position(y: Any) -> Any:  # noqa: ANN401
    """Keep the last position only."""
    return y[..., -1:, :]


def transposed(y: Any) -> Any:  # noqa: ANN401
    """Exchange the last two axes of an array."""
    return y.swapaxes(-2, -1)


def as_numpy(y: Any) -> Any:  # noqa: ANN401
    """Make a NumPy array of one of MLX."""
    return np.array(y.astype(mx.float32))


def adding_twice(function: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401
    """Add the last argument to what a function has made with it."""
    return function(*args) if args[-1] is None else function(*args) + args[-1]


MOST_ZEROS = 2**24
"""No graded test asks for a buffer of so many entries."""


_UNFLATTEN, _SPLIT, _ZEROS = mx.unflatten, mx.split, mx.zeros
"""What MLX has, also while the functions below stand in their places."""


class CarefulMlx:
    """The module `mlx.core`, which raises where it would end the process."""

    @staticmethod
    def unflatten(x: mx.array, axis: int, shape: Sequence[int]) -> mx.array:
        """Cut an axis, but never into parts of no length."""
        if 0 in shape:
            raise ValueError("[unflatten] Cannot cut an axis into parts of length 0")
        return _UNFLATTEN(x, axis, shape)

    @staticmethod
    def split(x: mx.array, parts: int | list[int], axis: int = 0) -> Any:  # noqa: ANN401
        """Split an array, but never into no parts."""
        if parts == 0:
            raise ValueError("[split] Cannot split an array into 0 parts")
        return _SPLIT(x, parts, axis)

    @staticmethod
    def zeros(shape: int | Sequence[int], dtype: mx.Dtype = mx.float32) -> mx.array:
        """Make zeros, but never so many that memory ends, as a cache does in a loop."""
        num_entries = math.prod([shape] if isinstance(shape, int) else shape)
        if num_entries > MOST_ZEROS:
            raise ValueError(f"[zeros] Cannot make {num_entries} entries")
        return _ZEROS(shape, dtype)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - anything of MLX
        """Return what MLX has."""
        return getattr(mx, name)


HELPERS = (
    *(reshaped, cut_otherwise, joined_otherwise, linear_as_stored),
    *(in_float32, axis_in_front, axes_in_front, axes_joined, squeezed),
    *(axis_at_the_end, axis_after_the_first, last_position, transposed, as_numpy),
    adding_twice,
)
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
        self.put_back(node)

    def put_back(self, node: ast.AST) -> None:
        """Put something there that comes from a text, and knows its line."""
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
        if isinstance(parent, ast.Slice) and field == "step":
            continue  # a step of 0 ends the process
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


UNCHECKED = {
    *("put_along_axis", "take_along_axis"),
    *("argpartition", "argsort", "arange", "zeros"),
}
"""Of wrong indices MLX writes where nothing is its own, and of a step of 0 no end."""


def _may_crash(node: ast.AST) -> bool:
    """Tell whether a change here might end the process, or never end."""
    nodes = list(ast.walk(node))
    names = (one.attr for one in nodes if isinstance(one, ast.Attribute))
    is_small = isinstance(node, ast.expr | ast.Assign | ast.Return)
    return is_small and (any(map(_has_step, nodes)) or not UNCHECKED.isdisjoint(names))


def _has_step(node: ast.AST) -> bool:
    """Tell whether a node is a call of `slice` with a step, which must not be 0."""
    match node:
        case ast.Call(ast.Name("slice"), [_, _, _]):
            return True
        case _:
            return False
