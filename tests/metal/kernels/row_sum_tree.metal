// The sum of each row, by a threadgroup, in halves:
//
//     out[row] = sum of x[row, i] over i
//
// x: rows x columns of T, row by row. out: rows of float.
// Each thread adds up every THREADS-th element, then the upper half of the threads hands
// its sums to the lower half, and so on: 256 sums become 128, 64, ..., 1.
// THREADS: of a threadgroup, a power of two.
// Grid: THREADS * rows threads in x.

threadgroup float part[THREADS];
const uint t = thread_index_in_threadgroup;
const uint row = threadgroup_position_in_grid.x;
const uint columns = x_shape[1];

float sum = 0.0f;
for (uint i = t; i < columns; i += THREADS) sum += float(x[row * columns + i]);
part[t] = sum;
threadgroup_barrier(mem_flags::mem_threadgroup);  // All have stored their sums.

for (uint width = THREADS / 2; width > 0; width /= 2) {
    if (t < width) part[t] += part[t + width];
    threadgroup_barrier(mem_flags::mem_threadgroup);  // This round's are there.
}
if (t == 0) out[row] = part[0];
