"""The kernels in C++ of this solution, as functions of arrays. They run on the CPU.

All of them take float32, float16 or bfloat16, and return the dtype of their first
argument. What they do not take raises a `ValueError` with the shapes or dtypes.
"""

import math
from collections.abc import Sequence

import mlx.core as mx
from jaxtyping import Float, UInt8

from .compiled import NotBuiltError as NotBuiltError
from .compiled import Packed, built, packed
from .compiled import advise_huge_pages as advise_huge_pages
from .compiled import are_on as are_on
from .masks import Mask
from .paged_kernels import paged_attention_online as paged_attention_online
from .paged_kernels import paged_attention_tiled as paged_attention_tiled

Queries = Float[mx.array, "B H L D"]
Keys = Float[mx.array, "B H_kv S D"]
"""Of values, too. Each of the H_kv heads serves H / H_kv neighbouring query heads."""


# Day 4: a quantised matrix times a vector.


def matvec_naive(x: Float[mx.array, " I"], w: Packed) -> Float[mx.array, " O"]:
    """Multiply a vector, one weight after the other.

        y = w x

    Args:
        x: The vector.
        w: The matrix, O x I when it is unpacked.
    """
    return built().matvec_naive(x, packed(w))


def matvec_blocked(x: Float[mx.array, " I"], w: Packed) -> Float[mx.array, " O"]:
    """Do what `matvec_naive` does, a word of weights and four rows at a time."""
    return built().matvec_blocked(x, packed(w))


def matvec_simd(x: Float[mx.array, " I"], w: Packed) -> Float[mx.array, " O"]:
    """Do what `matvec_naive` does, several weights in one instruction."""
    return built().matvec_simd(x, packed(w))


def matvec_int8(x: Float[mx.array, " I"], w: Packed) -> Float[mx.array, " O"]:
    """Multiply a vector that is rounded to 8 bits, group by group.

        y_o = sum over groups g of  s_og * sx_g * sum(q_w * q_x) + b_og * sum(x)

    Arguments are those of `matvec_naive`.
    """
    return built().matvec_int8(x, packed(w))


def matvec_threaded(x: Float[mx.array, " I"], w: Packed) -> Float[mx.array, " O"]:
    """Do what `matvec_int8` does, on all cores."""
    return built().matvec_threaded(x, packed(w))


# Day 5: a quantised matrix times many vectors.


def matmul_naive(x: Float[mx.array, "L I"], w: Packed) -> Float[mx.array, "L O"]:
    """Multiply vectors, one product of two numbers after the other.

        y[t] = w x[t]

    Args:
        x: One vector per row.
        w: The matrix, O x I when it is unpacked.
    """
    return built().matmul_naive(x, packed(w))


def matmul_blocked(x: Float[mx.array, "L I"], w: Packed) -> Float[mx.array, "L O"]:
    """Do what `matmul_naive` does, one block of the matrix after the other."""
    return built().matmul_blocked(x, packed(w))


def pack_panel(
    w: Packed, first_row: int
) -> tuple[
    UInt8[mx.array, "quads 16 4"],
    Float[mx.array, "groups 16"],
    Float[mx.array, "groups 16"],
]:
    """Lay out 16 rows of a matrix in the order in which a tile reads them.

    Args:
        w: The matrix.
        first_row: Of the 16. What the result has for rows after the last is arbitrary.

    Returns:
        The integers: four inputs of the first output, the same four of the second, and
        so on; the scales, those of a group side by side; the biases, in the same order.
        With 4 bits, the even inputs of a block of up to 64 come before its odd ones.

    Raises:
        ValueError: There is no such row, or the matrix is none.
    """
    return tuple(built().pack_panel(packed(w), first_row))


def matmul_int8(x: Float[mx.array, "L I"], w: Packed) -> Float[mx.array, "L O"]:
    """Multiply vectors that are rounded to 8 bits, in tiles that stay in registers."""
    return built().matmul_int8(x, packed(w))


def matmul_threaded(x: Float[mx.array, "L I"], w: Packed) -> Float[mx.array, "L O"]:
    """Do what `matmul_int8` does, on all cores."""
    return built().matmul_threaded(x, packed(w))


def quantized_linear(
    x: Float[mx.array, "*N I"],
    w: Packed,
    bias: Float[mx.array, " O"] | None = None,
) -> Float[mx.array, "*N O"]:
    """Apply a linear layer whose weight is quantised to every vector of `x`.

        y = x w^T + bias

    One vector goes through the product with a vector, which reads the matrix once and
    does no more. For several the matrix is packed into panels first.

    Args:
        x: Vectors of length I.
        w: The weight, O x I when it is unpacked.
        bias: Added to every result. None adds nothing.
    """
    num_tokens = math.prod(x.shape[:-1])
    if num_tokens == 1:
        y = matvec_threaded(x.reshape(-1), w)
    else:
        y = matmul_threaded(x.reshape(num_tokens, x.shape[-1]), w)
    y = y.reshape(*x.shape[:-1], len(w.scales))
    return y if bias is None else y + bias


def quantized_product_of_mlx(
    x: Float[mx.array, "*N I"], w: Packed
) -> Float[mx.array, "*N O"]:
    """Multiply with the kernel of MLX, where it computes on a GPU.

    Args:
        x: Vectors of length I.
        w: The weight, O x I when it is unpacked.
    """
    return mx.quantized_matmul(
        x, w.weight, w.scales, w.biases, group_size=w.group_size, bits=w.bits
    )


# Day 6: attention.


def _attend(
    variant: str,
    inputs: tuple[mx.array, mx.array, mx.array],
    scale: float,
    mask: Mask,
) -> mx.array:
    """Hand everything to C++, and a mask as what it is: an array, or a name."""
    is_causal = isinstance(mask, str)
    if is_causal and mask != "causal":
        raise ValueError(
            f"{variant}: expected 'causal', an array or None, got {mask!r}"
        )
    added = None if is_causal else mask
    return getattr(built(), variant)(*inputs, scale, is_causal, added)


def attention_online(
    query: Queries, key: Keys, value: Keys, scale: float, mask: Mask = None
) -> Queries:
    """Attend, one key after the other, with a running maximum.

        y = softmax(query key^T * scale + mask) value

    Args:
        query: What the L new tokens look for.
        key: What each of the S tokens offers.
        value: What each of them hands over.
        scale: Factor on the scores.
        mask: Added to the scores: any shape that broadcasts to `B x H x L x S`.
            With "causal", the last query sees all keys, and each one before it sees
            one less.
    """
    return _attend("attention_online", (query, key, value), scale, mask)


def attention_tiled(
    query: Queries, key: Keys, value: Keys, scale: float, mask: Mask = None
) -> Queries:
    """Do what `attention_online` does, tile by tile, for all heads that share keys."""
    return _attend("attention_tiled", (query, key, value), scale, mask)


def attention_split(
    query: Queries, key: Keys, value: Keys, scale: float, mask: Mask = None
) -> Queries:
    """Do what `attention_online` does, on pieces of the keys in parallel."""
    return _attend("attention_split", (query, key, value), scale, mask)


def attention_of_mlx(
    query: Queries, key: Keys, value: Keys, scale: float, mask: Mask = None
) -> Queries:
    """Attend with the kernel of MLX, where those of this course are off.

    Arguments are those of `attention_online`. It asks for a mask in the dtype of the
    query.
    """
    return mx.fast.scaled_dot_product_attention(
        query, key, value, scale=scale, mask=mask
    )


# Day 7: what stands between the products.


def rms_norm(
    x: Float[mx.array, "*N D"], weight: Float[mx.array, " D"], eps: float
) -> Float[mx.array, "*N D"]:
    """Rescale each length-D vector to unit root mean square, then by a learned gain.

        y = x / sqrt(mean(x * x over D) + eps) * weight

    Computed in float32. The result has the dtype of `x`.

    Args:
        x: Activations.
        weight: Learned gain, one per channel.
        eps: Added to the mean square, so in units of x squared.
    """
    return built().rms_norm(x, weight, eps)


def add_rms_norm(
    x: Float[mx.array, "*N D"],
    residual: Float[mx.array, "*N D"],
    weight: Float[mx.array, " D"],
    eps: float,
) -> tuple[Float[mx.array, "*N D"], Float[mx.array, "*N D"]]:
    """Add two arrays, and normalise the sum in the same pass.

        h = x + residual
        y = h / sqrt(mean(h * h over D) + eps) * weight

    Args:
        x: What a layer has computed.
        residual: The stream that it is added to, of the same dtype.
        weight: As in `rms_norm`, like the next one.
        eps: Added to the mean square.

    Returns:
        The sum h, and y.
    """
    return built().add_rms_norm(x, residual, weight, eps)


def rope(
    x: Float[mx.array, "B L H D"], offset: int, base: float
) -> Float[mx.array, "B L H D"]:
    """Rotate the pairs (x_i, x_(i + D/2)) of each head by angles of its position.

        angle(p, i) = p * base ^ (-2 i / D),   p = offset .. offset + L - 1
        (a, b) -> (a cos - b sin, b cos + a sin)

    Args:
        x: Queries or keys, heads after tokens.
        offset: Position of the first token, in all B sequences.
        base: Ratio of the fastest to the slowest rotation, nearly.

    Raises:
        ValueError: D is odd, a position is below 0 or 2^20 or more, or a dtype does not
            fit.
    """
    return built().rope(x, offset, base)


def swiglu(
    gate: Float[mx.array, "*N"], up: Float[mx.array, "*N"]
) -> Float[mx.array, "*N"]:
    """Let `up` through a gate, number by number.

        y = gate * sigmoid(gate) * up

    Args:
        gate: What opens the gate.
        up: What goes through, of the same shape and dtype.
    """
    return built().swiglu(gate, up)


class Layer:
    """What a layer of the model consists of, ready for `run_layer`.

    Args:
        matrices: The seven weights: queries, keys, values, output, gate, up, down.
        vectors: The biases of queries, keys and values, then the gains of both norms.
        num_heads: Number of query heads H. Their width D is E / H.
        eps: Of both norms.
        base: Of the rotation of queries and keys.

    Raises:
        NotImplementedError: `run_layer` is still a stub, or a kernel that it calls is.
        ValueError: Shapes or dtypes do not fit.
    """

    def __init__(
        self,
        matrices: Sequence[Packed],
        vectors: Sequence[Float[mx.array, " _"]],
        *,
        num_heads: int,
        eps: float,
        base: float,
    ) -> None:
        self.matrices = tuple(matrices)
        self.vectors = tuple(vectors)
        self.num_heads = num_heads
        self.eps = eps
        self.base = base
        weights = [packed(w) for w in matrices]
        self.compiled = built().Layer(weights, list(vectors), num_heads, eps, base)


def run_layer(
    layer: Layer,
    x: Float[mx.array, "1 L E"],
    keys: Float[mx.array, "1 H_kv C D"],
    values: Float[mx.array, "1 H_kv C D"],
    offset: int,
) -> tuple[
    Float[mx.array, "1 L E"],
    Float[mx.array, "1 H_kv C D"],
    Float[mx.array, "1 H_kv C D"],
]:
    """Carry the stream of L new tokens through a layer: all kernels in one operation.

        h = x + attention(rms_norm(x), cache)
        y = h + mlp(rms_norm(h))

    Keys and values are written into buffers that have room for more than are there, and
    in place: whoever hands them over gives them away. Slices of them that are in use
    stay as they are: the new tokens then go into copies.

    Args:
        layer: Its weights.
        x: The stream, in float32.
        keys: Those of `offset` tokens, and room for L more.
        values: Those of the same tokens.
        offset: How many tokens came before.

    Returns:
        The stream, and both buffers with the new tokens in them.

    Raises:
        ValueError: Shapes or dtypes do not fit, or there is no room.
    """
    return tuple(layer.compiled(x, keys, values, offset))
