"""An engine without a model: it says what a script has, a letter at a step."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tiny_llm_course.grading.scenarios.fakes import END_OF_DOCUMENT, ByteTokenizer
from tiny_llm_course.solution import Solution

GATE_S = 2.0
"""How long a step waits for a gate that nobody opens."""


class ChatTokenizer(ByteTokenizer):
    """A tokenizer of bytes with a chat template: `<user>Hello<end><assistant>`.

    The template refuses a chat in which the assistant speaks first.
    """

    chat_template = "{% for message in messages %}...{% endfor %}"
    pad_token = None

    def apply_chat_template(
        self,
        conversation: Sequence[Mapping[str, str]],
        tokenize: bool = True,
        add_generation_prompt: bool = False,
        **_: object,
    ) -> str | list[int]:
        """Write a chat as one text, or encode that."""
        if conversation and conversation[0]["role"] == "assistant":
            raise LookupError("the user speaks first")
        said = (f"<{one['role']}>{one['content']}<end>" for one in conversation)
        text = "".join(said) + ("<assistant>" if add_generation_prompt else "")
        return self.encode(text) if tokenize else text

    def get_vocab(self) -> dict[str, int]:
        """Return all tokens with their ids."""
        return {f"<{number}>": number for number in range(self.vocab_size)}

    def convert_ids_to_tokens(self, ids: int) -> str | None:
        """Return what a token is called, or nothing where there is none."""
        return f"<{ids}>" if 0 <= ids < self.vocab_size else None

    def __len__(self) -> int:
        """Return the number of tokens."""
        return self.vocab_size


class MarkingTokenizer(ChatTokenizer):
    """A tokenizer that puts a token in front of a text, unless it is told not to."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Return the ids of `text`, the first of them a special one if so asked."""
        return [END_OF_DOCUMENT] * bool(add_special_tokens) + super().encode(text)


@dataclass
class Heard:
    """A request as the engine got it, and how much of its answer it has said."""

    id: str
    prompt: list[int]
    params: Any
    num_said: int = 0


@dataclass
class ScriptedEngine:
    """Says the same text to everybody, a letter at a step, with made-up probabilities.

    Attributes:
        solution: Whose values it gives.
        text: What it says.
        texts: What it says to some prompts instead.
        context: The number of tokens that it has room for.
        step_s: How long a step takes.
        num_silent: In so many steps nobody gets a word, as in a queue.
        fails_at: After so many letters a request ends with an error. None: it does not.
        raises_at: So many steps from now one raises an error. None: none does.
        gated_at: The steps of a request that wait at the gate, by number of letters.
        gate: Opened by a test.
        heard: All requests that came.
        aborted: The ids of those that were aborted before their end.
        threads: What was called on which thread.
        num_asked: How often it was asked whether there is work.
        most_at_once: How many requests there were in a step.
        num_late: How many steps found the gate shut until they gave up.
    """

    solution: Solution
    text: str = "a fox"
    texts: dict[str, str] = field(default_factory=dict[str, str])
    context: int = 100
    step_s: float = 0.0
    num_silent: int = 0
    fails_at: int | None = None
    raises_at: int | None = None
    gated_at: frozenset[int] = frozenset()
    gate: threading.Event = field(default_factory=threading.Event)
    tokenizer: ChatTokenizer = field(default_factory=ChatTokenizer)
    heard: list[Heard] = field(default_factory=list[Heard])
    aborted: list[str] = field(default_factory=list[str])
    threads: dict[int, set[str]] = field(default_factory=dict[int, set[str]])
    num_asked: int = 0
    most_at_once: int = 0
    num_late: int = 0
    _running: list[Heard] = field(default_factory=list[Heard])

    @property
    def has_work(self) -> bool:
        """Whether anybody waits for an answer."""
        self.num_asked += 1
        return bool(self._running)

    def add_request(
        self,
        id: str,  # noqa: A002 - as in Request
        prompt: Sequence[int],
        params: Any,  # noqa: ANN401 - of the solution
    ) -> None:
        """Take a request, unless it is too long."""
        self._note("add_request")
        if len(prompt) >= self.context:
            most = self.context - 1
            raise ValueError(f"expected {most} tokens at most, got {len(prompt)}")
        one = Heard(id, list(prompt), params)
        self.heard.append(one)
        self._running.append(one)

    def abort(self, id: str) -> bool:  # noqa: A002 - as in Request
        """Forget a request."""
        self._note("abort")
        found = [one.id for one in self._running if one.id == id]
        self._running = [one for one in self._running if one.id != id]
        self.aborted += found
        return bool(found)

    def step(self) -> list[Any]:
        """Say one more letter to everybody."""
        self._note("step")
        self.most_at_once = max(self.most_at_once, len(self._running))
        time.sleep(self.step_s)
        if self.gated_at & {one.num_said for one in self._running}:
            self.num_late += not self.gate.wait(GATE_S)
        self._raise_if_planned()
        if self.num_silent > 0:
            self.num_silent -= 1
            return []
        outputs = [self._next(one) for one in self._running]
        ended = {one.id for one in outputs if one.finish_reason}
        self._running = [one for one in self._running if one.id not in ended]
        return outputs

    def _note(self, method: str) -> None:
        """Remember on which thread something was called."""
        self.threads.setdefault(threading.get_ident(), set()).add(method)

    def _raise_if_planned(self) -> None:
        if self.raises_at is None:
            return
        self.raises_at -= 1
        if self.raises_at < 0:
            self.raises_at = None
            raise ArithmeticError("a step went wrong")

    def _next(self, one: Heard) -> Any:  # noqa: ANN401 - of the solution
        """Return the next letter of an answer, or its end."""
        output, place = self.solution.get("request.Output"), one.num_said
        text = self.texts.get(self.tokenizer.decode(one.prompt), self.text)
        told = {"num_prompt_tokens": len(one.prompt), "num_cached_tokens": 2}
        told["num_output_tokens"] = min(place + 1, len(text))
        if place == self.fails_at:
            return output(one.id, finish_reason="error", error="a broken row", **told)
        if place == len(text):
            return output(one.id, finish_reason="stop", **told)
        one.num_said += 1
        is_enough = one.num_said == one.params.max_tokens
        return output(
            one.id,
            token=ord(text[place]),
            text=text[place],
            logprob=self._likely(ord(text[place]), place, one.params),
            prompt_logprobs=self._of_prompt(one) if place == 0 else None,
            finish_reason="length" if is_enough else None,
            **told,
        )

    def _of_prompt(self, one: Heard) -> Any:  # noqa: ANN401 - of the solution
        if not one.params.prompt_logprobs:
            return None
        rest = enumerate(one.prompt[1:], start=10)
        return (None, *(self._likely(token, at, one.params) for at, token in rest))

    def _likely(self, token: int, place: int, params: Any) -> Any:  # noqa: ANN401
        """Return log-probabilities that no two places share."""
        if params.logprobs is None:
            return None
        own = -0.1 - 0.01 * place
        likely = ((token, own), (ord("?"), own - 1.0), (ord("!"), own - 2.0))
        kind = self.solution.get("request.TokenLogprob")
        return kind(token, own, likely[: params.logprobs])
