"""A different correct solution: rounded to the dtype of the input before the gain."""

import mlx.core as mx


class RMSNorm:
    def __init__(self, dim, weight, eps=1e-5):
        self.weight, self.eps = weight, eps

    def __call__(self, x):
        square = mx.square(x.astype(mx.float32)).mean(-1, keepdims=True)
        unit = (x / mx.sqrt(square + self.eps)).astype(x.dtype)
        return unit * self.weight.astype(x.dtype)
