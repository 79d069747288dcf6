"""The engine on a thread of its own, and answers that arrive where clients wait."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from tiny_llm_course import todo

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
        todo("week 3, day 6, task 3")

    @property
    def is_draining(self) -> bool:
        """Whether no more requests are taken."""
        todo("week 3, day 6, task 3")

    def start(self) -> None:
        """Begin to compute whenever there is something to do."""
        todo("week 3, day 6, task 3")

    def stop(self) -> None:
        """End the thread after the step that runs. Who still waits gets an error."""
        todo("week 3, day 6, task 3")

    async def drain(self) -> None:
        """Take no more requests, and wait until those that there are have ended."""
        todo("week 3, day 6, task 3")

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
        todo("week 3, day 6, task 3")
