"""What every lab shares: cases that are measured one by one, and kept as they come.

A lab that was stopped goes on with the cases that its CSV file does not have yet.
"""

import csv
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from matplotlib.figure import Figure

from tiny_llm_course.errors import CourseError
from tiny_llm_course.solution import Solution

Value = str | int | float
Row = Mapping[str, Value]
Show = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Lab:
    """An experiment.

    Attributes:
        name: As in `pdm run lab NAME`.
        question: What it finds out, in a sentence.
        keys: The columns that tell the cases apart.
        columns: The columns that are measured.
        cases: Returns the cases, all of them or a few that show the same.
        measure: Returns the rows of one case, on the solution under test.
        summary: Boils the rows down to the table on the screen.
        draw: Makes the figure.
    """

    name: str
    question: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    cases: Callable[[bool], Sequence[Row]]
    measure: Callable[[Row, Solution], Iterable[Row]]
    summary: Callable[[Sequence[Row]], Sequence[Row]]
    draw: Callable[[Sequence[Row]], Figure]

    def file(self, folder: Path) -> Path:
        """Return where the rows are kept."""
        return folder / f"{self.name}.csv"


def run(
    lab: Lab, solution: Solution, folder: Path, show: Show, *, quick: bool
) -> list[Row]:
    """Measure what is not measured yet, and draw the figure of all there is.

    Args:
        lab: The experiment.
        solution: Whose code is measured.
        folder: Gets NAME.csv, NAME.json (command, machine, date), NAME.svg, NAME.png.
        show: Is told how many cases are done, of how many, and which one is next.
        quick: Only a few cases.

    Raises:
        CourseError: The folder holds a file of that name that is not of this lab.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cases = lab.cases(quick)
    rows = read(lab, folder)
    done = {_key(lab, row) for row in rows}
    for number, case in enumerate(cases):
        show(number, len(cases), ", ".join(map(str, case.values())))
        if _key(lab, case) not in done:
            measured = [{**case, **row} for row in lab.measure(case, solution)]
            _append(lab, folder, measured)
    show(len(cases), len(cases), "")
    rows = read(lab, folder)
    _describe(lab, folder, quick=quick)
    figure = lab.draw(rows)
    for kind in ("svg", "png"):
        figure.savefig(folder / f"{lab.name}.{kind}", dpi=160)
    return rows


def read(lab: Lab, folder: Path) -> list[Row]:
    """Return the rows that an earlier run has kept.

    Raises:
        CourseError: The file has other columns.
    """
    path = lab.file(folder)
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != (*lab.keys, *lab.columns):
            raise CourseError(
                f"{path}: expected the columns {', '.join((*lab.keys, *lab.columns))}; "
                "give another folder with --out"
            )
        return [{name: _value(text) for name, text in row.items()} for row in reader]


def _append(lab: Lab, folder: Path, rows: Sequence[Row]) -> None:
    """Keep the rows of one case, in one write."""
    path = lab.file(folder)
    is_new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, (*lab.keys, *lab.columns), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def _describe(lab: Lab, folder: Path, *, quick: bool) -> None:
    """Write down beside the rows where they come from."""
    content = {
        "command": f"pdm run lab {lab.name}" + (" --quick" if quick else ""),
        "machine": f"{platform.system()} {platform.machine()}",
        "date": date.today().isoformat(),
    }
    path = folder / f"{lab.name}.json"
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _key(lab: Lab, row: Row) -> tuple[str, ...]:
    """Return what tells a case from others, as text: so it is in the file."""
    return tuple(str(row[name]) for name in lab.keys)


def _value(text: str) -> Value:
    """Read a number where there is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
