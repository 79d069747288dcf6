"""The ways in which a task is not done, each told in a few lines."""

import re
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.closeness import Truth, is_close
from tiny_llm_course.grading.judgement.predictions import nearness
from tiny_llm_course.grading.judgement.spots import Spot


@dataclass(frozen=True)
class ArrayEvidence:
    """A wrong array, and the truth by which it was judged."""

    got: mx.array
    truth: Truth

    def matches(self, other: object) -> bool:
        """Tell whether another array is the same, by the closeness that judged it."""
        if not isinstance(other, ArrayEvidence) or self.got.dtype != other.got.dtype:
            return False
        value = np.array(other.got.astype(mx.float32), dtype=np.float64)
        has_scale = value.shape == self.truth.value.shape
        # What is wrong may be larger than what is right, and is as imprecise as it is.
        scale = (
            np.maximum(self.truth.scale, np.abs(value))
            if has_scale
            else np.abs(value).max(initial=0.0)
        )
        return is_close(self.got, Truth(value, np.asarray(scale)))


@dataclass(frozen=True)
class SharesEvidence:
    """Wrong shares of the tokens in many draws.

    Attributes:
        got: The share of each token in each row.
        spread: How far chance moves it: one standard deviation.
        expected: Its probability.
    """

    got: NDArray[np.float64]
    spread: NDArray[np.float64]
    expected: NDArray[np.float64]

    @property
    def is_telling(self) -> bool:
        """Whether there was a choice: where nothing is left, token 0 is drawn."""
        return bool(np.any(self.got[:, 0] != 1.0))

    def matches(self, other: object) -> bool:
        """Tell whether other shares are the same, but for chance."""
        if not isinstance(other, SharesEvidence) or self.got.shape != other.got.shape:
            return False
        off = np.abs(self.got - other.got)
        return bool(np.all(off <= 5 * np.hypot(self.spread, other.spread)))


@dataclass(frozen=True)
class LogitsEvidence:
    """Wrong logits, of a model that need not be right to the last digits."""

    got: mx.array

    def matches(self, other: object) -> bool:
        """Tell whether other logits predict nearly the same."""
        if not isinstance(other, LogitsEvidence) or self.got.shape != other.got.shape:
            return False
        value = np.array(other.got.astype(mx.float32), dtype=np.float64)
        if not np.isfinite(value).all():
            return not bool(mx.isfinite(self.got).all())
        return nearness(self.got, value).is_near


@dataclass(frozen=True)
class TextEvidence:
    """Anything that is the same only when it is equal: a text, a count, an error.

    Attributes:
        got: What was seen.
        expected: What should have been, where that is known.
    """

    got: Any
    expected: Any = field(default=None, compare=False)

    def matches(self, other: object) -> bool:
        """Tell whether the other is equal."""
        return isinstance(other, TextEvidence) and is_equal(self.got, other.got)


def is_equal(a: object, b: object) -> bool:
    """Tell whether two results are equal, arrays where a number belongs included."""
    return bool(np.all(np.array(_plain(a) == _plain(b))))


def _plain(value: object) -> object:
    """Return what Python compares: MLX would convert a large number, and raises."""
    return np.array(value) if isinstance(value, mx.array) else value


@dataclass(frozen=True)
class RaisedEvidence:
    """An error that a solution raised: the same in kind and place, whatever the sizes.

    Attributes:
        kind: The name of its class.
        text: What it says.
        nones: The variables that are None where it came up, if it is about None.
        refuses: Of a check that its author wrote, the variables that it complains of.
        where: The module and the function of such a check.
        spot: The place in the solution. Two errors are alike that have others.
    """

    kind: str
    text: str
    nones: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    where: str = ""
    spot: Spot | None = field(default=None, compare=False, repr=False)

    @property
    def place(self) -> str:
        """What the text says without numbers and what it quotes: of MLX, the operation.

        So `[matmul] Last dimension of first input with shape (7,3)` is "matmul".
        """
        operation = re.match(r"\[(\w+)\]", self.text)
        return operation[1] if operation else re.sub(r"\d+|'[^']*'", "_", self.text)

    def matches(self, other: object) -> bool:
        """Tell whether another error is of this kind and comes from this place.

        Everybody words their own checks: those are alike that complain of one variable,
        unless it is one and the same check, which words each case as it does. And
        `a < 1` is not `b < 1`, though Python says the same of both.
        """
        if not isinstance(other, RaisedEvidence) or self.kind != other.kind:
            return False
        if self.nones and other.nones and not self.nones & other.nones:
            return False
        return self.place == other.place or self._is_reworded(other)

    def _is_reworded(self, other: "RaisedEvidence") -> bool:
        """Tell whether two checks complain of a variable, each in its own words."""
        return self.where != other.where and bool(self.refuses & other.refuses)

    def is_exactly(self, other: "RaisedEvidence") -> bool:
        """Tell whether it is so like another error that this cannot be chance."""
        has_same_nones = bool(self.nones & other.nones)
        has_same_text = self.text == other.text
        is_alike = has_same_text or has_same_nones or self._is_reworded(other)
        return is_alike and self.matches(other)


@dataclass(frozen=True)
class UnsteadyEvidence:
    """A result that is another one each time, which no known mistake explains."""

    def matches(self, _: object) -> bool:
        """Tell that it is like nothing else."""
        return False


@dataclass(frozen=True)
class PartsEvidence:
    """Several results of one call."""

    parts: tuple[ArrayEvidence | TextEvidence, ...]

    def matches(self, other: object) -> bool:
        """Tell whether each part of another result is the same."""
        return (
            isinstance(other, PartsEvidence)
            and len(self.parts) == len(other.parts)
            and all(
                own.matches(one)
                for own, one in zip(self.parts, other.parts, strict=True)
            )
        )


Evidence = (
    ArrayEvidence
    | LogitsEvidence
    | PartsEvidence
    | RaisedEvidence
    | SharesEvidence
    | TextEvidence
    | UnsteadyEvidence
)


class VerdictError(Exception):
    """What a graded test raises when it does not pass. Its text is for the learner.

    Args:
        message: What the learner reads.
        evidence: What was seen, to compare with what known mistakes do.
    """

    status = "wrong"

    def __init__(self, message: str, evidence: Evidence | None = None) -> None:
        super().__init__(message)
        self.evidence = evidence


class NotStartedError(VerdictError):
    """The task still has its stub, or its file or name does not exist."""

    status = "not started"


class WrongError(VerdictError):
    """The solution answered, and the answer is wrong."""


class BrokenError(VerdictError):
    """The solution raised an exception."""


class BrokenFileVerdictError(BrokenError):
    """A file cannot be imported, or the kernels cannot be compiled."""

    status = "broken"


class BreakpointError(Exception):
    """Raised by `breakpoint()` where nobody can type."""


class StepLimitError(Exception):
    """Raised by a fake model: the loop that calls it does not stop."""
