"""The input of the engines: random tokens, the same for all."""

import numpy as np


def draw(num_tokens: int, vocab_size: int) -> list[int]:
    """Return token ids."""
    return np.random.default_rng(0).integers(vocab_size, size=num_tokens).tolist()
