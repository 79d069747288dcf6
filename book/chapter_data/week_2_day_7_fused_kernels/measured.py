"""What the lab has measured, beside the time of reading the weights of a layer."""

from typing import Any

from tiny_llm_lab import measured
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B
from tiny_llm_lab.experiments import kernel_times

WAYS = {"week 1": "plain", "mx.fast": "mlx", "mx.compile": "mlx", "kernel": "own"}

LAYER_BYTES = (2 * 896**2 + 2 * 128 * 896 + 3 * 4864 * 896) * 4.5 / 8
"""The matrices of a layer of Qwen2-0.5B, in 4 bits with scales and biases of 16."""


def times_us() -> dict[str, Any]:
    """Return the microseconds of each way to do what stands between the products.

    `all` is what the parts of a layer take in the way of Week 1.
    """
    parts = {
        "norm": kernel_times.NORM,
        "sum_and_norm": kernel_times.SUM_AND_NORM,
        "rotation": kernel_times.ROTATION,
        "gate": kernel_times.GATE,
    }
    found: dict[str, Any] = {
        name: {WAYS[way]: time_us for way, time_us in measured.kernel_us(work).items()}
        for name, work in parts.items()
    }
    found["addition"] = measured.operation_us()
    twice = (found["norm"]["plain"], found["rotation"]["plain"], found["addition"])
    found["all"] = 2 * sum(twice) + found["gate"]["plain"]
    found["layer"] = 1e6 * LAYER_BYTES / measured.machine().read_bytes_per_s
    assert found["all"] > 0.7 * found["layer"], "the parts take as long as the weights"
    return found


def operations_saved(before: int, after: int) -> dict[str, Any]:
    """Return what operations that are gone should save of a token, and what they did.

    Args:
        before: Operations of a token with kernels for the products.
        after: Operations with everything on.
    """
    predicted_ms = (before - after) * measured.additions_us(1)[4] / 1000
    before_ms, after_ms = _token_ms(EMBEDDED_MODEL)
    large_before_ms, large_after_ms = _token_ms(QWEN2_0_5B)
    saved_ms = before_ms - after_ms
    assert 0.5 < saved_ms / predicted_ms < 3, "most of it was dispatch"
    return {
        "operations": before - after,
        "predicted_ms": predicted_ms,
        "before_ms": before_ms,
        "after_ms": after_ms,
        "large_before_ms": large_before_ms,
        "large_after_ms": large_after_ms,
    }


def _token_ms(model: str) -> tuple[float, float]:
    """Return the milliseconds of a token: kernels for products, and everything on."""
    speeds = {
        row["rung"]: row["tokens_per_s"]
        for row in measured.bench()["rows"]
        if (row["model"], row["work"], row["tokens"]) == (model, "generate", 32)
    }
    return 1000 / speeds["kernels"], 1000 / speeds["everything"]
