"""Runs a solution on a test's input and judges what comes out."""

import re
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.catalogue import say
from tiny_llm_course.extension.building import problem_of
from tiny_llm_course.extension.output import first_error
from tiny_llm_course.grading.judgement.call import Call, dtype_name, show
from tiny_llm_course.grading.judgement.closeness import (
    ALLOWED_ULPS,
    Truth,
    is_close,
    judged_as,
    ulps_off,
)
from tiny_llm_course.grading.judgement.errors import evidence_of
from tiny_llm_course.grading.judgement.underway import Underway
from tiny_llm_course.grading.judgement.verdict import (
    ArrayEvidence,
    BrokenError,
    BrokenFileVerdictError,
    Evidence,
    NotStartedError,
    RaisedEvidence,
    SharesEvidence,
    StepLimitError,
    TextEvidence,
    UnsteadyEvidence,
    VerdictError,
    WrongError,
    is_equal,
)
from tiny_llm_course.layout import USUAL, wrapped
from tiny_llm_course.solution import BrokenFileError, Solution
from tiny_llm_course.syllabus import Task, task_at, tasks_of
from tiny_llm_course.unsolved import Unsolved
from tiny_llm_course.untrusted import visible, words_of

NOT_BUILT = "NotBuiltError"
"""The class of the error that `kernels.py` raises if there is no compiled module."""

FAULT, NOT_COMPILED = "KernelFaultError", "KernelNotCompiledError"
"""The classes of the errors that Metal kernels raise: with a mistake, and no Metal."""

MAX_TOKENS = 8
"""Of more tokens, the report shows the shares of those that are furthest off."""


@dataclass(frozen=True)
class Grader:
    """Judge one solution in one test.

    Attributes:
        solution: The solution whose names are called.
        underway: Records each call, in case it does not return.
        calls: All calls so far, the last one last.
    """

    solution: Solution
    underway: Underway = field(default_factory=Underway)
    calls: list[Call] = field(default_factory=list[Call], compare=False)

    def run(self, call: Call) -> Any:  # noqa: ANN401 - what a solution returns
        """Run `call`, and fail the test when it raises or changes its arguments."""
        self.calls.append(call)
        arrays = call.arrays()
        before = [mx.array(array) for array in arrays]
        mx.eval(arrays, before)
        output = self._attempt(call)
        for was, array in zip(before, arrays, strict=True):
            if not _identical(was, array):
                message = say("grading.changed_in_place", call=call, array=show(was))
                raise WrongError(message, TextEvidence("changed in place"))
        return output

    def assert_close(self, call: Call, truth: Truth, dtype: mx.Dtype) -> None:
        """Fail unless `call` returns an array of `dtype` that is close to `truth`."""
        got = self.run(call)
        if not isinstance(got, mx.array):
            kind = type(got).__name__
            message = say("grading.not_an_array", call=call, got=kind)
            raise WrongError(message, TextEvidence(kind))
        if got.shape != truth.value.shape:
            names = {"expected": truth.value.shape, "got": got.shape}
            message = say("grading.wrong_shape", call=call, **names)
            raise WrongError(message, ArrayEvidence(got, truth))
        if got.dtype != dtype:
            names = {"expected": dtype_name(dtype), "got": dtype_name(got.dtype)}
            message = say("grading.wrong_dtype", call=call, **names)
            as_asked = judged_as(truth, dtype, got.dtype)
            raise WrongError(message, ArrayEvidence(got, as_asked))
        if not is_close(got, truth):
            message = _far_off(call, got, truth)
            evidence = ArrayEvidence(got, truth)
            raise WrongError(message, self._steady(call, evidence))

    def _steady(self, call: Call, seen: ArrayEvidence) -> Evidence:
        """Return the evidence, unless a kernel called again gives another result."""
        if not call.symbol.startswith("kernels."):
            return seen
        again = ArrayEvidence(self._attempt(call), seen.truth)
        return seen if again.matches(seen) else UnsteadyEvidence()

    def assert_equal(self, call: Call, expected: Any) -> None:  # noqa: ANN401
        """Fail unless `call` returns exactly `expected`."""
        got = self.run(call)
        if got is None and expected is not None:
            message = say("grading.nothing", call=call, expected=expected)
            raise WrongError(message, TextEvidence(got))
        if not is_equal(got, expected):
            message = say("grading.not_equal", call=call, expected=expected, got=got)
            raise WrongError(message, TextEvidence(got, expected))

    def assert_that(self, claim: bool, call: Call, complaint: str) -> None:
        """Fail with `complaint` about `call` unless `claim` is true."""
        if not claim:
            message = say("grading.complaint", call=call, complaint=complaint)
            # Line breaks are layout, so they do not distinguish mistakes.
            seen = re.sub(r"(\\n|\s)+", " ", complaint)
            raise WrongError(message, TextEvidence(seen))

    def assert_drawn(self, call: Call, shares: NDArray[np.float64]) -> None:
        """Fail unless the ids that `call` returns have the expected distribution.

        A share may differ from its probability by five standard deviations, which
        happens by chance once in two million shares. A token of probability 0 must
        never be drawn.

        Args:
            call: A repeated call. Each time it returns N ids, drawn from the rows of
                `shares` in turn.
            shares: The probability of each token in each row.
        """
        ids = np.concatenate([self._token_ids(call, one) for one in self.run(call)])
        got = _shares(ids, shares.shape)
        num_draws = len(ids) // len(shares)
        spread = np.sqrt(shares * (1 - shares) / num_draws)
        wrong_rows = np.any(np.abs(got - shares) > 5 * spread, axis=-1)
        if wrong_rows.any():
            row = int(np.argmax(wrong_rows))
            likely = _probabilities(call.arrays()[0][row])
            told = _told_shares(likely, shares[row], got[row])
            is_short = len(likely) <= MAX_TOKENS
            message = say(
                "grading.wrong_shares" if is_short else "grading.wrong_shares_of_many",
                call=call,
                row=row,
                num_draws=num_draws,
                **told,
            )
            own_spread = np.sqrt(got * (1 - got) / num_draws)
            raise WrongError(message, SharesEvidence(got, own_spread, shares))

    def _token_ids(self, call: Call, output: Any) -> NDArray[np.int64]:  # noqa: ANN401
        """Fail unless `output` is one token id for each row that `call` passes."""
        # Converted through a list, because NumPy has no bfloat16.
        ids = np.array(output.tolist() if isinstance(output, mx.array) else output)
        num_rows, num_tokens = call.arrays()[0].shape
        if ids.shape != (num_rows,):
            names = {"expected": num_rows, "got": ids.shape}
            message = say("grading.wrong_number_of_ids", call=call, **names)
            raise WrongError(message, TextEvidence(ids.shape))
        strange = ids[~np.isin(ids, np.arange(num_tokens))]
        if strange.size > 0:
            names = {"last": num_tokens - 1, "got": strange[0]}
            message = say("grading.no_token_id", call=call, **names)
            raise WrongError(message, TextEvidence("no token id"))
        return ids.astype(np.int64)

    def _attempt(self, call: Call) -> Any:  # noqa: ANN401 - what a solution returns
        """Run `call`, and turn what it raises into a verdict on the solution."""
        self.underway.begin(call)
        try:
            # pytest turns warnings into errors, which is too strict for a learner.
            with warnings.catch_warnings(action="default"):
                output = call.run(self.solution)
            # MLX is lazy: evaluated here, an error is still the learner's, not ours.
            if isinstance(output, mx.array | list | tuple):
                mx.eval(output)
        except Unsolved as error:
            raise NotStartedError(words_of(error)) from None
        except NotImplementedError:
            raise NotStartedError(tasks_of(call.symbol)[0].not_started()) from None
        except BrokenFileError as error:
            evidence = TextEvidence(str(error))
            raise BrokenFileVerdictError(str(error), evidence) from None
        except ImportError as error:
            if type(error).__name__ != NOT_BUILT:
                raise self._raised(call, error) from None
            raise _not_built(call, problem_of(self.solution.folder)) from None
        except StepLimitError as error:
            message = say("grading.complaint", call=call, complaint=error)
            raise BrokenError(message, TextEvidence(str(error))) from None
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the learner's, shown
            raise self._raised(call, error) from None
        finally:
            self.underway.end()
        return output

    def _raised(self, call: Call, error: BaseException) -> BrokenError:
        """Return a verdict that shows what a solution raised, and where."""
        kind, text = type(error).__name__, words_of(error)
        if kind in {FAULT, NOT_COMPILED}:
            return _found_in_a_kernel(call, error)
        frames = own_frames(error, self.solution.folder)
        shown = {"error": f"{kind}: {text}", "frames": frames}
        message = say("grading.raised", call=call, **shown)
        return BrokenError(message, evidence_of(error))


def _found_in_a_kernel(call: Call, error: BaseException) -> BrokenError:
    """Return a verdict that says what the simulator has found, and where.

    Its sentence tells known mistakes apart: neither what somebody calls an array does,
    nor the lines of a solution's file.
    """
    sentence, *places = (visible(str(one)) for one in error.args)
    complaint = "\n  ".join([*wrapped(sentence, USUAL), *places])
    message = say("grading.complaint", call=call, complaint=complaint)
    unnamed = re.sub(r"\w+\[", "[", sentence)
    return BrokenError(message, RaisedEvidence(type(error).__name__, unnamed))


def _not_built(call: Call, problem: str) -> VerdictError:
    """Return a verdict that says why there is no compiled module.

    Args:
        call: What was called.
        problem: The compiler's errors, if any.
    """
    if problem:
        message = say("grading.not_compiled", error=first_error(problem))
        return BrokenFileVerdictError(message, TextEvidence(message))
    owners = [task for task in _tasks_below(call.symbol) if task.kernels]
    not_started = owners[0].not_started() if owners else call.symbol
    return NotStartedError(say("grading.not_built", not_started=not_started))


def _tasks_below(symbol: str) -> Iterator[Task]:
    """Yield the tasks of a symbol, and those that they build on."""
    waiting = tasks_of(symbol)
    while waiting:
        task = waiting.pop(0)
        yield task
        waiting += map(task_at, task.builds_on)


def own_frames(error: BaseException, folder: Path) -> str:
    """Show the lines of the solution that an exception passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    return "\n".join(
        "  "
        + say(
            "grading.frame",
            file=Path(frame.filename).name,
            line=frame.lineno,
            name=frame.name,
            code=frame.line,
        )
        for frame in own
    )


def _identical(a: mx.array, b: mx.array) -> bool:
    """Tell whether two arrays have the same shape and entries, NaN included."""
    return a.shape == b.shape and bool(mx.array_equal(a, b, equal_nan=True))


def _far_off(call: Call, got: mx.array, truth: Truth) -> str:
    """Show expected and got at the entry that is furthest off, and by how much."""
    off = ulps_off(got, truth)
    worst = np.unravel_index(int(np.argmax(off)), off.shape)
    expected, value = told_apart(
        truth.value[worst], np.array(got.astype(mx.float32))[worst]
    )
    return say(
        "grading.far_off",
        call=call,
        place=list(map(int, worst)),
        expected=expected,
        got=value,
        ulps=off[worst],
        dtype=dtype_name(got.dtype),
        allowed=ALLOWED_ULPS,
        num_wrong=int(np.sum(off > ALLOWED_ULPS)),
        num_entries=off.size,
    )


def told_apart(a: float, b: float) -> tuple[str, str]:
    """Write two different numbers with at least six digits, and enough to differ."""
    for digits in range(6, 17):
        if f"{a:.{digits}g}" != f"{b:.{digits}g}":
            return f"{a:.{digits}g}", f"{b:.{digits}g}"
    return repr(float(a)), repr(float(b))


def _probabilities(log_probabilities: mx.array) -> NDArray[np.float64]:
    return np.exp(np.array(log_probabilities, dtype=np.float64))


def _told_shares(
    likely: NDArray[np.float64], expected: NDArray[np.float64], got: NDArray[np.float64]
) -> dict[str, list[float] | list[int] | int]:
    """Return the shares of all tokens, or of those that are furthest off."""
    off = np.abs(got - expected)
    is_long = len(likely) > MAX_TOKENS
    kept = (
        np.sort(np.argsort(-off, kind="stable")[:MAX_TOKENS])
        if is_long
        else np.arange(len(likely))
    )
    return {
        "tokens": kept.tolist(),
        "num_tokens": len(likely),
        "probabilities": likely[kept].round(3).tolist(),
        "expected": expected[kept].round(3).tolist(),
        "got": got[kept].round(3).tolist(),
    }


def _shares(ids: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the share of each token among the ids of each row.

    Args:
        ids: Token ids, one per row in turn.
        shape: Number of rows, number of tokens.
    """
    num_rows, num_tokens = shape
    turns = ids.reshape(-1, num_rows)
    counts = [np.bincount(row, minlength=num_tokens) for row in turns.T]
    return np.array(counts) / len(turns)
