"""Lets the diagnosis of a kernel in Metal take the time that compilers need."""

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tiny_llm_course.grading.judgement.trial import Trial
from tiny_llm_course.specimens import Specimen

LONGEST_S = 300.0
"""How long a diagnosis may take. Fifty kernels take two slow cores a minute."""

_EACH_S = 5.0


@contextmanager
def keeping_alive(
    path: Path, *, each_s: float = _EACH_S, longest_s: float = LONGEST_S
) -> Generator[None]:
    """Touch the file of the results meanwhile, so that the session goes on waiting.

    Args:
        path: The file. Where nothing happens to it, the session ends this process.
        each_s: How often.
        longest_s: And for how long, in case a known mistake never ends.
    """
    is_over = threading.Event()

    def touch() -> None:
        end = time.monotonic() + longest_s
        while not is_over.wait(each_s) and time.monotonic() < end:
            path.touch()

    thread = threading.Thread(target=touch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def compile_ahead(known: Sequence[Specimen], trial: Trial) -> None:
    """Compile the kernels of known mistakes for a test, on all cores at once."""
    from tiny_llm_course.metal.ahead import noting  # brings the simulator

    with noting() as notes:
        for one in known:
            trial.run(one.as_solution())
    notes.compile()
