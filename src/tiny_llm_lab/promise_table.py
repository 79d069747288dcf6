"""A table of what a run is to reach, and what it has reached."""

from collections.abc import Sequence

from rich.table import Table

from tiny_llm_course.catalogue import say
from tiny_llm_lab.promise import Promise
from tiny_llm_lab.wording import compared, worded


def table_of_promises(found: Sequence[Promise]) -> Table:
    """Lay out promises, with what was compared where they say it."""
    table = Table(
        "", *(worded("columns", name) for name in ("to reach", "reached")), ""
    )
    with_how = any(hasattr(one, "how") for one in found)
    if with_how:
        table.add_column(worded("columns", "how"))
    verdicts = {True: "yes", False: "NO", None: "?"}
    for one in found:
        sign = "<=" if one.is_most else ">="
        reached = "" if one.reached is None else f"{one.reached:.4g}"
        cells = [worded("targets", one.what), f"{sign} {one.bound:g}", reached]
        verdict = verdicts[one.holds]
        cells.append(verdict if one.holds is None else say(f"lab.{verdict.lower()}"))
        if with_how:
            cells.append(compared(str(getattr(one, "how", ""))))
        table.add_row(*cells)
    return table
