"""One use of a public name: what is built, and what it is called with."""

from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx

from tiny_llm_course.solution import Solution


@dataclass(frozen=True)
class Call:
    """One use of a public name of a solution.

    Attributes:
        symbol: What is called, as "file.name".
        args: Arguments of the call.
        kwargs: Keyword arguments of the call.
        build: Arguments of the constructor, when the symbol is a class or a factory.
        method: The method to call on what was built, when it is not called itself.
            Without `build`, a method of the class.
        times: How often to call it. More than once returns the list of the outputs.
    """

    symbol: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    build: tuple[Any, ...] | None = None
    method: str = "__call__"
    times: int = 1

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Call the name as `solution` defines it."""
        target = self.target(solution)
        outputs = [target(*self.args, **self.kwargs) for _ in range(self.times)]
        return outputs if self.times > 1 else outputs[0]

    def target(self, solution: Solution) -> Any:  # noqa: ANN401 - anything callable
        """Return what is called: a name of `solution`, or what that builds."""
        target = solution.get(self.symbol)
        if self.build is not None:
            target = target(*self.build)
        if self.build is not None or self.method != "__call__":
            target = getattr(target, self.method)
        return target

    def arrays(self) -> list[mx.array]:
        """Return every array that the call hands to the solution."""
        values = (*(self.build or ()), *self.args, *self.kwargs.values())
        return [value for value in values if isinstance(value, mx.array)]

    def __str__(self) -> str:
        """Write the call as code, arrays as their dtype and shape."""
        text = self.symbol.split(".")[1]
        if self.build is not None:
            text += f"({_listed(self.build)})"
        if self.method != "__call__":
            text += f".{self.method}"
        named = [f"{name}={show(value)}" for name, value in self.kwargs.items()]
        return f"{text}({', '.join([*map(show, self.args), *named])})"


def show(value: Any) -> str:  # noqa: ANN401 - any argument
    """Write one argument: an array as `float16[2, 3]`, a function by its name."""
    if isinstance(value, mx.array):
        return f"{dtype_name(value.dtype)}{list(value.shape)}"
    if isinstance(value, str | int | float | slice | list | tuple | None):
        return repr(value)
    if isinstance(value, mx.Dtype):
        return f"mx.{dtype_name(value)}"
    return getattr(value, "__name__", type(value).__name__)


def dtype_name(dtype: mx.Dtype) -> str:
    """Return the name of a dtype without its package, such as "float16"."""
    return str(dtype).removeprefix("mlx.core.")


def _listed(values: tuple[Any, ...]) -> str:
    """Write arguments one after the other, weights after the fourth as dots."""
    shown = [show(value) for value in values]
    return ", ".join(shown if len(shown) <= 6 else [*shown[:4], "..."])
