"""Seeded inputs: the same on every machine, chosen to tell mistakes apart."""

import functools
import math
import zlib

import mlx.core as mx
import numpy as np
import pytest
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.call import dtype_name

DTYPES = (mx.float32, mx.float16, mx.bfloat16)

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=dtype_name)
"""Runs a test with float32, float16 and bfloat16."""

each_width = pytest.mark.parametrize("bits", [4, 8, 2])
each_group_size = pytest.mark.parametrize("group_size", [64, 32, 128])
"""Run a test with the formats of quantised weights."""


def normal(
    *shape: int, dtype: mx.Dtype = mx.float32, scale: float = 1.0, name: str = ""
) -> mx.array:
    """Draw normal numbers of standard deviation `scale`, already rounded to `dtype`.

    Args:
        *shape: Shape of the array.
        dtype: Its dtype.
        scale: Standard deviation.
        name: Distinguishes this array from others of the same shape in a test.
    """
    return mx.array(_drawn(f"{name}{shape}", shape, scale)).astype(dtype)


@functools.lru_cache(maxsize=256)
def _drawn(seed: str, shape: tuple[int, ...], scale: float) -> NDArray[np.float32]:
    """Draw the numbers of `normal`. Cached, since a test runs on many solutions."""
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    return rng.normal(0.0, scale, shape).astype(np.float32)


def weight(
    rows: int, columns: int, dtype: mx.Dtype = mx.float32, name: str = ""
) -> mx.array:
    """Draw a matrix that keeps the scale of what it is multiplied with."""
    return normal(
        rows, columns, dtype=dtype, scale=1 / math.sqrt(columns), name=f"weight {name}"
    )


def gain(dim: int, dtype: mx.Dtype = mx.float32, name: str = "") -> mx.array:
    """Draw the gains of a norm: around 1, and all different."""
    rng = np.random.default_rng(zlib.crc32(f"gain {name}{dim}".encode()))
    return mx.array(rng.uniform(0.5, 1.5, dim).astype(np.float32)).astype(dtype)
