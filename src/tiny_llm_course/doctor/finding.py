"""The result of one check of the machine."""

import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tiny_llm_course.catalogue import say

OPENBLAS = "openblas"
COMPILER = "compiler"
"""What the system's package manager brings, as the catalogue has it."""

# The names of a package differ from one package manager to the next.
INSTALL = {
    "apt-get": {
        OPENBLAS: "sudo apt-get install libopenblas0-pthread",
        COMPILER: "sudo apt-get install g++",
    },
    "dnf": {
        OPENBLAS: "sudo dnf install openblas-threads",
        COMPILER: "sudo dnf install gcc-c++",
    },
    "pacman": {
        OPENBLAS: "sudo pacman -S openblas",
        COMPILER: "sudo pacman -S gcc",
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
    """Return the command that installs OPENBLAS or COMPILER on this machine."""
    if platform.system() == "Darwin" and package == COMPILER:
        return "xcode-select --install"
    for manager, commands in INSTALL.items():
        if shutil.which(manager) and package in commands:
            return commands[package]
    return say("doctor.install", package=say(f"doctor.packages.{package}"))


def program(name: str) -> str | None:
    """Return the path of a program in this environment, or else on the PATH."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)
