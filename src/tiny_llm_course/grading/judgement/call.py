"""A call of a public name: the arguments of the constructor and of the call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.solution import Solution


@dataclass(frozen=True)
class Call:
    """A call of a public name of a solution.

    Attributes:
        symbol: The name that is called, as "file.name".
        args: Arguments of the call.
        kwargs: Keyword arguments of the call.
        build: Arguments of the constructor, when the symbol is a class or a factory.
        method: The method to call on the object that was built, instead of the object
            itself. Without `build`, a method of the class.
        times: How often to call it. More than once returns the list of the outputs.
        named: Keyword arguments of the constructor.
        earlier: Arguments of calls before this one, on the same object.
    """

    symbol: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    build: tuple[Any, ...] | None = None
    method: str = "__call__"
    times: int = 1
    named: dict[str, Any] = field(default_factory=dict[str, Any])
    earlier: tuple[tuple[Any, ...], ...] = ()

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Call the name as `solution` defines it."""
        target = self.target(solution)
        outputs = [target(*self.args, **self.kwargs) for _ in range(self.times)]
        return outputs if self.times > 1 else outputs[0]

    def target(self, solution: Solution) -> Any:  # noqa: ANN401 - anything callable
        """Return the callable: a name of `solution`, or the object that it builds."""
        target = solution.get(self.symbol)
        if self.build is not None:
            target = target(*self.build, **self.named)
        if self.build is not None or self.method != "__call__":
            target = getattr(target, self.method)
        for args in self.earlier:
            mx.eval(target(*args))
        return target

    def arrays(self) -> list[mx.array]:
        """Return every array that the call passes to the solution."""
        built = (*(self.build or ()), *self.named.values())
        earlier = [value for args in self.earlier for value in args]
        values = (*built, *self.args, *self.kwargs.values(), *earlier)
        return [value for value in values if isinstance(value, mx.array)]

    def __str__(self) -> str:
        """Write the call as code, arrays as their dtype and shape.

        Earlier calls of the same object come first, one per line.
        """
        text = self.symbol.split(".")[1]
        if self.build is not None:
            text += f"({_listed(self.build, self.named)})"
        lines: list[str] = []
        if self.earlier:
            lines.append(f"built = {text}")
            lines += [f"built({_listed(args)})" for args in self.earlier]
            text = "built"
        if self.method != "__call__":
            text += f".{self.method}"
        named = [f"{name}={show(value)}" for name, value in self.kwargs.items()]
        called = f"{text}({', '.join([*map(show, self.args), *named])})"
        return "\n".join([*lines, called])


def show(value: Any) -> str:  # noqa: ANN401 - any argument
    """Write one argument: an array as `float16[2, 3]`, a function by its name."""
    if isinstance(value, mx.array):
        return f"{dtype_name(value.dtype)}{list(value.shape)}"
    if isinstance(value, str | int | float | slice | list | tuple | None):
        return repr(value)
    if isinstance(value, mx.Dtype):
        return f"mx.{dtype_name(value)}"
    name = getattr(value, "__name__", type(value).__name__)
    return _packed(value, name) if isinstance(value, Packed) else name


@runtime_checkable
class Packed(Protocol):
    """A quantised matrix, as a solution defines it.

    Attributes:
        weight: The packed integers, one row per output.
        bits: Of each integer.
        group_size: How many integers share a scale and a bias.
    """

    weight: Any
    bits: Any
    group_size: Any


def _packed(value: Packed, name: str) -> str:
    """Write how many weights a matrix has, and how they are packed."""
    shape, bits = getattr(value.weight, "shape", ()), value.bits
    if len(shape) != 2 or not isinstance(bits, int) or bits < 1:
        return name  # of a solution that makes something else of it
    sizes = {"rows": shape[0], "columns": 32 * shape[1] // bits, "bits": bits}
    return say("grading.packed", name=name, **sizes, group_size=value.group_size)


def dtype_name(dtype: mx.Dtype) -> str:
    """Return the name of a dtype without its package, such as "float16"."""
    return str(dtype).removeprefix("mlx.core.")


def _listed(values: tuple[Any, ...], named: Mapping[str, Any] | None = None) -> str:
    """Write a list of arguments, with dots for the weights after the fourth."""
    shown = [show(value) for value in values]
    shown += [f"{name}={show(value)}" for name, value in (named or {}).items()]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:4], "..."])
