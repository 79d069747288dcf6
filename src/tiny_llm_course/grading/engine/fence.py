"""What somebody else's code does without: our folder, the network, all the memory.

This keeps accidents small. It is no sandbox: the code still runs as whoever grades it,
and reads and writes what they can.
"""

import functools
import os
import resource
import shutil
import subprocess
from pathlib import Path

from tiny_llm_course.places import here

OPTION = "--scratch"
"""Of our pytest plugin: the folder to work in."""

MEMORY_BYTES = 16 * 2**30
"""Of data, where MLX computes on the CPU: three days of tests take 0.5 GB. Drivers of
GPUs reserve more than there is."""

CPU_S = 1800
"""Of one process, for all tests that are asked for."""

FILE_BYTES = 2**30

_LIMITS = {
    resource.RLIMIT_DATA: MEMORY_BYTES,
    resource.RLIMIT_CPU: CPU_S,
    resource.RLIMIT_FSIZE: FILE_BYTES,
    resource.RLIMIT_CORE: 0,
}


def is_strangers(folder: Path) -> bool:
    """Tell whether a solution is none of the checkout."""
    return not folder.is_relative_to(here().root)


def enter(scratch: Path, *, has_gpu: bool) -> None:
    """Work in an empty folder from here on, under limits that children inherit.

    Args:
        scratch: The folder.
        has_gpu: Whether MLX computes on a GPU here.
    """
    os.chdir(scratch)
    for kind, limit in _LIMITS.items():
        _, hard = resource.getrlimit(kind)
        lower = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        if kind != resource.RLIMIT_DATA or not has_gpu:
            resource.setrlimit(kind, (lower, lower))


@functools.cache
def without_network() -> tuple[str, ...]:
    """Return what to start a command with so that it has no network.

    That is nothing where the system cannot do it, as on macOS and in many containers.
    """
    unshare = shutil.which("unshare")
    command = (unshare, "--map-root-user", "--net", "--") if unshare else ()
    if not unshare:
        return ()
    tried = subprocess.run(
        [*command, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return command if tried.returncode == 0 else ()
