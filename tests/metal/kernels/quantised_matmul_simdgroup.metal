// The product of a matrix with a 4-bit matrix, in 8 x 8 matrices of SIMD groups:
//
//     out[l, o] = sum of x[l, i] * w[o, i] over i
//     w[o, i] = scales[o, i / G] * q[o, i] + biases[o, i / G],   q from 0 to 15
//
// x: L x I of T. packed: O x I / 8 of uint, eight q in each word, the first in its lowest
// four bits. scales, biases: O x I / G of T. out: L x O of T.
// G: weights that share a scale, a multiple of 32; I is a multiple of it.
// A threadgroup of four SIMD groups computes 32 x 32 elements of out, each SIMD group a
// quarter of them: 2 x 2 matrices, which it adds up in registers. A step loads two
// matrices of x and two of w, and makes four products of them.
// Grid: (128 * O / 32, L / 32, 1), both quotients rounded up. Threadgroup: (128, 1, 1).

constexpr uint side = 32, depth = 32, stride = depth + 4;
threadgroup float x_tile[side * stride];
threadgroup float w_tile[side * stride];

const uint num_tokens = x_shape[0], num_columns = x_shape[1], num_rows = packed_shape[0];
const uint first_row = threadgroup_position_in_grid.x * side;
const uint first_token = threadgroup_position_in_grid.y * side;
const uint t = thread_index_in_threadgroup;
const uint top = simdgroup_index_in_threadgroup / 2 * 16;   // Of this quarter: in x_tile,
const uint left = simdgroup_index_in_threadgroup % 2 * 16;  // and in w_tile.

simdgroup_matrix<float, 8, 8> sums[2][2];
for (uint a = 0; a < 2; ++a)
    for (uint b = 0; b < 2; ++b) sums[a][b] = simdgroup_matrix<float, 8, 8>(0.0f);

for (uint start = 0; start < num_columns; start += depth) {
    for (uint at = t; at < side * depth; at += 128) {
        const uint token = first_token + at / depth, i = at % depth;
        x_tile[at / depth * stride + i] =
            token < num_tokens ? float(x[token * num_columns + start + i]) : 0.0f;
    }
    {
        // 128 words of w, one for each thread.
        const uint r = t / (depth / 8), i = t % (depth / 8) * 8;
        const uint row = first_row + r;
        uint word = 0;
        float scale = 0.0f, bias = 0.0f;
        if (row < num_rows) {
            word = packed[(row * num_columns + start + i) / 8];
            scale = float(scales[(row * num_columns + start + i) / G]);
            bias = float(biases[(row * num_columns + start + i) / G]);
        }
        for (uint k = 0; k < 8; ++k)
            w_tile[r * stride + i + k] = scale * float(word >> 4 * k & 15u) + bias;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // Both tiles are complete.

    for (uint i = 0; i < depth; i += 8) {
        simdgroup_matrix<float, 8, 8> of_x[2], of_w[2];
        for (uint a = 0; a < 2; ++a) {
            simdgroup_load(of_x[a], x_tile + (top + 8 * a) * stride + i, stride);
            // Transposed: columns of the second factor are rows of w.
            simdgroup_load(of_w[a], w_tile + (left + 8 * a) * stride + i, stride,
                           ulong2(0, 0), true);
        }
        for (uint a = 0; a < 2; ++a)
            for (uint b = 0; b < 2; ++b)
                simdgroup_multiply_accumulate(sums[a][b], of_x[a], of_w[b], sums[a][b]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // Nobody needs them any more.
}

// Out through threadgroup memory: a matrix at the edge may be there in part only.
for (uint a = 0; a < 2; ++a)
    for (uint b = 0; b < 2; ++b)
        simdgroup_store(sums[a][b], x_tile + (top + 8 * a) * stride + left + 8 * b, stride);
threadgroup_barrier(mem_flags::mem_threadgroup);  // The four quarters are there.
for (uint at = t; at < side * side; at += 128) {
    const uint token = first_token + at / side, row = first_row + at % side;
    if (token < num_tokens && row < num_rows)
        out[token * num_rows + row] = T(x_tile[at / side * stride + at % side]);
}
