"""Figures that the rows of a case give together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tiny_llm_lab.experiments.norm_speed.contest import COPY, Case
from tiny_llm_lab.records import Row
from tiny_llm_lab.timing import Spread


@dataclass(frozen=True)
class Result:
    """A case that was measured.

    Attributes:
        case: The case.
        rows: A row for each variant. The others are compared with the first.
    """

    case: Case
    rows: Mapping[str, Row]

    def number(self, variant: str, column: str) -> float:
        """Look up what was measured."""
        return float(self.rows[variant][column])

    def times_first(self, variant: str) -> Spread:
        """Return a variant's time divided by that of the first."""
        columns = ("times_first_q1", "times_first", "times_first_q3")
        return Spread(*(self.number(variant, column) for column in columns))

    def memory(self, variant: str) -> float:
        """Return the peak bytes, including what was held before."""
        columns = ("held_bytes", "peak_bytes")
        return sum(self.number(variant, column) for column in columns)

    def copy_share(self, variant: str) -> float:
        """Return the share of a copy's bandwidth that a variant reaches."""
        return self.number(variant, "gb_per_s") / self.number(COPY, "gb_per_s")

    def peak_in_inputs(self, variant: str) -> float:
        """Return the peak memory of a variant, in units of its input."""
        return self.number(variant, "peak_bytes") / self.number(COPY, "peak_bytes")


def results(rows: Sequence[Row]) -> list[Result]:
    """Group the rows by case."""
    by_case: dict[Case, dict[str, Row]] = {}
    for row in rows:
        by_case.setdefault(Case.of(row), {})[str(row["variant"])] = row
    return [Result(case, own) for case, own in by_case.items()]


def across(spreads: Sequence[Spread]) -> Spread:
    """Combine several cases: the median of medians, and the outermost quartiles."""
    return Spread(
        min(spread.low for spread in spreads),
        median(spread.middle for spread in spreads),
        max(spread.high for spread in spreads),
    )


def by_form(
    found: Sequence[Result], part: str
) -> Iterator[tuple[tuple[str, str, str, str], list[Result]]]:
    """Group the cases of a part that differ in their width only."""
    groups: dict[tuple[str, str, str, str], list[Result]] = {}
    for result in found:
        case = result.case
        key = (case.library, case.form, case.dtype, case.direction)
        if case.part == part:
            groups.setdefault(key, []).append(result)
    yield from groups.items()
