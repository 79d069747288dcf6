"""A fast matrix product for MLX on Linux: the system's OpenBLAS, if there is one."""

import ctypes
import os
import sys

# Where both exist (Fedora) the plain name is the library that uses one thread.
LIBRARIES = ("libopenblasp.so.0", "libopenblas.so.0")


def load_system_openblas() -> str | None:
    """Load OpenBLAS with global symbols, so that MLX finds its `cblas_sgemm` first.

    On Linux the wheel of MLX brings the reference BLAS, which is tens of times
    slower; `pdm run doctor` measures the difference. Symbols are bound when
    `mlx.core` is imported, so this has to come before. PyTorch imported later
    binds its float32 products to OpenBLAS as well, and loses about half of their
    speed: a program that is all PyTorch runs with TINY_LLM_BLAS=off.

    The environment variable TINY_LLM_BLAS names another library, or is "off".

    Returns:
        The name of the library, or None if there is none or it is not wanted.
    """
    wanted = os.environ.get("TINY_LLM_BLAS")
    if sys.platform != "linux" or wanted == "off":
        return None
    for name in (wanted,) if wanted else LIBRARIES:
        try:
            ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        return name
    return None
