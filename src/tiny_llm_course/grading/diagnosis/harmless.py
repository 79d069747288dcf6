"""Limits for changed code, which may never end, fill the memory or stop the process."""

import resource
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.composed_mistakes.text import CarefulMlx

CALL_S = 0.5
"""CPU time that the tests of one change may take: a changed loop may never end."""

MEMORY_BYTES = 6 * 2**30
"""Limit for data, where MLX computes on the CPU. A GPU's driver reserves more.

Beyond it MLX ends the process, all of whose results are written by then. Without it the
system might have to.
"""


CAREFUL = ("unflatten", "split", "zeros")
"""Functions of MLX that may end the process, and do not in `CarefulMlx`."""


class TooLongError(BaseException):
    """A call has used up its time. No `except Exception` of a solution catches it."""


@contextmanager
def in_time() -> Generator[None]:
    """Interrupt what takes too long, by raising `TooLongError` in it."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TooLongError

    usual = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, CALL_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, usual)


@contextmanager
def harmless() -> Generator[None]:
    """Limit memory, and let raise what would end the process inside MLX."""
    usual = {name: getattr(mx, name) for name in CAREFUL}
    write: Any = mx.array.__setitem__
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    if not mx.is_available(mx.gpu):
        soft = min(one for one in (MEMORY_BYTES, *limits) if one >= 0)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, limits[1]))
    for name in CAREFUL:
        setattr(mx, name, getattr(CarefulMlx, name))
    mx.array.__setitem__ = _inside(write)
    try:
        yield
    finally:
        for name, function in usual.items():
            setattr(mx, name, function)
        mx.array.__setitem__ = write
        resource.setrlimit(resource.RLIMIT_DATA, limits)


def _inside(write: Callable[..., None]) -> Callable[..., None]:
    """Return MLX's way to set entries, made to raise where it would write elsewhere."""

    def careful(array: mx.array, index: Any, value: Any) -> None:  # noqa: ANN401
        parts = list(index) if isinstance(index, tuple) else [index]
        parts = [one for one in parts if one is not None]
        if ... in parts:
            place = parts.index(...)
            num_skipped = array.ndim - len(parts) + 1
            parts[place : place + 1] = [slice(None)] * num_skipped
        for one, size in zip(parts, array.shape, strict=False):
            if isinstance(one, int) and not -size <= one < size:
                raise IndexError(say("grading.out_of_bounds", index=one, size=size))
        write(array, index, value)

    return careful
