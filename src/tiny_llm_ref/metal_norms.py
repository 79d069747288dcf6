"""Norm and rotation on a GPU: kernels in Metal, with a threadgroup for each row."""

import math
from typing import Any

import mlx.core as mx
from jaxtyping import Float

_RMS_NORM = """
threadgroup float part[32];  // a slot for each SIMD group: there are 32 at most
const uint lane = thread_index_in_simdgroup;
const uint threads = threads_per_threadgroup.x;
const uint columns = x_shape[1];
const uint start = threadgroup_position_in_grid.x * columns;

float sum = 0.0f;
for (uint i = thread_index_in_threadgroup; i < columns; i += threads) {
    const float value = float(x[start + i]);
    sum += value * value;
}
sum = simd_sum(sum);
if (lane == 0) part[simdgroup_index_in_threadgroup] = sum;
threadgroup_barrier(mem_flags::mem_threadgroup);

// Every SIMD group adds up all slots, so that no second barrier hands out the sum.
sum = simd_sum(lane < simdgroups_per_threadgroup ? part[lane] : 0.0f);
const float factor = rsqrt(sum / float(columns) + eps);
for (uint i = thread_index_in_threadgroup; i < columns; i += threads)
    y[start + i] = T(float(x[start + i]) * factor * float(weight[i]));
"""

_ADD_RMS_NORM = """
threadgroup float part[32];  // a slot for each SIMD group: there are 32 at most
const uint lane = thread_index_in_simdgroup;
const uint threads = threads_per_threadgroup.x;
const uint columns = x_shape[1];
const uint start = threadgroup_position_in_grid.x * columns;

float sum = 0.0f;
for (uint i = thread_index_in_threadgroup; i < columns; i += threads) {
    const T value = T(float(x[start + i]) + float(residual[start + i]));
    h[start + i] = value;
    sum += float(value) * float(value);
}
sum = simd_sum(sum);
if (lane == 0) part[simdgroup_index_in_threadgroup] = sum;
threadgroup_barrier(mem_flags::mem_threadgroup);

sum = simd_sum(lane < simdgroups_per_threadgroup ? part[lane] : 0.0f);
const float factor = rsqrt(sum / float(columns) + eps);
// A thread reads back what it has written itself: that takes no barrier.
for (uint i = thread_index_in_threadgroup; i < columns; i += threads)
    y[start + i] = T(float(h[start + i]) * factor * float(weight[i]));
"""

_ROPE = """
const uint length = x_shape[1], heads = x_shape[2], width = x_shape[3];
const uint i = thread_position_in_grid.x;      // of a pair
const uint token = thread_position_in_grid.y;  // of all sequences together

const float position = float(uint(offset) + token % length);
const float angle = position * exp2(-2.0f * float(i) / float(width) * log2_base);
const float c = precise::cos(angle), s = precise::sin(angle);
for (uint head = 0; head < heads; ++head) {
    const uint first = (token * heads + head) * width + i;
    const uint second = first + width / 2;
    const float a = float(x[first]), b = float(x[second]);
    y[first] = T(a * c - b * s);
    y[second] = T(b * c + a * s);
}
"""


def rms_norm(
    x: Float[mx.array, "*N D"], weight: Float[mx.array, " D"], eps: float
) -> Float[mx.array, "*N D"]:
    """Rescale each length-D vector to unit root mean square, then by a learned gain.

        y = x / sqrt(mean(x * x over D) + eps) * weight

    A threadgroup computes a row, in float32. The result has the dtype of `x`.

    Args:
        x: Activations.
        weight: Learned gain, one per channel. It may have another dtype.
        eps: Added to the mean square, so in units of x squared.
    """
    rows = x.reshape(-1, x.shape[-1])
    kernel: Any = mx.fast.metal_kernel(
        name="rms_norm",
        input_names=["x", "weight", "eps"],
        output_names=["y"],
        source=_RMS_NORM,
    )
    threads = _threads(rows.shape[1])
    (y,) = kernel(
        inputs=[rows, weight, eps],
        template=[("T", x.dtype)],
        grid=(threads * len(rows), 1, 1),
        threadgroup=(threads, 1, 1),
        output_shapes=[rows.shape],
        output_dtypes=[x.dtype],
    )
    return y.reshape(x.shape)


def add_rms_norm(
    x: Float[mx.array, "*N D"],
    residual: Float[mx.array, "*N D"],
    weight: Float[mx.array, " D"],
    eps: float,
) -> tuple[Float[mx.array, "*N D"], Float[mx.array, "*N D"]]:
    """Add two arrays, and normalise the sum in the same kernel.

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
    rows, others = (one.reshape(-1, x.shape[-1]) for one in (x, residual))
    kernel: Any = mx.fast.metal_kernel(
        name="add_rms_norm",
        input_names=["x", "residual", "weight", "eps"],
        output_names=["h", "y"],
        source=_ADD_RMS_NORM,
    )
    threads = _threads(rows.shape[1])
    h, y = kernel(
        inputs=[rows, others, weight, eps],
        template=[("T", x.dtype)],
        grid=(threads * len(rows), 1, 1),
        threadgroup=(threads, 1, 1),
        output_shapes=[rows.shape, rows.shape],
        output_dtypes=[x.dtype, x.dtype],
    )
    return h.reshape(x.shape), y.reshape(x.shape)


def rope(
    x: Float[mx.array, "B L H D"], offset: int, base: float
) -> Float[mx.array, "B L H D"]:
    """Rotate the pairs (x_i, x_(i + D/2)) of each head by angles of its position.

        angle(p, i) = p * base ^ (-2 i / D),   p = offset .. offset + L - 1
        (a, b) -> (a cos - b sin, b cos + a sin)

    A threadgroup rotates a token. A thread computes cosine and sine of a pair once, for
    all heads, in float32.

    Args:
        x: Queries or keys, heads after tokens. D is even.
        offset: Position of the first token, in all B sequences.
        base: Ratio of the fastest to the slowest rotation, nearly.
    """
    batch, length, _, width = x.shape
    kernel: Any = mx.fast.metal_kernel(
        name="rope",
        input_names=["x", "offset", "log2_base"],
        output_names=["y"],
        source=_ROPE,
    )
    (y,) = kernel(
        inputs=[x, offset, math.log2(base)],
        template=[("T", x.dtype)],
        grid=(width // 2, batch * length, 1),
        threadgroup=(width // 2, 1, 1),
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
    )
    return y


def _threads(columns: int) -> int:
    """Return how many threads share a row: whole SIMD groups, 4 numbers a thread."""
    return min(1024, 32 * math.ceil(columns / 128))
