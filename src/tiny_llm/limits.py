"""What a server takes from its clients, and whom it lets in."""

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tiny_llm_course import todo

from .fields import BadRequestError, RefusedError


@dataclass(frozen=True)
class Limits:
    """How much one client may ask for.

    Attributes:
        max_header_bytes: Length of the head of a request.
        max_body_bytes: Length of its body.
        max_prompts: Prompts in one body.
        head_timeout_s: How long a client may take to send the head of a request.
        body_timeout_s: How long it may take to send the body.
        drain_timeout_s: How long the answers that run may take after the signal to end.
        api_key: What every request has to bring, but those for `/health`. None is
            nothing.
    """

    max_header_bytes: int = 16 * 2**10
    max_body_bytes: int = 2**20
    max_prompts: int = 32
    head_timeout_s: float = 10.0
    body_timeout_s: float = 10.0
    drain_timeout_s: float = 30.0
    api_key: str | None = None


class Admission:
    """Let requests in while there are places, and nobody once the server drains.

    Whoever is refused has cost nothing: nobody waits here. All calls come from one
    thread, that of the event loop.

    Args:
        max_open: How many requests, running and waiting, may be open at once.
        clock: Tells the time in seconds.

    Attributes:
        num_open: How many are.
        is_draining: Whether all are refused.

    Raises:
        ValueError: There is no place at all.
    """

    def __init__(
        self, max_open: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        todo("week 3, day 7, task 1")

    def enter(self, num_requests: int = 1) -> None:
        """Let some requests in, all of them or none.

        Args:
            num_requests: How many: a body may have several prompts.

        Raises:
            RefusedError: The server drains: status 503. Or there are too few places:
                status 429, and `retry_after_s` in whole seconds, 1 at least.
            BadRequestError: There are more of them than places: status 400, since no
                waiting will help.
        """
        todo("week 3, day 7, task 1")

    def leave(self, num_requests: int = 1) -> None:
        """Give back the places of requests that were let in, however they ended."""
        todo("week 3, day 7, task 1")

    def drain(self) -> None:
        """Refuse everybody from now on. Those who are in go on."""
        todo("week 3, day 7, task 1")
