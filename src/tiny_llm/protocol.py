"""What clients ask of the server: read from JSON, checked, and refused by name."""

import json
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from tiny_llm_course import todo

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
    todo("week 3, day 6, task 1")


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
    todo("week 3, day 6, task 2")


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
    todo("week 3, day 6, task 2")


def error_body(error: RefusedError) -> dict[str, dict[str, str | None]]:
    """Return what a client reads about an error, as its own library expects it.

        {"error": {"message": ..., "type": ..., "param": ..., "code": ...}}

    The type is "invalid_request_error" where the client is to blame, and
    "server_error" from a status of 500 on.

    Source: https://platform.openai.com/docs/guides/error-codes
    """
    todo("week 3, day 6, task 1")
