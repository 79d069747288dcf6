"""What can be timed: the variants of the course, and its peers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

Step = Callable[[], object]


class MissingError(Exception):
    """An engine is missing: not installed, or not written yet."""


@dataclass(frozen=True)
class Stored:
    """How an engine stores a model in memory.

    Attributes:
        weights: The format of the weights in words, such as "4-bit".
        dtype: The dtype of all that is not quantised, including keys and values.
        bits: Width of a quantised weight, or None.
        group_size: Number of weights that share a scale and a bias.
        weight_bytes: The size of the weights. None computes it from the rest.
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
        """How it stores the model."""
        ...

    def prefill(self, num_tokens: int) -> Step:
        """Prepare a step that reads a prompt and finds its next token."""
        ...

    def generate(self, context: int) -> Step:
        """Prepare a step that takes in one more token, the last one of `context`.

        Each further call of the step takes in the token after that.
        """
        ...


@dataclass(frozen=True)
class Kind:
    """An engine that has not been started.

    Attributes:
        name: Its name in the table. None is the name of the solution.
        variant: Which of the solution's models, or "".
        module: Where its `build` is, in this package: `(model, solution) -> Engine`.
        option: The option that `build` gets.
        has_own_blas: Whether the system's OpenBLAS would slow it down.
        kernels: The value of TINY_LLM_KERNELS in its process.
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
        """Its name for `--engine`."""
        return self.variant.replace(" ", "") or f"{self.name}-{self.option}".strip("-")


VARIANTS = (
    Kind(None, "week 1", "ours", "week1"),
    Kind(None, "cache", "ours", "cache"),
    Kind(None, "quantised", "ours", "quantised"),
    Kind(None, "kernels", "ours", "kernels", kernels="own"),
    Kind(None, "everything", "ours", "everything", kernels="own"),
    Kind(None, "week 3", "ours", "week3", kernels="own"),
)
"""The results of the course's days: all tokens computed anew, a cache, 4-bit weights,
products in C++, attention and the rest in C++, and a model that scores only the tokens
that it is asked for."""

PEERS = (
    Kind("mlx_lm", "", "peer_mlx_lm", "4bit-float32"),
    Kind("mlx_lm", "", "peer_mlx_lm", "4bit-bfloat16"),
    Kind("mlx_lm", "", "peer_mlx_lm", "float32"),
    Kind("transformers", "", "peer_transformers", "float32", has_own_blas=True),
    Kind("transformers", "", "peer_transformers", "bfloat16", has_own_blas=True),
    Kind("llama.cpp", "", "peer_llama_cpp", "q4_0", has_own_blas=True),
    Kind("onnxruntime", "", "peer_onnxruntime", "int4", has_own_blas=True),
    Kind("openvino", "", "peer_openvino", "int4-float32", has_own_blas=True),
    Kind("openvino", "", "peer_openvino", "int4-bfloat16", has_own_blas=True),
)

KINDS = VARIANTS + PEERS

ATTENTION = Kind(
    None, "attention", "attending", "attention", kernels="own", work=("attend",)
)
"""Attention alone, for one new token."""

MACHINE = Kind("machine", "", "machine", work=("read", "multiply"))
"""Not an engine: what the machine can do, interleaved with the engines."""


def names_of(kinds: Sequence[Kind]) -> list[str]:
    """Return the values of `--engine`: keys, and names of libraries."""
    libraries = [kind.name for kind in kinds if kind.name is not None]
    return list(dict.fromkeys([*libraries, *(kind.key for kind in kinds)]))


def chosen(names: Sequence[str]) -> list[Kind]:
    """Return the engines with these keys or names; all if no names are given."""
    return [
        kind
        for kind in (*KINDS, ATTENTION)
        if not names or {kind.key, kind.name} & set(names)
    ]
