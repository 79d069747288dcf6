// The gate of an MLP, four elements in each thread:
//
//     out[i] = silu(gate[i]) * up[i],   silu(g) = g / (1 + exp(-g))
//
// gate, up, out: as in silu_times_up. Each has to begin at a multiple of the size of four
// elements, as MLX's arrays do unless they are a part of another one.
// Thread t computes out[4 t] to out[4 t + 3], the last one what is left.
// Grid: at least size / 4 threads in x, rounded up.

const uint first = 4 * thread_position_in_grid.x;
if (first + 4 <= uint(size)) {
    // One load of 4 elements instead of 4 loads: a SIMD group asks for 128 at once.
    const float4 g = float4(*(const device vec<T, 4>*)(gate + first));
    const float4 u = float4(*(const device vec<T, 4>*)(up + first));
    *(device vec<T, 4>*)(out + first) = vec<T, 4>(g / (1.0f + exp(-g)) * u);
} else {
    for (uint i = first; i < uint(size); ++i) {
        const float g = float(gate[i]);
        out[i] = T(g / (1.0f + exp(-g)) * float(up[i]));
    }
}
