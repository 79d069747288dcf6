"""What can be timed: the rungs of the course, and its peers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Step = Callable[[], None]


class MissingError(Exception):
    """An engine is not there: not installed, or not written yet."""


@dataclass(frozen=True)
class Stored:
    """How an engine keeps a model in memory.

    Attributes:
        weights: In words, such as "4-bit".
        dtype: Of all that is not quantised, keys and values among it.
        bits: Width of a quantised weight, or None.
        group_size: Number of weights that share a scale and a bias.
        weight_bytes: What the weights take. None works it out from the rest.
    """

    weights: str
    dtype: str
    bits: int | None = None
    group_size: int = 64
    weight_bytes: int | None = None


class Engine(Protocol):
    """A model that is ready to be timed."""

    @property
    def stored(self) -> Stored:
        """How it keeps the model."""
        ...

    def prefill(self, num_tokens: int) -> Step:
        """Get ready to read a prompt, and to find its next token."""
        ...

    def generate(self, context: int) -> Step:
        """Get ready to take in one more token, the last one of `context`."""
        ...


@dataclass(frozen=True)
class Kind:
    """An engine that has not been started.

    Attributes:
        name: What the table calls it. None is the name of the solution.
        rung: Which of the solution's models, or "".
        module: Where its `build` is, in this package: `(model, solution) -> Engine`.
        option: What else `build` is told.
        has_own_blas: Whether the system's OpenBLAS would be in its way.
    """

    name: str | None
    rung: str
    module: str
    option: str = ""
    has_own_blas: bool = False

    @property
    def key(self) -> str:
        """What `--engine` calls it."""
        return self.rung.replace(" ", "") or f"{self.name}-{self.option}".strip("-")


KINDS = (
    Kind(None, "week 1", "ours", "week1"),
    Kind(None, "week 2", "ours", "week2"),
    Kind("mlx_lm", "", "peer_mlx_lm"),
    Kind("transformers", "", "peer_transformers", "float32", has_own_blas=True),
    Kind("transformers", "", "peer_transformers", "bfloat16", has_own_blas=True),
    Kind("llama.cpp", "", "peer_llama_cpp", "q4_0", has_own_blas=True),
)
