"""A call of a layer with running statistics: train it first, then judge it."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.judgement.call import Call, show
from tiny_llm_course.solution import Solution


@dataclass(frozen=True)
class Trained(Call):
    """Build a layer, train it on some batches, then call it as usual.

    Attributes:
        batches: The inputs of the calls with `training=True`.
        attribute: What to return instead of the last output. In that case, the layer is
            called after training only if there are `args`.
    """

    batches: tuple[mx.array, ...] = ()
    attribute: str = ""

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Train the layer of `solution`, and return its output or attribute."""
        layer = solution.get(self.symbol)(*(self.build or ()))
        for batch in self.batches:
            mx.eval(layer(batch, training=True))
        output = layer(*self.args, **self.kwargs) if self.args else None
        return getattr(layer, self.attribute) if self.attribute else output

    def arrays(self) -> list[mx.array]:
        """Return every array that the calls pass to the solution."""
        return [*super().arrays(), *self.batches]

    def __str__(self) -> str:
        """Write the calls as code, one per line."""
        built, _, called = super().__str__().rpartition("(")
        lines = [f"layer = {built}"]
        lines += [f"layer({show(one)}, training=True)" for one in self.batches]
        lines += [f"layer({called}"] if self.args else []
        lines += [f"layer.{self.attribute}"] if self.attribute else []
        return "\n".join(lines)
