// The sum of each row, by a threadgroup, one barrier in all:
//
//     out[row] = sum of x[row, i] over i
//
// x: rows x columns of T, row by row. out: rows of float.
// The 32 lanes of a SIMD group add up their sums without memory. Then one slot for each
// SIMD group is left, 32 at most, which the first SIMD group adds up in the same way.
// Grid: rows threadgroups in x, of any number of threads.

threadgroup float part[32];
const uint lane = thread_index_in_simdgroup;
const uint row = threadgroup_position_in_grid.x;
const uint columns = x_shape[1];

float sum = 0.0f;
for (uint i = thread_index_in_threadgroup; i < columns; i += threads_per_threadgroup.x)
    sum += float(x[row * columns + i]);
sum = simd_sum(sum);
if (lane == 0) part[simdgroup_index_in_threadgroup] = sum;
threadgroup_barrier(mem_flags::mem_threadgroup);

if (simdgroup_index_in_threadgroup == 0) {
    // All lanes must come to simd_sum: those without a slot bring a zero.
    sum = simd_sum(lane < simdgroups_per_threadgroup ? part[lane] : 0.0f);
    if (lane == 0) out[row] = sum;
}
