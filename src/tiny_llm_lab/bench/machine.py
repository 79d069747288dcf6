"""Measures how fast this machine reads memory and multiplies matrices.

It is measured like an engine, interleaved with the others and with as many threads, so
that other load on the machine affects all alike.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import mlx.core as mx
import numpy as np

from tiny_llm_lab.bench.engines import Step, Stored

READ_MB = 512
"""Several times the size of a large cache, so that it is read from memory."""

PRODUCT_ROWS = 256

_COLUMNS, _TERMS = 4864, 896
"""The sizes of the largest product in a layer of Qwen2-0.5B."""

NUM_TRIALS = 5


@dataclass(frozen=True)
class Machine:
    """The speeds of a machine, as medians of many runs.

    Attributes:
        read_bytes_per_s: How fast it reads memory.
        flops_per_s: How fast it multiplies float32 matrices.
        best_read_bytes_per_s: How fast it read in its best run. This can be several
            times the median if other programs use the same memory.
    """

    read_bytes_per_s: float
    flops_per_s: float
    best_read_bytes_per_s: float


def build(model: str, solution: str, option: str) -> "MachineEngine":
    """Build the engine. Its arguments are ignored."""
    del model, solution, option
    return MachineEngine()


class MachineEngine:
    """Reads memory, and multiplies."""

    stored = Stored("", "float32")

    def __init__(self) -> None:
        self._ways: dict[int, Step] = {}

    def read(self, megabytes: int) -> Step:
        """Prepare to read that many bytes, in the way that is fastest here."""
        if megabytes not in self._ways:
            ways = ways_to_read(megabytes * 10**6, num_threads())
            self._ways[megabytes] = min(ways, key=_shortest)
        return self._ways[megabytes]

    def multiply(self, rows: int) -> Step:
        """Prepare MLX's float32 product for a prompt."""
        x, w = mx.random.normal((rows, _TERMS)), mx.random.normal((_TERMS, _COLUMNS))
        mx.eval(x, w)
        return lambda: mx.eval(x @ w)


def num_product_flops(rows: int) -> int:
    """Count the operations of `MachineEngine.multiply`."""
    return 2 * rows * _COLUMNS * _TERMS


def num_threads() -> int:
    """Return how many threads this process may use."""
    return int(os.environ.get("OMP_NUM_THREADS", "2"))


def ways_to_read(num_bytes: int, threads: int) -> Sequence[Step]:
    """Return several ways to read an array; one should be as fast as memory allows.

    No single way is so on every machine. NumPy's arrays are in huge pages where Linux
    has them: on an AMD EPYC, a loop in C++ read twice as fast from these.
    """
    if mx.default_device() != mx.Device(mx.cpu):
        on_gpu = mx.ones(num_bytes // 4, mx.float32)
        mx.eval(on_gpu)
        return [lambda: mx.eval(mx.max(on_gpu))]
    data = np.ones(num_bytes // 8)
    shares = np.array_split(data, threads)
    pool = ThreadPoolExecutor(threads)
    # NumPy releases the GIL meanwhile. Its BLAS has threads of its own.
    return [
        lambda: list(pool.map(lambda one: one.view(np.uint8).max(), shares)),
        lambda: list(pool.map(np.add.reduce, shares)),
        lambda: np.dot(data, data),
    ]


def read_bandwidth(num_bytes: int = READ_MB * 10**6, threads: int = 2) -> float:
    """Measure the bytes that threads read per second: the best of all ways."""
    return num_bytes / min(map(_shortest, ways_to_read(num_bytes, threads)))


def _shortest(work: Callable[[], object]) -> float:
    """Return the shortest time that some work takes."""
    times_s: list[float] = []
    for _ in range(NUM_TRIALS):
        start_s = time.perf_counter()
        work()
        times_s.append(time.perf_counter() - start_s)
    return min(times_s)
