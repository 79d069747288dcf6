"""What this machine can do: how fast it reads memory, and how fast it multiplies.

Runs in a process of its own, `python -m tiny_llm_course.bench.machine`, with the number
of threads that the engines have.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np

NUM_BYTES = 1 << 30
"""Several times what a large cache holds, so that it comes out of memory."""

NUM_REPEATS = 9


@dataclass(frozen=True)
class Machine:
    """What a machine can do at most.

    Attributes:
        read_bytes_per_s: How fast it reads memory.
        flops_per_s: How fast it multiplies float32 matrices.
    """

    read_bytes_per_s: float
    flops_per_s: float


def measured(environment: dict[str, str]) -> Machine:
    """Measure in a process of its own, with some environment variables."""
    ran = subprocess.run(
        [sys.executable, "-m", "tiny_llm_course.bench.machine"],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Machine(**json.loads(ran.stdout))


def read_bandwidth(num_threads: int, num_bytes: int = NUM_BYTES) -> float:
    """Measure how many bytes a second threads read from memory: the best of some runs.

    Each finds the largest byte of its share. The processor compares 64 of them at once,
    which is faster than any memory, and numpy lets other threads run meanwhile.
    """
    data = np.ones(num_bytes, np.uint8)
    shares = np.array_split(data, num_threads)
    with ThreadPoolExecutor(num_threads) as threads:
        return num_bytes / shortest(lambda: list(threads.map(np.max, shares)))


def gpu_read_bandwidth(num_bytes: int = NUM_BYTES) -> float:
    """Measure how many bytes a second MLX reads on its default device."""
    import mlx.core as mx

    data = mx.ones(num_bytes // 4, mx.float32)
    mx.eval(data)
    return num_bytes / shortest(lambda: mx.eval(mx.max(data)))


def product_speed(rows: int = 256, columns: int = 4864, terms: int = 896) -> float:
    """Measure the operations per second of a float32 product, the best of some runs.

    On the default device of MLX. The sizes are those of a prompt in Qwen2-0.5B.
    """
    import mlx.core as mx

    x, w = mx.random.normal((rows, terms)), mx.random.normal((terms, columns))
    mx.eval(x, w)
    return 2 * rows * columns * terms / shortest(lambda: mx.eval(x @ w))


def shortest(work: Callable[[], object]) -> float:
    """Return the shortest time that some work takes.

    What others do on the machine makes it longer and never shorter.
    """
    times_s: list[float] = []
    for _ in range(NUM_REPEATS):
        start_s = time.perf_counter()
        work()
        times_s.append(time.perf_counter() - start_s)
    return min(times_s)


def main() -> None:
    """Measure, and print JSON."""
    import mlx.core as mx

    is_cpu = mx.default_device() == mx.cpu
    num_threads = int(os.environ.get("OMP_NUM_THREADS", "2"))
    bandwidth = read_bandwidth(num_threads) if is_cpu else gpu_read_bandwidth()
    print(json.dumps(asdict(Machine(bandwidth, product_speed()))))


if __name__ == "__main__":
    main()
