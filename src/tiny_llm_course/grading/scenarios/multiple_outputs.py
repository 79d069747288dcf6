"""Calls that return several arrays, of which one or all are judged."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.solution import Solution


@dataclass(frozen=True)
class OneOf(Call):
    """One of the results of a call.

    Attributes:
        index: The result that is judged.
        names: Their keys in the catalogue, in order. The call has to return as many.
    """

    index: int = 0
    names: tuple[str, ...] = ()

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the result, or all of them if their number is wrong."""
        results = super().run(solution)
        if isinstance(results, tuple | list) and len(results) == len(self.names):
            return results[self.index]
        return results

    def __str__(self) -> str:
        """Write the call, and which of the results is judged."""
        name = say(f"grading.results.{self.names[self.index]}")
        return f"{super().__str__()}: {name}"


@dataclass(frozen=True)
class Stacked(Call):
    """The outputs of a repeated call, stacked along a new axis."""

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return one array, or all outputs if they are not arrays of the same shape."""
        outputs = super().run(solution)
        shapes = {one.shape for one in outputs if isinstance(one, mx.array)}
        are_alike = len(shapes) == 1 and all(
            isinstance(one, mx.array) for one in outputs
        )
        return mx.stack(outputs) if are_alike else outputs


def repeated(truth: Truth, times: int) -> Truth:
    """Return the truth of a call, repeated for each time that it is made."""
    scale = np.broadcast_to(truth.scale, truth.value.shape)
    return Truth(np.stack([truth.value] * times), np.stack([scale] * times))
