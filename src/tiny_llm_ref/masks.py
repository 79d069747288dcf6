"""What says which keys a query may look at."""

from typing import Literal

import mlx.core as mx
from jaxtyping import Float

Mask = Float[mx.array, "..."] | Literal["causal"] | None
"""An array that is added to the scores, the name of the usual one, or nothing."""
