// The product of a 4-bit matrix with a vector:
//
//     out[o] = sum of w[o, i] * x[i] over i
//     w[o, i] = scales[o, i / G] * q[o, i] + biases[o, i / G],   q from 0 to 15
//
// so that a block of weights in one group costs one multiplication by the scale:
//
//     sum of w * x = scale * (sum of q * x) + bias * (sum of x)
//
// x: I of T. packed: O x I / 8 of uint, eight q in each word, the first in its lowest four
// bits. scales, biases: O x I / G of T. out: O of T. I is a multiple of G.
// G: weights that share a scale, a multiple of 32. ROWS: for each SIMD group.
// Each lane takes blocks of 32 weights, 16 bytes: those of a SIMD group lie side by side.
// The x of a block is loaded once, and used for all rows.
// Grid: 32 threads in x for each ROWS rows, rounded up to whole threadgroups.

const uint num_rows = packed_shape[0];
const uint num_blocks = packed_shape[1] / 4;  // In a row.
const uint num_groups = num_blocks * 32 / G;
const uint lane = thread_index_in_simdgroup;
const uint first_row = thread_position_in_grid.x / 32 * ROWS;

float sums[ROWS];
for (uint r = 0; r < ROWS; ++r) sums[r] = 0.0f;

for (uint block = lane; block < num_blocks; block += 32) {
    const device vec<T, 4>* from = (const device vec<T, 4>*)(x + 32 * block);
    float4 values[8];
    float4 added = float4(0.0f);
    for (uint k = 0; k < 8; ++k) {
        values[k] = float4(from[k]);
        added += values[k];
    }
    const float sum_of_x = added.x + added.y + added.z + added.w;

    for (uint r = 0; r < ROWS && first_row + r < num_rows; ++r) {
        const uint row = first_row + r;
        const uint4 words = ((const device uint4*)packed)[row * num_blocks + block];
        float4 products = float4(0.0f);
        for (uint k = 0; k < 4; ++k) {
            const uint4 low = uint4(words[k]) >> uint4(0, 4, 8, 12) & 15u;
            const uint4 high = uint4(words[k]) >> uint4(16, 20, 24, 28) & 15u;
            products += float4(low) * values[2 * k] + float4(high) * values[2 * k + 1];
        }
        const float sum_of_products = products.x + products.y + products.z + products.w;
        const uint group = row * num_groups + block * 32 / G;
        sums[r] += float(scales[group]) * sum_of_products;
        sums[r] += float(biases[group]) * sum_of_x;
    }
}

for (uint r = 0; r < ROWS; ++r) {
    const float sum = simd_sum(sums[r]);  // All lanes come, also those without a block.
    if (lane == 0 && first_row + r < num_rows) out[first_row + r] = T(sum);
}
