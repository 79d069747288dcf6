"""Kernels as people write them pass the check, and compile.

One for each kind of kernel that the course and MLX's users write.
"""

import subprocess

import mlx.core as mx
import pytest

from tiny_llm_course.metal.arguments import Kind
from tiny_llm_course.metal.dialect import check
from tiny_llm_course.metal.headers import LANGUAGE
from tiny_llm_course.metal.signature import Assembled, Definition, assemble

BODIES = {
    "silu times up": """
uint i = thread_position_in_grid.x;
if (i >= threads_per_grid.x) return;
float gate = float(x[i]);
out[i] = T(gate / (1.0 + metal::exp(-gate)) * float(y[i]));
""",
    "a sum in a tree": """
threadgroup float part[256];
uint t = thread_position_in_threadgroup.x;
part[t] = x[thread_position_in_grid.x];
threadgroup_barrier(mem_flags::mem_threadgroup);
for (uint stride = 128; stride > 0; stride /= 2) {
  if (t < stride) part[t] += part[t + stride];
  threadgroup_barrier(mem_flags::mem_threadgroup);
}
if (t == 0) out[threadgroup_position_in_grid.x] = T(part[0]);
""",
    "a sum by SIMD groups": """
threadgroup float sums[32];
uint lane = thread_index_in_simdgroup, group = simdgroup_index_in_threadgroup;
float total = simd_sum(float(x[thread_position_in_grid.x]));
if (lane == 0) sums[group] = total;
threadgroup_barrier(mem_flags::mem_threadgroup);
if (group == 0) {
  total = simd_sum(lane < simdgroups_per_threadgroup ? sums[lane] : 0.0f);
  if (lane == 0) out[threadgroup_position_in_grid.x] = T(total);
}
""",
    "RMSNorm, four elements per thread": """
constexpr int PER_THREAD = 4;
const device T* row = x + size_t(threadgroup_position_in_grid.x) * N;
device T* result = out + size_t(threadgroup_position_in_grid.x) * N;
uint first = thread_position_in_threadgroup.x * PER_THREAD;
float square = 0;
for (int i = 0; i < PER_THREAD; i++) {
  float value = row[first + i];
  square = fma(value, value, square);
}
square = simd_sum(square);
float scale = metal::precise::rsqrt(square / N + 1e-6);
for (int i = 0; i < PER_THREAD; i++) {
  result[first + i] = y[first + i] * static_cast<T>(row[first + i] * scale);
}
""",
    "rotary position embedding": """
uint2 place = thread_position_in_grid.xy;
uint half_width = threads_per_grid.x;
float angle = float(place.y) * exp2(-float(place.x) / half_width * 13.28771238f);
float cosine = metal::fast::cos(angle), sine = metal::fast::sin(angle);
uint at = place.y * 2 * half_width + place.x;
float2 pair = float2(x[at], x[at + half_width]);
pair = float2(pair.x * cosine - pair.y * sine, pair.x * sine + pair.y * cosine);
out[at] = T(pair.x);
out[at + half_width] = T(pair.y);
""",
    "4-bit weights, unpacked from a vector": """
const device uint4* packed = (const device uint4*)w + thread_position_in_grid.x;
uint4 words = *packed;
float4 sum = 0;
#pragma unroll
for (int word = 0; word < 4; word++) {
  uint bits = words[word];
  float4 low = float4(uint4(bits, bits >> 4, bits >> 8, bits >> 12) & 0xF);
  float4 high = float4((uint4(bits) >> uint4(16, 20, 24, 28)) & 0xF);
  sum += low * float(x[word]) + high;
}
float total = simd_sum(sum.x + sum.y + sum.z + sum.w);
if (simd_is_first()) out[simdgroup_index_in_threadgroup] = T(total);
""",
    "bytes of 8-bit weights": """
uchar4 bytes = as_type<uchar4>(w[thread_position_in_grid.x]);
char4 numbers = char4(bytes) - char4(64);
half4 products = half4(numbers) * half4(0.5h, 0.25h, 0.125h, 1.0h);
out[thread_position_in_grid.x] = T(float(products.x + products.y));
""",
    "a tiled matrix product": """
constexpr uint TILE = 16;
threadgroup T a[TILE][TILE + 1], b[TILE][TILE + 1];
uint2 t = thread_position_in_threadgroup.xy;
uint row = threadgroup_position_in_grid.y * TILE + t.y;
uint column = threadgroup_position_in_grid.x * TILE + t.x;
float sum = 0;
for (uint k = 0; k < N; k += TILE) {
  a[t.y][t.x] = k + t.x < N ? x[row * N + k + t.x] : T(0);
  b[t.y][t.x] = k + t.y < N ? y[(k + t.y) * N + column] : T(0);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < TILE; ++i) sum += float(a[t.y][i]) * float(b[i][t.x]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
}
if (row < N && column < N) out[row * N + column] = T(sum);
""",
    "a matrix product by SIMD matrices": """
simdgroup_matrix<float, 8, 8> sums[2][2];
for (int i = 0; i < 2; i++)
  for (int j = 0; j < 2; j++)
    sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.f);
simdgroup_matrix<T, 8, 8> left, right;
for (uint k = 0; k < N; k += 8) {
  for (int i = 0; i < 2; i++) {
    simdgroup_load(left, x + i * 8 * N + k, N);
    for (int j = 0; j < 2; j++) {
      simdgroup_load(right, y + k * N + j * 8, N);
      simdgroup_multiply_accumulate(sums[i][j], left, right, sums[i][j]);
    }
  }
}
threadgroup float result[16 * 16];
simdgroup_store(sums[0][1], result + 8, 16);
simdgroup_barrier(mem_flags::mem_threadgroup);
out[thread_index_in_simdgroup] = T(result[thread_index_in_simdgroup]);
""",
    "softmax, online": """
float largest = -INFINITY, sum = 0.0;
for (uint i = thread_index_in_simdgroup; i < N; i += threads_per_simdgroup) {
  float value = x[i], before = largest;
  largest = max(largest, value);
  sum = sum * fast::exp(before - largest) + fast::exp(value - largest);
}
float all = simd_max(largest);
sum = simd_sum(sum * fast::exp(largest - all));
for (uint i = thread_index_in_simdgroup; i < N; i += 32)
  out[i] = static_cast<T>(fast::exp(float(x[i]) - all) / sum);
""",
    "flash attention for one token": """
constexpr int PER_LANE = N / 32;
thread float q[PER_LANE], o[PER_LANE];
const device T* keys = y + thread_index_in_simdgroup * PER_LANE;
for (int i = 0; i < PER_LANE; i++) {
  q[i] = 0.125 * x[thread_index_in_simdgroup * PER_LANE + i];
  o[i] = 0;
}
float largest = -numeric_limits<float>::max(), sum = 0;
for (int token = simdgroup_index_in_threadgroup; token < x_shape[0];
     token += simdgroups_per_threadgroup) {
  float score = 0;
  for (int i = 0; i < PER_LANE; i++) score += q[i] * float(keys[token * N + i]);
  score = simd_sum(score);
  float next = max(largest, score);
  float factor = fast::exp(largest - next), weight = fast::exp(score - next);
  largest = next;
  sum = sum * factor + weight;
  for (int i = 0; i < PER_LANE; i++) o[i] = o[i] * factor + weight * float(keys[i]);
}
for (int i = 0; i < PER_LANE; i++) out[i] = T(sum == 0 ? o[i] : o[i] / sum);
""",
    "the largest of a row and where it is": """
float best = -INFINITY;
uint where = 0;
for (uint i = thread_index_in_simdgroup; i < N; i += 32)
  if (x[i] > best) { best = x[i]; where = i; }
for (ushort step = 16; step > 0; step /= 2) {
  float other = simd_shuffle_down(best, step);
  uint there = simd_shuffle_down(where, step);
  if (other > best || (other == best && there < where)) { best = other; where = there; }
}
if (thread_index_in_simdgroup == 0) out[0] = T(float(where));
""",
    "a histogram in threadgroup memory": """
threadgroup atomic_uint bins[64];
uint t = thread_index_in_threadgroup;
if (t < 64) atomic_store_explicit(&bins[t], 0, memory_order_relaxed);
threadgroup_barrier(mem_flags::mem_threadgroup);
uint bin = clamp(uint(float(x[thread_position_in_grid.x]) * 64), 0u, 63u);
atomic_fetch_add_explicit(&bins[bin], 1u, memory_order_relaxed);
threadgroup_barrier(mem_flags::mem_threadgroup);
if (t < 64) out[t] = T(float(atomic_load_explicit(&bins[t], memory_order_relaxed)));
""",
    "an array that is not contiguous": """
uint i = thread_position_in_grid.x;
size_t place = elem_to_loc(i, x_shape, x_strides, x_ndim);
out[i] = x[place];
""",
    "a transposition without bank conflicts": """
threadgroup float tile[32][33];
uint3 t = thread_position_in_threadgroup;
tile[t.y][t.x] = x[t.y * 32 + t.x];
threadgroup_barrier(mem_flags::mem_threadgroup);
out[t.y * 32 + t.x] = T(tile[t.x][t.y]);
""",
    "a running sum of blocks": """
uint i = thread_position_in_grid.x;
float before = 0;
do {
  float value = i < N ? float(x[i]) : 0;
  float sum = before + simd_prefix_inclusive_sum(value);
  if (i < N) out[i] = T(sum);
  before = simd_broadcast(sum, 31);
  i += 32;
} while (i < N);
""",
    "functions and a structure of the header": """
thread State state;
state.largest = -INFINITY;
state.sum = 0;
for (uint i = 0; i < N; i++) state.add(float(x[i]));
threadgroup State states[4];
states[simdgroup_index_in_threadgroup] = state;
threadgroup_barrier(mem_flags::mem_threadgroup);
State first = states[0];
out[0] = T(clipped<float>(first.sum, LIMITS[0], LIMITS[1]) + total(x, N));
""",
}

HEADER = """
#include <metal_stdlib>
using namespace metal;

constant float LIMITS[2] = {0.0, 1e4};

struct State {
  float largest, sum;
  void add(float value) thread {
    float next = max(largest, value);
    sum = sum * exp(largest - next) + exp(value - next);
    largest = next;
  }
};

template <typename U>
METAL_FUNC U clipped(U value, U low, U high) {
  return metal::clamp(value, low, high);
}

template <typename U>
inline float total(const device U* values, uint count) {
  float sum = 0;
  for (uint i = 0; i < count; i++) sum += float(values[i]);
  return sum;
}
"""

DTYPES = [mx.float32, mx.float16, mx.bfloat16]


def kernel_of(name: str, dtype: mx.Dtype) -> Assembled:
    function = "".join(letter if letter.isalnum() else "_" for letter in name)
    inputs = ["x", "y", "w"]
    kinds = [Kind(dtype, 2, 4096), Kind(dtype, 2, 4096), Kind(mx.uint32, 1, 4096)]
    definition = Definition(function, inputs, ["out"], BODIES[name], HEADER)
    return assemble(definition, kinds, [dtype], [("T", dtype), ("N", 128)])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", BODIES)
def test_nothing_is_refused(name: str, dtype: mx.Dtype) -> None:
    found = check(kernel_of(name, dtype))

    assert [(each.file, each.line, each.sentence) for each in found] == []


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_compile(dtype: mx.Dtype) -> None:
    """All in one file, each in a namespace of its own."""
    texts: list[str] = []
    for number, name in enumerate(BODIES):
        text = kernel_of(name, dtype).text.removeprefix("#include <metal_stdlib>\n")
        text = text.replace("tiny_metal_kernel", f"kernel_{number}")
        texts.append(f"namespace n{number} {{\n{text}\n}}\n")

    done = subprocess.run(
        [
            *("g++", "-std=c++20", "-fsyntax-only", "-w", "-ffp-contract=off"),
            *(f"-I{LANGUAGE}", "-x", "c++", "-"),
        ],
        input="#include <metal_stdlib>\n" + "".join(texts),
        text=True,
        capture_output=True,
        check=False,
    )

    assert done.stderr == ""
