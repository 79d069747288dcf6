"""Texts that a model computes in steps, and what is left behind of them."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call, show
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.scenarios.caching import CACHE
from tiny_llm_course.solution import Solution

RUN_PIECES = "qwen2_week3.run_pieces"
MODEL = "qwen2_week3.Qwen2ModelWeek3"

Step = dict[int, int]
"""Texts by their numbers, in the order in which they are passed, and how many tokens of
each are computed."""


@dataclass(frozen=True)
class InSteps(Call):
    """Texts that are computed in steps, each of which has tokens of some of them.

    Attributes:
        args: The model that `mlx_lm` loaded.
        texts: The ids of each text.
        steps: What each step computes.
        keep: How many positions the last step scores. None does not say.
    """

    texts: tuple[tuple[int, ...], ...] = ()
    steps: tuple[Step, ...] = ()
    keep: int | tuple[int, ...] | None = None

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return what the last step returns."""
        return self.computed(solution, solution.get(MODEL)(*self.args))[0]

    def computed(
        self,
        solution: Solution,
        model: Any,  # noqa: ANN401 - of a solution
    ) -> tuple[Any, list[list[Any]]]:
        """Compute all steps. Return what the last one returns, and the caches."""
        new, run_pieces = solution.get(CACHE), solution.get(RUN_PIECES)
        caches = [[new() for _ in range(model.num_hidden_layers)] for _ in self.texts]
        done, output = [0] * len(self.texts), None
        for place, step in enumerate(self.steps):
            pieces = [
                list(self.texts[one][done[one] : done[one] + number])
                for one, number in step.items()
            ]
            is_last = place == len(self.steps) - 1
            keep = () if self.keep is None or not is_last else (_listed(self.keep),)
            output = run_pieces(model, pieces, [caches[one] for one in step], *keep)
            for one, number in step.items():
                done[one] += number
        return output, caches

    def truth(self, of_texts: Sequence[Truth]) -> Truth:
        """Put together what the last step returns.

        Args:
            of_texts: The logits of each text, 1 x L x V.
        """
        last = self.steps[-1]
        keep = self.keep if isinstance(self.keep, tuple) else (self.keep,) * len(last)
        values, scales = list[Any](), list[Any]()
        for one, number in zip(last, keep, strict=True):
            stop = sum(step.get(one, 0) for step in self.steps)
            kept = slice(stop - (1 if number is None else number), stop)
            value = of_texts[one].value
            values.append(value[0, kept])
            scales.append(np.broadcast_to(of_texts[one].scale, value.shape)[0, kept])
        return Truth(np.concatenate(values), np.concatenate(scales))

    def __str__(self) -> str:
        """Write the last call, and the steps before it."""
        shown = list[str]()
        for number, step in enumerate(self.steps):
            told = ", ".join(f"{_letter(one)} {many}" for one, many in step.items())
            shown.append(say("week_3_day_2.complaints.step", number=number, told=told))
        passed = ["model", "pieces", "caches"]
        if self.keep is not None:
            passed.append(show(_listed(self.keep)))
        return "\n".join([f"run_pieces({', '.join(passed)})", *shown])


@dataclass(frozen=True)
class LeftBehind(InSteps):
    """What hangs on the last layer's cache of the first text after all steps."""

    def run(self, solution: Solution) -> int:
        """Return how many operations are not evaluated, with one more token."""
        _, caches = self.computed(solution, solution.get(MODEL)(*self.args))
        sizes = self.args[0].args
        head_dim = sizes.hidden_size // sizes.num_attention_heads
        token = mx.zeros((1, sizes.num_key_value_heads, 1, head_dim))
        keys = caches[0][-1].update_and_fetch(token, token)[0]
        graph = io.StringIO()
        mx.export_to_dot(graph, keys)
        return graph.getvalue().count("shape=rectangle")


def _listed(keep: int | tuple[int, ...]) -> int | list[int]:
    """Return what is passed: a number, or a list of them."""
    return keep if isinstance(keep, int) else list(keep)


def _letter(number: int) -> str:
    """Return the name of a text."""
    return chr(ord("a") + number)
