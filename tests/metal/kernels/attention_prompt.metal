// Attention of many tokens, causal, with online softmax over tiles of keys:
//
//     score[l, s] = scale * sum of q[l, d] * k[s, d] over d,   s <= l + S - L
//     out[l, d] = (sum of exp(score[l, s]) * v[s, d] over s) / (sum of exp(score[l, s]))
//
// q, out: B x H x L x D of T. k, v: B x H_kv x S x D of T; H is a multiple of H_kv, and
// query head h uses key head h / (H / H_kv). L <= S: the queries are the last tokens.
// scale: one float. D: the width of a head.
// A threadgroup of four SIMD groups computes 16 queries of one head, four in each SIMD
// group, and takes 32 keys at a time: a lane computes the score of one key. For each
// query is remembered, of the tiles so far,
//
//     most = max of score,   total = sum of exp(score - most),
//     sums[d] = sum of exp(score - most) * v[d],   D / 32 of them in each lane
//
// A larger score lowers all that came before by exp(most before - most now).
// The keys and then the values of a tile lie in the same threadgroup memory. Its rows are
// one float longer than D, so that 32 lanes that read 32 rows use 32 banks.
// Grid: (128 * L / 16, B * H, 1), the quotient rounded up. Threadgroup: (128, 1, 1).

constexpr uint num_queries = 16, num_keys = 32, own = 4, each = (D + 31) / 32;
threadgroup float queries[num_queries][D];
threadgroup float tile[num_keys][D + 1];
threadgroup float weights[num_queries][num_keys];

const uint length = q_shape[2], context = k_shape[2];
const uint shared_by = uint(q_shape[1]) / uint(k_shape[1]);
const uint head = threadgroup_position_in_grid.y;  // Of all batches together, so that
const uint start = head / shared_by * context * D;   // the batch comes along here.
const uint first_query = threadgroup_position_in_grid.x * num_queries;
const uint lane = thread_index_in_simdgroup;
const uint t = thread_index_in_threadgroup;
const uint first_own = simdgroup_index_in_threadgroup * own;

for (uint at = t; at < num_queries * D; at += 128) {
    const uint query = first_query + at / D;
    queries[at / D][at % D] =
        query < length ? scale * float(q[(head * length + query) * D + at % D]) : 0.0f;
}
float most[own], total[own], sums[own][each];
for (uint r = 0; r < own; ++r) {
    most[r] = -INFINITY;
    total[r] = 0.0f;
    for (uint j = 0; j < each; ++j) sums[r][j] = 0.0f;
}

// The last query of this threadgroup sees keys up to here. All later tiles are left out.
const uint end = min(first_query + num_queries, length) + context - length;
for (uint first_key = 0; first_key < end; first_key += num_keys) {
    threadgroup_barrier(mem_flags::mem_threadgroup);  // The values before are used.
    for (uint at = t; at < num_keys * D; at += 128) {
        const uint key = first_key + at / D;
        tile[at / D][at % D] = key < end ? float(k[start + key * D + at % D]) : 0.0f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // The keys are there.

    for (uint r = 0; r < own; ++r) {
        float score = 0.0f;
        for (uint d = 0; d < D; ++d) score += queries[first_own + r][d] * tile[lane][d];
        const uint query = min(first_query + first_own + r, length - 1);
        if (first_key + lane > query + context - length) score = -INFINITY;

        const float now = max(most[r], simd_max(score));
        const float before = exp(most[r] - now), weight = exp(score - now);
        most[r] = now;
        total[r] = total[r] * before + simd_sum(weight);
        weights[first_own + r][lane] = weight;
        for (uint j = 0; j < each; ++j) sums[r][j] *= before;
    }

    threadgroup_barrier(mem_flags::mem_threadgroup);  // The keys are used.
    for (uint at = t; at < num_keys * D; at += 128) {
        const uint key = first_key + at / D;
        tile[at / D][at % D] = key < end ? float(v[start + key * D + at % D]) : 0.0f;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // Values and weights are there.

    for (uint r = 0; r < own; ++r)
        for (uint s = 0; s < num_keys; ++s)
            for (uint j = 0; j < each; ++j) {
                const uint d = lane + 32 * j;
                if (d < D) sums[r][j] += weights[first_own + r][s] * tile[s][d];
            }
}

for (uint r = 0; r < own; ++r)
    for (uint j = 0; j < each; ++j) {
        const uint query = first_query + first_own + r, d = lane + 32 * j;
        if (query < length && d < D)
            out[(head * length + query) * D + d] = T(sums[r][j] / total[r]);
    }
