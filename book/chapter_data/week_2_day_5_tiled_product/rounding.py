"""What the rounding of activations to 8 bits costs, with either sum."""

import mlx.core as mx
import numpy as np

from tiny_llm_ref.quantize import dequantize, quantize


def costs() -> dict[str, float]:
    """Multiply a random matrix by random vectors, and compare both ways to take sums.

    Errors are relative to the root mean square of the exact results, in per cent.
    """
    rng = np.random.default_rng(0)
    w = mx.array(rng.normal(size=(512, 896)).astype(np.float32))
    packed, scales, biases = quantize(w, 64, 4)
    x = rng.normal(size=(64, 14, 64))
    step = np.abs(x).max(-1, keepdims=True) / 127
    rounded = np.rint(x / step) * step
    dense = np.array(dequantize(packed, scales, biases, 64, 4), dtype=np.float64)
    dense = dense.reshape(512, 14, 64)
    shift = np.array(biases, dtype=np.float64)[..., None]
    exact = np.einsum("tgi,ogi->to", x, dense)
    of_rounded = np.einsum("tgi,ogi->to", rounded, dense)
    of_exact = np.einsum("tgi,ogi->to", rounded, dense - shift) + np.einsum(
        "tgi,ogi->to", x, np.broadcast_to(shift, dense.shape)
    )
    size = np.sqrt((exact**2).mean())
    errors = [
        float(np.sqrt(((one - exact) ** 2).mean()) / size)
        for one in (of_rounded, of_exact)
    ]
    return {"rounded": errors[0], "exact": errors[1], "times": errors[1] / errors[0]}
