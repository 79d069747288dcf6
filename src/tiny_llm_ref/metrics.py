"""What a server counts and times, as the text that Prometheus reads."""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .request import FinishReason, Output

Labels = tuple[tuple[str, str], ...]
"""Names and values that tell the series of a family apart, in order of their names."""


@dataclass(frozen=True)
class Family:
    """What is measured.

    Attributes:
        name: In lower case, with the unit at its end: `answer_seconds`. That of a
            counter ends in `_total`.
        kind: A counter only grows, a gauge goes up and down, and a histogram counts
            values by size.
        about: One line that says what it is.
        bounds: Of a histogram: the largest value of each bucket, in order.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    about: str
    bounds: Sequence[float] = ()


class Metrics:
    """Count and time what happens, from several threads at once.

    A value of a histogram is counted in every bucket whose bound it does not exceed,
    and in a last one of bound +Inf: buckets are cumulative, so each count is at least
    the one before.

    Args:
        families: All that is measured. A counter or gauge is 0 until it has a series.

    Raises:
        ValueError: Two families have the same name, or bounds are not in order.

    Source: Prometheus, "Exposition formats", the text format, version 0.0.4.
    """

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = {family.name: family for family in families}
        if len(self._families) < len(families):
            names = ", ".join(sorted(family.name for family in families))
            raise ValueError(f"Metrics: expected names that differ, got {names}")
        for family in families:
            if list(family.bounds) != sorted(set(family.bounds)):
                raise ValueError(
                    f"Metrics: expected rising bounds of {family.name}, "
                    f"got {list(family.bounds)}"
                )
        self._lock = threading.Lock()
        self._numbers: dict[str, dict[Labels, float]] = {}
        self._histograms: dict[str, dict[Labels, _Histogram]] = {}
        for family in families:
            if family.kind == "histogram":
                self._histograms[family.name] = {}
            else:
                self._numbers[family.name] = {}

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter.

        Raises:
            ValueError: It is no counter, or `amount` is negative.
        """
        self._expect(name, "counter")
        if amount < 0:
            raise ValueError(f"Metrics: expected {name} to grow, got {amount}")
        with self._lock:
            series = self._numbers[name]
            key = _key(labels)
            series[key] = series.get(key, 0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        """Give a gauge a value.

        Raises:
            ValueError: It is no gauge.
        """
        self._expect(name, "gauge")
        with self._lock:
            self._numbers[name][_key(labels)] = value

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Count a value in a histogram.

        Raises:
            ValueError: It is no histogram.
        """
        self._expect(name, "histogram")
        bounds = self._families[name].bounds
        with self._lock:
            histogram = self._histograms[name].setdefault(
                _key(labels), _Histogram(len(bounds))
            )
            histogram.counts[bisect_left(bounds, value)] += 1
            histogram.total += value

    def render(self) -> str:
        """Write down everything, a line for each number."""
        with self._lock:
            lines = [
                line
                for family in self._families.values()
                for line in self._lines(family)
            ]
        return "\n".join(lines) + "\n"

    def _lines(self, family: Family) -> list[str]:
        about = family.about.replace("\\", r"\\").replace("\n", r"\n")
        lines = [f"# HELP {family.name} {about}", f"# TYPE {family.name} {family.kind}"]
        if family.kind == "histogram":
            for key, histogram in self._histograms[family.name].items():
                lines += histogram.lines(family, key)
        else:
            numbers = self._numbers[family.name] or {(): 0}
            lines += [
                f"{family.name}{_braces(key)} {number}"
                for key, number in numbers.items()
            ]
        return lines

    def _expect(self, name: str, kind: str) -> None:
        family = self._families.get(name)
        if family is None or family.kind != kind:
            got = f"a {family.kind}" if family else "no such name"
            raise ValueError(f"Metrics: expected {name} to be a {kind}, got {got}")


class _Histogram:
    """How many values fell between neighbouring bounds, and their sum."""

    def __init__(self, num_bounds: int) -> None:
        self.counts = [0] * (num_bounds + 1)  # the last one is above all bounds
        self.total = 0.0

    def lines(self, family: Family, key: Labels) -> list[str]:
        """Write down the buckets, each with all values below it, sum and count."""
        lines, below = list[str](), 0
        for bound, count in zip((*family.bounds, "+Inf"), self.counts, strict=True):
            below += count
            le = (*key, ("le", str(bound)))
            lines.append(f"{family.name}_bucket{_braces(le)} {below}")
        lines.append(f"{family.name}_sum{_braces(key)} {self.total}")
        lines.append(f"{family.name}_count{_braces(key)} {below}")
        return lines


def _key(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


def _braces(labels: Labels) -> str:
    """Write labels as Prometheus reads them, or nothing if there are none."""
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
"""Of the histograms of times, in seconds."""

FAMILIES = (
    Family("tiny_llm_requests_accepted_total", "counter", "Requests that came in."),
    Family("tiny_llm_requests_finished_total", "counter", "Answered to their end."),
    Family("tiny_llm_requests_aborted_total", "counter", "Whose client has left."),
    Family("tiny_llm_requests_failed_total", "counter", "Ended by an error."),
    Family("tiny_llm_requests_open", "gauge", "Requests that have not ended."),
    Family("tiny_llm_prompt_tokens_total", "counter", "Tokens of prompts."),
    Family("tiny_llm_cached_tokens_total", "counter", "Of these, found in memory."),
    Family("tiny_llm_generated_tokens_total", "counter", "Tokens of answers."),
    Family("tiny_llm_first_token_seconds", "histogram", "Time to it.", BOUNDS_S),
    Family("tiny_llm_token_gap_seconds", "histogram", "Between two tokens.", BOUNDS_S),
)
"""What a server measures."""

OUTCOMES: Mapping[FinishReason, str] = {
    "stop": "finished",
    "length": "finished",
    "abort": "aborted",
    "error": "failed",
}
"""As what a request counts that has ended."""


class RequestMetrics:
    """Count and time the requests of a server.

        accepted = finished + aborted + failed + open,   at any time

    Args:
        clock: Tells the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._metrics = Metrics(FAMILIES)
        self._clock = clock
        self._open: dict[str, _Open] = {}

    def started(self, id: str) -> None:  # noqa: A002 - as in Request
        """Begin to count and to time a request."""
        self._open[id] = _Open(self._clock())
        self._metrics.count("tiny_llm_requests_accepted_total")
        self._metrics.set("tiny_llm_requests_open", len(self._open))

    def observed(self, output: Output) -> None:
        """Count what the engine gave: tokens, and how long they took.

        The first token is timed from the start of its request, every other one from the
        one before. The tokens of the prompt are counted with the first output. What
        comes of a request that has ended is not counted.
        """
        known = self._open.get(output.id)
        if known is None:
            return
        count = self._metrics.count
        if not known.is_seen:
            known.is_seen = True
            count("tiny_llm_prompt_tokens_total", output.num_prompt_tokens)
            count("tiny_llm_cached_tokens_total", output.num_cached_tokens)
        if output.token is None:
            return
        now_s = self._clock()
        kind = "token_gap" if known.has_token else "first_token"
        self._metrics.observe(f"tiny_llm_{kind}_seconds", now_s - known.last_s)
        known.last_s, known.has_token = now_s, True
        count("tiny_llm_generated_tokens_total")

    def ended(self, id: str, reason: FinishReason) -> None:  # noqa: A002
        """Count the end of a request. All calls but the first do nothing."""
        if self._open.pop(id, None) is None:
            return
        outcome = OUTCOMES[reason]
        self._metrics.count(f"tiny_llm_requests_{outcome}_total")
        self._metrics.set("tiny_llm_requests_open", len(self._open))

    def text(self) -> str:
        """Return all numbers, in the format of Prometheus."""
        return self._metrics.render()


class _Open:
    """A request that has not ended: when its last token came, and whether one has."""

    def __init__(self, started_s: float) -> None:
        self.last_s = started_s
        self.has_token = False
        self.is_seen = False
