"""What clients ask of the server: read from JSON, checked, and refused by name."""

import json
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from .fields import (
    BadRequestError,
    Fields,
    RefusedError,
    is_number,
    is_whole,
    refuse,
    shown,
)
from .request import SamplingParams

MAX_DEPTH = 32
"""Lists in lists, and objects in objects. No request has more than five."""

NO_LIMIT = 2**31 - 1
"""Of the tokens in an answer. The engine ends it when there is no more room."""


@dataclass(frozen=True)
class Asked:
    """What a body asks for.

    Attributes:
        model: The name of the model.
        prompts: The token ids of each prompt: one in a chat.
        params: How to go on from each of them.
        stream: Whether to send each piece as soon as it is there.
        include_usage: Whether a stream ends with the numbers of tokens.
        echo: Whether the answer begins with the prompt.
    """

    model: str
    prompts: tuple[list[int], ...]
    params: SamplingParams
    stream: bool = False
    include_usage: bool = False
    echo: bool = False


def read_object(body: bytes) -> dict[str, Any]:
    """Return the object that some bytes are in JSON.

    JSON is UTF-8, and has neither NaN nor Infinity. Texts are Unicode: half of a
    surrogate pair is none. Nothing is nested deeper than 32.

    Raises:
        BadRequestError: They are none, with the code "invalid_json". No other error is
            raised, whatever the bytes are.

    Source: RFC 8259, where Python's own `json` reads more than that.
    """
    try:
        fields = json.loads(body.decode(), parse_constant=_no_number)
        _check_all(fields)
    except (ValueError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else error
        message = f"the body is not the JSON of an object: {shown(str(problem))}"
        raise BadRequestError(message, code="invalid_json") from None
    if not isinstance(fields, dict):
        message = f"the body: expected an object, got {shown(fields)}"
        raise BadRequestError(message, code="invalid_json")
    return fields


def parse_chat(
    body: bytes,
    tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
) -> Asked:
    """Read the body of a request for `/v1/chat/completions`.

    What is left out, or `null`, has the default of the OpenAI API: a temperature and a
    top_p of 1, and as many tokens as there is room for. Besides the fields of that API
    there are `top_k`, `repetition_penalty` and `ignore_eos`. No field is ignored but
    `user`: what this server does not have is refused by name, unless its value asks
    for nothing: `n` of 1, for one.

    Args:
        body: What the client sent, whatever it is.
        tokenizer: Its chat template, applied with `add_generation_prompt=True`, makes
            one text of the messages.

    Raises:
        BadRequestError: Whatever is wrong with `body`. No other error is raised.

    Source: https://platform.openai.com/docs/api-reference/chat/create
    """
    fields = Fields(read_object(body))
    messages = _messages(fields.take("messages"))
    limits = [fields.whole(name, 1) for name in ("max_tokens", "max_completion_tokens")]
    if None not in limits:
        refuse("max_tokens", "no max_completion_tokens beside it", limits[0])
    asks = fields.flag("logprobs")
    top = fields.whole("top_logprobs", 0, 20)
    if top is not None and not asks:
        refuse("top_logprobs", "logprobs to be true as well", top)
    prompt = _encoded(_rendered(messages, tokenizer), tokenizer, "messages")
    max_tokens = limits[0] or limits[1] or NO_LIMIT
    params = _params(fields, tokenizer, max_tokens, (top or 0) if asks else None)
    return _asked(fields, (prompt,), params)


def parse_completion(
    body: bytes,
    tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
) -> Asked:
    """Read the body of a request for `/v1/completions`.

    Defaults and refusals are those of `parse_chat`, but an answer has 16 tokens where
    the body does not say. With `echo` and `logprobs`, log-probabilities are asked for
    the tokens of the prompt as well.

    Args:
        body: What the client sent. Its `prompt` is a text, a list of texts, the token
            ids of one prompt, or a list of such lists.
        tokenizer: Encodes the texts.

    Raises:
        BadRequestError: Whatever is wrong with `body`. No other error is raised.

    Source: https://platform.openai.com/docs/api-reference/completions/create
    """
    fields = Fields(read_object(body))
    prompts = _prompts(fields.take("prompt"), tokenizer)
    max_tokens = fields.whole("max_tokens", 1) or 16
    echo, logprobs = fields.flag("echo"), fields.whole("logprobs", 0, 20)
    params = _params(fields, tokenizer, max_tokens, logprobs)
    if echo and logprobs is not None:
        params = replace(params, prompt_logprobs=True)
    return _asked(fields, prompts, params, echo=echo)


def error_body(error: RefusedError) -> dict[str, dict[str, str | None]]:
    """Return what a client reads about an error, as its own library expects it.

        {"error": {"message": ..., "type": ..., "param": ..., "code": ...}}

    The type is "invalid_request_error" where the client is to blame, and
    "server_error" from a status of 500 on.

    Source: https://platform.openai.com/docs/guides/error-codes
    """
    kind = "invalid_request_error" if error.status < 500 else "server_error"
    said = {"message": str(error), "type": kind, "param": error.param}
    return {"error": {**said, "code": error.code}}


def _no_number(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads although JSON has none."""
    raise ValueError(f"{name} is no number in JSON")


def _check_all(value: object) -> None:
    """Raise an error if texts are not Unicode, or lists stand too deep in each other.

    An escape may be half a character, which nobody could encode again.
    """
    waiting = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise RecursionError
        if isinstance(one, str):
            one.encode()
        elif isinstance(one, dict):
            waiting += [(part, depth + 1) for pair in one.items() for part in pair]
        elif isinstance(one, list):
            waiting += [(part, depth + 1) for part in one]


def _params(
    fields: Fields,
    tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
    max_tokens: int,
    logprobs: int | None,
) -> SamplingParams:
    """Take what says how tokens are chosen, and when there are enough."""
    return SamplingParams(
        max_tokens=max_tokens,
        temperature=fields.number("temperature", 1.0, 0, 2),
        top_p=fields.number("top_p", 1.0, 0, 1),
        top_k=fields.whole("top_k", 0) or 0,
        seed=fields.whole("seed", 0),
        stop=_stop(fields.take("stop")),
        repetition_penalty=fields.number("repetition_penalty", 1.0, 0.01, 100),
        presence_penalty=fields.number("presence_penalty", 0.0, -2, 2),
        frequency_penalty=fields.number("frequency_penalty", 0.0, -2, 2),
        logit_bias=_logit_bias(fields.take("logit_bias"), tokenizer),
        logprobs=logprobs,
        ignore_end=fields.flag("ignore_eos"),
    )


def _asked(
    fields: Fields,
    prompts: tuple[list[int], ...],
    params: SamplingParams,
    *,
    echo: bool = False,
) -> Asked:
    """Take what is left, and refuse what nobody takes."""
    model, user = fields.take("model"), fields.take("user")
    if not isinstance(model, str):
        refuse("model", "the name of a model", model)
    if not isinstance(user, str | None):
        refuse("user", "a text", user)
    stream, options = fields.flag("stream"), fields.take("stream_options")
    include_usage = options is not None and _include_usage(options, stream)
    fields.refuse_rest()
    return Asked(model, prompts, params, stream, include_usage, echo)


def _include_usage(options: object, stream: bool) -> bool:
    """Read the options of a stream, which only a stream can have."""
    if not stream or not isinstance(options, dict):
        refuse("stream_options", "an object, and stream to be true", options)
    own = Fields(options)
    include_usage = own.flag("include_usage")
    own.refuse_rest("stream_options.")
    return include_usage


def _messages(value: object) -> list[dict[str, str]]:
    """Return the messages of a chat, each with a role and a text."""
    if not isinstance(value, list) or not value:
        refuse("messages", "a list of messages, one at least", value)
    return [_message(f"messages[{place}]", one) for place, one in enumerate(value)]


def _message(where: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        refuse(where, "an object with role and content", value)
    role, content = value.get("role"), value.get("content")
    if role not in ("system", "user", "assistant"):
        refuse(f"{where}.role", "system, user or assistant", role)
    if isinstance(content, list) and content:
        content = "".join(map(_text_of, content))
    if not isinstance(content, str):
        refuse(f"{where}.content", "a text", content)
    others = [name for name in value if name not in ("role", "content")]
    for name in others:
        if value[name] is not None:
            refuse(f"{where}.{name}"[:64], "role and content, and no more", name)
    return {"role": role, "content": content}


def _text_of(part: object) -> str:
    """Return the text of a part of a message, which might also be a picture."""
    if not isinstance(part, dict) or part.get("type") != "text":
        refuse("messages", 'content of the type "text"', part)
    text = part.get("text")
    if not isinstance(text, str):
        refuse("messages", "a text", text)
    return text


def _rendered(messages: list[dict[str, str]], tokenizer: Any) -> str:  # noqa: ANN401
    """Make one text of a chat. A template is a program, and may refuse a chat."""
    try:
        return tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
    except Exception as error:  # jinja's, or what the template's own code raises
        message = f"messages: the model's template refuses them: {shown(str(error))}"
        raise BadRequestError(message, param="messages") from error


def _prompts(value: object, tokenizer: Any) -> tuple[list[int], ...]:  # noqa: ANN401
    """Return the token ids of one prompt or of several."""
    if not isinstance(value, list) or not value or is_whole(value[0]):
        return (_prompt("prompt", value, tokenizer),)
    named = ((f"prompt[{place}]", one) for place, one in enumerate(value))
    return tuple(_prompt(where, one, tokenizer) for where, one in named)


def _prompt(where: str, value: object, tokenizer: Any) -> list[int]:  # noqa: ANN401
    if isinstance(value, str):
        return _encoded(value, tokenizer, where)
    if not isinstance(value, list) or not value:
        refuse(where, "a text, token ids, or a list of these", value)
    for place, token in enumerate(value):
        if not _is_token(token, tokenizer):
            refuse(f"{where}[{place}]", "the id of a token", token)
    return value


def _encoded(text: str, tokenizer: Any, param: str) -> list[int]:  # noqa: ANN401
    """Return the token ids of a text, one at least."""
    ids = list(tokenizer.encode(text))
    if not ids:
        refuse(param, "a text of one token at least", text)
    return ids


def _stop(value: object) -> tuple[str, ...]:
    """Return the texts that end an answer."""
    texts = [value] if isinstance(value, str) else value or []
    if not isinstance(texts, list) or len(texts) > 16:
        refuse("stop", "a text, or a list of up to 16", value)
    for text in texts:
        if not isinstance(text, str) or not text:
            refuse("stop", "texts that are not empty", text)
    return tuple(texts)


def _logit_bias(value: object, tokenizer: Any) -> dict[int, float]:  # noqa: ANN401
    """Return what is added to the logits of some tokens."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        refuse("logit_bias", "an object of token ids and numbers", value)
    for token, bias in value.items():
        number = int(token) if token.isdecimal() and len(token) < 10 else None
        if not _is_token(number, tokenizer):
            refuse("logit_bias", "ids of tokens that there are", token)
        if not is_number(bias) or not -100 <= bias <= 100:
            refuse("logit_bias", "numbers from -100 to 100", bias)
    return {int(token): float(bias) for token, bias in value.items()}


def _is_token(value: object, tokenizer: Any) -> bool:  # noqa: ANN401
    """Tell whether a token has this id: beyond, the embedding has no row."""
    is_id = is_whole(value) and 0 <= value < 2**31
    return is_id and tokenizer.convert_ids_to_tokens(value) is not None
