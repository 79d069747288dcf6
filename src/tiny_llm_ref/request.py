"""What is asked of the engine, and how far each request is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Status = Literal["waiting", "running", "finished"]

FinishReason = Literal["stop", "length", "abort", "error"]
"""Why a request ended: an end token or a stop text; `max_tokens` or no room; somebody
who left; or an error.
"""


@dataclass(frozen=True)
class SamplingParams:
    """How the tokens of a request are chosen, and when there are enough.

    Attributes:
        max_tokens: The most tokens that are generated.
        temperature: 0 is greedy.
        top_p: Share of the probability to draw from. 1 is all.
        top_k: Number of likeliest tokens to draw from. 0 is all.
        seed: Of the draws of this request alone. None draws differently each time.
        stop: Texts of which the first to come up ends the answer, and is no part of it.
        repetition_penalty: Divides the positive logits of tokens that have been, and
            multiplies the negative ones. 1 changes nothing.
        presence_penalty: Taken from the logit of each token that was generated.
        frequency_penalty: Taken from it as often as the token was generated.
        logit_bias: What is added to the logits of single tokens.
        logprobs: How many likeliest tokens to report with each one. None reports none.
        prompt_logprobs: Whether to report them for the tokens of the prompt as well.
        ignore_end: Whether to go on after the end token.
    """

    max_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    logprobs: int | None = None
    prompt_logprobs: bool = False
    ignore_end: bool = False


@dataclass(eq=False)
class Request:
    """A prompt on its way to an answer.

    Attributes:
        id: A name that no other request has.
        prompt: Its token ids, one at least.
        params: How to go on from there.
        end_ids: Tokens that end an answer, and are no part of it.
        output: The tokens that were generated.
        num_computed: How many tokens, of the prompt and then of the output, have their
            keys and values in memory.
        block_table: The pages that hold them, in order.
        status: Where it stands.
        finish_reason: Why it ended. None until then.
    """

    id: str
    prompt: list[int]
    params: SamplingParams = field(default_factory=SamplingParams)
    end_ids: frozenset[int] = frozenset()
    output: list[int] = field(default_factory=list)
    num_computed: int = 0
    block_table: list[int] = field(default_factory=list)
    status: Status = "waiting"
    finish_reason: FinishReason | None = None

    @property
    def tokens(self) -> list[int]:
        """The prompt and what came after it."""
        return self.prompt + self.output

    @property
    def num_uncomputed(self) -> int:
        """How many tokens the model has yet to be shown."""
        return len(self.prompt) + len(self.output) - self.num_computed


@dataclass(frozen=True)
class Piece:
    """The next tokens of a request that a step computes.

    Attributes:
        request: Whose they are.
        num_tokens: How many, from `request.num_computed` on.
    """

    request: Request
    num_tokens: int

    @property
    def tokens(self) -> list[int]:
        """Their ids."""
        first = self.request.num_computed
        return self.request.tokens[first : first + self.num_tokens]

    @property
    def is_last(self) -> bool:
        """Whether a token is to be chosen after it: nothing is left to compute."""
        return self.num_tokens == self.request.num_uncomputed


@dataclass(frozen=True)
class TokenLogprob:
    """How likely a token was where it stands, by the logits of the model as they are.

    Attributes:
        token: Its id.
        logprob: Natural logarithm of its probability.
        top: Ids and log-probabilities of the likeliest tokens at this place, the
            likeliest first: as many as `SamplingParams.logprobs` asks for. The token
            itself is among them only if it is one of the likeliest.
    """

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class Sampled:
    """A token that was chosen.

    Attributes:
        token: Its id.
        logprob: How likely it was. None unless asked for.
    """

    token: int
    logprob: TokenLogprob | None = None


@dataclass(frozen=True)
class Output:
    """What a step of the engine brings for one request.

    Attributes:
        id: Of the request.
        token: The new token. None for an end token, and for an error.
        text: The text that is new with it, without a stop text. It may be empty: part
            of a character, or what may become a stop text, is held back.
        logprob: How likely the token was. None unless asked for.
        prompt_logprobs: How likely each token of the prompt was; None for the first,
            which nothing predicts. They come with the first output of the request, if
            they are asked for.
        finish_reason: Why the request has ended with this output. None if it goes on.
        error: What went wrong, where the reason is "error".
        num_prompt_tokens: How many tokens the prompt has.
        num_output_tokens: How many have been generated so far.
        num_cached_tokens: How many of the prompt were in memory before it came.
    """

    id: str
    token: int | None = None
    text: str = ""
    logprob: TokenLogprob | None = None
    prompt_logprobs: tuple[TokenLogprob | None, ...] | None = None
    finish_reason: FinishReason | None = None
    error: str | None = None
    num_prompt_tokens: int = 0
    num_output_tokens: int = 0
    num_cached_tokens: int = 0
