"""An engine that answers some requests, with a model that says what is asked of it."""

import functools
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.verdict import StepLimitError
from tiny_llm_course.grading.scenarios.architecture import mlx_model
from tiny_llm_course.grading.scenarios.draws import Params, built, told
from tiny_llm_course.grading.scenarios.fakes import ByteTokenizer, ids_of
from tiny_llm_course.grading.scenarios.languages import Language
from tiny_llm_course.grading.scenarios.quiet import logged
from tiny_llm_course.solution import Solution

ENGINE = "engine.Engine"

OF_THE_ENGINE = ("left", "room", "load", "computed", "log", "shows_tokenizer")
"""What `_Service` tells of an engine."""

_CALLS = "week_3_day_5.calls"


@dataclass(frozen=True)
class Job:
    """A request, and what becomes of it.

    Attributes:
        prompt: Its text.
        answer: What the model says to it. None lets it babble.
        params: Its parameters, without those that have their usual values.
        comes: The step before which it comes.
        leaves: The step before which it is aborted. None: never.
        fails_at: The text at which the model raises an error.
        name: Its id. None is a letter of its own.
        may_be_refused: Whether a ValueError at its coming is part of the result.
    """

    prompt: str
    answer: str | bytes | None = None
    params: Params = field(default_factory=dict[str, Any])
    comes: int = 0
    leaves: int | None = None
    fails_at: str | bytes | None = None
    name: str | None = None
    may_be_refused: bool = False


@dataclass
class Told:
    """What an engine tells of a job.

    Attributes:
        outputs: All outputs, in order.
        refusal: What the ValueError says at its coming.
        was_there: What `abort` returned.
    """

    outputs: list[Any] = field(default_factory=list[Any])
    refusal: str | None = None
    was_there: bool | None = None

    @property
    def text(self) -> str:
        """The text of all outputs."""
        return "".join(one.text for one in self.outputs)

    @property
    def pieces(self) -> list[str]:
        """The text of each output."""
        return [one.text for one in self.outputs]

    @property
    def tokens(self) -> list[int]:
        """The tokens of all outputs."""
        return [one.token for one in self.outputs if one.token is not None]

    @property
    def reasons(self) -> list[str]:
        """Every reason to end that was told."""
        found = [one.finish_reason for one in self.outputs]
        return [one for one in found if one is not None]

    @property
    def ending(self) -> str | None:
        """The reason that the last output tells."""
        return self.outputs[-1].finish_reason if self.outputs else None

    @property
    def counts(self) -> tuple[int, int] | None:
        """Tokens of the prompt and of the output, as the last output tells them."""
        if not self.outputs:
            return None
        last = self.outputs[-1]
        return last.num_prompt_tokens, last.num_output_tokens

    @property
    def cached(self) -> int | None:
        """How many tokens it found in memory, as the last output tells."""
        return self.outputs[-1].num_cached_tokens if self.outputs else None

    @property
    def error(self) -> str | None:
        """What went wrong, as the last output tells."""
        return self.outputs[-1].error if self.outputs else None

    @property
    def logprobs(self) -> list[Any]:
        """What is reported of each token of the output."""
        return [one.logprob for one in self.outputs if one.token is not None]

    @property
    def prompt_reports(self) -> list[list[Any]]:
        """Of each report on the prompt: its output, length, and whether it is right."""
        return [
            [place, len(one.prompt_logprobs), one.prompt_logprobs[0] is None]
            for place, one in enumerate(self.outputs)
            if one.prompt_logprobs is not None
        ]

    @property
    def prompt_logprobs(self) -> list[Any]:
        """What is reported of the prompt, by each output that does."""
        return [
            one.prompt_logprobs
            for one in self.outputs
            if one.prompt_logprobs is not None
        ]


@dataclass(frozen=True)
class Answering(Call):
    """An engine that answers some jobs until nothing is left to do.

    Attributes:
        args: Are not used.
        named: Settings of the engine.
        jobs: The requests, in the order in which they come.
        part: What is judged of each job: the name of a property or attribute of `Told`.
            Or what is judged of the engine: one of `OF_THE_ENGINE`.
        only: The places of the jobs that are judged. Empty: all.
    """

    jobs: tuple[Job, ...] = ()
    part: str = "text"
    only: tuple[int, ...] = ()

    @property
    def names(self) -> list[str]:
        """The ids of the requests."""
        return [
            one.name or chr(ord("a") + place) for place, one in enumerate(self.jobs)
        ]

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Answer all jobs, and return the part of each.

        Whatever is judged of the same jobs, also by a subclass, is told once.
        """
        if self.part in OF_THE_ENGINE:
            return getattr(_served(self, solution), self.part)
        whole = Answering(self.symbol, (), named=self.named, jobs=self.jobs)
        told_of = _told(whole, solution)
        chosen = self.only or range(len(self.jobs))
        return [getattr(told_of[place], self.part) for place in chosen]

    def __hash__(self) -> int:
        """Settings and parameters are in dictionaries, which have none."""
        return hash((self.symbol, *self.names))

    def __str__(self) -> str:
        """Write what is done as code."""
        settings = f", {told(self.named)}" if self.named else ""
        lines = [f"engine = Engine(model, tokenizer{settings})"]
        for name, job in zip(self.names, self.jobs, strict=True):
            given = f"SamplingParams({told(job.params)})"
            line = f"engine.add_request({name!r}, {job.prompt!r}, {given})"
            lines.append(line + self._times(job))
        lines.append(say(f"{_CALLS}.{self.part}"))
        return "\n".join(lines)

    @staticmethod
    def _times(job: Job) -> str:
        """Say when a request comes and leaves, if not at once and never."""
        comes = say(f"{_CALLS}.comes", step=job.comes) if job.comes else ""
        leaves = "" if job.leaves is None else say(f"{_CALLS}.leaves", step=job.leaves)
        said = ", ".join(one for one in (comes, leaves) if one)
        return f"  # {said}" if said else ""


@dataclass(frozen=True)
class PromptLogprobs(Answering):
    """An engine that reports log-probabilities of a prompt.

    Attributes:
        of: What is judged of the first job's prompt: the numbers of its tokens after
            the first, as an array; the tokens; or whether each number is the same as
            that of the likeliest token, where it is the likeliest.
    """

    of: str = "numbers"

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return what is judged."""
        told_of = super().run(solution)[0]
        if self.part == "logprobs":
            return mx.array([one.logprob for one in told_of])
        if len(told_of) != 1 or told_of[0][0] is not None:
            return [len(one) for one in told_of]
        found = told_of[0][1:]
        if self.of == "tokens":
            return [one.token for one in found]
        if self.of == "same":
            return [
                one.logprob == max(number for _, number in one.top)
                for one in found
                if one.token == one.top[0][0]
            ]
        return mx.array([one.logprob for one in found])


def answering(*jobs: Job, **how: Any) -> Answering:  # noqa: ANN401
    """Return an engine that answers some jobs; `how` is for the call."""
    return Answering(ENGINE, (), jobs=jobs, **how)


def reporting(
    *jobs: Job,
    part: str = "prompt_logprobs",
    **how: Any,  # noqa: ANN401
) -> PromptLogprobs:
    """Return an engine that reports log-probabilities; `how` is for the call."""
    return PromptLogprobs(ENGINE, (), jobs=jobs, part=part, **how)


@dataclass(frozen=True)
class ByHand(Call):
    """The tokens of a job, drawn with a solution's sampler, and without its engine.

    Attributes:
        args: Are not used.
        job: The job. It ends with its `max_tokens`.
    """

    job: Job = field(default_factory=lambda: Job(""))

    def run(self, solution: Solution) -> list[int]:
        """Draw one token after the other."""
        sampler = built(solution, self.symbol, self.job.params)
        language = Language({self.job.prompt: self.job.answer})
        prompt, output = ids_of(self.job.prompt), list[int]()
        for _ in range(self.job.params["max_tokens"]):
            logits = mx.array(language.logits([*prompt, *output]))
            output.append(sampler(logits, prompt, output).token)
        return output

    def __str__(self) -> str:
        """Write the sampler as code."""
        return f"RequestSampler(SamplingParams({told(self.job.params)}))"


@dataclass(frozen=True)
class Scoring(Call):
    """An engine that reports log-probabilities of prompts, with a model of Week 3.

    Attributes:
        args: Weights and sizes of the model.
        named: Settings of the engine.
        prompts: The ids of all prompts, which come at once.
    """

    prompts: tuple[tuple[int, ...], ...] = ()

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return the numbers of all tokens but the first, prompt after prompt."""
        weights, sizes = self.args
        model = solution.get("qwen2_week3.Qwen2ModelWeek3")(mlx_model(sizes, weights))
        engine = solution.get(self.symbol)(model, ByteTokenizer(), **self.named)
        make = solution.get("request.SamplingParams")
        for place, prompt in enumerate(self.prompts):
            params = make(max_tokens=1, prompt_logprobs=True, logprobs=0)
            engine.add_request(str(place), list(prompt), params)
        found: dict[str, list[float]] = {}
        for _ in range(sum(map(len, self.prompts))):
            for output in engine.step():
                told_of = output.prompt_logprobs or ()
                found[output.id] = [one.logprob for one in told_of[1:]]
        return mx.array(
            [one for _, numbers in sorted(found.items()) for one in numbers]
        )

    def __str__(self) -> str:
        """Write what is done as code."""
        settings = f", {told(self.named)}" if self.named else ""
        lines = [f"engine = Engine(model, tokenizer{settings})"]
        params = "SamplingParams(max_tokens=1, prompt_logprobs=True, logprobs=0)"
        for place, prompt in enumerate(self.prompts):
            lines.append(f"engine.add_request('{place}', {list(prompt)}, {params})")
        return "\n".join([*lines, say(f"{_CALLS}.prompt_logprobs")])


@functools.lru_cache(maxsize=4096)
def _told(call: Answering, solution: Solution) -> list[Told]:
    """Answer jobs once for all tests of a known solution, which judge parts of it.

    The solution that is graded is another object in each test.
    """
    return _served(call, solution).told


def _served(call: Answering, solution: Solution) -> "_Service":
    """Answer all jobs."""
    served = _Service(call, solution)
    with logged(served.log):
        served.run()
    return served


class _Service:
    """The loop around an engine: requests come, steps are computed, requests leave."""

    def __init__(self, call: Answering, solution: Solution) -> None:
        self._jobs = dict(enumerate(call.jobs))
        self._names = call.names
        self._solution = solution
        answers = {one.prompt: one.answer for one in call.jobs}
        failing = [one.fails_at for one in call.jobs if one.fails_at is not None]
        self._language = Language(answers, failing)
        self.told = [Told() for _ in call.jobs]
        self.log: list[str] = []
        self._tokenizer = ByteTokenizer()
        self.engine = solution.get(call.symbol)(
            self._language, self._tokenizer, run=self._language.run, **call.named
        )

    @property
    def left(self) -> tuple[int, int, int]:
        """How many requests run and wait, and how many pages are in use."""
        scheduler, pages = self.engine.scheduler, self.engine.block_manager
        return len(scheduler.running), len(scheduler.waiting), pages.num_in_use

    @property
    def room(self) -> int:
        """How many pages there are."""
        return self.engine.block_manager.num_free + self.left[2]

    @property
    def shows_tokenizer(self) -> bool:
        """Whether its tokenizer is the one that it was given."""
        return self.engine.tokenizer is self._tokenizer

    @property
    def load(self) -> tuple[int, int]:
        """How many rows, and how many tokens, the largest steps had."""
        return self._language.most_rows, self._language.most_tokens

    @property
    def computed(self) -> int:
        """How many tokens all steps had."""
        return self._language.num_tokens

    def run(self) -> None:
        """Take steps until all requests have come and ended."""
        last_comes = max(job.comes for job in self._jobs.values())
        num_tokens = sum(map(_num_tokens, self._jobs.values()))
        # Enough even if each step computes one token, and most are computed again.
        for step in range(last_comes + 4 * num_tokens):
            self._come_and_leave(step)
            if step >= last_comes and not self.engine.has_work:
                return
            for output in self.engine.step():
                # The last of several that have the same id, one after the other.
                place = max(
                    place
                    for place, job in self._jobs.items()
                    if self._names[place] == output.id and job.comes <= step
                )
                self.told[place].outputs.append(output)
        texts = {
            name: one.text[:40]
            for name, one in zip(self._names, self.told, strict=True)
        }
        raise StepLimitError(say("week_3_day_5.complaints.no_end", texts=texts))

    def _come_and_leave(self, step: int) -> None:
        """Add and abort the requests that come and leave before a step."""
        for place, job in self._jobs.items():
            if job.comes == step:
                self._add(place, job)
            if job.leaves == step:
                self.told[place].was_there = self.engine.abort(self._names[place])

    def _add(self, place: int, job: Job) -> None:
        params = self._solution.get("request.SamplingParams")(**job.params)
        try:
            self.engine.add_request(self._names[place], ids_of(job.prompt), params)
        except ValueError as error:
            if not job.may_be_refused:
                raise
            self.told[place].refusal = str(error)


def _num_tokens(job: Job) -> int:
    """Return how many tokens a job has at most."""
    said = len(job.answer or b"") + 2
    return len(job.prompt) + max(said, job.params.get("max_tokens", 0)) + 16
