"""What is kept of each byte is enough to find every race, and to make none up."""

import subprocess
from pathlib import Path

from tiny_llm_course.metal.compiler import compile_
from tiny_llm_course.metal.headers import RUNTIME
from tiny_llm_course.metal.program import WARNINGS

SOURCE = Path(__file__).with_name("simulator") / "races_test.cpp"
NUM_TRIALS = 20_000


def test_races_are_those_of_a_history_that_forgets_nothing(tmp_path: Path) -> None:
    program = tmp_path / "races_test"
    sources = [SOURCE, RUNTIME / "races.cpp", RUNTIME / "shadow.cpp"]
    options = ["-std=c++20", "-O1", "-fsanitize=address,undefined", *WARNINGS]

    compile_(program, [*map(str, sources), f"-I{RUNTIME}", *options])
    ran = subprocess.run(
        [program, str(NUM_TRIALS)], capture_output=True, text=True, check=False
    )

    assert (ran.stdout, ran.stderr) == (f"{NUM_TRIALS} trials\n", "")
