"""Generating text: ask the model for the next token, append it, ask again."""

import itertools
from collections.abc import Callable, Set
from typing import Any

import mlx.core as mx
from jaxtyping import Float, Integer

from .kv_cache import TinyKvFullCache
from .paged_kv_cache import TinyKvPagedCache, TinyKvPagedPool

Model = Callable[[Integer[mx.array, "1 L"]], Float[mx.array, "1 L V"]]
Sampler = Callable[[Float[mx.array, "1 V"]], Integer[mx.array, " 1"]]


def simple_generate(
    model: Model,
    tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
    prompt: str,
    sampler: Sampler | None,
) -> str:
    """Continue `prompt` until the model says that it has finished.

    Each step runs the model on the whole text so far and looks at the last position
    only: the scores of the token that comes next. The text is printed as it grows.

    Args:
        model: From token ids 1 x L to logits 1 x L x V.
        tokenizer: What `mlx_lm` loads beside the model. Its `detokenizer` turns a
            stream of ids into text, although a character may span several tokens.
        prompt: The text to continue. The end tokens in it, as in a chat, end nothing.
        sampler: From log-probabilities 1 x V to the token id (1,). None takes the
            likeliest token.

    Returns:
        The text that was generated, without the prompt and without the end token.

    Raises:
        ValueError: The prompt holds no token.
    """
    ids = list(tokenizer.encode(prompt))
    if not ids:
        raise ValueError("simple_generate: expected a prompt, got an empty one")
    detokenizer = tokenizer.detokenizer
    detokenizer.reset()
    while True:
        token = _next_token(model, ids, sampler).item()
        if token in tokenizer.eos_token_ids:
            break
        ids.append(token)
        detokenizer.add_token(token)
        print(detokenizer.last_segment, end="", flush=True)
    detokenizer.finalize()
    print(detokenizer.last_segment, flush=True)
    return detokenizer.text


def simple_generate_with_kv_cache(
    model: Any,  # noqa: ANN401 - a model of Week 2, of whatever solution
    tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
    prompt: str,
) -> str:
    """Continue `prompt` with the likeliest tokens, computing each token only once.

    The first step shows the model the whole prompt, every later one the newest token
    alone: what came before is in the caches. The text is printed as it grows.

    Args:
        model: Called with token ids 1 x L, the position of the first of them, and one
            cache per layer; it returns logits 1 x L x V. Has `num_hidden_layers`.
        tokenizer: As in `simple_generate`.
        prompt: The text to continue. The end tokens in it, as in a chat, end nothing.

    Returns:
        The text that was generated, without the prompt and without the end token.

    Raises:
        ValueError: The prompt holds no token.
    """
    new_ids = list(tokenizer.encode(prompt))
    if not new_ids:
        raise ValueError(
            "simple_generate_with_kv_cache: expected a prompt, got an empty one"
        )
    caches = [TinyKvFullCache() for _ in range(model.num_hidden_layers)]
    offset = 0
    detokenizer = tokenizer.detokenizer
    detokenizer.reset()
    while True:
        logits = model(mx.array([new_ids]), offset, caches)
        offset += len(new_ids)
        token = mx.argmax(logits[0, -1]).item()
        if token in tokenizer.eos_token_ids:
            break
        new_ids = [token]
        detokenizer.add_token(token)
        print(detokenizer.last_segment, end="", flush=True)
    detokenizer.finalize()
    print(detokenizer.last_segment, flush=True)
    return detokenizer.text


def speculative_generate(
    draft_model: Any,  # noqa: ANN401 - a model of Week 3, of whatever solution
    model: Any,  # noqa: ANN401 - likewise
    draft_tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
    tokenizer: Any,  # noqa: ANN401
    prompt: str,
    proposal_length: int = 4,
) -> str:
    """Continue `prompt` as `model` would alone, in fewer of its steps.

    A small model proposes some tokens, one after the other. The large one reads them
    all in a single step, in which its weights are read once, and keeps those that it
    would have chosen itself, and the one that it chooses after them. What was not kept
    is forgotten by the caches of both. The text is printed as it grows.

    Args:
        draft_model: Proposes. Called with token ids 1 x L, the position of the first of
            them, and one cache per layer; returns logits 1 x L x V. Has
            `num_hidden_layers`.
        model: Decides. Called in the same way.
        draft_tokenizer: Has to give texts the same ids as `tokenizer`.
        tokenizer: As in `simple_generate`.
        prompt: The text to continue. The end tokens in it, as in a chat, end nothing.
        proposal_length: How many tokens are proposed for each step of `model`.

    Returns:
        The text that was generated, without the prompt and without the end token.

    Raises:
        ValueError: The prompt holds no token, the tokenizers differ on it, or nothing
            is to be proposed.

    Source: Leviathan et al. 2023 (arXiv:2211.17192), section 2, for greedy decoding.
    """
    if proposal_length < 1:
        raise ValueError(
            "speculative_generate: expected a proposal_length of 1 or more, "
            f"got {proposal_length}"
        )
    ids = [*tokenizer.encode(prompt)]
    if not ids:
        raise ValueError("speculative_generate: expected a prompt, got an empty one")
    if list(draft_tokenizer.encode(prompt)) != ids:
        raise ValueError(
            "speculative_generate: expected tokenizers that agree, got other ids for "
            "the prompt from the draft's"
        )
    draft, target = _Remembering(draft_model), _Remembering(model)
    detokenizer = tokenizer.detokenizer
    detokenizer.reset()
    while True:
        proposed = _proposal(draft, ids, proposal_length, tokenizer.eos_token_ids)
        chosen = target.choices(ids + proposed)[-len(proposed) - 1 :]
        num_kept = _num_equal(proposed, chosen)
        new_ids = chosen[: num_kept + 1]
        for cached in (draft, target):
            cached.forget_from(len(ids) + num_kept)
        for token in new_ids:
            if token in tokenizer.eos_token_ids:
                detokenizer.finalize()
                print(detokenizer.last_segment, flush=True)
                return detokenizer.text
            detokenizer.add_token(token)
            print(detokenizer.last_segment, end="", flush=True)
        ids += new_ids


class _Remembering:
    """A model with its caches, shown a text that may change at its end."""

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - of whatever solution
        self._model = model
        self._caches = [
            TinyKvPagedCache(TinyKvPagedPool()) for _ in range(model.num_hidden_layers)
        ]

    def choices(self, ids: list[int]) -> list[int]:
        """Show the model what it has not seen of `ids`: the likeliest after each."""
        offset = self._caches[0].offset
        logits = self._model(mx.array([ids[offset:]]), offset, self._caches)
        return mx.argmax(logits[0], axis=-1).tolist()  # pyright: ignore[reportReturnType]

    def forget_from(self, position: int) -> None:
        """Forget the token at `position` and all after it, if they have been seen."""
        for cache in self._caches:
            cache.rewind(max(0, cache.offset - position))


def _proposal(
    draft: _Remembering, ids: list[int], length: int, end_ids: Set[int]
) -> list[int]:
    """Return up to `length` tokens that may follow. None comes after an end token."""
    proposed: list[int] = []
    while len(proposed) < length and (not proposed or proposed[-1] not in end_ids):
        proposed.append(draft.choices(ids + proposed)[-1])
    return proposed


def _num_equal(proposed: list[int], chosen: list[int]) -> int:
    """Count the proposals, from the first on, that were chosen."""
    pairs = zip(proposed, chosen, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _next_token(
    model: Model, ids: list[int], sampler: Sampler | None
) -> Integer[mx.array, " 1"]:
    """Run the model on all of `ids` and choose the token that follows."""
    logits = model(mx.array([ids]))[:, -1, :]
    log_probabilities = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    if sampler is None:
        return mx.argmax(log_probabilities, axis=-1)
    return sampler(log_probabilities)
