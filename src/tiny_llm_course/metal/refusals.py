"""What a source is refused for before it is compiled, because it is not Metal."""

from dataclasses import dataclass, field

from tiny_llm_course.catalogue import say


@dataclass(frozen=True)
class Refusal:
    """A place in a source that Metal's compiler would not accept.

    Args:
        kind: What it is, the entry of the catalogue's table `metal_language.refused`.
        file: `kernel.metal` for the body, `header.metal` for the header.
        line: From 1 on.
        values: What the sentence is filled in with.
    """

    kind: str
    file: str
    line: int
    values: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def sentence(self) -> str:
        """Why it is refused, and what to write instead."""
        return say(f"metal_language.refused.{self.kind}", **self.values)
