// The sum of each row, by one thread:
//
//     out[row] = sum of x[row, i] over i
//
// x: rows x columns of T, row by row. out: rows of float.
// Neighbouring threads read elements that are a whole row apart: each load of a SIMD
// group touches as many lines of memory as it has threads.
// Grid: at least `rows` threads in x.

const uint row = thread_position_in_grid.x;
if (row >= uint(x_shape[0])) return;
const uint columns = x_shape[1];
float sum = 0.0f;
for (uint i = 0; i < columns; ++i) sum += float(x[row * columns + i]);
out[row] = sum;
