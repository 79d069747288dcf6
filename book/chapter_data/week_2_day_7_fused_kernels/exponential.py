"""The exponential of the kernels: its constants, and what each term is good for."""

import re
from functools import cache
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.places import SHARED_KERNELS

HEADER = SHARED_KERNELS / "kernels" / "exponential.h"

Numbers = NDArray[np.floating[Any]]

_NUMBER = r"(-?[\d.]+(?:e-?\d+)?)f"


@cache
def constants() -> dict[str, Any]:
    """Read the constants of `exponential.h`, as the floats that they become."""
    text = HEADER.read_text(encoding="utf-8")

    def read(pattern: str) -> list[float]:
        found = re.findall(pattern.replace("NUMBER", _NUMBER), text)
        assert found, f"{HEADER.name}: expected {pattern}"
        return [float(np.float32(one)) for one in found]

    highest = read(r"power = r \* NUMBER")
    others = read(r"(?:power = r .*|power = power \* r) \+ NUMBER;")
    return {
        # Of r^2 and of the higher powers. Those of 1 and of r are 1.
        "coefficients": [*highest, *others][::-1],
        "per_ln2": read(r"rounded = x \* NUMBER")[0],
        "ln2": [*read(r"x - n \* NUMBER"), *read(r"\) - n \* NUMBER")],
        "least": read(r"x < NUMBER")[0],
        "most": read(r"x > NUMBER")[0],
    }


def powers(r: Numbers, terms: int) -> Numbers:
    """Add up the first terms of the polynomial for e^r, as the kernel does."""
    one = np.ones_like(r)
    if terms == 1:
        return one
    power = np.zeros_like(r)
    for coefficient in reversed(constants()["coefficients"][: terms - 2]):
        power = power * r + np.float32(coefficient)
    return power * (r * r) + r + one


def what_terms_buy() -> dict[str, Any]:
    """Find the largest error for each number of terms: one part in how many?"""
    r = np.linspace(-log(2) / 2, log(2) / 2, 20001).astype(np.float32)
    exact = np.exp(r.astype(np.float64))
    terms = len(constants()["coefficients"]) + 2
    off = {
        str(k): float(np.max(np.abs(powers(r, k) / exact - 1)))
        for k in range(1, terms + 1)
    }
    two_digits = {k: float(f"{1 / one:.2g}") for k, one in off.items()}
    return {"all": terms, "one_in": two_digits}
