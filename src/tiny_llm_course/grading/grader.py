"""Runs a solution on a test's input and judges what comes out."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.grading.call import Call, dtype_name
from tiny_llm_course.grading.closeness import ALLOWED_UNITS, Truth, is_close, units_off
from tiny_llm_course.grading.diagnosis import matching
from tiny_llm_course.grading.verdict import (
    BrokenError,
    NotStartedError,
    StepLimitError,
    WrongError,
)
from tiny_llm_course.solution import BrokenFileError, Solution
from tiny_llm_course.syllabus import Address
from tiny_llm_course.unsolved import Unsolved


@dataclass(frozen=True)
class Grader:
    """Judge one solution in one test.

    Attributes:
        solution: Whose names are called.
        task: What the test belongs to, and so whose mistakes to look for.
    """

    solution: Solution
    task: Address

    def run(self, call: Call) -> Any:  # noqa: ANN401 - what a solution returns
        """Run `call`, and fail the test when it raises or changes its arguments."""
        arrays = call.arrays()
        before = [mx.array(array) for array in arrays]
        mx.eval(arrays, before)
        output = self.attempt(call, lambda: _evaluated(call.run(self.solution)))
        for was, array in zip(before, arrays, strict=True):
            if was.shape != array.shape or not mx.array_equal(
                was, array, equal_nan=True
            ):
                raise WrongError(
                    f"{call}\n  changed its argument {dtype_name(was.dtype)}"
                    f"{list(was.shape)} in place; work on a copy"
                )
        return output

    def attempt(self, call: Call, action: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Do `action`, and turn what it raises into a verdict on the solution."""
        try:
            return action()
        except Unsolved as error:
            raise NotStartedError(str(error)) from None
        except (BrokenFileError, StepLimitError) as error:
            raise BrokenError(str(error)) from None
        except Exception as error:  # noqa: BLE001 - it is the learner's, and shown
            frames = own_frames(error, self.solution.folder)
            raise BrokenError(
                f"{call}\n  raised {type(error).__name__}: {error}\n{frames}"
            ) from None

    def assert_close(self, call: Call, truth: Truth, dtype: mx.Dtype) -> None:
        """Fail unless `call` returns an array of `dtype` that is close to `truth`."""
        got = self.run(call)
        if not isinstance(got, mx.array):
            raise WrongError(
                f"{call}\n  expected an mx.array, got {type(got).__name__}"
            )
        if got.shape != truth.value.shape:
            raise WrongError(
                f"{call}\n  expected shape {truth.value.shape}, got {got.shape}"
            )
        if got.dtype != dtype:
            raise WrongError(
                f"{call}\n  expected dtype {dtype_name(dtype)}, got "
                f"{dtype_name(got.dtype)}"
            )
        if not is_close(got, truth):
            known = matching(self.task, call, got, truth)
            says = "".join(f"\n  {one.says}" for one in known)
            raise WrongError(f"{call}\n{worst_entry(got, truth)}{says}")

    def assert_equal(self, call: Call, expected: Any) -> None:  # noqa: ANN401
        """Fail unless `call` returns exactly `expected`."""
        got = self.run(call)
        if got != expected:
            raise WrongError(f"{call}\n  expected {expected!r}\n  got      {got!r}")

    def assert_that(self, claim: bool, call: Call, complaint: str) -> None:
        """Fail with `complaint` about `call` unless `claim` is true."""
        if not claim:
            raise WrongError(f"{call}\n  {complaint}")

    def assert_drawn(self, call: Call, shares: NDArray[np.float64]) -> None:
        """Fail unless the ids that `call` returns fall on the tokens as expected.

        A share may miss its probability by five standard deviations, which chance does
        once in two million shares, and a token of probability 0 is never drawn.

        Args:
            call: Returns N ids, drawn from the rows of `shares` in turns.
            shares: The probability of each token in each row.
        """
        drawn = np.array(self.run(call))
        num_rows, num_tokens = shares.shape
        num_ids = call.arrays()[0].shape[0]
        if drawn.shape != (num_ids,):
            raise WrongError(
                f"{call}\n  expected {num_ids} ids, got shape {drawn.shape}"
            )
        ids = drawn.astype(np.int64).reshape(-1, num_rows)
        for row, expected in enumerate(shares):
            counts = np.bincount(ids[:, row], minlength=num_tokens)
            got = counts / len(ids)
            spread = np.sqrt(expected * (1 - expected) / len(ids))
            if np.any(np.abs(got - expected) > 5 * spread):
                raise WrongError(
                    f"{call}\n  row {row}: expected the tokens in shares of "
                    f"{np.round(expected, 3).tolist()}\n  got "
                    f"{np.round(got, 3).tolist()} in {len(ids)} draws"
                )


def worst_entry(got: mx.array, truth: Truth) -> str:
    """Show expected and got at the entry that is furthest off, and by how much."""
    off = units_off(got, truth)
    worst = np.unravel_index(int(np.argmax(off)), off.shape)
    expected = truth.value[worst]
    value = np.array(got.astype(mx.float32))[worst]
    place = list(map(int, worst))
    wrong = int(np.sum(off > ALLOWED_UNITS))
    return (
        f"  at {place}: expected {expected:.6g}, got {value:.6g}, "
        f"{off[worst]:.3g} units of {dtype_name(got.dtype)} off "
        f"({ALLOWED_UNITS:g} allowed); {wrong} of {off.size} entries are wrong"
    )


def own_frames(error: BaseException, folder: Path) -> str:
    """Show the lines of the solution that an exception passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    return "\n".join(
        f"  {Path(frame.filename).name}, line {frame.lineno}, in {frame.name}: "
        f"{frame.line}"
        for frame in own
    )


def _evaluated(output: Any) -> Any:  # noqa: ANN401 - what a solution returns
    """Compute what MLX has put off, so that errors appear here."""
    if isinstance(output, mx.array):
        mx.eval(output)
    return output
