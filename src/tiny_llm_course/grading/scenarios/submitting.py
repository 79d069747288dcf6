"""A call of `EngineThread`: several clients on one event loop."""

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.verdict import StepLimitError
from tiny_llm_course.grading.scenarios.quiet import own_errors
from tiny_llm_course.grading.scenarios.scripted_engine import ScriptedEngine
from tiny_llm_course.solution import Solution

THREAD = "engine_thread.EngineThread"
LIMIT_S = 2.0
"""What takes longer does not end."""


@dataclass
class Room:
    """An engine's thread, and who wants something of it.

    Attributes:
        thread: Of the solution.
        engine: What it runs.
        solution: Whose it is.
    """

    thread: Any
    engine: ScriptedEngine
    solution: Solution

    def submit(self, name: str, text: str = "Hi", **params: Any) -> Any:  # noqa: ANN401
        """Submit a request. Returns the iterator."""
        chosen = self.solution.get("request.SamplingParams")(**params)
        return self.thread.submit(name, self.engine.tokenizer.encode(text), chosen)

    async def text(self, name: str, text: str = "Hi", **params: Any) -> str:  # noqa: ANN401
        """Submit a request, and return all that is said."""
        return "".join([one.text async for one in self.submit(name, text, **params)])

    async def waits_until(
        self, is_so: Callable[[], bool], limit_s: float = 1.0
    ) -> bool:
        """Tell whether something is so within a time."""
        until = time.monotonic() + limit_s
        while not is_so() and time.monotonic() < until:
            await asyncio.sleep(0.002)
        return is_so()


@dataclass(frozen=True)
class Threaded(Call):
    """A call of `EngineThread`, and what its clients then do.

    Attributes:
        use: What they do.
        shown: The same, as a learner reads it.
        engine: Settings of the `ScriptedEngine`.
        stops: Whether the thread is stopped at the end.
    """

    use: Callable[[Room], Awaitable[Any]] = field(kw_only=True)
    shown: str = ""
    engine: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stops: bool = True

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what they found out
        """Run the clients."""
        engine = ScriptedEngine(solution, **self.engine)
        room = Room(solution.get(THREAD)(engine), engine, solution)
        with own_errors():
            found = asyncio.run(self._used(room))
            gc.collect()  # iterators that were left behind are cleaned up now
        return found

    async def _used(self, room: Room) -> Any:  # noqa: ANN401
        room.thread.start()
        try:
            async with asyncio.timeout(LIMIT_S):
                return await self.use(room)
        except TimeoutError:
            waits = "waits" if room.engine.heard else "waits_unheard"
            raise StepLimitError(say(f"week_3_day_6.complaints.{waits}")) from None
        finally:
            room.engine.gate.set()
            if self.stops:
                stopping = threading.Thread(target=room.thread.stop, daemon=True)
                stopping.start()
                await asyncio.to_thread(stopping.join, LIMIT_S / 2)

    def __str__(self) -> str:
        """Write what the clients do."""
        return f"thread = EngineThread(engine)\nthread.start()\n{self.shown}"


def threaded(
    use: Callable[[Room], Awaitable[Any]],
    shown: str,
    **settings: Any,  # noqa: ANN401
) -> Threaded:
    """Return a call of `EngineThread`, and what its clients then do."""
    return Threaded(THREAD, (), use=use, shown=shown, **settings)


async def raised_by(work: Awaitable[object]) -> str:
    """Return the name of the error that comes up, or nothing."""
    try:
        await work
    except Exception as error:  # noqa: BLE001 - of whatever solution
        return type(error).__name__
    return ""
