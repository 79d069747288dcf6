"""Attention on a GPU: kernels in Metal that never store a score in device memory."""

from typing import Any

import mlx.core as mx
from jaxtyping import Float

_SIMD_GROUPS = 8  # Of the threadgroup of a head, which share its keys.

_ONE_QUERY = """
// out[d] = sum over s of softmax(scale * q k[s])[s] * v[s, d]
//
// A threadgroup computes a head. Its SIMD groups take every GROUPS-th key each. A lane
// holds every 32nd number of the query and of the sums. Of the keys so far remain
//
//     most = max of score,  total = sum of exp(score - most),
//     sums[d] = sum of exp(score - most) * v[d]
//
// and a larger score makes all of them smaller by exp(most before - most now).
// Grid: (32 * GROUPS, B * H).

constexpr uint each = (D + 31) / 32;  // Numbers of a head in a lane.
threadgroup float all_most[GROUPS], all_totals[GROUPS], all_sums[GROUPS * D];

const uint num_keys = k_shape[2];
const uint heads_per_key = uint(q_shape[1]) / uint(k_shape[1]);
const uint head = threadgroup_position_in_grid.y;  // Of all sequences together, so
const uint first = head / heads_per_key * num_keys * D;  // theirs is found as well.
const uint lane = thread_index_in_simdgroup;
const uint part = simdgroup_index_in_threadgroup;

float query[each], sums[each];
for (uint j = 0; j < each; ++j) {
    const uint d = lane + 32 * j;
    query[j] = d < D ? scale * float(q[head * D + d]) : 0.0f;
    sums[j] = 0.0f;
}
float most = -INFINITY, total = 0.0f;

for (uint s = part; s < num_keys; s += GROUPS) {
    float product = 0.0f;
    for (uint j = 0; j < each; ++j) {
        const uint d = lane + 32 * j;
        if (d < D) product += query[j] * float(k[first + s * D + d]);
    }
    const float score = simd_sum(product);
    const float now = max(most, score);
    const float fade = exp(most - now), weight = exp(score - now);
    most = now;
    total = total * fade + weight;
    for (uint j = 0; j < each; ++j) {
        const uint d = lane + 32 * j;
        if (d < D) sums[j] = sums[j] * fade + weight * float(v[first + s * D + d]);
    }
}

if (lane == 0) {
    all_most[part] = most;  // -INFINITY if there were fewer keys than SIMD groups.
    all_totals[part] = total;
}
for (uint j = 0; j < each; ++j) {
    const uint d = lane + 32 * j;
    if (d < D) all_sums[part * D + d] = sums[j];
}
threadgroup_barrier(mem_flags::mem_threadgroup);  // All parts are there.

most = -INFINITY;
for (uint p = 0; p < GROUPS; ++p) most = max(most, all_most[p]);
total = 0.0f;
for (uint p = 0; p < GROUPS; ++p) total += exp(all_most[p] - most) * all_totals[p];
for (uint d = thread_index_in_threadgroup; d < D; d += 32 * GROUPS) {
    float sum = 0.0f;
    for (uint p = 0; p < GROUPS; ++p) {
        sum += exp(all_most[p] - most) * all_sums[p * D + d];
    }
    out[head * D + d] = T(sum / total);
}
"""

_QUERIES = 16  # Of a threadgroup.
_THREADS = 128  # Four SIMD groups: each has four of the queries.

_PROMPT = """
// out[l, d] = sum over s of softmax(scale * q[l] k[s])[s] * v[s, d],  s <= l + S - L
//
// A threadgroup computes 16 queries of a head, four in each SIMD group. It copies 32
// keys at a time to its memory, and a lane computes the score of one of them. Then the
// values of these keys take their place. Of the tiles so far remain for each query
//
//     most = max of score,  total = sum of exp(score - most),
//     sums[d] = sum of exp(score - most) * v[d], every 32nd of them in a lane
//
// Grid: (128 * L / 16, B * H), the quotient rounded up.

constexpr uint num_queries = 16, num_keys = 32, own = 4;
constexpr uint each = (D + 31) / 32;
constexpr uint stride = D + 1;  // So that neighbouring keys begin in other banks.
threadgroup float queries[num_queries * D];
threadgroup float tile[num_keys * stride];
threadgroup float weights[num_queries * num_keys];

const uint length = q_shape[2], context = k_shape[2];
const uint heads_per_key = uint(q_shape[1]) / uint(k_shape[1]);
const uint head = threadgroup_position_in_grid.y;  // Of all sequences together, so
const uint first = head / heads_per_key * context * D;  // theirs is found as well.
const uint first_query = threadgroup_position_in_grid.x * num_queries;
const uint first_own = simdgroup_index_in_threadgroup * own;  // Of these queries.
const uint lane = thread_index_in_simdgroup;
const uint t = thread_index_in_threadgroup;

for (uint at = t; at < num_queries * D; at += 128) {
    const uint l = first_query + at / D;
    const uint from = (head * length + l) * D + at % D;
    queries[at] = l < length ? scale * float(q[from]) : 0.0f;
}
float most[own], total[own], sums[own][each];
for (uint r = 0; r < own; ++r) {
    most[r] = -INFINITY;
    total[r] = 0.0f;
    for (uint j = 0; j < each; ++j) sums[r][j] = 0.0f;
}

// The last of these queries sees the keys before `end`. All others are left out.
const uint end = min(first_query + num_queries, length) + context - length;
for (uint start = 0; start < end; start += num_keys) {
    threadgroup_barrier(mem_flags::mem_threadgroup);  // The values are used.
    for (uint at = t; at < num_keys * D; at += 128) {
        const uint s = start + at / D, d = at % D;
        tile[at / D * stride + d] = s < end ? float(k[first + s * D + d]) : 0.0f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // The keys are there.

    for (uint r = 0; r < own; ++r) {
        float score = 0.0f;
        for (uint d = 0; d < D; ++d) {
            score += queries[(first_own + r) * D + d] * tile[lane * stride + d];
        }
        if (start + lane > first_query + first_own + r + context - length) {
            score = -INFINITY;
        }
        const float now = max(most[r], simd_max(score));
        const float fade = exp(most[r] - now), weight = exp(score - now);
        most[r] = now;
        total[r] = total[r] * fade + simd_sum(weight);
        for (uint j = 0; j < each; ++j) sums[r][j] *= fade;
        weights[(first_own + r) * num_keys + lane] = weight;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // The keys are used.
    for (uint at = t; at < num_keys * D; at += 128) {
        const uint s = start + at / D, d = at % D;
        tile[at / D * stride + d] = s < end ? float(v[first + s * D + d]) : 0.0f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // Values and weights are there.

    for (uint r = 0; r < own; ++r) {
        for (uint s = 0; s < num_keys; ++s) {
            const float weight = weights[(first_own + r) * num_keys + s];
            for (uint j = 0; j < each; ++j) {
                const uint d = lane + 32 * j;
                if (d < D) sums[r][j] += weight * tile[s * stride + d];
            }
        }
    }
}
for (uint r = 0; r < own; ++r) {
    const uint l = first_query + first_own + r;
    for (uint j = 0; j < each; ++j) {
        const uint d = lane + 32 * j;
        if (l < length && d < D) {
            out[(head * length + l) * D + d] = T(sums[r][j] / total[r]);
        }
    }
}
"""


def attention_one_token(
    query: Float[mx.array, "B H 1 D"],
    keys: Float[mx.array, "B H_kv S D"],
    values: Float[mx.array, "B H_kv S D"],
) -> Float[mx.array, "B H 1 D"]:
    """Attend to all keys, from one token.

        y = softmax(query keys^T / sqrt(D)) values

    A threadgroup computes a head, and its SIMD groups share the keys. No score is
    stored in device memory. All sums are in float32; the result has the dtype of the
    query.

    Args:
        query: What the new token looks for.
        keys: What each of the S tokens offers. Each of the H_kv heads serves H / H_kv
            neighbouring query heads.
        values: What each of them hands over, in the dtype of the keys.
    """
    batch, heads = query.shape[:2]
    threads = 32 * _SIMD_GROUPS
    grid = (threads, batch * heads, 1)
    name = "attention_one_token"
    return _attention(name, _ONE_QUERY, (query, keys, values), grid, threads)


def attention_prompt(
    query: Float[mx.array, "B H L D"],
    keys: Float[mx.array, "B H_kv S D"],
    values: Float[mx.array, "B H_kv S D"],
) -> Float[mx.array, "B H L D"]:
    """Attend from the last L tokens, each to those before it and to itself.

        y[l] = softmax(query[l] keys^T / sqrt(D), of keys 0 .. l + S - L) values

    A threadgroup computes some neighbouring queries of a head, and takes a tile of keys
    at a time. Tiles that none of them sees are not read.

    Args:
        query: What the new tokens look for. L is at most S.
        keys: As in `attention_one_token`, like the values.
        values: The last L of the S tokens are the new ones.
    """
    batch, heads, length = query.shape[:3]
    grid = (_THREADS * -(-length // _QUERIES), batch * heads, 1)
    arrays = (query, keys, values)
    return _attention("attention_prompt", _PROMPT, arrays, grid, _THREADS)


def _attention(
    name: str,
    source: str,
    arrays: tuple[mx.array, mx.array, mx.array],
    grid: tuple[int, int, int],
    threads: int,
) -> mx.array:
    """Run a kernel, on threadgroups of so many threads."""
    query = arrays[0]
    width = query.shape[-1]
    kernel: Any = mx.fast.metal_kernel(  # which is an object to Python's types
        name=name,
        input_names=["q", "k", "v", "scale"],
        output_names=["out"],
        source=source,
    )
    (out,) = kernel(
        inputs=[*arrays, width**-0.5],
        output_shapes=[query.shape],
        output_dtypes=[query.dtype],
        grid=grid,
        threadgroup=(threads, 1, 1),
        template=[("T", query.dtype), ("D", width), ("GROUPS", threads // 32)],
    )
    return out
