"""What a BatchNorm remembers of one batch, and how far off its variance would be."""

from typing import Any

import mlx.core as mx

from tiny_llm_ref.norms import BatchNorm

from .norms import TOKEN_A, TOKEN_B


def remembered() -> dict[str, Any]:
    """Train a BatchNorm on the two tokens, and follow their first channel."""
    batch = mx.array([TOKEN_A, TOKEN_B], dtype=mx.float32)
    norm = BatchNorm(4, mx.ones(4), mx.zeros(4), mx.zeros(4), mx.ones(4))
    norm(batch, training=True)
    channel = batch[:, 0]
    return {
        "family": {
            "momentum": f"{norm.momentum:g}",
            "kept": f"{1 - norm.momentum:g}",
            "mean": f"{mx.mean(channel).item():g}",
            "biased": f"{mx.var(channel).item():g}",
            "unbiased": f"{mx.var(channel, ddof=1).item():g}",
            "running_mean": f"{norm.running_mean[0].item():g}",
            "running_var": f"{norm.running_var[0].item():g}",
            "used": f"{norm(batch)[0, 0].item():.3f}",
        }
    }
