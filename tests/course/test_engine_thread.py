"""The reference's thread of an engine outlives what a learner's engine does."""

import asyncio
import logging

import pytest

from tiny_llm_course.grading.scenarios.scripted_engine import ScriptedEngine
from tiny_llm_course.grading.scenarios.submitting import Room
from tiny_llm_course.specimens import UNCHANGED


class CannotAbort(ScriptedEngine):
    """An engine that raises for whom it does not know, such as who has ended."""

    def abort(self, id: str) -> bool:  # noqa: A002 - as the engine has it
        raise KeyError(id)


def test_an_abort_that_raises_does_not_end_the_thread(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Every request is aborted at its end, so the second one was never answered."""
    engine = CannotAbort(UNCHANGED, text="a fox")
    thread = UNCHANGED.get("engine_thread.EngineThread")(engine)
    room = Room(thread, engine, UNCHANGED)

    async def two() -> list[str]:
        return [await asyncio.wait_for(room.text(name), 5) for name in ("one", "two")]

    thread.start()
    try:
        with caplog.at_level(logging.ERROR):
            texts = asyncio.run(two())
    finally:
        thread.stop()

    assert texts == ["a fox", "a fox"]
    assert "KeyError: 'one'" in caplog.text
