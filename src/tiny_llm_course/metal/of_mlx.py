"""MLX's own `metal_kernel`, kept while grading puts its own function in that place."""

from typing import Any

import mlx.core as mx

METAL_KERNEL: Any = mx.fast.metal_kernel
"""As it is when this module is imported: that has to be before it is replaced."""
