"""The engine: many requests, one step at a time, from token ids to text."""

import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mlx.core as mx
from jaxtyping import Float

from .block_manager import BlockManager
from .paged_kv_cache import TinyKvPagedCache, TinyKvPagedPool
from .qwen2_week3 import run_pieces
from .request import Output, Piece, Request, Sampled, SamplingParams, TokenLogprob
from .sampler import RequestSampler, token_logprobs
from .scheduler import Scheduler
from .streaming import TextStream

logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Answer:
    """What the engine keeps of a request, beside what the scheduler does.

    Attributes:
        request: The request.
        sampler: Chooses its tokens.
        stream: Makes text of them.
        prompt_logprobs: How likely the tokens of the prompt are, as far as known. They
            are handed over with the first output. None if nobody asks for them.
        num_cached_tokens: How many tokens it found in memory. None before its turn.
    """

    request: Request
    sampler: RequestSampler
    stream: TextStream
    prompt_logprobs: list[TokenLogprob | None] | None
    num_cached_tokens: int | None = None


class Engine:
    """Answer many requests with one model, a step at a time.

    A step takes what the scheduler chooses, computes it for all rows at once with the
    keys and values in pages, chooses a token for each row that has come to its end, and
    makes text of it. A request ends with "stop" at an end token or a stop text, and
    with "length" at `max_tokens` tokens or when it has as many as fit.

    If the step raises, it is repeated for one row after the other. A row that raises
    then, or whose token cannot be chosen, ends with "error", and the log has the
    traceback. All others go on.

    Attributes:
        tokenizer: The one that it was given, which a server needs as well.
        scheduler: Who runs and who waits.
        block_manager: Who has which pages.

    Args:
        model: A model of Week 3, as `run` takes it. Has `num_hidden_layers`.
        tokenizer: What `mlx_lm` loads beside the model: `decode`, `eos_token_ids`.
        max_num_seqs: How many requests run at a time. Others wait.
        max_num_batched_tokens: How many tokens of all requests a step computes.
        num_pages: How many pages the keys and values of a layer have.
        page_size: Tokens in a page.
        context: How many tokens a request may have, prompt and answer together. None
            is as many as all pages hold, which is the limit in any case.
        run: Computes a step. Called with the model, the tokens of each row, its caches,
            one per layer, and of how many tokens, from the end of each row, the logits
            are needed; returns these, one row after the other.
    """

    def __init__(  # noqa: PLR0913 - each is a setting of its own
        self,
        model: Any,  # noqa: ANN401 - a model of Week 3, of whatever solution
        tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
        *,
        max_num_seqs: int = 8,
        max_num_batched_tokens: int = 256,
        num_pages: int = 512,
        page_size: int = 16,
        context: int | None = None,
        run: Callable[..., Float[mx.array, "K V"]] = run_pieces,
    ) -> None:
        self.tokenizer = tokenizer
        self.block_manager = BlockManager(num_pages, page_size)
        self.scheduler = Scheduler(
            max_num_seqs, max_num_batched_tokens, self.block_manager
        )
        self._model, self._run_pieces = model, run
        self._pools = [
            TinyKvPagedPool(page_size, num_pages)
            for _ in range(model.num_hidden_layers)
        ]
        room = num_pages * page_size
        self._max_tokens = room if context is None else min(context, room)
        self._answers: dict[str, _Answer] = {}

    @property
    def has_work(self) -> bool:
        """Whether a request is running or waiting."""
        return not self.scheduler.is_finished()

    def add_request(
        self,
        id: str,  # noqa: A002 - as in Request
        prompt: Sequence[int],
        params: SamplingParams,
    ) -> None:
        """Let a request wait for its turn.

        Args:
            id: A name that no request has that runs or waits.
            prompt: Its token ids.
            params: How to go on from there. If `max_tokens` do not fit, there will be
                as many as do.

        Raises:
            ValueError: The name is in use; `max_tokens` is 0 or less; a stop text is
                empty; or the prompt is empty, or leaves no room for a token. Then the
                message names the number of its tokens, and how many fit.
        """
        if id in self._answers:
            raise ValueError(f"Engine: expected a new id, got {id!r}, which is in use")
        if params.max_tokens < 1:
            raise ValueError(
                f"Engine: expected max_tokens of 1 or more, got {params.max_tokens}"
            )
        num_left = self._max_tokens - len(prompt)
        if not prompt or num_left < 1:
            raise ValueError(
                f"Engine: expected a prompt of 1 to {self._max_tokens - 1} tokens, "
                f"got {len(prompt)}; with its answer it may have {self._max_tokens}"
            )
        params = replace(params, max_tokens=min(params.max_tokens, num_left))
        answer = _Answer(
            Request(id, list(prompt), params, frozenset(self.tokenizer.eos_token_ids)),
            RequestSampler(params),
            TextStream(self.tokenizer, params.stop),
            [None] if params.prompt_logprobs else None,
        )
        self._answers[id] = answer
        self.scheduler.add(answer.request)

    def step(self) -> list[Output]:
        """Compute the next tokens of the requests whose turn it is.

        Returns:
            What is new: one output for each request that got a token, or has ended.
        """
        pieces = self.scheduler.schedule()
        for piece in pieces:
            answer = self._answers[piece.request.id]
            if answer.num_cached_tokens is None:
                answer.num_cached_tokens = piece.request.num_computed
        computed = zip(pieces, self._computed(pieces), strict=True)
        rows = [(piece, self._chosen(piece, logits)) for piece, logits in computed]
        done = [
            (piece, sampled.token if sampled else None)
            for piece, sampled in rows
            if not isinstance(sampled, Exception)
        ]
        self.scheduler.postprocess(
            [piece for piece, _ in done], [token for _, token in done]
        )
        return [
            self._output(piece.request, result)
            for piece, result in rows
            if result is not None
        ]

    def abort(self, id: str) -> bool:  # noqa: A002 - as in Request
        """Forget a request, and give its pages back.

        Returns:
            Whether it ran or waited. No output tells of it.
        """
        self._answers.pop(id, None)
        return self.scheduler.abort(id)

    def _computed(
        self, pieces: Sequence[Piece]
    ) -> Sequence[Float[mx.array, "K V"] | Exception]:
        """Return the logits of each piece, or what its row raises when it is alone."""
        try:
            return self._run(pieces) if pieces else []
        except Exception as error:  # noqa: BLE001 - of one row, and for its request
            raised = error
        if len(pieces) == 1:
            return [raised]
        return [each for piece in pieces for each in self._computed([piece])]

    def _run(self, pieces: Sequence[Piece]) -> list[Float[mx.array, "K V"]]:
        """Compute a step, with new caches that stand where each request does."""
        wanted = [self._num_logits(piece) for piece in pieces]
        logits = self._run_pieces(
            self._model,
            [piece.tokens for piece in pieces],
            [self._caches(piece.request) for piece in pieces],
            wanted,
        )
        mx.eval(logits)  # what is wrong is raised here, not later
        ends = itertools.accumulate(wanted)
        return [logits[end - n : end] for n, end in zip(wanted, ends, strict=True)]

    def _caches(self, request: Request) -> list[TinyKvPagedCache]:
        """Return what a request has in memory, one cache for each layer."""
        return [
            TinyKvPagedCache(pool, request.block_table, request.num_computed)
            for pool in self._pools
        ]

    def _num_logits(self, piece: Piece) -> int:
        """Return for how many tokens of a piece, from its end, logits are needed."""
        is_asked = self._answers[piece.request.id].prompt_logprobs is not None
        return piece.num_tokens if is_asked else int(piece.is_last)

    def _chosen(
        self, piece: Piece, logits: Float[mx.array, "K V"] | Exception
    ) -> Sampled | Exception | None:
        """Choose the token after a piece. None: there are more pieces to come."""
        if isinstance(logits, Exception):
            return logits
        request, answer = piece.request, self._answers[piece.request.id]
        try:
            if answer.prompt_logprobs is not None:
                _note(answer.prompt_logprobs, piece, logits)
            if not piece.is_last:
                return None
            return answer.sampler(logits[-1], request.prompt, request.output)
        except Exception as error:  # noqa: BLE001 - such as a bias for no token
            return error

    def _output(self, request: Request, result: Sampled | Exception) -> Output:
        """Tell what is new of a request, and forget it if it has ended."""
        answer = self._answers[request.id]
        output = Output(
            request.id,
            num_prompt_tokens=len(request.prompt),
            num_output_tokens=len(request.output),
            num_cached_tokens=answer.num_cached_tokens or 0,
        )
        if isinstance(result, Exception):
            output = self._failed(output, answer, result)
        else:
            output = self._continued(output, answer, result)
        if request.finish_reason:
            del self._answers[request.id]
        return replace(output, finish_reason=request.finish_reason)

    def _continued(self, output: Output, answer: _Answer, sampled: Sampled) -> Output:
        """Add a token and its text to an output, unless it is the end token."""
        request, stream = answer.request, answer.stream
        is_end = request.finish_reason == "stop"
        text = "" if is_end else stream.push(sampled.token)
        if request.finish_reason:
            text += stream.finish()
        if stream.is_stopped and not self.scheduler.abort(request.id, "stop"):
            request.finish_reason = "stop"  # it had just ended, with "length"
        if answer.prompt_logprobs is not None:
            output = replace(output, prompt_logprobs=tuple(answer.prompt_logprobs))
            answer.prompt_logprobs = None
        if is_end:
            return replace(output, text=text)
        return replace(output, token=sampled.token, text=text, logprob=sampled.logprob)

    def _failed(self, output: Output, answer: _Answer, error: Exception) -> Output:
        """End a request that cannot go on, with what was held back and the reason."""
        logger.warning("request %r failed", output.id, exc_info=error)
        self.scheduler.abort(output.id, "error")
        reason = f"{type(error).__name__}: {error}"
        return replace(output, text=answer.stream.finish(), error=reason)


def _note(
    prompt_logprobs: list[TokenLogprob | None],
    piece: Piece,
    logits: Float[mx.array, "K V"],
) -> None:
    """Add the tokens of the prompt that a piece predicts: each logit is of the next.

    Args:
        prompt_logprobs: One entry for each token up to the first one of the piece.
            Those after it are of a time before the request was preempted.
        piece: The piece.
        logits: Of all its tokens.
    """
    request = piece.request
    next_one = request.num_computed + 1
    predicted = request.prompt[next_one : next_one + piece.num_tokens]
    if predicted:  # the last token of the prompt predicts the first of the output
        prompt_logprobs[next_one:] = token_logprobs(
            logits[: len(predicted)], predicted, request.params.logprobs or 0
        )
