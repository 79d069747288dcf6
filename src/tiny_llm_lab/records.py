"""The files of a lab: rows in NAME.csv, and where they come from in NAME.json."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from tiny_llm_course.doctor.system import describe_cpu
from tiny_llm_course.errors import CourseError

Value = str | int | float
Row = Mapping[str, Value]


@dataclass(frozen=True)
class Kept:
    """The files that runs of a lab have left in a folder.

    Attributes:
        folder: Where the files are.
        name: Their name, without the ending.
        keys: The columns that identify a case.
        columns: The columns that are measured.
    """

    folder: Path
    name: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def rows_file(self) -> Path:
        """The file of the rows."""
        return self.folder / f"{self.name}.csv"

    @property
    def about_file(self) -> Path:
        """The file that says where the rows come from."""
        return self.folder / f"{self.name}.json"

    def read(self) -> list[Row]:
        """Return the rows.

        Raises:
            CourseError: The file has other columns.
        """
        if not self.rows_file.exists():
            return []
        names = (*self.keys, *self.columns)
        with self.rows_file.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != names:
                raise CourseError(
                    f"{self.rows_file}: expected the columns {', '.join(names)}; "
                    "give another folder with --out"
                )
            return [{key: _value(text) for key, text in row.items()} for row in reader]

    def append(self, rows: Sequence[Row]) -> None:
        """Add the rows of one case, in one write."""
        is_new = not self.rows_file.exists()
        with self.rows_file.open("a", newline="", encoding="utf-8") as file:
            names = (*self.keys, *self.columns)
            writer = csv.DictWriter(file, names, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(rows)

    def key(self, row: Row) -> tuple[str, ...]:
        """Return the keys of a case as text, as in the file."""
        return tuple(str(row[name]) for name in self.keys)

    def about(self, command: str) -> Mapping[str, Value] | None:
        """Return the origin of the rows; None if there are none yet.

        Raises:
            CourseError: They come from another command, or their origin is unknown.
        """
        if not self.about_file.exists():
            if self.rows_file.exists():
                raise CourseError(
                    f"{self.rows_file}: expected {self.about_file.name} beside it, "
                    "which says where it is from; give another folder with --out"
                )
            return None
        about = json.loads(self.about_file.read_text(encoding="utf-8"))
        if about.get("command") != command:
            raise CourseError(
                f"{self.folder} holds results of `{about.get('command')}`, not of "
                f"`{command}`; give another folder with --out"
            )
        return about

    def describe(self, command: str, more: Mapping[str, Value]) -> Mapping[str, Value]:
        """Record where the rows come from, before the first one."""
        about = {
            "command": command,
            "machine": describe_cpu(),
            "date": date.today().isoformat(),
            **more,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(about, indent=2, ensure_ascii=False) + "\n"
        self.about_file.write_text(text, encoding="utf-8")
        return about


def four_digits(value: float) -> float:
    """Round a measurement to four significant digits, which are enough."""
    return float(f"{value:.4g}")


def _value(text: str) -> Value:
    """Convert a text to a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
