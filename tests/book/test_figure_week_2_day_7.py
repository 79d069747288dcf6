"""The figure of day 7 computes e^x as the kernel does, bit for bit."""

import itertools
import math
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_course.places import SHARED_KERNELS

CHAPTER = "week-2-day-7-fused-kernels"
NAME = "exponential"

COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)

NARROW = [-4, -3.9375, -0.0625, 0, 0.375, 2.5]
WIDE = [-110, -87.0625, -87, -86.9375, -31.3125, 45.625, 88.6875, 88.75, 110]

F = np.float32

# From e^r = 1 + r + r^2 / 2 + ..., fitted: Cephes, expf.c (Moshier 1989).
COEFFICIENTS = [
    *(5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2),
    *(8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4),
]

PROGRAM = r"""
#include <cstdio>
#include "kernels/exponential.h"
int main() {
  for (float x; std::scanf("%f", &x) == 1;) {
    std::printf("%.9g\n", static_cast<double>(tiny_llm::exponential(x)));
  }
}
"""


class Steps(NamedTuple):
    """An exponential in float32, and what it goes through."""

    n: float
    r: float
    polynomial: float
    result: float


def exponential(place: float, terms: int = 8, how: str = "two") -> Steps:
    """Compute e^x as `exponential.h` does, but with some of the terms."""
    x, n = F(place), F(0)
    if how != "none":
        n = np.round(x * F(1.4426950408889634))
    parts = {"none": [], "one": [math.log(2)], "two": [0.693359375, -2.12194440e-4]}
    r = x
    for part in parts[how]:
        r = r - n * F(part)
    power = F(0)
    for coefficient in COEFFICIENTS[: max(terms - 2, 0)][::-1]:
        power = power * r + F(coefficient)
    power = F(1) if terms == 1 else power * (r * r) + r + F(1)
    result = float(power) * 2.0 ** float(n)
    result = 0.0 if x < F(-87) else math.inf if x > F(88.7228) else result
    return Steps(float(n), float(r), float(power), result)


def read(figure: OpenFigure, name: str) -> float:
    """Read a number, or one of the words that stand for what JSON cannot say."""
    return float(figure.read(name))


def assert_shows(figure: OpenFigure, place: float, found: Steps) -> None:
    """Compare all steps, and their error, with the true values in float64."""
    exact = math.exp(place)
    unit = 2.0 ** (max(math.frexp(exact)[1], -125) - 24)

    assert Steps(*(read(figure, name) for name in Steps._fields)) == found
    assert read(figure, "power") == 2**found.n
    assert read(figure, "exact") == pytest.approx(exact, rel=1e-15)
    off = abs(found.result - exact)
    assert read(figure, "error") == pytest.approx(off / exact, rel=1e-9, abs=1e-15)
    assert read(figure, "units") == pytest.approx(off / unit, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("how", ["two", "one", "none"])
def test_each_step_is_that_of_float32(figure: OpenFigure, how: str) -> None:
    figure.set(range=how)

    for terms, place in itertools.product(range(1, 9), NARROW):
        figure.set(terms=terms, x=place)

        assert_shows(figure, place, exponential(place, terms, how))


@pytest.mark.parametrize("how", ["two", "one", "none"])
def test_far_from_zero_too(figure: OpenFigure, how: str) -> None:
    figure.set(terms=8, range=how, span="110")

    for place in WIDE:
        figure.set(x=place)

        assert_shows(figure, place, exponential(place, 8, how))


@pytest.mark.skipif(COMPILER is None, reason="there is no compiler for C++ here")
def test_it_computes_what_the_kernel_does(figure: OpenFigure, tmp_path: Path) -> None:
    """With all terms, and each product rounded. The last bit is the same, too."""
    source, program = tmp_path / "run.cpp", tmp_path / "run"
    source.write_text(PROGRAM, encoding="utf-8")
    options = ["-std=c++20", "-O1", "-ffp-contract=off", f"-I{SHARED_KERNELS}"]
    command = [str(COMPILER), *options, str(source), "-o", str(program)]
    subprocess.run(command, check=True)
    places = [*np.arange(-4, 4, 0.125).tolist(), *WIDE]
    asked = " ".join(map(str, places))
    ran = subprocess.run(
        [str(program)], input=asked, text=True, capture_output=True, check=True
    )
    figure.set(terms=8, span="110")

    shown = []
    for place in places:
        figure.set(x=place)
        shown.append(read(figure, "result"))

    assert shown == [float(F(one)) for one in ran.stdout.split()]


@pytest.mark.parametrize("how", ["two", "one"])
@pytest.mark.parametrize("terms", [2, 4, 6, 8])
def test_the_largest_error_is_that_of_the_curve(
    figure: OpenFigure, terms: int, how: str
) -> None:
    figure.set(terms=terms, range=how)

    places = [float(F((i / 2048 * 2 - 1) * 4)) for i in range(2048)]
    worst = max(
        abs(exponential(one, terms, how).result / math.exp(one) - 1) for one in places
    )
    assert read(figure, "worst") == pytest.approx(worst, rel=1e-9, abs=1e-15)


def test_what_is_cut_off_is_no_error_of_the_curve(figure: OpenFigure) -> None:
    """The kernel promises two units in the last place, which are 2^-22 at most."""
    figure.set(terms=8, span="110")

    assert 0 < read(figure, "worst") <= 2**-22


def test_what_the_list_below_the_figure_says(figure: OpenFigure) -> None:
    figure.set(terms=8, span="110", range="one")
    in_one_part = read(figure, "worst")
    figure.set(range="two")
    assert in_one_part > 10 * read(figure, "worst")

    figure.set(x=-87.0625)
    below = read(figure, "result")
    figure.set(x=89)
    assert (below, read(figure, "result")) == (0, math.inf)

    figure.set(range="none", x=-4)
    assert read(figure, "error") > 1


def test_a_shorter_axis_brings_x_back(figure: OpenFigure) -> None:
    figure.set(span="110", x=50)

    figure.set(span="4")

    assert read(figure, "exact") == pytest.approx(math.exp(4), rel=1e-15)
