"""What the lab has measured: read from `book/results`."""

from tiny_llm_lab import measured
from tiny_llm_lab.experiments import kernel_times

from .counting import LAYERS

WORK = {
    "prompt": kernel_times.PROMPT,
    "long_prompt": kernel_times.LONG_PROMPT,
    "decoding": kernel_times.DECODING,
}
WAYS = {
    "week_1": "week 1",
    "mlx": "mx.fast",
    "online": kernel_times.ONLINE,
    "own": kernel_times.KERNEL,
}


def times_ms() -> dict[str, dict[str, float]]:
    """Return the milliseconds of each way to attend, and the seconds of all layers."""
    found = {name: measured.kernel_us(work) for name, work in WORK.items()}
    return {
        name: {short: times[way] / 1e3 for short, way in WAYS.items()}
        | {f"{short}_s": LAYERS * times[way] / 1e6 for short, way in WAYS.items()}
        for name, times in found.items()
    }
