"""Metal kernels, run and judged by a simulator of a GPU."""
