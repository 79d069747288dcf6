"""Install PyTorch's CPU build on Linux, where the build on PyPI brings CUDA along.

`pdm install` runs this last. The tests compare with PyTorch; no solution and no model
needs it. On Linux the lock files leave it out: CPU builds are not on
PyPI, and a lock file cannot say "from there, or else from here".
"""

import importlib.util
import platform
import subprocess
import sys
from importlib import metadata

from tiny_llm_course.catalogue import say

TORCH = "2.13.0"
# PyPI takes no version with a "+", so this is never the build that brings CUDA.
CPU_BUILD = f"torch=={TORCH}+cpu"
CPU_BUILDS = "--extra-index-url=https://download.pytorch.org/whl/cpu"


def main() -> int:
    """Install PyTorch if the tests are installed and it is missing."""
    tests_are_installed = importlib.util.find_spec("pytest") is not None
    if platform.system() != "Linux" or not tests_are_installed or is_installed():
        return 0
    tell("cpu_build", version=TORCH)
    # pip's own configuration comes first: the machine may be offline.
    if pip_install(CPU_BUILD, quiet=True) or pip_install(
        CPU_BUILD, CPU_BUILDS, quiet=True
    ):
        return 0
    tell("no_cpu_build")
    if pip_install(f"torch=={TORCH}"):
        return 0
    tell("not_installed")
    return 1


def is_installed() -> bool:
    """Tell whether this version of PyTorch is installed, in any build."""
    try:
        return metadata.version("torch").split("+")[0] == TORCH
    except metadata.PackageNotFoundError:
        return False


def pip_install(*arguments: str, quiet: bool = False) -> bool:
    """Run pip in this environment, and tell whether it succeeded."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", *arguments]
    errors = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, check=False, stderr=errors).returncode == 0


def tell(key: str, **values: str) -> None:
    """Print a line at once, before any output of pip."""
    print(f"torch: {say(f'commands.torch.{key}', **values)}", flush=True)
