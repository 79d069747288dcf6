"""Weights that are cut into parts, and a model of which each process has a part."""

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call, show
from tiny_llm_course.grading.judgement.verdict import StepLimitError
from tiny_llm_course.grading.scenarios.pieces import MODEL, InSteps
from tiny_llm_course.solution import Solution

SPLIT = "distributed.split_model"
SAID = "week_3_day_7_task_5.complaints"


@dataclass(frozen=True)
class Cut(Call):
    """A weight of which a process takes its part.

    Attributes:
        args: The weight, dense or as `oracle.stored` has it; the process; how many.
    """

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the part, dequantised if it is packed."""
        w, *whose = self.args
        cut = solution.get(self.symbol)
        if isinstance(w, mx.array):
            return cut(w, *whose)
        build = solution.get("quantize.QuantizedWeights")
        part = cut(build(w.scales, w.biases, w.group_size, w.bits, w.packed), *whose)
        numbers = {"group_size": part.group_size, "bits": part.bits}
        return mx.dequantize(part.weight, part.scales, part.biases, **numbers)

    def __str__(self) -> str:
        """Write the call, with the format of a packed weight."""
        w, rank, size = self.args
        told = show(w)
        if not isinstance(w, mx.array):
            numbers = {"bits": w.bits, "group_size": w.group_size}
            num_inputs = w.scales.shape[1] * w.group_size
            shape = [w.scales.shape[0], num_inputs]
            told = say(f"{SAID}.packed", shape=shape, **numbers)
        return f"{self.symbol.partition('.')[2]}({told}, rank={rank}, size={size})"


@dataclass(frozen=True)
class Split(InSteps):
    """Texts that are computed by several processes, each with a part of the model.

    One process plays all of them. Each computes until it needs a sum that is not known
    yet. When all have come so far, there is the sum, and all begin again.

    Attributes:
        size: How many processes there are.
        rank: The one whose logits are judged.
    """

    size: int = 2
    rank: int = 0

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return what the last step returns to the process."""
        sums = list[mx.array]()
        while True:
            outputs, parts = list[Any](), list[mx.array]()
            for rank in range(self.size):
                try:
                    outputs.append(self._as(rank, solution, sums))
                except _WaitingError as waiting:
                    parts.append(waiting.part)
            if not parts:
                return outputs[self.rank]
            if outputs:
                raise StepLimitError(say(f"{SAID}.waits", number=len(sums) + 1))
            sums.append(functools.reduce(operator.add, parts))

    def _as(self, rank: int, solution: Solution, sums: Sequence[mx.array]) -> Any:  # noqa: ANN401
        """Compute all steps as one of the processes."""
        known = iter(sums)

        def all_sum(part: mx.array) -> mx.array:
            for one in known:
                return one
            mx.eval(part)
            raise _WaitingError(part)

        model = solution.get(MODEL)(*self.args)
        solution.get(SPLIT)(model, rank, self.size, all_sum)
        return self.computed(solution, model)[0]

    def __str__(self) -> str:
        """Write how the model is split, and the steps."""
        split = say(f"{SAID}.split", size=self.size, rank=self.rank)
        return f"{split}\n{super().__str__()}"


class _WaitingError(Exception):
    """A process waits for the parts of others.

    Attributes:
        part: Its own.
    """

    def __init__(self, part: mx.array) -> None:
        super().__init__()
        self.part = part


@dataclass(frozen=True)
class Held(Call):
    """How much of a model a process holds.

    Attributes:
        args: The model that `mlx_lm` loaded; the process; how many there are.
    """

    def run(self, solution: Solution) -> int:
        """Return how many numbers fewer the model has when it is split."""
        mlx_model, *whose = self.args
        model = solution.get(MODEL)(mlx_model)
        before = _num_numbers(model, set())
        solution.get(SPLIT)(model, *whose, lambda part: part)
        return before - _num_numbers(model, set())

    def __str__(self) -> str:
        """Write the call."""
        return "split_model(model, {}, {}, all_sum)".format(*self.args[1:])


def _num_numbers(thing: Any, seen: set[int]) -> int:  # noqa: ANN401 - of a solution
    """Return how many numbers are in the arrays of an object, each counted once."""
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, mx.array):
        return thing.size
    is_listed = isinstance(thing, list | tuple)
    parts = thing if is_listed else getattr(thing, "__dict__", {}).values()
    return sum(_num_numbers(one, seen) for one in parts)
