// The product of a matrix with a 4-bit matrix, in tiles:
//
//     out[l, o] = sum of x[l, i] * w[o, i] over i
//     w[o, i] = scales[o, i / G] * q[o, i] + biases[o, i / G],   q from 0 to 15
//
// x: L x I of T. packed: O x I / 8 of uint, eight q in each word, the first in its lowest
// four bits. scales, biases: O x I / G of T. out: L x O of T.
// G: weights that share a scale, a multiple of 32; I is a multiple of it.
// A threadgroup computes 16 x 16 elements of out, one in each of its threads. For each
// 32 columns it copies 16 rows of x and of w to threadgroup memory: each element of device
// memory is loaded once, and used 16 times.
// PAD: floats after each row of the tiles. With 0, the 16 rows of w that a SIMD group
// reads at once begin in the same bank; with 1, in 16 different ones.
// Grid: (O, L, 1), each rounded up to a multiple of 16. Threadgroup: (16, 16, 1).

constexpr uint side = 16, depth = 32;
threadgroup float x_tile[side][depth + PAD];
threadgroup float w_tile[side][depth + PAD];

const uint num_tokens = x_shape[0], num_columns = x_shape[1], num_rows = packed_shape[0];
const uint column = thread_position_in_threadgroup.x;  // Of the tile of out: a row of w.
const uint line = thread_position_in_threadgroup.y;    // A row of x.
const uint first_row = threadgroup_position_in_grid.x * side;
const uint first_token = threadgroup_position_in_grid.y * side;
const uint t = thread_index_in_threadgroup;

float sum = 0.0f;
for (uint start = 0; start < num_columns; start += depth) {
    // 512 elements of x by 256 threads. Rows that are not there are zeros.
    for (uint at = t; at < side * depth; at += side * side) {
        const uint token = first_token + at / depth, i = at % depth;
        x_tile[at / depth][i] =
            token < num_tokens ? float(x[token * num_columns + start + i]) : 0.0f;
    }
    // 64 words of w, each of which makes eight elements.
    if (t < side * depth / 8) {
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
            w_tile[r][i + k] = scale * float(word >> 4 * k & 15u) + bias;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // Both tiles are complete.

    for (uint i = 0; i < depth; ++i) sum += x_tile[line][i] * w_tile[column][i];
    threadgroup_barrier(mem_flags::mem_threadgroup);  // Nobody needs them any more.
}
const uint token = first_token + line, row = first_row + column;
if (token < num_tokens && row < num_rows) out[token * num_rows + row] = T(sum);
