"""The result of one check of the machine."""

import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# The names of a package differ from one package manager to the next.
INSTALL = {
    "apt-get": {
        "OpenBLAS": "sudo apt-get install libopenblas0-pthread",
        "a C++ compiler": "sudo apt-get install g++",
    },
    "dnf": {
        "OpenBLAS": "sudo dnf install openblas-threads",
        "a C++ compiler": "sudo dnf install gcc-c++",
    },
    "pacman": {
        "OpenBLAS": "sudo pacman -S openblas",
        "a C++ compiler": "sudo pacman -S gcc",
    },
}


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Args:
        subject: What was checked.
        state: "ok"; "note" if Week 1 works without it; "fail" if it does not.
        found: What the check has found.
        meaning: What that means for the course.
        remedy: What to do, or an empty string.
    """

    subject: str
    state: Literal["ok", "note", "fail"]
    found: str
    meaning: str
    remedy: str = ""


def how_to_install(package: str) -> str:
    """Return the command that installs `package` on this machine."""
    if platform.system() == "Darwin" and package == "a C++ compiler":
        return "xcode-select --install"
    for manager, commands in INSTALL.items():
        if shutil.which(manager) and package in commands:
            return commands[package]
    return f"install {package} with the package manager of this system"


def program(name: str) -> str | None:
    """Return the path of a program in this environment, or else on the PATH."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)
