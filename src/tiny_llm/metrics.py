"""What a server counts and times, as the text that Prometheus reads."""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tiny_llm_course import todo

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
        todo("week 3, day 7, task 2")

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter.

        Raises:
            ValueError: It is no counter, or `amount` is negative.
        """
        todo("week 3, day 7, task 2")

    def set(self, name: str, value: float, **labels: str) -> None:
        """Give a gauge a value.

        Raises:
            ValueError: It is no gauge.
        """
        todo("week 3, day 7, task 2")

    def observe(self, name: str, value: float, **labels: str) -> None:
        """Count a value in a histogram.

        Raises:
            ValueError: It is no histogram.
        """
        todo("week 3, day 7, task 2")

    def render(self) -> str:
        """Write down everything, a line for each number."""
        todo("week 3, day 7, task 2")


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
        todo("week 3, day 7, task 3")

    def started(self, id: str) -> None:  # noqa: A002 - as in Request
        """Begin to count and to time a request."""
        todo("week 3, day 7, task 3")

    def observed(self, output: Output) -> None:
        """Count what the engine gave: tokens, and how long they took.

        The first token is timed from the start of its request, every other one from the
        one before. The tokens of the prompt are counted with the first output. What
        comes of a request that has ended is not counted.
        """
        todo("week 3, day 7, task 3")

    def ended(self, id: str, reason: FinishReason) -> None:  # noqa: A002
        """Count the end of a request. All calls but the first do nothing."""
        todo("week 3, day 7, task 3")

    def text(self) -> str:
        """Return all numbers, in the format of Prometheus."""
        todo("week 3, day 7, task 3")
