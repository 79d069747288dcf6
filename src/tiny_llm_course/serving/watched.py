"""An engine that is looked at while it works, for the page."""

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

WINDOW_S = 2.0
"""Tokens of so many seconds make up the speed that is shown."""

Snapshot = dict[str, Any]


class WatchedEngine:
    """Pass all calls on to an engine, and tell after each of them how things stand.

    Attributes:
        snapshot: How things stand.
        told: Called after each change, on the thread that made it.

    Args:
        engine: Of a solution.
    """

    def __init__(self, engine: Any) -> None:  # noqa: ANN401 - of whatever solution
        self._engine = engine
        self.told: Callable[[], None] = lambda: None
        self._tokens: deque[tuple[float, int]] = deque()
        self.snapshot: Snapshot = self._look()

    @property
    def tokenizer(self) -> Any:  # noqa: ANN401 - mlx_lm has no types
        """The engine's, which a server encodes with."""
        return self._engine.tokenizer

    @property
    def has_work(self) -> bool:
        """Whether a request is running or waiting."""
        return self._engine.has_work

    def add_request(
        self,
        id: str,  # noqa: A002 - as the engine has it
        prompt: Sequence[int],
        params: Any,  # noqa: ANN401 - of a solution
    ) -> None:
        """Let a request wait for its turn."""
        self._engine.add_request(id, prompt, params)
        self._tell()

    def abort(self, id: str) -> bool:  # noqa: A002 - as the engine has it
        """Forget a request."""
        was_there = self._engine.abort(id)
        self._tell()
        return was_there

    def step(self) -> list[Any]:
        """Compute the next tokens."""
        outputs = self._engine.step()
        num_tokens = sum(one.token is not None for one in outputs)
        self._tokens.append((time.monotonic(), num_tokens))
        self._tell()
        return outputs

    def _tell(self) -> None:
        self.snapshot = self._look()
        self.told()

    def _look(self) -> Snapshot:
        """Return how things stand: an engine may hide what it does not want seen."""
        scheduler = getattr(self._engine, "scheduler", None)
        running = list(getattr(scheduler, "running", ()))
        waiting = list(getattr(scheduler, "waiting", ()))
        tables = [list(one.block_table) for one in running]
        holders = Counter(page for table in tables for page in set(table))
        pages = getattr(self._engine, "block_manager", None)
        return {
            "running": list(map(_told_of, running, tables)),
            "waiting": [_told_of(one, []) for one in waiting],
            "shared": sorted(page for page, number in holders.items() if number > 1),
            "pages_in_use": getattr(pages, "num_in_use", 0),
            "pages_free": getattr(pages, "num_free", 0),
            "tokens_per_s": round(self._speed(), 1),
        }

    def _speed(self) -> float:
        """Return the tokens per second of the last moments."""
        now = time.monotonic()
        while self._tokens and self._tokens[0][0] < now - WINDOW_S:
            self._tokens.popleft()
        if not self._tokens:
            return 0.0
        passed_s = max(now - self._tokens[0][0], 0.05)
        return sum(number for _, number in self._tokens) / passed_s


def _told_of(request: Any, table: list[int]) -> Snapshot:  # noqa: ANN401 - of a solution
    """Return what there is to see of a request."""
    numbers = {"prompt": len(request.prompt), "output": len(request.output)}
    return {"id": request.id, **numbers, "pages": table}
