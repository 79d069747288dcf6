"""Compares the predictions of two models.

A model with rounded weights or activations cannot be exact to the last digits. What
matters is that it predicts nearly the same next tokens.
"""

from dataclasses import dataclass

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

MAX_DIVERGENCE = 1e-3
"""The largest mean divergence, in nats. The course's own kernels stay below it."""

MIN_AGREEMENT = 0.98
"""The least share of positions at which the likeliest token is the right one."""


@dataclass(frozen=True)
class Nearness:
    """The difference between two models' predictions, over many positions.

    Attributes:
        divergence: Mean of the Kullback-Leibler divergences, in nats: 0 is no
            difference.
        agreement: Share of the positions with the same likeliest token.
    """

    divergence: float
    agreement: float

    @property
    def is_near(self) -> bool:
        """Tell whether the predictions are nearly the same."""
        return self.divergence < MAX_DIVERGENCE and self.agreement >= MIN_AGREEMENT


def nearness(logits: mx.array, truth: NDArray[np.float64]) -> Nearness:
    """Compare predictions with the right ones.

        divergence = mean over positions of sum over tokens of p (log p - log q)

    Args:
        logits: N.. x V, which give q. NaN is infinitely far from everything.
        truth: N.. x V, which give p.
    """
    own = np.array(logits.astype(mx.float32), dtype=np.float64)
    if not np.isfinite(own).all():
        return Nearness(np.inf, 0.0)
    log_p, log_q = _log_softmax(truth), _log_softmax(own)
    divergences = np.sum(np.exp(log_p) * (log_p - log_q), axis=-1)
    agrees = np.argmax(own, axis=-1) == np.argmax(truth, axis=-1)
    return Nearness(float(np.mean(divergences)), float(np.mean(agrees)))


def _log_softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
