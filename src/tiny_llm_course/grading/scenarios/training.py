"""A use of a layer that remembers: it is trained first, and looked at then."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.judgement.call import Call, show
from tiny_llm_course.solution import Solution


@dataclass(frozen=True)
class Trained(Call):
    """Build a layer, train it on some batches, then call it as usual.

    Attributes:
        batches: What it is called with first, with `training=True`.
        attribute: What to read at the end, in the place of the last output. The layer
            is called before only if there are `args`.
    """

    batches: tuple[mx.array, ...] = ()
    attribute: str = ""

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Train the class as `solution` defines it, and return what was asked for."""
        layer = solution.get(self.symbol)(*(self.build or ()))
        for batch in self.batches:
            mx.eval(layer(batch, training=True))
        output = layer(*self.args, **self.kwargs) if self.args else None
        return getattr(layer, self.attribute) if self.attribute else output

    def arrays(self) -> list[mx.array]:
        """Return every array that the call hands to the solution."""
        return [*super().arrays(), *self.batches]

    def __str__(self) -> str:
        """Write what happens as code, one line a call."""
        built, _, called = super().__str__().rpartition("(")
        lines = [f"layer = {built}"]
        lines += [f"layer({show(one)}, training=True)" for one in self.batches]
        lines += [f"layer({called}"] if self.args else []
        lines += [f"layer.{self.attribute}"] if self.attribute else []
        return "\n".join(lines)
