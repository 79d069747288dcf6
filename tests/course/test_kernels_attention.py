"""The kernels of attention, compiled by themselves, with sanitizers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "course" / "kernels" / "attention.cpp"
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")

COMPILER = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)

needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="there is no compiler for C++ on this machine"
)


@pytest.fixture(scope="module", params=["address,undefined", "thread"])
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Compile the checks of the kernels."""
    path = tmp_path_factory.mktemp("kernels") / "attention"
    sanitizers = (f"-fsanitize={request.param}", "-fno-sanitize-recover=all")
    includes = f"-I{ROOT / 'src' / 'extensions_ref'}"
    options = ("-std=c++20", "-O1", "-g", "-pthread", *WARNINGS, *sanitizers, includes)
    subprocess.run([str(COMPILER), *options, str(PROGRAM), "-o", str(path)], check=True)
    return path


@needs_compiler
@pytest.mark.parametrize("instructions", ["auto", "portable"])
def test_attention_kernels_are_right_and_stay_in_their_arrays(
    program: Path, instructions: str
) -> None:
    environment = {**os.environ, "TINY_LLM_INSTRUCTIONS": instructions}
    run = subprocess.run(
        [str(program)], env=environment, capture_output=True, text=True, check=False
    )

    assert (run.returncode, run.stdout[-500:] + run.stderr[-2000:]) == (
        0,
        "94095 numbers are right\n",
    )
