"""The kernels of the reference without MLX, compiled with sanitizers.

Each program in tests/course/kernels checks some kernels against plain loops, at sizes
around those of a register and at sizes drawn from seeds, in arrays that end where
memory ends. By hand it can run longer: `all matvec 100000 7` runs 100000 rounds from
seed 7 on, and the last seed that it prints reproduces a failure.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tiny_llm_course.extension.programs import COMPILER, Program
from tiny_llm_course.extension.sanitizing import OPTIONS, SANITIZERS
from tiny_llm_course.extension.sources import include_path
from tiny_llm_course.places import REFERENCE_KERNELS

FOLDER = Path(__file__).with_name("kernels")
HEADERS = (*include_path(REFERENCE_KERNELS), FOLDER)

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")

ALL = FOLDER / "all.cpp"
NAMES = [path.stem for path in sorted(FOLDER.glob("*.cpp")) if path != ALL]
PROGRAMS = {
    kind: Program(ALL, HEADERS, kind, (*OPTIONS, *WARNINGS, *sanitizer))
    for kind, sanitizer in SANITIZERS.items()
}

LONG = pytest.mark.long

ARM = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64")
"""Packages of Debian: g++-aarch64-linux-gnu and qemu-user."""

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no compiler for C++"),
    pytest.mark.timeout(900),
]


@pytest.mark.parametrize(
    ("instructions", "watched"),
    [("auto", "0"), pytest.param("avx2", "0", marks=LONG), ("portable", "1")],
    ids=str,
)
@pytest.mark.parametrize("kind", ["memory", pytest.param("threads", marks=LONG)])
@pytest.mark.parametrize("name", NAMES)
def test_kernels_are_right_and_stay_in_their_arrays(
    name: str, kind: str, instructions: str, watched: str
) -> None:
    """That includes runs in which threads interfere, as on a busy machine.

    A processor without AVX2 takes the best path that it has, and says so.
    """
    chosen = {"TINY_LLM_INSTRUCTIONS": instructions, "TINY_LLM_WATCH": watched}
    environment = {**os.environ, **chosen}

    ran = subprocess.run(
        [str(PROGRAMS[kind].compiled()), name],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr[-2000:]) == (0, ""), ran.stdout[-500:]
    assert ran.stdout.endswith("right\n")
    if name == "matvec" and instructions in {"portable", *_flags()}:
        assert f"{instructions}: all" in ran.stdout


def _flags() -> set[str]:
    """Return what Linux says that the processor has."""
    path = Path("/proc/cpuinfo")
    return set(path.read_text().split()) if path.exists() else set()


@LONG
@pytest.mark.skipif(None in ARM, reason="there is no compiler or emulator for ARM")
@pytest.mark.parametrize("instructions", ["neon", "neon_dotprod"])
@pytest.mark.parametrize("name", ["attention", "matmul", "matvec"])
def test_kernels_are_right_on_arm(name: str, instructions: str) -> None:
    """In an emulator, with few of the cases that are drawn."""
    compiler, emulator = map(str, ARM)
    options = ("-std=c++20", "-O1", "-static", "-pthread", *WARNINGS)
    program = Program(FOLDER / f"{name}.cpp", HEADERS, "arm", options, compiler)

    ran = subprocess.run(
        [emulator, "-cpu", "max", str(program.compiled()), "3"],
        env={**os.environ, "TINY_LLM_INSTRUCTIONS": instructions},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stdout[-6:]) == (0, "right\n"), ran.stderr[-2000:]
