"""A different correct solution: everything in the dtype of the input."""

import mlx.core as mx


def softmax(x, axis):
    exponentials = mx.exp(x - mx.max(x, axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def linear(x, w, bias=None):
    y = mx.einsum("...i,oi->...o", x, w)
    return y + bias if bias is not None else y


def silu(x):
    return x / (1 + mx.exp(-x))
