"""How near the predictions of a model are to those that they should be.

A model that rounds its weights or its activations cannot be right to the last digits.
What matters is that it predicts nearly the same next tokens.
"""

from dataclasses import dataclass

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

MAX_DIVERGENCE = 1e-3
"""The mean of the divergences, in nats, that the course's own kernels stay below."""

MIN_AGREEMENT = 0.98
"""The share of positions whose likeliest token has to be the right one."""


@dataclass(frozen=True)
class Nearness:
    """What lies between two models, over many positions.

    Attributes:
        divergence: Mean of the Kullback-Leibler divergences, in nats: 0 is no
            difference.
        agreement: Share of the positions at which both find the same token likeliest.
    """

    divergence: float
    agreement: float

    @property
    def is_near(self) -> bool:
        """Tell whether that is as good as the same."""
        return self.divergence < MAX_DIVERGENCE and self.agreement >= MIN_AGREEMENT


def nearness(logits: mx.array, truth: NDArray[np.float64]) -> Nearness:
    """Compare predictions with those that they should be.

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
    """Return log-probabilities."""
    shifted = logits - np.max(logits, axis=-1, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))
