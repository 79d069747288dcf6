"""Day 6: other right ways to generate text."""

import itertools
import sys
import time
from collections.abc import Iterator
from typing import Any, cast

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.generate import Model, Sampler

GENERATE = "generate.simple_generate"

Tokenizer = Any
"""What `mlx_lm` loads beside a model, which has no types."""


@specimen(1, symbol=GENERATE)
def ids_in_one_array(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    tokens = mx.array(tokenizer.encode(prompt, add_special_tokens=False))[None]
    num_prompt_tokens = tokens.shape[1]
    detokenizer = tokenizer.detokenizer
    detokenizer.reset()
    while True:
        logits = model(tokens)[:, -1]
        log_probs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
        token = sampler(log_probs) if sampler else mx.argmax(log_probs, axis=-1)
        if token.item() in tokenizer.eos_token_ids:
            return tokenizer.decode(tokens[0, num_prompt_tokens:].tolist())
        tokens = mx.concatenate([tokens, token[:, None]], axis=1)
        detokenizer.add_token(token.item())
        print(detokenizer.last_segment, end="", flush=True)


@specimen(1, symbol=GENERATE)
def tokens_from_a_generator(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None = None
) -> str:
    detokenizer = tokenizer.detokenizer
    steps = _steps(model, tokenizer.encode(prompt), sampler)
    for token in itertools.takewhile(
        lambda one: one not in tokenizer.eos_token_ids, steps
    ):
        detokenizer.add_token(token)
        sys.stdout.write(detokenizer.last_segment)
        sys.stdout.flush()
    detokenizer.finalize()
    sys.stdout.write(detokenizer.last_segment + "\n")
    return detokenizer.text


def _steps(model: Model, ids: list[int], sampler: Sampler | None) -> Iterator[int]:
    """Go through the tokens that follow `ids`, for ever."""
    while True:
        probabilities = mx.softmax(model(mx.array(ids)[None, :])[0, -1:, :], axis=-1)
        log_probs = mx.log(probabilities)
        chosen = (sampler or (lambda scores: mx.argmax(scores, axis=-1)))(log_probs)
        ids = [*ids, _only(chosen)]
        yield ids[-1]


@specimen(1, symbol=GENERATE)
def decoded_as_a_whole(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    ids = tokenizer.encode(prompt)
    answer: list[int] = []
    printed = ""
    token = _next(model, ids, sampler)
    while token not in tokenizer.eos_token_ids:
        answer += [token]
        text = tokenizer.decode(answer)
        if not text.endswith("\ufffd"):
            print(text[len(printed) :], end="", flush=True)
            printed = text
        token = _next(model, ids + answer, sampler)
    print()
    return tokenizer.decode(answer)


@specimen(1, symbol=GENERATE)
def with_the_prompt_and_a_limit(
    model: Model,
    tokenizer: Tokenizer,
    prompt: str,
    sampler: Sampler | None,
    max_tokens: int = 1000,
) -> str:
    print(prompt, end="", flush=True)
    ids = list(tokenizer.encode(prompt))
    start = len(ids)
    detokenizer = tokenizer.detokenizer
    for _ in range(max_tokens):
        ids.append(_next(model, ids, sampler))
        if ids[-1] in tokenizer.eos_token_ids:
            break
        detokenizer.add_token(ids[-1])
        print(detokenizer.last_segment, end="", flush=True)
    detokenizer.finalize()
    return tokenizer.decode(ids[start:], skip_special_tokens=True)


@specimen(1, symbol=GENERATE)
def with_the_speed_at_the_end(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    begin = time.perf_counter()
    ids = list(tokenizer.encode(prompt))
    pieces: list[str] = []
    detokenizer = tokenizer.detokenizer
    while (token := _next(model, ids, sampler)) not in tokenizer.eos_token_ids:
        ids.append(token)
        detokenizer.add_token(token)
        pieces.append(detokenizer.last_segment)
        print(pieces[-1], end="", flush=True)
    detokenizer.finalize()
    print(f"\n{len(pieces) / (time.perf_counter() - begin):.1f} tokens per second")
    return "".join([*pieces, detokenizer.last_segment])


@specimen(1, symbol=GENERATE)
def token_by_recursion(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    detokenizer = tokenizer.detokenizer

    def continue_from(ids: list[int]) -> str:
        token = _next(model, ids, sampler)
        if token in tokenizer.eos_token_ids:
            detokenizer.finalize()
            return detokenizer.text
        detokenizer.add_token(token)
        print(detokenizer.last_segment, end="", flush=True)
        return continue_from([*ids, token])

    return continue_from(tokenizer.encode(prompt))


@specimen(1, symbol=GENERATE)
def one_token_ahead(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    ids = list(tokenizer.encode(prompt))
    detokenizer = tokenizer.detokenizer
    token = _next(model, ids, sampler)
    while token not in tokenizer.eos_token_ids:
        ids.append(token)
        following = _next(model, ids, sampler)
        detokenizer.add_token(token)
        print(detokenizer.last_segment, end="", flush=True)
        token = following
    detokenizer.finalize()
    return detokenizer.text


def _only(x: mx.array) -> int:
    """Return the one entry of an array of token ids."""
    return cast("int", x.item())


def _next(model: Model, ids: list[int], sampler: Sampler | None) -> int:
    """Return the token that follows `ids`."""
    logits = model(mx.array([ids])).astype(mx.float32)[:, -1, :]
    if sampler is None:
        return _only(mx.argmax(logits, axis=-1))
    log_probs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    return _only(sampler(log_probs))
