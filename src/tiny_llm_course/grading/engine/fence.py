"""Limits for other people's code: an empty folder, no network, limited memory.

This limits accidents. It is no sandbox: the code runs as the user who grades it, with
all of that user's permissions.
"""

import contextlib
import fcntl
import functools
import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

from tiny_llm_course.places import here

OPTION = "--scratch"
"""An option of our pytest plugin: the folder to work in."""

MEMORY_BYTES = 16 * 2**30
"""Limit for data, where MLX computes on the CPU: three days of tests take 0.5 GB. GPU
drivers reserve more address space than there is memory."""

CPU_S = 1800
"""Limit for one process, which runs all the tests."""

FILE_BYTES = 2**30

_SET_FLAGS, _UP = 0x8914, 0x41
"""Of Linux: SIOCSIFFLAGS, and IFF_UP with IFF_RUNNING."""

_LIMITS = {
    resource.RLIMIT_DATA: MEMORY_BYTES,
    resource.RLIMIT_CPU: CPU_S,
    resource.RLIMIT_FSIZE: FILE_BYTES,
    resource.RLIMIT_CORE: 0,
}


def is_strangers(folder: Path) -> bool:
    """Tell whether a solution comes from outside the checkout."""
    return not folder.is_relative_to(here().root)


def enter(scratch: Path, *, has_gpu: bool) -> None:
    """Change to an empty folder, and set limits that child processes inherit.

    Args:
        scratch: The folder.
        has_gpu: Whether MLX computes on a GPU here.
    """
    os.chdir(scratch)
    raise_loopback()
    for kind, limit in _LIMITS.items():
        _, hard = resource.getrlimit(kind)
        lower = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        if kind != resource.RLIMIT_DATA or not has_gpu:
            resource.setrlimit(kind, (lower, lower))


def raise_loopback() -> None:
    """Let this machine talk to itself where it has no network, as servers do.

    A network that has been taken away comes with a loopback of its own, which is down.
    Where there is one already, or no right to it, nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    name = struct.pack("16sH14x", b"lo", _UP)
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket,
    ):
        fcntl.ioctl(any_socket, _SET_FLAGS, name)


@functools.cache
def without_network() -> tuple[str, ...]:
    """Return the prefix of a command line that takes the network away from it.

    The prefix is empty where the system has no such means, as on macOS and in many
    containers.
    """
    unshare = shutil.which("unshare")
    command = (unshare, "--map-root-user", "--net", "--") if unshare else ()
    if not unshare:
        return ()
    tried = subprocess.run(
        [*command, "true"], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return command if tried.returncode == 0 else ()
