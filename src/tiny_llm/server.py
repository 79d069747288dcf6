"""A server with the interface of OpenAI's, in front of the engine."""

import asyncio
import contextlib
import hmac
import json
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Literal, TypeVar

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tiny_llm_course import todo

from .answers import Answer, Json, Piece
from .engine_thread import EngineThread
from .fields import BadRequestError, Fields, RefusedError, engine_failed, refuse
from .hooks import Counters, Gate, OpenGate, RequestCount
from .limits import Limits
from .merging import cancelled, merged
from .protocol import Asked, error_body, parse_chat, parse_completion, read_object
from .request import FinishReason, Output

T = TypeVar("T")
Kind = Literal["chat", "completion"]
Parse = Callable[[bytes, Any], Asked]

CLIENT_LEFT = 499
"""The status of an answer that nobody reads, as nginx has it."""


def create_app(
    engine: Any,  # noqa: ANN401 - of whatever solution
    limits: Limits,
    *,
    admission: Gate | None = None,
    metrics: Counters | None = None,
    model_name: str = "tiny",
) -> Starlette:
    """Build the server. It starts the engine's thread with its lifespan.

        GET  /v1/models, /v1/models/NAME   the one model that there is
        POST /v1/chat/completions          an answer to a chat
        POST /v1/completions               what follows a text, or several
        POST /tokenize                     {"prompt": ...} -> ids: `tokens`, `count`
        GET  /tokenizer_info               `eos_token` and others, `chat_template`
        GET  /health                       200, or 503 while it shuts down
        GET  /metrics                      numbers for Prometheus

    `/tokenize` takes `add_special_tokens`, too. `/tokenizer_info` also has `bos_token`
    and `pad_token`, `null` where there is none.

    Every answer that is not 200 has the body of `protocol.error_body`: 400 where the
    request is wrong or does not fit, 401 without the key (asked for everywhere but
    under `/health`), 404 for a path or a model that there is not, 405, 408 and 413 for
    a body that comes too slowly or is too long, 503 while the server shuts down. When
    the engine fails before the first token it is 500, afterwards an event
    `data: {"error": ...}` in the stream. An error with `retry_after_s` has the header
    `Retry-After`: whole seconds, rounded up.

    A stream is `text/event-stream`: a line `data: JSON` and an empty one for each
    chunk, `data: [DONE]` at the end. All its chunks have one id.

    A client that leaves, while it streams or waits, aborts its requests at once.

    Args:
        engine: What `EngineThread` wants; and its `tokenizer`.
        limits: What clients may ask for.
        admission: Decides who may come in. None lets everybody in.
        metrics: Counts. None counts only who is in.
        model_name: How the model is called.

    Returns:
        The application. Its `state.engine_thread` is the thread, to `drain`.
    """
    todo("week 3, day 6, task 4")
