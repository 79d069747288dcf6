"""Day 6: what goes wrong in the loop that generates text."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any, cast

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.generate import Model, Sampler

GENERATE = "generate.simple_generate"

Tokenizer = Any
"""What `mlx_lm` loads beside a model, which has no types."""


def _only(x: mx.array) -> int:
    """Return the one entry of an array of token ids."""
    return cast("int", x.item())


def _last_logits(model: Model, ids: list[int]) -> mx.array:
    """Return the logits 1 x V of the token that follows `ids`."""
    return model(mx.array([ids]))[:, -1, :]


def _choose(model: Model, ids: list[int], sampler: Sampler | None) -> int:
    """Return the token that follows `ids`, chosen as it should be."""
    logits = _last_logits(model, ids)
    if sampler is None:
        return _only(mx.argmax(logits, axis=-1))
    return _only(sampler(logits - mx.logsumexp(logits, axis=-1, keepdims=True)))


def _tokens(
    tokenizer: Tokenizer,
    prompt: str,
    choose: Callable[[list[int]], int],
) -> Iterator[int]:
    """Go through the tokens that `choose` appends to the prompt, up to the end."""
    ids = list(tokenizer.encode(prompt))
    while (token := choose(ids)) not in tokenizer.eos_token_ids:
        ids.append(token)
        yield token


def _spoken(
    tokenizer: Tokenizer,
    prompt: str,
    choose: Callable[[list[int]], int],
) -> str:
    """Print the tokens that `choose` appends to the prompt, and return their text."""
    detokenizer = tokenizer.detokenizer
    for token in _tokens(tokenizer, prompt, choose):
        detokenizer.add_token(token)
        print(detokenizer.last_segment, end="", flush=True)
    detokenizer.finalize()
    print(detokenizer.last_segment)
    return detokenizer.text


@specimen(1, symbol=GENERATE)
def first_logits_for_last(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    def choose(ids: list[int]) -> int:
        return _choose(lambda inputs: model(inputs)[:, :1, :], ids, sampler)

    return _spoken(tokenizer, prompt, choose)


@specimen(1, symbol=GENERATE)
def likeliest_over_all_positions(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    def choose(ids: list[int]) -> int:
        if sampler is None:
            return _only(mx.argmax(model(mx.array([ids]))))
        return _choose(model, ids, sampler)

    return _spoken(tokenizer, prompt, choose)


@specimen(1, symbol=GENERATE)
def only_the_newest_token_shown(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    num_prompt_ids = len(tokenizer.encode(prompt))

    def choose(ids: list[int]) -> int:
        seen = ids if len(ids) == num_prompt_ids else ids[-1:]
        return _choose(model, seen, sampler)

    return _spoken(tokenizer, prompt, choose)


@specimen(1, symbol=GENERATE)
def prompt_without_batch_axis(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    return _spoken(
        tokenizer,
        prompt,
        lambda ids: _choose(lambda inputs: model(inputs[0]), ids, sampler),
    )


@specimen(1, symbol=GENERATE)
def text_encoded_anew(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    num_prompt_ids = len(tokenizer.encode(prompt))

    def choose(ids: list[int]) -> int:
        text = prompt + tokenizer.decode(ids[num_prompt_ids:])
        return _choose(model, tokenizer.encode(text), sampler)

    return _spoken(tokenizer, prompt, choose)


@specimen(1, symbol=GENERATE)
def sampler_ignored(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    del sampler
    return _spoken(tokenizer, prompt, lambda ids: _choose(model, ids, None))


@specimen(1, symbol=GENERATE)
def drawn_without_a_sampler(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    return _spoken(
        tokenizer,
        prompt,
        lambda ids: _choose(model, ids, sampler or mx.random.categorical),
    )


@specimen(1, symbol=GENERATE)
def sampler_none_called(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    def choose(ids: list[int]) -> int:
        logits = _last_logits(model, ids)
        log_probs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
        return _only(sampler(log_probs))  # type: ignore[misc]

    return _spoken(tokenizer, prompt, choose)


@specimen(1, symbol=GENERATE)
def logits_for_log_probabilities(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    def choose(ids: list[int]) -> int:
        if sampler is None:
            return _choose(model, ids, None)
        return _only(sampler(_last_logits(model, ids)))

    return _spoken(tokenizer, prompt, choose)


@specimen(1, symbol=GENERATE)
def probabilities_for_log_probabilities(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    def choose(ids: list[int]) -> int:
        if sampler is None:
            return _choose(model, ids, None)
        return _only(sampler(mx.softmax(_last_logits(model, ids), axis=-1)))

    return _spoken(tokenizer, prompt, choose)


@specimen(1, symbol=GENERATE)
def vector_for_the_sampler(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    def choose(ids: list[int]) -> int:
        if sampler is None:
            return _choose(model, ids, None)
        logits = _last_logits(model, ids)[0]
        return _only(sampler(logits - mx.logsumexp(logits)))

    return _spoken(tokenizer, prompt, choose)


@specimen(1, symbol=GENERATE)
def all_positions_for_the_sampler(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    def choose(ids: list[int]) -> int:
        if sampler is None:
            return _choose(model, ids, None)
        logits = model(mx.array([ids]))
        log_probs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
        return _only(sampler(log_probs).flatten()[-1])

    return _spoken(tokenizer, prompt, choose)


@specimen(1, symbol=GENERATE)
def end_token_in_the_text(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    ids = list(tokenizer.encode(prompt))
    detokenizer = tokenizer.detokenizer
    token = -1
    while token not in tokenizer.eos_token_ids:
        token = _choose(model, ids, sampler)
        ids.append(token)
        detokenizer.add_token(token)
        print(detokenizer.last_segment, end="", flush=True)
    detokenizer.finalize()
    return detokenizer.text


@specimen(1, symbol=GENERATE)
def end_token_ignored(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    ids = list(tokenizer.encode(prompt))
    detokenizer = tokenizer.detokenizer
    while True:
        ids.append(_choose(model, ids, sampler))
        detokenizer.add_token(ids[-1])
        print(detokenizer.last_segment, end="", flush=True)


@specimen(1, symbol=GENERATE)
def only_one_end_token(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    ids = list(tokenizer.encode(prompt))
    detokenizer = tokenizer.detokenizer
    while (token := _choose(model, ids, sampler)) != tokenizer.eos_token_id:
        ids.append(token)
        detokenizer.add_token(token)
        print(detokenizer.last_segment, end="", flush=True)
    detokenizer.finalize()
    return detokenizer.text


@specimen(1, symbol=GENERATE)
def fixed_number_of_steps(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    tokens = _tokens(tokenizer, prompt, lambda ids: _choose(model, ids, sampler))
    detokenizer = tokenizer.detokenizer
    for token in itertools.islice(tokens, 50):
        detokenizer.add_token(token)
        print(detokenizer.last_segment, end="", flush=True)
    detokenizer.finalize()
    return detokenizer.text


@specimen(1, symbol=GENERATE)
def token_not_appended(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    prompt_ids = list(tokenizer.encode(prompt))
    return _spoken(tokenizer, prompt, lambda _: _choose(model, prompt_ids, sampler))


@specimen(1, symbol=GENERATE)
def token_appended_twice(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    def choose(ids: list[int]) -> int:
        num_prompt_ids = len(tokenizer.encode(prompt))
        new = [one for one in ids[num_prompt_ids:] for _ in range(2)]
        return _choose(model, [*ids[:num_prompt_ids], *new], sampler)

    return _spoken(tokenizer, prompt, choose)


@specimen(1, symbol=GENERATE)
def detokenizer_not_finished(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    detokenizer = tokenizer.detokenizer
    for token in _tokens(tokenizer, prompt, lambda ids: _choose(model, ids, sampler)):
        detokenizer.add_token(token)
        print(detokenizer.last_segment, end="", flush=True)
    return detokenizer.text


@specimen(1, symbol=GENERATE)
def prompt_in_the_answer(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    return prompt + _spoken(tokenizer, prompt, lambda ids: _choose(model, ids, sampler))


@specimen(1, symbol=GENERATE)
def nothing_returned(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> None:
    _spoken(tokenizer, prompt, lambda ids: _choose(model, ids, sampler))


@specimen(1, symbol=GENERATE)
def last_segment_returned(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    detokenizer = tokenizer.detokenizer
    segment = ""
    for token in _tokens(tokenizer, prompt, lambda ids: _choose(model, ids, sampler)):
        detokenizer.add_token(token)
        segment = detokenizer.last_segment
        print(segment, end="", flush=True)
    return segment


@specimen(1, symbol=GENERATE)
def ids_returned(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> list[int]:
    text = _spoken(tokenizer, prompt, lambda ids: _choose(model, ids, sampler))
    return tokenizer.encode(text)


@specimen(1, symbol=GENERATE)
def nothing_printed(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    tokens = _tokens(tokenizer, prompt, lambda ids: _choose(model, ids, sampler))
    return tokenizer.decode(list(tokens))


@specimen(1, symbol=GENERATE)
def printed_at_the_end(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    text = nothing_printed(model, tokenizer, prompt, sampler)
    print(text)
    return text


@specimen(1, symbol=GENERATE)
def printed_again_at_the_end(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    text = _spoken(tokenizer, prompt, lambda ids: _choose(model, ids, sampler))
    print(text)
    return text


@specimen(1, symbol=GENERATE)
def ids_printed(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    detokenizer = tokenizer.detokenizer
    for token in _tokens(tokenizer, prompt, lambda ids: _choose(model, ids, sampler)):
        detokenizer.add_token(token)
        print(token, end=" ", flush=True)
    detokenizer.finalize()
    return detokenizer.text


@specimen(1, symbol=GENERATE)
def whole_text_printed_each_time(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    detokenizer = tokenizer.detokenizer
    for token in _tokens(tokenizer, prompt, lambda ids: _choose(model, ids, sampler)):
        detokenizer.add_token(token)
        print(detokenizer.text, end="", flush=True)
    detokenizer.finalize()
    return detokenizer.text


@specimen(1, symbol=GENERATE)
def a_line_per_token(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    detokenizer = tokenizer.detokenizer
    for token in _tokens(tokenizer, prompt, lambda ids: _choose(model, ids, sampler)):
        detokenizer.add_token(token)
        print(detokenizer.last_segment)
    detokenizer.finalize()
    return detokenizer.text


@specimen(1, symbol=GENERATE)
def tokens_decoded_one_by_one(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    text = ""
    for token in _tokens(tokenizer, prompt, lambda ids: _choose(model, ids, sampler)):
        piece = tokenizer.decode([token])
        print(piece, end="", flush=True)
        text += piece
    return text


@specimen(1, symbol=GENERATE)
def detokenizer_made_anew(
    model: Model, tokenizer: Tokenizer, prompt: str, sampler: Sampler | None
) -> str:
    for token in _tokens(tokenizer, prompt, lambda ids: _choose(model, ids, sampler)):
        tokenizer.detokenizer.add_token(token)
        print(tokenizer.detokenizer.last_segment, end="", flush=True)
    return tokenizer.detokenizer.text
