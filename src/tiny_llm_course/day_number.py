"""The number of a day in its week: 1, 2, 3, or on the GPU's own track G1, G2, G3."""

import re
from typing import Self

_TRACK = 1000
"""Added to the days of the track, so that they come after all others."""


class DayNumber(int):
    """A number that is written as the course counts its days.

    Args:
        written: As a learner writes it, or the number itself.

    Raises:
        ValueError: It is no number of a day.
    """

    def __new__(cls, written: int | str) -> Self:
        """Read it."""
        if isinstance(written, int):
            return super().__new__(cls, written)
        found = re.fullmatch(r"([Gg]?)(\d{1,3})", written)
        if not found:
            raise ValueError(written)
        return super().__new__(cls, int(found[2]) + _TRACK * bool(found[1]))

    @property
    def is_on_track(self) -> bool:
        """Whether it is a day of the GPU's track."""
        return self >= _TRACK

    @property
    def plain(self) -> int | str:
        """What programs are told: a number where it is one."""
        return str(self) if self.is_on_track else int(self)

    def __repr__(self) -> str:
        """Write it."""
        return f"G{self - _TRACK}" if self.is_on_track else int.__repr__(self)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        """Write it into a sentence."""
        return format(str(self), spec) if self.is_on_track else super().__format__(spec)
