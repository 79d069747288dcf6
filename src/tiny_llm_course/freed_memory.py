"""On Linux, memory that MLX frees stays in the process, for what is computed next.

MLX asks malloc for memory, and glibc's soon gives large blocks back to the system. What
comes next gets new pages, each filled with zeros when it is first touched: 40,000 of
them in a prompt of 1024 tokens.
"""

import ctypes
import sys

# From malloc.h.
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3

MOST_KEPT_BYTES = 128 << 20
"""What the 24 layers of Qwen2-0.5B return for a prompt of 1024 tokens is 88 MB."""

LARGEST_KEPT_BYTES = 32 << 20
"""Larger blocks go back at once. Some versions of glibc take no larger number."""


def keep_freed_memory() -> None:
    """Let malloc keep what is freed, up to a limit, on Linux."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_TRIM_THRESHOLD, MOST_KEPT_BYTES)
        libc.mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT_BYTES)
