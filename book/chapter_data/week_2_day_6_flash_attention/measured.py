"""What the lab has measured: read from `book/results`."""

from tiny_llm_lab import measured
from tiny_llm_lab.experiments import kernel_times


def times_ms() -> dict[str, dict[str, float]]:
    """Return the milliseconds of MLX and of the kernel, for each kind of attention."""
    kinds = {
        "prompt": kernel_times.PROMPT,
        "long_prompt": kernel_times.LONG_PROMPT,
        "decoding": kernel_times.DECODING,
    }
    return {
        name: {
            "mlx": times["mx.fast"] / 1e3,
            "own": times[kernel_times.KERNEL] / 1e3,
        }
        for name, work in kinds.items()
        if (times := measured.kernel_us(work))
    }
