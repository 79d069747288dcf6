"""The engine: many requests, one step at a time, from token ids to text."""

import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

from .block_manager import BlockManager
from .paged_kv_cache import TinyKvPagedCache, TinyKvPagedPool
from .qwen2_week3 import run_pieces
from .request import Output, Piece, Request, Sampled, SamplingParams, TokenLogprob
from .sampler import RequestSampler, token_logprobs
from .scheduler import Scheduler
from .streaming import TextStream

logger = logging.getLogger(__name__)


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
        todo("week 3, day 5, task 5")

    @property
    def has_work(self) -> bool:
        """Whether a request is running or waiting."""
        todo("week 3, day 5, task 5")

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
        todo("week 3, day 5, task 5")

    def step(self) -> list[Output]:
        """Compute the next tokens of the requests whose turn it is.

        Returns:
            What is new: one output for each request that got a token, or has ended.
        """
        todo("week 3, day 5, task 5")

    def abort(self, id: str) -> bool:  # noqa: A002 - as in Request
        """Forget a request, and give its pages back.

        Returns:
            Whether it ran or waited. No output tells of it.
        """
        todo("week 3, day 5, task 5")
