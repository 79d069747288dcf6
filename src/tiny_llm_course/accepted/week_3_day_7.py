"""Day 7: other right ways to let requests in, and to count them."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.fields import BadRequestError, RefusedError
from tiny_llm_ref.metrics import Family

KINDS: dict[str, Any] = {"counter": Counter, "gauge": Gauge, "histogram": Histogram}


@specimen(1, symbol="limits.Admission")
class PlacesCountedDown:
    """Keep the number of free places, and tell everybody to wait for a second."""

    def __init__(
        self, max_open: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        del clock
        self._all = self._free = max_open
        self._is_open = True

    @property
    def num_open(self) -> int:
        return self._all - self._free

    @property
    def is_draining(self) -> bool:
        return not self._is_open

    def enter(self, num_requests: int = 1) -> None:
        if not self._is_open:
            raise RefusedError("over", status=503, code="over")
        if num_requests > self._all:
            raise BadRequestError("too many")
        if num_requests > self._free:
            raise RefusedError("full", status=429, code="full", retry_after_s=1)
        self._free -= num_requests

    def leave(self, num_requests: int = 1) -> None:
        self._free += num_requests

    def drain(self) -> None:
        self._is_open = False


@specimen(2, symbol="metrics.Metrics")
class ByTheLibrary:
    """Let `prometheus_client` count."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = {one.name: one for one in families}
        self._registry = CollectorRegistry()
        self._made: dict[str, Any] = {one.name: self._make(one, ()) for one in families}

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        self._series(name, labels).inc(amount)

    def set(self, name: str, value: float, **labels: str) -> None:
        self._series(name, labels).set(value)

    def observe(self, name: str, value: float, **labels: str) -> None:
        self._series(name, labels).observe(value)

    def render(self) -> str:
        return generate_latest(self._registry).decode()

    def _make(self, one: Family, labels: Sequence[str]) -> Any:  # noqa: ANN401
        more = {"buckets": one.bounds} if one.bounds else {}
        made = KINDS[one.kind](one.name, one.about, labels, registry=None, **more)
        self._registry.register(made)
        return made

    def _series(self, name: str, labels: dict[str, str]) -> Any:  # noqa: ANN401
        if labels and not self._made[name]._labelnames:
            self._registry.unregister(self._made[name])
            self._made[name] = self._make(self._families[name], sorted(labels))
        return self._made[name].labels(**labels) if labels else self._made[name]


@specimen(3, symbol="metrics.RequestMetrics")
class WrittenAtTheEnd:
    """Keep plain numbers, and write the text only when it is asked for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counts = defaultdict[str, int](int)
        self._last_s: dict[str, float] = {}
        self._seen: dict[str, int] = {}
        self._times: dict[str, list[float]] = {"first_token": [], "token_gap": []}

    def started(self, id: str) -> None:  # noqa: A002
        self._counts["requests_accepted"] += 1
        self._last_s[id], self._seen[id] = self._clock(), 0

    def observed(self, output: Any) -> None:  # noqa: ANN401
        if output.id not in self._last_s:
            return
        if not self._seen[output.id]:
            self._counts["prompt_tokens"] += output.num_prompt_tokens
            self._counts["cached_tokens"] += output.num_cached_tokens
            self._seen[output.id] = 1
        if output.token is None:
            return
        kind = "first_token" if self._seen[output.id] == 1 else "token_gap"
        now_s = self._clock()
        self._times[kind].append(now_s - self._last_s[output.id])
        self._last_s[output.id], self._seen[output.id] = now_s, 2
        self._counts["generated_tokens"] += 1

    def ended(self, id: str, reason: str) -> None:  # noqa: A002
        if id in self._last_s:
            del self._last_s[id], self._seen[id]
            names = {"abort": "aborted", "error": "failed"}
            self._counts[f"requests_{names.get(reason, 'finished')}"] += 1

    def text(self) -> str:
        counters = ("accepted", "finished", "aborted", "failed")
        names = [f"requests_{one}" for one in counters]
        names += [f"{one}_tokens" for one in ("prompt", "cached", "generated")]
        lines = [f"tiny_llm_requests_open {len(self._last_s)}"]
        lines += [f"tiny_llm_{one}_total {self._counts[one]}" for one in names]
        for kind, times_s in self._times.items():
            if not times_s:
                continue
            lines.append(f"# TYPE tiny_llm_{kind}_seconds histogram")
            for bound in (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30):
                count = sum(one <= bound for one in times_s)
                lines.append(f'tiny_llm_{kind}_seconds_bucket{{le="{bound}"}} {count}')
            count = len(times_s)
            lines.append(f'tiny_llm_{kind}_seconds_bucket{{le="+Inf"}} {count}')
            lines.append(f"tiny_llm_{kind}_seconds_sum {sum(times_s)}")
            lines.append(f"tiny_llm_{kind}_seconds_count {count}")
        return "\n".join(lines) + "\n"
