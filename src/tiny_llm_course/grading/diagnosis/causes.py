"""Mistakes that an error proves by itself, whatever else a solution does."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx

from tiny_llm_course.catalogue import lines, say
from tiny_llm_course.grading.judgement.spots import Spot
from tiny_llm_course.grading.judgement.trial import Outcome
from tiny_llm_course.grading.judgement.verdict import RaisedEvidence

LEAST_SHARE = 0.5
"""Of the tests that fail, what has to fail by the error that is named."""

CHECKS = ("ValueError", "AssertionError", "TypeError")
"""What people raise whose check refuses an input."""


@dataclass(frozen=True)
class Cause:
    """What is behind an error.

    Attributes:
        kind: The key of its sentence.
        says: What the learner reads.
    """

    kind: str
    says: str

    @property
    def name(self) -> str:
        """How it is listed. The book has no place for it."""
        return f"error: {self.kind}"


def cause_of(outcomes: Sequence[Outcome]) -> Cause | None:
    """Return what the error proves that most of the failed tests end in.

    It is the first one that is told, for that is the one that is shown.
    """
    failed = [one.verdict.evidence for one in outcomes if one.verdict]
    causes = [_of_error(one) for one in failed if isinstance(one, RaisedEvidence)]
    if not failed or not isinstance(failed[0], RaisedEvidence) or causes[0] is None:
        return None
    alike = [one for one in causes if one and one.kind == causes[0].kind]
    return causes[0] if len(alike) >= LEAST_SHARE * len(failed) else None


def _of_error(error: RaisedEvidence) -> Cause | None:
    """Return what one error proves, if it has one reason only."""
    spot = error.spot
    if spot is None:
        return _by_text(error, None)
    if error.where:
        return _refused(error, spot)
    handed = _handed_on(spot)
    if names := error.nones & spot.parameters:
        listed = say("grading.and").join(f"`{one}`" for one in sorted(names))
        words = {"names": listed, "at": spot.at, "source": spot.source}
        return handed or _cause("none", **words)
    found = _by_text(error, spot)
    return handed if found and handed else found


def _refused(error: RaisedEvidence, spot: Spot) -> Cause | None:
    """Name the check of a solution that refuses what it should take."""
    if error.kind not in CHECKS or not spot.check:
        return None
    if handed := _handed_on(spot):
        return handed
    return _cause("own_check", at=spot.at, check=spot.check, values=_told(spot))


def _handed_on(spot: Spot) -> Cause | None:
    """Name the line that hands something wrong to another part, if it is one."""
    if not spot.callee:
        return None
    words = {"at": spot.handed_at, "callee": spot.callee, "source": spot.handed}
    return _cause("handed", **words, values=_told(spot))


def _told(spot: Spot) -> str:
    """Add what the variables of a check are."""
    return say("causes.values", values=spot.values) if spot.values else ""


def _by_text(error: RaisedEvidence, spot: Spot | None) -> Cause | None:
    """Name a cause by what an error says, and by the expression that raised it."""
    source = spot.source if spot else ""
    text = f"{error.kind}: {error.text}\n{source}"
    for entry in lines("causes.patterns"):
        key, _, pattern = entry.partition(" ")
        if found := re.search(pattern, text, re.DOTALL):
            at = say("causes.at", at=spot.at, source=source) if spot else ""
            words = {
                name: one.replace("'", "`") for name, one in found.groupdict().items()
            }
            if key == "of_an_array" and callable(getattr(mx, words["name"], None)):
                key = "function_of_mlx"
            return _cause(key, at=at, **words)
    return None


def _cause(kind: str, **words: str) -> Cause:
    sentence = say(f"causes.means.{kind}", **words)
    return Cause(kind, sentence[0].upper() + sentence[1:])
