"""What can be timed: the variants of the course, and its peers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

Step = Callable[[], object]


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
        """Get ready to take in one more token, the last one of `context`.

        Called again, the step takes in the token after that.
        """
        ...


@dataclass(frozen=True)
class Kind:
    """An engine that has not been started.

    Attributes:
        name: What the table calls it. None is the name of the solution.
        variant: Which of the solution's models, or "".
        module: Where its `build` is, in this package: `(model, solution) -> Engine`.
        option: What else `build` is told.
        has_own_blas: Whether the system's OpenBLAS would be in its way.
        kernels: What it has in TINY_LLM_KERNELS.
        work: The methods of the engine that are timed.
    """

    name: str | None
    variant: str
    module: str
    option: str = ""
    has_own_blas: bool = False
    kernels: str = "none"
    work: tuple[str, ...] = ("prefill", "generate")

    @property
    def key(self) -> str:
        """What `--engine` calls it."""
        return self.variant.replace(" ", "") or f"{self.name}-{self.option}".strip("-")


VARIANTS = (
    Kind(None, "week 1", "ours", "week1"),
    Kind(None, "cache", "ours", "cache"),
    Kind(None, "quantised", "ours", "quantised"),
    Kind(None, "kernels", "ours", "kernels", kernels="own"),
    Kind(None, "everything", "ours", "everything", kernels="own"),
)
"""What the days of the course come to: all tokens anew, a cache, weights of 4 bits, the
products in C++, and attention and all the rest in C++."""

PEERS = (
    Kind("mlx_lm", "", "peer_mlx_lm", "4bit-float32"),
    Kind("mlx_lm", "", "peer_mlx_lm", "4bit-bfloat16"),
    Kind("mlx_lm", "", "peer_mlx_lm", "float32"),
    Kind("transformers", "", "peer_transformers", "float32", has_own_blas=True),
    Kind("transformers", "", "peer_transformers", "bfloat16", has_own_blas=True),
    Kind("llama.cpp", "", "peer_llama_cpp", "q4_0", has_own_blas=True),
)

KINDS = VARIANTS + PEERS

ATTENTION = Kind(
    None, "attention", "attending", "attention", kernels="own", work=("attend",)
)
"""Attention alone, for one new token."""

MACHINE = Kind("machine", "", "machine", work=("read", "multiply"))
"""No engine: what the machine can do, measured in turn with the engines."""


def names_of(kinds: Sequence[Kind]) -> list[str]:
    """Return what `--engine` may be given: a key, or the name of a library."""
    libraries = [kind.name for kind in kinds if kind.name is not None]
    return list(dict.fromkeys([*libraries, *(kind.key for kind in kinds)]))


def chosen(names: Sequence[str]) -> list[Kind]:
    """Return the engines that names stand for; all if there are none."""
    return [
        kind
        for kind in (*KINDS, ATTENTION)
        if not names or {kind.key, kind.name} & set(names)
    ]
