"""What is timed: a few variants of one operation, interleaved, on the same numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tiny_llm_lab.records import Row
from tiny_llm_lab.timing import Step

MLX = "MLX"
TORCH = "PyTorch"
BUILT_IN = {MLX: "mx.fast", TORCH: "functional"}
"""The forms that a library has built in: `mx.fast` and `torch.nn.functional`."""

BY_HAND = "hand-written"
COMPILED = "compiled"

RMS = "RMSNorm"
LAYER = "LayerNorm"
LAYER_BY_VAR = "LayerNorm by x.var"
LAYER_BUILT_IN = "LayerNorm built in"
PARTIAL = "PartialRMSNorm"
RSQRT = "rsqrt, multiply"
ONE_OVER_ROOT = "1 / sqrt, multiply"
DIVIDED = "sqrt, divide"
COPY = "copy"

FORWARD = "forward"
BOTH = "both ways"
TRAINING = "training"

NUM_ELEMENTS = 2**22
"""The entries of the normalised array: 16 MiB in float32, more than a core's cache."""

EPS = 1e-5
SEED = 0


@dataclass(frozen=True)
class Case:
    """A set of variants that are timed together.

    Attributes:
        part: "norm", "root" or "model".
        library: `MLX` or `TORCH`.
        form: The form of the code: one of `BUILT_IN`, `BY_HAND` or `COMPILED`.
        dtype: The dtype of input, gain and result.
        width: Length D of the vectors.
        direction: `FORWARD`; `BOTH`, which is forward and backward; or `TRAINING`,
            which adds a step of Adam.
    """

    part: str
    library: str
    form: str
    dtype: str
    width: int
    direction: str

    @classmethod
    def of(cls, row: Row) -> "Case":
        """Read the case of a row."""
        part, library, form, dtype, direction = (
            str(row[name]) for name in ("part", "library", "form", "dtype", "direction")
        )
        return cls(part, library, form, dtype, int(row["width"]), direction)

    @property
    def shape(self) -> tuple[int, int]:
        """Return number and length of the vectors."""
        return NUM_ELEMENTS // self.width, self.width


@dataclass(frozen=True)
class Entrant:
    """One variant.

    Attributes:
        step: Computes it once, and evaluates the results.
        held_bytes: The size of its inputs, which exist before and after: the input, the
            gains, for the backward pass the gradient of the result; a model's weights
            and the optimizer's state.
        moved_bytes: The least number of bytes to read and write: `moved_bytes` below; 0
            if unknown.
    """

    step: Step
    held_bytes: int
    moved_bytes: int = 0


@dataclass(frozen=True)
class Contest:
    """The variants of a case, ready to run.

    Attributes:
        entrants: By name. The others are compared with the first.
        peak_bytes: Runs a step, and returns its peak memory beyond what was held
            before.
    """

    entrants: Mapping[str, Entrant]
    peak_bytes: Callable[[Step], int]


def moved_bytes(direction: str, array_bytes: int) -> int:
    """Count the bytes that a norm has to read and write.

    Forward, it reads x and writes y. Backward, it reads x and the gradient of y, and
    writes the gradient of x. The gains are left out: they are as small as one vector.
    A copy moves as much as a norm's forward pass.
    """
    return array_bytes * {FORWARD: 2, BOTH: 5}[direction]


def num_learned(variant: str) -> int:
    """Return how many learned vectors a norm has: a gain, and LayerNorm a bias."""
    return 2 if variant.startswith(LAYER) else 1
