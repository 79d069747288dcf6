"""ReLU, GELU and Swish: what stands between two linear layers."""

import math

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo


def relu(x: Float[mx.array, "*N"]) -> Float[mx.array, "*N"]:
    """Let positive entries through, and put 0 for the others.

        y = max(0, x)

    Nothing is rounded. Shape and dtype are those of `x`.

    Source: Nair and Hinton 2010, Rectified Linear Units Improve Restricted Boltzmann
        Machines.
    """
    todo("week 1, day 4, task 4")


def gelu(x: Float[mx.array, "*N"]) -> Float[mx.array, "*N"]:
    """Multiply each entry by the share of the normal distribution that is below it.

        y = x * (1 + erf(x / sqrt(2))) / 2

    Computed in float32, in the dtype of `x` only at the end. For large negative
    entries 1 + erf cancels to 0, and so does the result.

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2.
    """
    todo("week 1, day 4, task 4")


def gelu_tanh(x: Float[mx.array, "*N"]) -> Float[mx.array, "*N"]:
    """Approximate `gelu` with a hyperbolic tangent.

        y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))

    Less than 0.0005 away from `gelu`. A model trained with one wants that one.
    Computed in float32: a float16 cube overflows from 40.3 on.

    Source: Hendrycks and Gimpel 2016 (arXiv:1606.08415), section 2.
    """
    todo("week 1, day 4, task 4")


def swish(x: Float[mx.array, "*N"], beta: float) -> Float[mx.array, "*N"]:
    """Multiply each entry by its sigmoid, which `beta` makes steep or flat.

        y = x * sigmoid(beta * x)

    Computed in float32. The result has the dtype of `x`.

    Args:
        x: Any numbers.
        beta: Steepness of the sigmoid, in units of 1 / x. 1 is SiLU, 0 is x / 2, and a
            large one comes near ReLU.

    Source: Ramachandran, Zoph and Le 2017 (arXiv:1710.05941), section 4.
    """
    todo("week 1, day 4, task 4")
