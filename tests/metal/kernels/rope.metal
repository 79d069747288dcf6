// Rotary position embedding of all heads:
//
//     angle = position * base^(-2 i / D),   i = 0 .. D / 2 - 1
//     out[a] = x[a] * cos(angle) - x[b] * sin(angle)
//     out[b] = x[a] * sin(angle) + x[b] * cos(angle)
//
// with a, b = 2 i, 2 i + 1 if NEIGHBOURS, else a, b = i, i + D / 2.
// x, out: B x L x H x D of T. offsets: B of int, the position of each row's first token.
// base: one float.
// A thread computes the sine and cosine of its pair once, for all H heads.
// Grid: at least D / 2 threads in x, B * L in y.

const uint length = x_shape[1], heads = x_shape[2], width = x_shape[3];
const uint i = thread_position_in_grid.x;
const uint token = thread_position_in_grid.y;  // Of all rows together.
if (i >= width / 2 || token >= uint(x_shape[0]) * length) return;

const float position = float(offsets[token / length] + int(token % length));
const float exponent = -2.0f * float(i) / float(width);
const float angle = position * exp2(exponent * log2(base));
const float c = cos(angle), s = sin(angle);

const uint first = NEIGHBOURS ? 2 * i : i;
const uint second = NEIGHBOURS ? 2 * i + 1 : i + width / 2;
for (uint head = 0; head < heads; ++head) {
    const uint start = (token * heads + head) * width;
    const float a = float(x[start + first]), b = float(x[start + second]);
    out[start + first] = T(a * c - b * s);
    out[start + second] = T(a * s + b * c);
}
