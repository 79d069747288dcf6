// The product of a 4-bit matrix with a vector, as in quantised_matvec, one word in each
// load:
//
//     out[o] = sum of (scales[o, i / G] * q[o, i] + biases[o, i / G]) * x[i] over i
//
// x: I of T. packed: O x I / 8 of uint, eight q in each word, the first in its lowest four
// bits. scales, biases: O x I / G of T. out: O of T. I is a multiple of G.
// G: weights that share a scale, a multiple of 8.
// A SIMD group computes one row. Neighbouring lanes take neighbouring words, so that the
// loads of x lie closer together; but x is loaded again for each row.
// Grid: 32 threads in x for each row, rounded up to whole threadgroups.

const uint num_words = packed_shape[1];  // In a row.
const uint num_groups = num_words * 8 / G;
const uint lane = thread_index_in_simdgroup;
const uint row = thread_position_in_grid.x / 32;
if (row >= uint(packed_shape[0])) return;  // A whole SIMD group, or none of it.

float sum = 0.0f;
for (uint at = lane; at < num_words; at += 32) {
    const uint word = packed[row * num_words + at];
    const device vec<T, 4>* from = (const device vec<T, 4>*)(x + 8 * at);
    const float4 left = float4(from[0]), right = float4(from[1]);
    const uint group = row * num_groups + at * 8 / G;
    const float scale = float(scales[group]), bias = float(biases[group]);
    const float4 low = float4(uint4(word) >> uint4(0, 4, 8, 12) & 15u);
    const float4 high = float4(uint4(word) >> uint4(16, 20, 24, 28) & 15u);
    sum += dot(low * scale + bias, left) + dot(high * scale + bias, right);
}
sum = simd_sum(sum);
if (lane == 0) out[row] = T(sum);
