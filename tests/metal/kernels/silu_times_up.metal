// The gate of an MLP:
//
//     out[i] = silu(gate[i]) * up[i],   silu(g) = g / (1 + exp(-g))
//
// gate, up, out: any shape, the same for all three, elements of T side by side.
// size: the number of elements. A thread computes one of them, in float32.
// Grid: at least `size` threads in x.

const uint i = thread_position_in_grid.x;
if (i >= uint(size)) return;  // The grid may be larger than the arrays.
const float g = float(gate[i]);
out[i] = T(g / (1.0f + exp(-g)) * float(up[i]));
