"""The kernels of the reference by themselves, compiled with sanitizers.

Each program in tests/course/kernels checks some kernels against plain loops, at sizes
around those of a register and at sizes drawn from seeds, in arrays that end where memory
ends. By hand it goes on for longer, and the last seed that it prints is that of what it
found: `matvec 100000 7` does 100000 rounds from seed 7 on.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted((ROOT / "tests" / "course" / "kernels").glob("*.cpp"))
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")

# Loops become vectors as in the module.
OPTIONS = ("-std=c++20", "-O1", "-ftree-vectorize", "-g", "-pthread", *WARNINGS)

COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)

pytestmark = pytest.mark.skipif(
    COMPILER is None, reason="there is no compiler for C++ on this machine"
)


@pytest.fixture(
    scope="module",
    params=[(path, checked) for path in PROGRAMS for checked in ("memory", "threads")],
    ids=lambda param: f"{param[0].stem}-{param[1]}",
)
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Compile a program with the sanitizers that watch memory, or those for threads."""
    source, checked = request.param
    kind = "address,undefined" if checked == "memory" else "thread"
    sanitizers = (f"-fsanitize={kind}", "-fno-sanitize-recover=all")
    path = tmp_path_factory.mktemp("kernels") / source.stem
    includes = f"-I{ROOT / 'src' / 'extensions_ref'}"
    arguments = [*OPTIONS, *sanitizers, includes, str(source), "-o", str(path)]
    subprocess.run([str(COMPILER), *arguments], check=True)
    return path


@pytest.mark.parametrize("instructions", ["auto", "portable"])
def test_kernels_are_right_and_stay_in_their_arrays(
    program: Path, instructions: str
) -> None:
    environment = {**os.environ, "TINY_LLM_INSTRUCTIONS": instructions}

    ran = subprocess.run(
        [str(program)], env=environment, capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stderr[-2000:]) == (0, ""), ran.stdout[-500:]
    assert ran.stdout.endswith("right\n")
