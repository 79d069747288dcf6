// RMSNorm, one threadgroup for each row:
//
//     out[row, i] = x[row, i] * rsqrt(mean(x[row]^2) + eps) * weight[i]
//
// x, out: rows x columns of T. weight: columns of T. eps: one float.
// The squares are added up in float32: in float16 they overflow from |x| = 256 on.
// Grid: rows threadgroups in x, of any number of threads.

threadgroup float part[32];
const uint lane = thread_index_in_simdgroup;
const uint columns = x_shape[1];
const uint start = threadgroup_position_in_grid.x * columns;
const uint threads = threads_per_threadgroup.x;

float sum = 0.0f;
for (uint i = thread_index_in_threadgroup; i < columns; i += threads) {
    const float value = float(x[start + i]);
    sum += value * value;
}
sum = simd_sum(sum);
if (lane == 0) part[simdgroup_index_in_threadgroup] = sum;
threadgroup_barrier(mem_flags::mem_threadgroup);

// Every SIMD group adds up all slots, so that no second barrier has to hand out the sum.
sum = simd_sum(lane < simdgroups_per_threadgroup ? part[lane] : 0.0f);
const float factor = rsqrt(sum / float(columns) + eps);
for (uint i = thread_index_in_threadgroup; i < columns; i += threads)
    out[start + i] = T(float(x[start + i]) * factor * float(weight[i]));
