"""What the page shows of an engine: who runs, which pages they have, how fast it is."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from tiny_llm_course.serving.watched import WINDOW_S, WatchedEngine


def request(name: str, *pages: int) -> Any:  # noqa: ANN401 - as an engine has it
    return SimpleNamespace(id=name, prompt=[5, 6, 7], output=[8], block_table=[*pages])


class Engine:
    """An engine in which requests stand as they are told to, and tokens come."""

    def __init__(self, *running: Any, waiting: tuple[Any, ...] = ()) -> None:  # noqa: ANN401
        self.scheduler = SimpleNamespace(running=running, waiting=waiting)
        self.block_manager = SimpleNamespace(num_in_use=5, num_free=3)
        self.tokens: list[int | None] = []

    def step(self) -> list[Any]:
        return [SimpleNamespace(token=token) for token in self.tokens]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    clock = SimpleNamespace(now_s=100.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now_s)
    return clock


def test_pages_are_shared_that_several_requests_have() -> None:
    """Not those that only one has, or that stand in its table twice."""
    engine = Engine(request("a", 4, 2, 9), request("b", 4, 7, 7), request("c", 2, 4))

    assert WatchedEngine(engine).snapshot["shared"] == [2, 4]


def test_requests_are_told_with_their_lengths_and_pages() -> None:
    engine = Engine(request("a", 4, 2), waiting=(request("b"),))

    snapshot = WatchedEngine(engine).snapshot

    lengths = {"prompt": 3, "output": 1}
    assert snapshot["running"] == [{"id": "a", **lengths, "pages": [4, 2]}]
    assert snapshot["waiting"] == [{"id": "b", **lengths, "pages": []}]
    assert (snapshot["pages_in_use"], snapshot["pages_free"]) == (5, 3)


def test_the_speed_is_that_of_the_last_moments(clock: SimpleNamespace) -> None:
    """An output without a token, such as that of an end, does not count."""
    engine = Engine()
    watched = WatchedEngine(engine)
    engine.tokens = [7] * 50
    watched.step()
    clock.now_s += WINDOW_S + 1
    engine.tokens = [7, 7, None]
    watched.step()

    clock.now_s += 0.5
    watched.step()

    assert watched.snapshot["tokens_per_s"] == 4 / 0.5


def test_an_engine_that_hides_everything_can_be_watched() -> None:
    watched = WatchedEngine(object())

    assert watched.snapshot["running"] == []
    assert watched.snapshot["pages_free"] == 0


def test_each_change_is_told_with_how_things_stand_then() -> None:
    engine = Engine()
    watched, seen = WatchedEngine(engine), list[int]()
    watched.told = lambda: seen.append(len(watched.snapshot["running"]))

    engine.scheduler.running = (request("a"),)
    watched.step()
    engine.scheduler.running = ()
    watched.step()

    assert seen == [1, 0]
