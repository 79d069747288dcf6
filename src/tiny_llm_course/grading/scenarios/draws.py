"""What chooses the tokens of a request, built with its parameters."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.judgement.call import Call, show
from tiny_llm_course.solution import Solution

Params = Mapping[str, Any]

PROCESSORS = "sampler.LogitsProcessors"
SAMPLER = "sampler.RequestSampler"


@dataclass(frozen=True)
class WithParams(Call):
    """A call of what is built with the parameters of a request.

    Attributes:
        args: Logits V, and the tokens of prompt and output.
        params: The parameters, without those that have their usual values.
    """

    params: Params = field(default_factory=dict[str, Any])

    def target(self, solution: Solution) -> Any:  # noqa: ANN401 - anything callable
        """Build the object."""
        return built(solution, self.symbol, self.params)

    def __str__(self) -> str:
        """Write the call as code."""
        made = f"{self.symbol.split('.')[1]}({told(self.params)})"
        return f"{made}({', '.join(map(show, self.args))})"


@dataclass(frozen=True)
class Refused(WithParams):
    """A call that has to raise a ValueError."""

    def run(self, solution: Solution) -> bool:
        """Tell whether it does."""
        try:
            mx.eval(super().run(solution))
        except ValueError:
            return True
        return False


@dataclass(frozen=True)
class Logprobs(WithParams):
    """A token that is chosen, with what is reported of it.

    Attributes:
        part: What is judged: the number of the token itself, as an array; the tokens
            that are reported as the likeliest; their numbers, as an array; or whether
            there is a report.
    """

    part: str = "own"

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the part."""
        found = super().run(solution).logprob
        if self.part == "report" or found is None:
            return found is not None
        if self.part == "own":
            return mx.array([found.logprob])
        if self.part == "top":
            return [token for token, _ in found.top]
        return mx.array([number for _, number in found.top])

    def __str__(self) -> str:
        """Write the call as code, with the part."""
        part = {
            "own": ".logprob.logprob",
            "top": ".logprob.top",
            "of_top": ".logprob.top",
            "report": ".logprob",
        }
        return super().__str__() + part[self.part]


@dataclass(frozen=True)
class Draws(WithParams):
    """A sampler that is called many times, while others draw as well.

    Attributes:
        args: Logits N x V, of which each call takes the rows in turn. What was drawn is
            the output.
        num_calls: How often all rows are drawn from.
        others: Parameters of samplers that draw before it each time.
        disturbed: Whether somebody sets the seed of MLX first, and before each draw.
    """

    num_calls: int = 1
    others: tuple[Params, ...] = ()
    disturbed: bool = False

    def run(self, solution: Solution) -> list[list[int]]:
        """Return the ids of each time, one for each row."""
        if self.disturbed:
            mx.random.seed(1)
        sampler = self.target(solution)
        others = [built(solution, self.symbol, one) for one in self.others]
        drawn: list[int] = []
        for row in (row for _ in range(self.num_calls) for row in self.args[0]):
            if self.disturbed:
                mx.random.seed(1)
            for other in others:
                other(row, [0], drawn[:])
            drawn.append(sampler(row, [0], drawn[:]).token)
        size = len(self.args[0])
        return [drawn[first : first + size] for first in range(0, len(drawn), size)]

    def __str__(self) -> str:
        """Write the samplers as code."""
        made = "RequestSampler({})".format
        others = "".join(f", {made(told(one))}" for one in self.others)
        seed = ", mx.random.seed(1)" if self.disturbed else ""
        return f"{made(told(self.params))}{others}{seed}: {show(self.args[0])}"


@dataclass(frozen=True)
class OfTokens(Call):
    """What `token_logprobs` reports of some places.

    Attributes:
        args: Logits K x V, the token at each place, and the number of likeliest ones.
        part: As in `Logprobs`, of all places; or whether the number of each token is
            that of the likeliest one; or whether JSON can write what is reported.
    """

    part: str = "own"

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the part."""
        found = super().run(solution)
        if self.part == "tokens":
            return [one.token for one in found]
        if self.part == "same":
            return [one.logprob == one.top[0][1] for one in found]
        if self.part == "in_json":
            return _is_json([[one.logprob, one.top] for one in found])
        if self.part == "own":
            return mx.array([one.logprob for one in found])
        if self.part == "top":
            return [[token for token, _ in one.top] for one in found]
        return mx.array([[number for _, number in one.top] for one in found])


def _is_json(value: object) -> bool:
    """Tell whether JSON can write a value."""
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def built(solution: Solution, symbol: str, params: Params) -> Any:  # noqa: ANN401
    """Build an object of a solution with the parameters of a request."""
    own = solution.get("request.SamplingParams")(**params)
    return solution.get(symbol)(own)


def told(params: Params) -> str:
    """Write parameters as code."""
    return ", ".join(f"{name}={value!r}" for name, value in params.items())
