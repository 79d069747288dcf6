"""Claims of others about the speed of norms, compared with the rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiny_llm_lab.experiments.norm_speed.contest import (
    BOTH,
    BY_HAND,
    DIVIDED,
    FORWARD,
    LAYER,
    LAYER_BUILT_IN,
    LAYER_BY_VAR,
    TRAINING,
)
from tiny_llm_lab.experiments.norm_speed.results import Result, across, by_form, results
from tiny_llm_lab.records import Row
from tiny_llm_lab.timing import Spread

DTYPE = "float32"


def saved_by(factor: float) -> float:
    """Convert a speed-up factor into the percentage of time that is saved."""
    return 100 * (1 - 1 / factor)


@dataclass(frozen=True)
class Claim:
    """A saving reported in a publication.

    Attributes:
        source: Who reports it, and of what.
        low: The least saving, in percent.
        high: The largest.
        part: The part of the lab that measures it.
        direction: Of the cases.
        variant: The slower or larger variant. The first variant of a case is the one
            that saves.
        form: The form of the cases, if not every form measures it.
        of_memory: Whether memory is saved, not time.
    """

    source: str
    low: float
    high: float
    part: str
    direction: str
    variant: str
    form: str = ""
    of_memory: bool = False

    @property
    def said(self) -> str:
        """Write the claim."""
        if self.low == self.high:
            return f"{self.low:.3g} %"
        return f"{self.low:g} to {self.high:g} %"

    def is_about(self, result: Result) -> bool:
        """Tell whether a case measures it."""
        case = result.case
        return (
            (case.part, case.direction, case.dtype)
            == (self.part, self.direction, DTYPE)
            and self.form in ("", case.form)
            and self.variant in result.rows
        )

    def seen(self, result: Result) -> Spread:
        """Return the saving in a case, in percent."""
        if self.of_memory:
            first = next(iter(result.rows))
            saved = saved_by(result.memory(self.variant) / result.memory(first))
            return Spread(saved, saved, saved)
        times = result.times_first(self.variant)
        return Spread(saved_by(times.low), saved_by(times.middle), saved_by(times.high))

    def verdict(self, seen: Spread) -> str:
        """Compare the claim with the measurement, as the notes say."""
        meets = seen.low <= self.high and seen.high >= self.low
        if seen.low <= 0 <= seen.high:
            return "cannot tell" if meets else "not seen"
        if seen.high < 0:
            return "opposite"
        if meets:
            return "seen"
        return "less" if seen.high < self.low else "more"


X7 = saved_by(7.7)

CLAIMS = (
    Claim("paper: whole models", 7, 64, "norm", FORWARD, LAYER),
    Claim("paper: whole models", 7, 64, "norm", BOTH, LAYER),
    Claim("paper: whole models", 7, 64, "model", TRAINING, LAYER),
    Claim("notes: beside x.var", X7, X7, "norm", FORWARD, LAYER_BY_VAR, BY_HAND),
    Claim("... beside layer_norm", X7, X7, "norm", FORWARD, LAYER_BUILT_IN, BY_HAND),
    Claim("notes: rsqrt", 5, 10, "root", FORWARD, DIVIDED),
    Claim("notes: model, forward", 8.7, 8.7, "model", FORWARD, LAYER),
    Claim("notes: model, backward", 11.1, 11.1, "model", BOTH, LAYER),
    Claim("notes: model, training", 6.9, 6.9, "model", TRAINING, LAYER),
    Claim("notes: model, memory", 3.6, 3.6, "model", TRAINING, LAYER, of_memory=True),
)
"""Claims about RMSNorm and LayerNorm, and one about roots. The notes cite them."""

PARTS = {"norm": "norm alone", "root": "norm alone", "model": "model"}


def beside_measurement(rows: Sequence[Row]) -> list[Row]:
    """Return every claim, with a row for each form that measures it."""
    found = results(rows)
    return [
        {
            "claim": claim.source,
            "saves": claim.said,
            "measured": f"{PARTS[claim.part]}, {direction}",
            "in": f"{library}, {form}",
            "here": f"{percent(seen.middle)} %",
            "spread": f"{percent(seen.low)} to {percent(seen.high)}",
            "so": claim.verdict(seen),
        }
        for claim in CLAIMS
        for (library, form, _, direction), own in by_form(
            [result for result in found if claim.is_about(result)], claim.part
        )
        for seen in [across([claim.seen(result) for result in own])]
    ]


def percent(saved: float) -> str:
    """Write a saving. Where RMSNorm takes twice the time, it is -100."""
    return f"{saved:.0f}" if abs(saved) >= 99.95 else f"{saved:.1f}"
