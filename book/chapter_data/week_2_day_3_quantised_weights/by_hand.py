"""Groups that are small enough to quantise on paper."""

from typing import Any

import mlx.core as mx

from tiny_llm_ref.quantize import dequantize, quantize

ROW = (0.67, -0.21, 0.1, 0.0, -0.8, 0.33, 0.42, -0.46)
"""Eight weights: one word of 4 bits each."""

SPOILT = (*ROW[:5], 8.0, *ROW[6:])
"""The same with an outlier in the place of one of them."""


def stored(weights: tuple[float, ...], bits: int = 4) -> dict[str, Any]:
    """Quantise one group, and read it again."""
    w = mx.array([weights])
    packed, scales, biases = quantize(w, len(weights), bits)
    shifts = range(0, 32, bits)
    q = [word >> shift & 2**bits - 1 for word in packed[0].tolist() for shift in shifts]
    restored = dequantize(packed, scales, biases, len(weights), bits)[0].tolist()
    # A zero that comes from rounding would be written -0.00.
    errors = [
        round(after - before, 6) + 0.0
        for before, after in zip(weights, restored, strict=True)
    ]
    return {
        "w": list(weights),
        "q": q[: len(weights)],
        "scale": scales.item(),
        "bias": biases.item(),
        "restored": restored,
        "error": errors,
        "largest_error": max(map(abs, errors)),
        "word": packed[0, 0].item(),
        "hex": f"{packed[0, 0].item():08x}",
    }


def row_of_eight() -> dict[str, Any]:
    """Go through the steps for `ROW`."""
    low, high = min(ROW), max(ROW)
    step = (high - low) / 15
    return stored(ROW) | {
        "low": low,
        "high": high,
        "range": high - low,
        "step": step,
        "quotient": low / step,
        "rounded": round(low / step),
        "places": [(w - low) / 0.1 for w in ROW],
    }


def without_the_move() -> dict[str, float]:
    """See which weight stands for zero if the scale is left as the step."""
    low, high = min(ROW), max(ROW)
    step = (high - low) / 15
    nearest = round(-low / step)
    return {"q": nearest, "zero": low + nearest * step}


def equal_ends() -> dict[str, Any]:
    """Quantise a group that reaches equally far to both sides."""
    group = stored((6.0, -6.0, 3.0, 1.5, 0.0, -1.5, -3.0, -4.5))
    steps = 6.0 / (12 / 15)
    return group | {"step": 12 / 15, "steps": steps, "rounded": round(steps)}


def outlier() -> dict[str, Any]:
    """Quantise the row with an outlier in it, and see what becomes of the others."""
    spoilt = stored(SPOILT)
    others = [abs(e) for e, w in zip(spoilt["error"], SPOILT, strict=True) if w != 8.0]
    return {
        "scale": abs(spoilt["scale"]),
        "restored": spoilt["restored"],
        "largest_error": max(others),
        "distinct": len(set(spoilt["q"])) - 1,
    }


def half_precision() -> dict[str, Any]:
    """Take a weight whose two roundings and one rounding differ in bfloat16."""
    scale, bias = mx.array(0.0123, mx.bfloat16), mx.array(-0.0987, mx.bfloat16)
    for q in range(16):
        twice = (mx.array(q).astype(mx.bfloat16) * scale + bias).item()
        exact = q * scale.item() + bias.item()
        once = mx.array(exact).astype(mx.bfloat16).item()
        if twice != once:
            named = {"scale": scale.item(), "bias": bias.item(), "q": q}
            return named | {"exact": exact, "once": once, "twice": twice}
    raise AssertionError("the text needs an example")


def by_groups() -> dict[str, Any]:
    """Multiply the row of eight by inputs, weight by weight and by the group."""
    x = [1.0, 2.0, 0.0, -1.0, 1.0, 1.0, 0.0, 3.0]
    row = stored(ROW)
    products = [q * one for q, one in zip(row["q"], x, strict=True)]
    pairs = zip(row["restored"], x, strict=True)
    return {
        "x": x,
        "products": products,
        "sum_q_x": sum(products),
        "sum_x": sum(x),
        "scaled": row["scale"] * sum(products),
        "shifted": row["bias"] * sum(x),
        "y": row["scale"] * sum(products) + row["bias"] * sum(x),
        "direct": sum(w * one for w, one in pairs),
    }
