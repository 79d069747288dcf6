// Attention of one token, with online softmax:
//
//     score[s] = scale * sum of q[d] * k[s, d] over d
//     out[d] = (sum of exp(score[s]) * v[s, d] over s) / (sum of exp(score[s]) over s)
//
// q, out: B x H x 1 x D of T. k, v: B x H_kv x S x D of T; H is a multiple of H_kv, and
// query head h uses key head h / (H / H_kv). scale: one float.
// D: the width of a head. GROUPS: SIMD groups of a threadgroup, from 1 to 32.
// A threadgroup computes one head. Each SIMD group takes every GROUPS-th key. Its lanes
// hold D / 32 elements of the query and of the output, and remember of the keys so far
//
//     most = max of score,   total = sum of exp(score - most),
//     sums[d] = sum of exp(score - most) * v[d]
//
// A larger score lowers all that came before by exp(most before - most now).
// Grid: (32 * GROUPS, B * H, 1). Threadgroup: (32 * GROUPS, 1, 1).

constexpr uint each = (D + 31) / 32;
threadgroup float all_most[GROUPS], all_totals[GROUPS];
threadgroup float all_sums[GROUPS][D];

const uint num_keys = k_shape[2];
const uint shared_by = uint(q_shape[1]) / uint(k_shape[1]);
const uint head = threadgroup_position_in_grid.y;  // Of all batches together, so that
const uint start = head / shared_by * num_keys * D;  // the batch comes along here.
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
        if (d < D) product += query[j] * float(k[start + s * D + d]);
    }
    const float score = simd_sum(product);
    const float now = max(most, score);
    const float before = exp(most - now), weight = exp(score - now);
    total = total * before + weight;
    for (uint j = 0; j < each; ++j) {
        const uint d = lane + 32 * j;
        if (d < D) sums[j] = sums[j] * before + weight * float(v[start + s * D + d]);
    }
    most = now;
}

if (lane == 0) {
    all_most[part] = most;  // Still -infinity, if there were fewer keys than SIMD groups.
    all_totals[part] = total;
}
for (uint j = 0; j < each; ++j) {
    const uint d = lane + 32 * j;
    if (d < D) all_sums[part][d] = sums[j];
}
threadgroup_barrier(mem_flags::mem_threadgroup);  // Each SIMD group's are there.

float best = -INFINITY, whole = 0.0f;
for (uint p = 0; p < GROUPS; ++p) best = max(best, all_most[p]);
for (uint p = 0; p < GROUPS; ++p) whole += exp(all_most[p] - best) * all_totals[p];
for (uint d = thread_index_in_threadgroup; d < D; d += 32 * GROUPS) {
    float sum = 0.0f;
    for (uint p = 0; p < GROUPS; ++p) sum += exp(all_most[p] - best) * all_sums[p][d];
    out[head * D + d] = T(sum / whole);
}
