"""What a server keeps count of: who is let in, and what is measured."""

import textwrap
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from prometheus_client.parser import text_string_to_metric_families

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.solution import Solution

SAID = "week_3_day_7"


@dataclass(frozen=True)
class Come:
    """A body comes, with some prompts. None: nothing is said of how many."""

    num_requests: int | None = 1

    def __str__(self) -> str:
        """Write it as code."""
        return f"enter({_shown(self.num_requests)})"


@dataclass(frozen=True)
class Go:
    """Requests that were let in end. None: nothing is said of how many."""

    num_requests: int | None = 1

    def __str__(self) -> str:
        """Write it as code."""
        return f"leave({_shown(self.num_requests)})"


@dataclass(frozen=True)
class Drain:
    """The server is about to stop."""

    def __str__(self) -> str:
        """Write it as code."""
        return "drain()"


@dataclass(frozen=True)
class Wait:
    """Time passes."""

    seconds: float

    def __str__(self) -> str:
        """Write it as a line of the report."""
        return say(f"{SAID}.wait", seconds=self.seconds)


Step = Come | Go | Drain | Wait

IN = 200
"""The status of those who are let in."""


@dataclass(frozen=True)
class Door(Call):
    """An `Admission` while requests come and go.

    Attributes:
        build: How many places there are.
        steps: What happens, in order.
        part: What is judged: the status that each body gets, how many are open after
            each step, or for how many seconds those who are refused are to wait.
    """

    steps: tuple[Step, ...] = ()
    part: Literal["statuses", "open", "waits"] = "statuses"

    def run(self, solution: Solution) -> list[Any]:
        """Let everything happen, and return the part."""
        now_s = 0.0
        assert self.build is not None
        # Where no time passes, its own clock has to do.
        has_waits = any(isinstance(step, Wait) for step in self.steps)
        timed: dict[str, Any] = {"clock": lambda: now_s} if has_waits else {}
        admission = solution.get(self.symbol)(*self.build, **timed)
        seen: dict[str, list[Any]] = {"statuses": [], "open": [], "waits": []}
        for step in self.steps:
            match step:
                case Come(number):
                    status, wait_s = _entered(admission, number)
                    seen["statuses"].append(status)
                    if status == 429:
                        seen["waits"].append(wait_s)
                case Go(number):
                    admission.leave(*_given(number))
                case Drain():
                    admission.drain()
                case Wait(seconds):
                    now_s += seconds
            seen["open"].append(admission.num_open)
        return seen[self.part]

    def __str__(self) -> str:
        """Write the number of places, and what happens."""
        assert self.build is not None
        part = say(f"{SAID}.parts.{self.part}")
        head = say(f"{SAID}.door", places=self.build[0], part=part)
        return "\n".join([head, *_side_by_side(self.steps)])


def _side_by_side(steps: Iterable[object]) -> list[str]:
    """Write steps in few lines: what is wrong stands below them, on the same screen."""
    whole = [str(one).replace(" ", "\xa0") for one in steps]
    lines = textwrap.wrap(", ".join(whole), 84, break_on_hyphens=False)
    return [f"  {line}".replace("\xa0", " ") for line in lines]


def _given(number: float | None) -> tuple[float, ...]:
    """Return what to call with: nothing, if nothing is said."""
    return () if number is None else (number,)


def _shown(number: float | None) -> str:
    """Write what a call is given."""
    return ", ".join(f"{float(one):g}" for one in _given(number))


def _entered(admission: Any, num_requests: int | None) -> tuple[int, Any]:  # noqa: ANN401 - of the solution
    """Let requests in. Return the status of the body, and for how long to wait."""
    try:
        admission.enter(*_given(num_requests))
    except ValueError as error:
        status = getattr(error, "status", None)
        if status is None:
            raise
        return status, getattr(error, "retry_after_s", None)
    return IN, None


@dataclass(frozen=True)
class Event:
    """Something that is counted, set or observed.

    Attributes:
        method: Of `Metrics`.
        name: Of the family.
        value: What it is called with. None: nothing is said of how much.
        labels: Which series of the family.
    """

    method: Literal["count", "set", "observe"]
    name: str
    value: float | None = 1
    labels: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Write it as code."""
        given = [repr(self.name), *map("{:.10g}".format, self.given)]
        given += [f"{name}={value!r}" for name, value in self.labels]
        return f"metrics.{self.method}({', '.join(given)})"

    @property
    def given(self) -> tuple[float, ...]:
        """What stands after the name in the call."""
        return _given(self.value)


Measured = tuple[str, str, str, Sequence[float]]
"""A family: its name, its kind, what it is, and the bounds of a histogram."""


@dataclass(frozen=True)
class Recording(Call):
    """Metrics that record some events, and are then read as Prometheus reads them.

    Attributes:
        families: All that is measured.
        events: What happens.
        num_threads: How many threads let all of it happen, at once.
        part: What is judged: every sample that a scrape would read, or the end of what
            it would be sent.
    """

    families: tuple[Measured, ...] = ()
    events: tuple[Event, ...] = ()
    num_threads: int = 1
    part: Literal["samples", "end"] = "samples"

    def run(self, solution: Solution) -> dict[str, float] | str:
        """Let everything happen, and return the part."""
        family = solution.get("metrics.Family")
        metrics = solution.get(self.symbol)([family(*one) for one in self.families])
        num_refused = 0

        def record() -> None:
            nonlocal num_refused
            for event in self.events:
                method = getattr(metrics, event.method)
                try:
                    method(event.name, *event.given, **dict(event.labels))
                except ValueError:
                    num_refused += 1

        threads = [threading.Thread(target=record) for _ in range(self.num_threads - 1)]
        for thread in threads:
            thread.start()
        record()
        for thread in threads:
            thread.join()
        text = metrics.render()
        if self.part == "end":
            return text[-1:]
        return samples(text) | {REFUSED: num_refused}

    def __str__(self) -> str:
        """Write the families and the events."""
        names = {"names": ", ".join(one[0] for one in self.families)}
        if self.num_threads > 1:
            names["threads"] = str(self.num_threads)
        key = "recording_by_threads" if self.num_threads > 1 else "recording"
        lines = [say(f"{SAID}.{key}", **names), *map(str, self.events)]
        if self.part == "end":
            lines.append(say(f"{SAID}.parts.end"))
        return "\n".join(lines)


REFUSED = "ValueError"
"""How often an event was refused, among the samples."""


def samples(text: str) -> dict[str, float]:
    """Read an exposition with Prometheus' own parser: each sample, and each kind.

    When a series was made is left out: Prometheus no longer asks for it.

    Raises:
        ValueError: The text is not what Prometheus reads.
    """
    read = dict[str, float]()
    for family in text_string_to_metric_families(text):
        if family.name.endswith("_created"):
            continue
        read[f"# TYPE {family.name} {family.type}"] = 0
        for sample in family.samples:
            labels = sample.labels
            if "le" in labels:  # 1 and 1.0 are the same bound
                labels = {**labels, "le": float(labels["le"])}
            named = "".join(f" {one}={labels[one]}" for one in sorted(labels))
            read[sample.name + named] = sample.value
    return read


class Slow(float):
    """A number that lets another thread run in the middle of being added."""

    def __radd__(self, other: float) -> float:
        """Add, in a while."""
        time.sleep(0.001)
        return other + float(self)


@dataclass(frozen=True)
class Started:
    """A request begins."""

    name: str

    def __str__(self) -> str:
        """Write it as code."""
        return f"started({self.name!r})"


@dataclass(frozen=True)
class Seen:
    """The engine gives a token of a request, or none."""

    name: str
    has_token: bool = True
    num_prompt: int = 10
    num_cached: int = 4
    num_output: int = 1

    @property
    def told(self) -> dict[str, int | None]:
        """What the output says, by the names of its attributes."""
        return {
            "token": 7 if self.has_token else None,
            "num_prompt_tokens": self.num_prompt,
            "num_output_tokens": self.num_output,
            "num_cached_tokens": self.num_cached,
        }

    def __str__(self) -> str:
        """Write it as code."""
        return f"observed({self.name!r}, token={self.told['token']})"


@dataclass(frozen=True)
class Ended:
    """A request ends. It may do so more than once."""

    name: str
    reason: Literal["stop", "length", "abort", "error"] = "stop"

    def __str__(self) -> str:
        """Write it as code."""
        return f"ended({self.name!r}, {self.reason!r})"


@dataclass(frozen=True)
class Day(Call):
    """A `RequestMetrics` that sees some requests, and what Prometheus reads then.

    Attributes:
        happens: What happens, in order.
        asked: What is judged: samples, by the ends of their names.
    """

    happens: tuple[Started | Seen | Ended | Wait, ...] = ()
    asked: tuple[str, ...] = ()

    def run(self, solution: Solution) -> dict[str, float | None]:
        """Let everything happen, and return the samples that are asked for."""
        now_s = 0.0
        has_waits = any(isinstance(one, Wait) for one in self.happens)
        timed: dict[str, Any] = {"clock": lambda: now_s} if has_waits else {}
        metrics = solution.get(self.symbol)(**timed)
        output = solution.get("request.Output")
        for one in self.happens:
            match one:
                case Started(name):
                    metrics.started(name)
                case Seen():
                    metrics.observed(output(one.name, **one.told))
                case Ended(name, reason):
                    metrics.ended(name, reason)
                case Wait(seconds):
                    now_s += seconds
        read = samples(metrics.text())
        return {name: read.get(f"tiny_llm_{name}") for name in self.asked}

    def __str__(self) -> str:
        """Write what happens."""
        return "\n".join(["RequestMetrics():", *_side_by_side(self.happens)])
