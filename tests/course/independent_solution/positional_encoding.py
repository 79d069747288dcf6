"""A different correct solution: angles on demand, and pairs as slices."""

import mlx.core as mx


class RoPE:
    def __init__(self, dims, seq_len, base=10000, traditional=False):
        self.base, self.traditional = base, traditional

    def __call__(self, x, offset=None):
        length, width = x.shape[1], x.shape[3]
        if not isinstance(offset, list):
            offset = [offset] * x.shape[0]
        starts = mx.array([one.start if one else 0 for one in offset])
        positions = (starts[:, None] + mx.arange(length)).astype(mx.float32)
        exponents = mx.arange(0, width, 2).astype(mx.float32) / width
        angles = positions[:, :, None, None] * (1 / self.base**exponents)
        cos, sin = mx.cos(angles), mx.sin(angles)
        if self.traditional:
            a, b = x[..., ::2], x[..., 1::2]
        else:
            a, b = x[..., : width // 2], x[..., width // 2 :]
        parts = [a * cos - b * sin, a * sin + b * cos]
        if self.traditional:
            return mx.stack(parts, axis=-1).reshape(x.shape).astype(x.dtype)
        return mx.concatenate(parts, axis=-1).astype(x.dtype)
