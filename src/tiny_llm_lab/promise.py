"""A figure that a run is to reach."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Promise:
    """A figure to reach.

    Attributes:
        what: A description in words.
        bound: The figure to reach.
        is_most: Whether the bound is a maximum. Otherwise it is a minimum.
        reached: The measured figure. None if something needed for it is missing.
    """

    what: str
    bound: float
    is_most: bool
    reached: float | None

    @property
    def holds(self) -> bool | None:
        """Whether it is met; None if that is unknown."""
        if self.reached is None:
            return None
        if self.is_most:
            return self.reached <= self.bound
        return self.reached >= self.bound
