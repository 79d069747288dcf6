"""Calls that return several arrays, one of which is judged."""

from dataclasses import dataclass
from typing import Any

from tiny_llm_course.grading.call import Call
from tiny_llm_course.solution import Solution


@dataclass(frozen=True)
class OneOf(Call):
    """One of the results of a call.

    Attributes:
        index: Which one.
        names: What the report calls them, in order. There have to be as many.
    """

    index: int = 0
    names: tuple[str, ...] = ()

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the one, or all there is if that is not as many as there should be."""
        results = super().run(solution)
        if isinstance(results, tuple | list) and len(results) == len(self.names):
            return results[self.index]
        return results

    def __str__(self) -> str:
        """Write the call, and which of the results is meant."""
        return f"{super().__str__()}: {self.names[self.index]}"
