"""Two models that say texts, and a loop in which one proposes and the other decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import mlx.core as mx
import numpy as np

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.verdict import StepLimitError
from tiny_llm_course.grading.scenarios.fakes import (
    END_TOKEN,
    VOCAB_SIZE,
    ByteTokenizer,
    as_bytes,
    ids_of,
    remembered,
    spelt_out,
)
from tiny_llm_course.solution import Solution

LOOP = "generate.speculative_generate"
SAID = "week_3_day_7_task_4.complaints"


class Saying:
    """A model that says a text, and remembers in its caches alone what it was shown.

    It predicts a token after each one that it is shown. A model that decides says "?"
    after a text that is not its own; one that proposes goes on with its text wherever
    it is.

    Args:
        prompt: What the text begins with.
        answer: The text.
        is_draft: Whether it proposes.
        most: The most steps that it may take.
    """

    num_hidden_layers = 2

    def __init__(
        self, prompt: str, answer: str | bytes, *, is_draft: bool, most: int
    ) -> None:
        self.prompt = ids_of(prompt)
        self.script = [*as_bytes(answer), END_TOKEN]
        self.is_draft = is_draft
        self.most = most
        self.steps: list[int] = []

    def __call__(
        self,
        inputs: mx.array,
        offset: int,
        cache: Sequence[Any],
        logits_to_keep: int | None = None,
    ) -> mx.array:
        """Return logits 1 x K x V for the new ids 1 x L."""
        whose = say(f"{SAID}.{'draft' if self.is_draft else 'target'}")
        num_new = inputs.shape[1]
        self.steps.append(num_new)
        if len(self.steps) > self.most:
            raise StepLimitError(
                say(f"{SAID}.no_end", whose=whose, num=len(self.steps))
            )
        seen = remembered(cache, inputs)
        if len(seen) != self.num_hidden_layers or seen[0] != seen[-1]:
            raise ValueError(say(f"{SAID}.layers_differ", whose=whose))
        if offset != len(seen[0]) - num_new:
            names = {"offset": offset, "num_cached": len(seen[0]) - num_new}
            raise ValueError(say(f"{SAID}.wrong_offset", whose=whose, **names))
        logits = np.zeros((1, num_new, VOCAB_SIZE), np.float32)
        for place in range(num_new):
            logits[0, place, self._next(seen[0][: offset + place + 1])] = 20.0
        return mx.array(logits)[:, -(logits_to_keep or num_new) :]

    def _next(self, seen: list[int]) -> int:
        """Return the token that follows some text."""
        place = len(seen) - len(self.prompt)
        knows = self.is_draft or seen == (self.prompt + self.script)[: len(seen)]
        fits = 0 <= place < len(self.script)
        return self.script[place] if knows and fits else ord("?")


@dataclass(frozen=True)
class Speculation(Call):
    """A loop in which a model proposes a text, and another one decides.

    Attributes:
        args: The prompt.
        answer: What the model says that decides.
        proposed: What the one says that proposes.
        part: What is judged: the text, or how many tokens each model is shown in each
            of its steps.
    """

    answer: str | bytes = ""
    proposed: str | bytes = ""
    part: Literal["text", "target", "draft"] = "text"

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Let the loop run, and return the part."""
        (prompt,) = self.args
        num_tokens = len(as_bytes(self.answer)) + 1
        length = self.kwargs.get("proposal_length", 4)
        target = Saying(prompt, self.answer, is_draft=False, most=num_tokens + 2)
        draft = Saying(
            prompt, self.proposed, is_draft=True, most=num_tokens * (length + 1)
        )
        tokenizer = ByteTokenizer()
        loop = solution.get(self.symbol)
        text = loop(draft, target, tokenizer, tokenizer, prompt, **self.kwargs)
        return {"text": text, "target": target.steps, "draft": draft.steps}[self.part]

    def __str__(self) -> str:
        """Write the prompt, and the two texts."""
        ids = list(as_bytes(self.answer)), list(as_bytes(self.proposed))
        answer, proposed = (spelt_out(one) for one in ids)
        names = {"prompt": self.args[0], "answer": answer, "proposed": proposed}
        length = self.kwargs.get("proposal_length", 4)
        return say("week_3_day_7_task_4.call", **names, length=length)
