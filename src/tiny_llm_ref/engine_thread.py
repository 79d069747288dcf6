"""The engine on a thread of its own, and answers that arrive where clients wait."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from .fields import RefusedError, engine_failed
from .request import Output, SamplingParams

Deliver = Callable[[Output | Exception], None]


class EngineThread:
    """Let an engine compute on a thread of its own, for clients of an event loop.

    A step of the model takes milliseconds in which an event loop could do nothing else.
    So the loop only leaves word what there is to add and to abort. The thread does it
    between two steps: nothing else touches the engine.

    Args:
        engine: Has `add_request`, `step`, `abort` and `has_work`, as `engine.Engine`.
    """

    def __init__(self, engine: Any) -> None:  # noqa: ANN401 - of whatever solution
        self._engine = engine
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._changed = threading.Condition()
        self._waiting: list[Callable[[], None]] = []
        self._receivers: dict[str, Deliver] = {}
        self._has_ended = False
        self._is_draining = False

    @property
    def is_draining(self) -> bool:
        """Whether no more requests are taken."""
        return self._is_draining

    def start(self) -> None:
        """Begin to compute whenever there is something to do."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the step that runs. Who still waits gets an error."""
        with self._changed:
            self._has_ended = True
            self._changed.notify()
        self._thread.join()
        self._fail_all(_stopped())

    async def drain(self) -> None:
        """Take no more requests, and wait until those that there are have ended."""
        self._is_draining = True
        while self._receivers:
            await asyncio.sleep(0.01)

    async def submit(
        self,
        id: str,  # noqa: A002 - as in Request
        prompt: Sequence[int],
        params: SamplingParams,
    ) -> AsyncGenerator[Output]:
        """Give a request to the engine. Yield its outputs as they come.

        Whoever closes the iterator before it ends aborts the request: the engine takes
        no other step for it than the one that runs.

        Args:
            id: A name that no other request has.
            prompt: Its token ids.
            params: How to go on from there.

        Yields:
            What the engine gives for this request. The last one has a `finish_reason`.

        Raises:
            ValueError: The engine does not take the request.
            RefusedError: The engine is draining or has stopped, with a status of 503;
                or a step of it raised an error: everybody who waits is told, with a
                500, and their requests are aborted.
        """
        if self._is_draining or self._has_ended:
            raise _stopped()
        loop, arrived = asyncio.get_running_loop(), asyncio.Queue[Output | Exception]()

        def deliver(one: Output | Exception) -> None:
            # Nobody can be told any more if the loop has been closed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(arrived.put_nowait, one)

        self._receivers[id] = deliver
        self._leave_word(lambda: self._add(id, prompt, params))
        try:
            output = None
            while output is None or output.finish_reason is None:
                output = await arrived.get()
                if isinstance(output, Exception):
                    raise output
                yield output
        finally:
            self._receivers.pop(id, None)
            self._leave_word(lambda: self._engine.abort(id))

    def _leave_word(self, what: Callable[[], None]) -> None:
        """Have something done between two steps."""
        with self._changed:
            self._waiting.append(what)
            self._changed.notify()

    def _run(self) -> None:
        """Do what there is to do, until `stop`."""
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._has_ended or self._waiting or self._engine.has_work
                )
                if self._has_ended:
                    return
                words, self._waiting = self._waiting, []
            for what in words:
                self._do(what)
            self._step()

    @staticmethod
    def _do(what: Callable[[], None]) -> None:
        """Do something for a client. An abort that raises harms nobody else."""
        try:
            what()
        except Exception:
            logging.getLogger(__name__).exception("an abort of the engine")

    def _add(self, id: str, prompt: Sequence[int], params: SamplingParams) -> None:  # noqa: A002
        """Give a request to the engine, if its client has not left already."""
        deliver = self._receivers.get(id)
        if deliver is None:
            return
        try:
            self._engine.add_request(id, prompt, params)
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            deliver(error)

    def _step(self) -> None:
        """Let the engine take a step, and hand out what comes of it."""
        if not self._engine.has_work:
            return
        try:
            outputs = self._engine.step()
        except Exception as error:
            logging.getLogger(__name__).exception("a step of the engine")
            self._fail_all(engine_failed(f"{type(error).__name__}: {error}"))
            return
        for output in outputs:
            deliver = self._receivers.get(output.id)
            if deliver is not None:
                deliver(output)

    def _fail_all(self, error: Exception) -> None:
        """Tell everybody who waits what went wrong. So all of them abort."""
        for deliver in list(self._receivers.values()):
            deliver(error)


def _stopped() -> RefusedError:
    message = "the server is shutting down; try another one, or again later"
    return RefusedError(message, status=503, code="shutting_down", retry_after_s=5)
