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
    thread = EngineThread(engine)
    hooks = (admission or OpenGate(), metrics or RequestCount())
    api = _Api(engine.tokenizer, thread, model_name, limits, hooks)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        thread.start()
        yield
        thread.stop()

    app = Starlette(
        routes=[
            Route("/v1/models", api.models),
            Route("/v1/models/{name:path}", api.model),
            Route("/v1/chat/completions", api.chat, methods=["POST"]),
            Route("/v1/completions", api.completions, methods=["POST"]),
            Route("/tokenize", api.tokenize, methods=["POST"]),
            Route("/tokenizer_info", api.tokenizer_info),
            Route("/health", api.health),
            Route("/metrics", api.metrics),
        ],
        middleware=[Middleware(_KeyNeeded, key=limits.api_key)],
        exception_handlers={
            RefusedError: _on_refused,
            HTTPException: _on_no_route,
            ClientDisconnect: _on_left,
            Exception: _on_mistake,
        },
        lifespan=lifespan,
    )
    app.state.engine_thread = thread
    return app


class _Api:
    """What the server does under each of its paths."""

    def __init__(
        self,
        tokenizer: Any,  # noqa: ANN401 - mlx_lm has no types
        thread: EngineThread,
        model_name: str,
        limits: Limits,
        hooks: tuple[Gate, Counters],
    ) -> None:
        self._tokenizer, self._thread = tokenizer, thread
        self._model_name, self._limits = model_name, limits
        self._gate, self._counters = hooks

    async def models(self, _: Request) -> Response:
        """List the one model that there is."""
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        """Describe a model."""
        self._check_model(request.path_params["name"])
        return JSONResponse(self._model())

    async def chat(self, request: Request) -> Response:
        """Answer a chat."""
        return await self._answer(request, parse_chat, "chat")

    async def completions(self, request: Request) -> Response:
        """Continue texts."""
        return await self._answer(request, parse_completion, "completion")

    async def tokenize(self, request: Request) -> Response:
        """Return the token ids of a text."""
        fields = Fields(read_object(await self._body(request)))
        text, _ = fields.take("prompt"), fields.take("model")
        if not isinstance(text, str):
            refuse("prompt", "a text", text)
        special = fields.flag("add_special_tokens")
        fields.refuse_rest()
        ids = self._tokenizer.encode(text, add_special_tokens=special)
        return JSONResponse({"tokens": ids, "count": len(ids)})

    async def tokenizer_info(self, _: Request) -> Response:
        """Tell what a program has to know that splits texts itself."""
        names = ("eos_token", "bos_token", "pad_token", "chat_template")
        known = {name: getattr(self._tokenizer, name, None) for name in names}
        return JSONResponse(known)

    async def health(self, _: Request) -> Response:
        """Tell whether new requests are taken."""
        is_ending = self._thread.is_draining
        status = "shutting down" if is_ending else "ok"
        return JSONResponse({"status": status}, 503 if is_ending else 200)

    async def metrics(self, _: Request) -> Response:
        """Return numbers for Prometheus."""
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(self._counters.text(), media_type=kind)

    def _model(self) -> Json:
        own = {"id": self._model_name, "object": "model"}
        return {**own, "created": 0, "owned_by": "tiny-llm"}

    def _check_model(self, name: str) -> None:
        if name != self._model_name:
            message = f"model: expected {self._model_name!r}, got {name[:60]!a}"
            found = {"param": "model", "code": "model_not_found"}
            raise BadRequestError(message, **found, status=404)

    async def _body(self, request: Request) -> bytes:
        """Read a body that is neither too long nor too slow."""
        body, most = bytearray(), self._limits.max_body_bytes
        try:
            async with asyncio.timeout(self._limits.body_timeout_s):
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        message = f"the body: expected {most} bytes at most, got more"
                        raise BadRequestError(message, code="too_large", status=413)
        except TimeoutError:
            most_s = self._limits.body_timeout_s
            message = (
                f"the body: expected it within {most_s:g} s, got {len(body)} bytes"
            )
            raise BadRequestError(message, code="timeout", status=408) from None
        return bytes(body)

    async def _answer(self, request: Request, parse: Parse, kind: Kind) -> Response:
        """Answer a request that has prompts, as a stream or in one piece."""
        body = await self._body(request)
        asked = await asyncio.to_thread(parse, body, self._tokenizer)
        self._check_model(asked.model)
        if len(asked.prompts) > self._limits.max_prompts:
            most, got = self._limits.max_prompts, len(asked.prompts)
            message = f"prompt: expected {most} of them at most, got {got}"
            raise BadRequestError(message, param="prompt")
        answer = Answer(asked, kind, self._tokenizer)
        pieces = self._pieces(answer)
        if not asked.stream:
            return JSONResponse(await _unless_left(request, _whole(answer, pieces)))
        # The first piece is awaited here: until then an error has a status of its own.
        first = await _unless_left(request, anext(pieces))
        return _EventStream(answer, first, pieces)

    async def _pieces(self, answer: Answer) -> AsyncGenerator[Piece]:
        """Run all prompts of an answer at once. Yield what comes of them."""
        prompts = answer.asked.prompts
        self._gate.enter(len(prompts))
        outputs = merged(
            [self._outputs(answer, index) for index in range(len(prompts))]
        )
        try:
            async with contextlib.aclosing(outputs):
                async for index, output in outputs:
                    yield answer.piece(index, output)
        finally:
            self._gate.leave(len(prompts))

    async def _outputs(self, answer: Answer, index: int) -> AsyncGenerator[Output]:
        """Run one prompt of an answer.

        Raises:
            RefusedError: 400 where the engine does not take it, 500 where it fails.
        """
        asked = answer.asked
        reason: FinishReason = "abort"
        name = f"{answer.id}-{index}"
        outputs = self._thread.submit(name, asked.prompts[index], asked.params)
        self._counters.started(name)
        try:
            async with contextlib.aclosing(outputs):
                async for output in outputs:
                    self._counters.observed(output)
                    reason = output.finish_reason or reason
                    if output.finish_reason == "error":
                        raise engine_failed(output.error)
                    yield output
        except RefusedError:
            reason = "error"
            raise
        except ValueError as error:
            reason, code = "error", "context_length_exceeded"
            raise BadRequestError(str(error), param="prompt", code=code) from error
        finally:
            self._counters.ended(name, reason)


class _EventStream(StreamingResponse):
    """An answer as a stream of events, which ends as soon as its client leaves."""

    def __init__(
        self, answer: Answer, first: Piece, rest: AsyncGenerator[Piece]
    ) -> None:
        headers = {"Cache-Control": "no-cache"}
        events = _events(answer, first, rest)
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events, and see to it that the engine stops when that ends."""
        async with contextlib.aclosing(self._rest):
            await super().__call__(scope, receive, send)


class _KeyNeeded:
    """Lets nobody through without the key, but to `/health`."""

    def __init__(self, app: ASGIApp, key: str | None) -> None:
        self._app, self._key = app, key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        is_open = self._key is None or scope["type"] != "http"
        if (
            is_open
            or scope["path"] == "/health"
            or self._is_right(Headers(scope=scope))
        ):
            await self._app(scope, receive, send)
            return
        message = "expected the header Authorization: Bearer KEY, with the server's key"
        error = RefusedError(message, status=401, code="invalid_api_key")
        await _answer_to(error)(scope, receive, send)

    def _is_right(self, headers: Headers) -> bool:
        """Compare the whole key, so that the time does not tell where it differs."""
        brought = headers.get("authorization", "").encode("latin-1")
        return hmac.compare_digest(brought, f"Bearer {self._key}".encode())


async def _whole(answer: Answer, pieces: AsyncGenerator[Piece]) -> Json:
    """Return an answer without streaming."""
    return answer.whole([piece async for piece in pieces])


async def _events(
    answer: Answer, first: Piece, rest: AsyncGenerator[Piece]
) -> AsyncGenerator[str]:
    """Yield an answer as events, and an error as one, too: the status is long sent."""
    yield _event(answer.chunk(first))
    try:
        async for piece in rest:
            if not piece.is_empty:
                yield _event(answer.chunk(piece))
    except RefusedError as error:
        yield _event(error_body(error))
    else:
        if answer.asked.include_usage:
            yield _event(answer.usage_chunk())
    yield "data: [DONE]\n\n"


def _event(value: Json) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


async def _unless_left(request: Request, work: Awaitable[T]) -> T:
    """Wait for some work, or end it when the client leaves.

    Raises:
        ClientDisconnect: It has left.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        await cancelled((working, leaving))


async def _left(request: Request) -> None:
    """Return when the client has closed the connection. Its body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _answer_to(error: RefusedError) -> Response:
    """Return what the client of a refused request reads."""
    after = error.retry_after_s
    headers = {} if after is None else {"Retry-After": f"{math.ceil(after)}"}
    return JSONResponse(error_body(error), error.status, headers)


async def _on_refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return _answer_to(error)


async def _on_no_route(_: Request, error: Exception) -> Response:
    """Answer for a path or a method that there is not."""
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http")
    refused = RefusedError(error.detail, status=error.status_code, code=code)
    return _answer_to(refused)


async def _on_left(_: Request, __: Exception) -> Response:
    return Response(status_code=CLIENT_LEFT)


async def _on_mistake(_: Request, __: Exception) -> Response:
    """Answer for a mistake in the server: what it is, is for the log alone."""
    message = "the server made a mistake, which is in its log"
    return _answer_to(RefusedError(message, status=500, code="internal_error"))
