"""The sums of rows, as PyTorch computes them in float64."""

import mlx.core as mx

from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.oracle.exact import exact, truth


def row_sum(x: mx.array) -> Truth:
    """Add up rows. The error scale is the sum of the sizes, since entries cancel."""
    inputs = exact(x)
    return truth(inputs.sum(-1), inputs.abs().sum(-1))
