"""Checks of Python, the compiler, and the files that come with the course."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.doctor.finding import COMPILER, Finding, how_to_install, program
from tiny_llm_course.doctor.libraries import pdm_install

# `tiny_llm_course.checkpoint` has this path as well, but does not load without MLX.
EMBEDDED = Path(__file__).parents[1] / "checkpoint" / "embedded"
CHECKPOINT_FILES = (
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
)


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    """Compare this Python with the versions that the lock files cover."""
    found = ".".join(map(str, version))
    if (3, 11) <= version < (3, 15):
        return Finding("Python", "ok", found, say("doctor.python"))
    remedy = say("doctor.other_python")
    return Finding("Python", "fail", found, say("doctor.python"), remedy)


def check_checkpoint() -> Finding:
    """Look for the files of the embedded model."""
    missing = [name for name in CHECKPOINT_FILES if not (EMBEDDED / name).is_file()]
    if missing:
        return Finding(
            say("doctor.subjects.model"),
            "fail",
            say("doctor.missing", names=", ".join(missing)),
            say("doctor.no_model"),
            f"git checkout -- {os.path.relpath(EMBEDDED)}",
        )
    size_bytes = sum((EMBEDDED / name).stat().st_size for name in CHECKPOINT_FILES)
    return Finding(
        say("doctor.subjects.model"),
        "ok",
        say("doctor.embedded", megabytes=size_bytes / 1e6),
        say("doctor.model"),
    )


def check_compiler() -> Finding:
    """Look for a compiler that takes C++20."""
    compiler = find_compiler()
    if compiler:
        meaning = say("doctor.compiler")
        version = first_line(compiler, "--version")
        return Finding(say("doctor.subjects.compiler"), "ok", version, meaning)
    return Finding(
        say("doctor.subjects.compiler"),
        "note",
        say("doctor.no_cpp20"),
        say("doctor.no_compiler"),
        how_to_install(COMPILER),
    )


def find_compiler() -> str | None:
    """Return the path of a compiler that takes C++20."""
    for name in filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++")):
        version = first_line(name, "--version")
        if version and first_line(name, "-std=c++20", "-x", "c++", "-E", os.devnull):
            return shutil.which(name)
    return None


def check_cmake() -> Finding:
    """Look for CMake, which is installed with the packages of the course."""
    cmake = program("cmake")
    version = first_line(cmake, "--version") if cmake else ""
    meaning = say("doctor.cmake")
    if version:
        return Finding("CMake", "ok", version, meaning)
    return Finding("CMake", "note", say("doctor.none"), meaning, pdm_install())


def first_line(name: str, *arguments: str) -> str:
    """Return the first line that a program prints, or "" if it is missing or fails.

    macOS has stubs that offer to install the real program: they fail.
    """
    path = shutil.which(name)
    if path is None:
        return ""
    ran = subprocess.run(
        [path, *arguments], capture_output=True, text=True, check=False
    )
    return ran.stdout.partition("\n")[0] if ran.returncode == 0 else ""


def describe_cpu() -> str:
    """Describe the computer in a few words."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = [line for line in lines if line.startswith("model name")]
        model = names[0].partition(": ")[2] if names else model
    return f"{platform.system()}, {os.cpu_count()} cores, {model}"
