"""Two ways to put attention, the MLP and their norms together in one layer."""

from collections.abc import Callable

import mlx.core as mx
from jaxtyping import Float

from tiny_llm_course import todo

Part = Callable[[mx.array], mx.array]


def pre_norm_block(
    x: Float[mx.array, "*N L E"], attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> Float[mx.array, "*N L E"]:
    """Carry the stream `x` through a layer whose norms stand before the parts.

        h = x + attention(norm1(x))
        y = h + mlp(norm2(h))

    From x to y, nothing replaces the stream; each part adds to it. The result has the
    dtype of `x`.

    Args:
        x: Activations.
        attention: Mixes the tokens. Keeps shape and dtype, as the other three do.
        mlp: Works on each token by itself.
        norm1: The norm that belongs to `attention`.
        norm2: The norm that belongs to `mlp`.

    Source: Xiong et al. 2020 (arXiv:2002.04745), figure 1b.
    """
    todo("week 1, day 4, task 5")


def post_norm_block(
    x: Float[mx.array, "*N L E"], attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> Float[mx.array, "*N L E"]:
    """Carry the stream `x` through a layer whose norms stand after the sums.

        h = norm1(x + attention(x))
        y = norm2(h + mlp(h))

    The stream itself is normalised, twice a layer. The result has the dtype of `x`.

    Args:
        x: Activations.
        attention: Mixes the tokens. Keeps shape and dtype, as the other three do.
        mlp: Works on each token by itself.
        norm1: The norm that belongs to `attention`.
        norm2: The norm that belongs to `mlp`.

    Source: Vaswani et al. 2017 (arXiv:1706.03762), section 3.1, where the norm is
        LayerNorm.
    """
    todo("week 1, day 4, task 5")
