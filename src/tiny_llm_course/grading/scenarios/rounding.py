"""Activations for kernels that round to 8 bits: there is one way to round each."""

import mlx.core as mx
import numpy as np


def clear_of_ties(
    length: int, group_size: int, dtype: mx.Dtype = mx.float32
) -> mx.array:
    """Draw numbers within a fifth of a step of their rounded values.

    The step is a power of two, different for each group, and the largest number is 127
    steps, so that no rounding to a half type gives a tie.
    """
    rng = np.random.default_rng(length + group_size)
    groups = (length // group_size, group_size)
    steps = rng.integers(-127, 128, groups) + rng.uniform(-0.2, 0.2, groups)
    steps[:, 0] = 127 * rng.choice([-1, 1], groups[0])
    steps = np.clip(rng.permuted(steps, axis=1), -127, 127)
    sizes = np.exp2(rng.integers(-14, -6, (groups[0], 1)))
    return mx.array((steps * sizes).astype(np.float32).ravel()).astype(dtype)


def whole_steps(tokens: int, length: int, group_size: int) -> mx.array:
    """Draw activations that 8 bits represent exactly, each group with its own step.

    The largest of a group is 127 steps, positive or negative. A step is a power of two,
    so the half types hold all of them too.
    """
    rng = np.random.default_rng(tokens)
    shape = (tokens, length // group_size, group_size)
    entries = rng.integers(-90, 91, shape)
    largest = rng.integers(0, group_size, shape[:2])
    signs = rng.choice([-127, 127], shape[:2])
    np.put_along_axis(entries, largest[..., None], signs[..., None], axis=-1)
    steps = 2.0 ** rng.integers(-7, -1, (*shape[:2], 1))
    return mx.array((entries * steps).reshape(tokens, length).astype(np.float32))
