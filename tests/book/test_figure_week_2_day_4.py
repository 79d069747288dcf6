"""The interactive figure of day 4 rounds as the kernels do, in float32."""

from dataclasses import dataclass

import mlx.core as mx
import numpy as np
import pytest
from tests.book.conftest import OpenFigure

from tiny_llm_ref import kernels
from tiny_llm_ref.quantize import QuantizedWeights

CHAPTER = "week-2-day-4-rounding"
NAME = "rounded-activations"

EXACT = 1e-12

SETTINGS = [
    (50, 64, 8),
    (300, 32, 8),
    (-300, 128, 8),
    (0, 32, 8),
    (-7, 64, 6),
    (300, 128, 4),
    (-1, 32, 4),
]


@dataclass(frozen=True)
class Rows:
    """The rows of weights that the figure has for a group size.

    Attributes:
        q: Rows of groups of integers.
        scales: In float32, like the biases.
        biases: One for each group, too.
    """

    q: np.ndarray
    scales: np.ndarray
    biases: np.ndarray

    @property
    def dense(self) -> np.ndarray:
        """The weights in float64, which holds them exactly."""
        wide = (self.scales[..., None].astype(float), self.biases[..., None])
        return (wide[0] * self.q + wide[1]).reshape(len(self.q), -1)


@dataclass(frozen=True)
class Rounded:
    """A vector in few bits.

    Attributes:
        p: Groups of integers.
        steps: Of the groups, in float32.
        sums: Of the rounded activations of each group, in float32.
    """

    p: np.ndarray
    steps: np.ndarray
    sums: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """What the integers stand for."""
        return (self.p * self.steps[:, None].astype(float)).ravel()


def vector_of(figure: OpenFigure, outlier: float) -> np.ndarray:
    """Put the outlier into the vector of the figure."""
    x = np.array(figure.data["x"], np.float32)
    x[figure.data["place"]] = outlier
    return x


def rows_of(figure: OpenFigure, size: int) -> Rows:
    """Read the rows of the figure."""
    kept = figure.data["weights"][str(size)]
    q = np.array([[int(one, 16) for one in row] for row in kept["q"]])
    return Rows(
        q.reshape(len(q), -1, size),
        np.array(kept["scales"], np.float32),
        np.array(kept["biases"], np.float32),
    )


def packed(rows: Rows) -> QuantizedWeights:
    """Hand rows to the kernels: eight integers in a word, the first one lowest."""
    eights = rows.q.reshape(len(rows.q), -1, 8).astype(np.uint32)
    words = (eights << np.arange(0, 32, 4, dtype=np.uint32)).sum(-1, dtype=np.uint32)
    scales, biases = mx.array(rows.scales), mx.array(rows.biases)
    return QuantizedWeights(scales, biases, rows.q.shape[-1], 4, mx.array(words))


def rounded(x: np.ndarray, size: int, bits: int) -> Rounded:
    """Round as int8.h says, all of it in float32."""
    most = np.float32(2 ** (bits - 1) - 1)
    groups = x.reshape(-1, size)
    largest = np.abs(groups).max(-1, keepdims=True)
    p = np.rint(groups * (most / largest))
    steps = largest / most
    sums = steps * p.sum(-1, keepdims=True, dtype=np.float32)
    assert sums.dtype == np.float32
    return Rounded(p.astype(int), steps[:, 0], sums[:, 0])


def multiplied(rows: Rows, x: Rounded) -> np.ndarray:
    """Multiply in float32, in the order of the kernel in plain C++."""
    dots = (rows.q * x.p).sum(-1)
    y = np.zeros(len(dots), np.float32)
    for g in range(dots.shape[1]):
        y += (rows.scales[:, g] * x.steps[g]) * dots[:, g].astype(np.float32)
        y += rows.biases[:, g] * x.sums[g]
    return y


def errors(got: np.ndarray, right: np.ndarray) -> list[float]:
    """Return the root mean square of the error, and its share of that of the result."""
    error = np.sqrt(np.mean((got.astype(float) - right) ** 2))
    return [float(error), float(error / np.sqrt(np.mean(right**2)))]


def of_kernel(rows: Rows, x: np.ndarray) -> np.ndarray:
    """Multiply with the kernel of the course."""
    try:
        return np.array(kernels.matvec_int8(mx.array(x), packed(rows)))
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(("outlier", "size", "bits"), SETTINGS)
def test_it_rounds_and_multiplies_in_float32(
    figure: OpenFigure, outlier: float, size: int, bits: int
) -> None:
    x, rows = vector_of(figure, outlier), rows_of(figure, size)
    right, exact = rounded(x, size, bits), rows.dense @ x.astype(float)
    place = figure.data["place"]

    figure.set(outlier=outlier, group=size, bits=bits)

    y = multiplied(rows, right)
    error = np.sqrt(np.mean((right.values - x) ** 2))
    assert figure.read("steps") == right.steps.tolist()
    assert figure.read("neighbours") == right.p.ravel()[place - 3 : place + 4].tolist()
    assert figure.read("zeros") == np.count_nonzero(right.p == 0)
    assert figure.read("rms") == pytest.approx(error, rel=EXACT)
    assert figure.read("largest") == np.abs((rows.q * right.p).sum(-1)).max()
    assert figure.read("exact") == pytest.approx(exact[0], rel=1e-9)
    assert figure.read("product") == y[0]
    assert figure.read("error") == pytest.approx(errors(y, exact), rel=1e-9)


@pytest.mark.parametrize(("outlier", "size", "bits"), SETTINGS)
def test_with_the_sums_of_x_only_the_biases_meet_them(
    figure: OpenFigure, outlier: float, size: int, bits: int
) -> None:
    x, rows = vector_of(figure, outlier), rows_of(figure, size)
    right = rounded(x, size, bits)
    sums = x.reshape(-1, size).sum(-1, dtype=float).astype(np.float32)

    figure.set(**{"outlier": outlier, "group": size, "bits": bits, "true-sums": True})

    y = multiplied(rows, Rounded(right.p, right.steps, sums))
    assert figure.read("steps") == right.steps.tolist()
    assert figure.read("product") == y[0]
    expected = errors(y, rows.dense @ x.astype(float))
    assert figure.read("error") == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("size", [32, 64, 128])
@pytest.mark.parametrize("outlier", [-300, -1, 0, 1, 50, 299])
def test_eight_bits_are_those_of_the_kernel(
    figure: OpenFigure, outlier: float, size: int
) -> None:
    """A matrix with a 1 in each row returns what becomes of each activation."""
    x, rows = vector_of(figure, outlier), rows_of(figure, size)
    ones = np.eye(len(x), dtype=int).reshape(len(x), -1, size)
    flat = np.ones(ones.shape[:2], np.float32)
    seen = of_kernel(Rows(ones, flat, 0 * flat), x)

    figure.set(outlier=outlier, group=size)

    y = of_kernel(rows, x)
    steps = np.repeat(np.array(figure.read("steps"), np.float32), size)
    near = slice(figure.data["place"] - 3, figure.data["place"] + 4)
    integers = np.array(figure.read("neighbours"), np.float32)
    assert (steps[near] * integers).tolist() == seen[near].tolist()
    assert figure.read("zeros") == np.count_nonzero(seen == 0)
    error = np.sqrt(np.mean((seen.astype(float) - x) ** 2))
    assert figure.read("rms") == pytest.approx(error, rel=1e-4)
    assert figure.read("product") == pytest.approx(
        y[0], abs=1e-6 * max(1, abs(outlier))
    )
    expected = errors(y, rows.dense @ x.astype(float))
    assert figure.read("error") == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("size", "bits", "bound"), [(32, 8, 60_960), (128, 8, 243_840), (64, 4, 6720)]
)
def test_the_bound_is_the_largest_of_all_products(
    figure: OpenFigure, size: int, bits: int, bound: int
) -> None:
    figure.set(group=size, bits=bits)

    assert figure.read("bound") == bound
    assert figure.read("largest") < bound


def test_an_outlier_leaves_its_neighbours_three_values(figure: OpenFigure) -> None:
    """What the chapter says to try."""
    figure.set(outlier=300)

    neighbours = figure.read("neighbours")
    assert neighbours.pop(3) == 127
    assert set(neighbours) <= {-1, 0, 1}
    steps = figure.read("steps")
    assert steps[0] > 50 * steps[1]


def test_true_sums_are_worse(figure: OpenFigure) -> None:
    """What the chapter says to try."""
    rms, (error, _) = figure.read("rms"), figure.read("error")

    figure.set(**{"true-sums": True})

    assert figure.read("rms") == rms
    assert figure.read("error")[0] > 5 * error


def test_four_bits_for_the_whole_vector_leave_the_outlier(figure: OpenFigure) -> None:
    """What the chapter says to try."""
    figure.set(group=128, bits=4)

    assert figure.read("zeros") == len(figure.data["x"]) - 1
