"""The worked examples of Week 2: right, inside their arrays, timed and disassembled."""

import csv
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from tiny_llm_course.extension.programs import COMPILER, Program
from tiny_llm_course.extension.sanitizing import OPTIONS, SANITIZERS
from tiny_llm_course.places import WORKED_EXAMPLES
from tiny_llm_course.solution import load_solution
from tiny_llm_lab.commands.lab import command
from tiny_llm_lab.experiments import inner_loops, worked_examples
from tiny_llm_lab.experiments.inner_loops import inner_loop
from tiny_llm_lab.experiments.worked_examples import HEADERS, rows_of

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")

needs_a_compiler = pytest.mark.skipif(
    COMPILER is None, reason="there is no compiler for C++"
)


@pytest.mark.long
@needs_a_compiler
@pytest.mark.parametrize(
    "name", ["three_loops", "byte_matrix", "byte_product", "passes", "log_sum_exp"]
)
def test_an_example_is_right_and_stays_in_its_arrays(name: str) -> None:
    """Each rung is compared with the formula before any is timed."""
    options = (*OPTIONS, *WARNINGS, *SANITIZERS["memory"])
    one = Program(WORKED_EXAMPLES / f"{name}.cpp", HEADERS, "worked-memory", options)

    ran = subprocess.run(
        [one.compiled(), "--brief"], capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout


WRONG = {
    "byte_matrix": ("dot - zero * x.sum", "dot", "bytes: row 0 is"),
    "passes": ("+= one * one", "+= one", "blend, one loop: "),
    "log_sum_exp": (
        "part.total * exponential(part.top - all.top)",
        "part.total",
        "pieces, all cores: row 0 is",
    ),
}
"""Of an example, a text of its header, what takes its place, and what it then says."""


@needs_a_compiler
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rung_is_not_timed(name: str, tmp_path: Path) -> None:
    right, wrong, said = WRONG[name]
    text = (WORKED_EXAMPLES / f"{name}.h").read_text(encoding="utf-8")
    folder = tmp_path / "worked_examples"
    shutil.copytree(WORKED_EXAMPLES, folder)
    assert right in text
    (folder / f"{name}.h").write_text(text.replace(right, wrong), encoding="utf-8")
    compiled = tmp_path / "wrong"
    includes = [f"-I{one}" for one in (tmp_path, *HEADERS)]
    subprocess.run(
        [
            *(str(COMPILER), "-std=c++20", "-pthread", *includes),
            *(str(folder / f"{name}.cpp"), "-o", str(compiled)),
        ],
        check=True,
    )

    ran = subprocess.run(
        [compiled, "--brief"], capture_output=True, text=True, check=False
    )

    assert ran.returncode == 1
    assert ran.stdout.startswith(said)


PRINTED = """\
what                       numbers in               ns
a thousand cycles                               271.05
sums in lanes, 2 threads   memory          12345678.90
"""


def test_what_a_program_prints_becomes_rows() -> None:
    assert rows_of(PRINTED) == [
        {"what": "a thousand cycles", "numbers_in": "", "time_ns": 271.05},
        {
            "what": "sums in lanes, 2 threads",
            "numbers_in": "memory",
            "time_ns": 12345678.9,
        },
    ]


def test_the_lab_keeps_what_a_program_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worked_examples, "program", lambda *_: Printing(tmp_path))
    arguments = ["worked-examples", "--quick", "--out", str(tmp_path / "out")]

    ran = CliRunner().invoke(command, arguments)

    with (tmp_path / "out" / "worked-examples.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert ran.exit_code == 0, ran.output
    assert [(row["program"], row["what"]) for row in rows] == [
        ("three_loops", "a thousand cycles"),
        ("three_loops", "sums in lanes, 2 threads"),
    ]


@pytest.mark.parametrize(("built_for", "told"), [("plain", "all"), ("avx2", "avx2")])
def test_a_program_is_told_which_registers_to_use(
    built_for: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = f"what\n${{TINY_LLM_INSTRUCTIONS:-all}}{' ' * 40}1\n"
    program = Printing(tmp_path, printed)
    monkeypatch.delenv("TINY_LLM_INSTRUCTIONS", raising=False)
    monkeypatch.setattr(worked_examples, "program", lambda *_: program)
    case = {"program": "byte_product", "built_for": built_for}

    (row,) = worked_examples.measure(case, load_solution("ref"))

    assert row["what"] == told


class Printing:
    """A program that prints a text, such as `PRINTED`."""

    def __init__(self, folder: Path, text: str = PRINTED) -> None:
        self.path = folder / "printing"
        self.text = text

    def compiled(self) -> Path:
        self.path.write_text(f"#!/bin/sh\ncat <<END\n{self.text}END\n")
        self.path.chmod(0o755)
        return self.path


DISASSEMBLED = """\
0000000000001000 <worked::other(int)>:
    1000:\tadd    $0x1,%eax
    1003:\tjne    1000 <worked::other(int)>
    1005:\tret

0000000000002000 <worked::rows(float const*)>:
    2000:\tmov    %rdx,%r10
    2003:\ttest   %eax,%eax
    2005:\tjle    2020 <worked::rows(float const*)+0x20>
    2007:\taddss  %xmm0,%xmm1
    200a:\tcmp    %rdi,%rax
    200d:\tjne    2007 <worked::rows(float const*)+0x7>
    200f:\tmovss  %xmm1,(%rdx)
    2012:\tjg     2003 <worked::rows(float const*)+0x3>
    2020:\tret

0000000000003000 <worked::wide(int)>:
    3000:\tmovss  (%rax),%xmm0
    3003:\tjne    3000 <worked::wide(int)>

0000000000004000 <void tiny_llm::wide::run_avx512<worked::wide(int)::{lambda}>>:
    4000:\tcall   2240 <expf@plt>
    4003:\tjne    4000 <void tiny_llm::wide::run_avx512<worked::wide(int)>>
"""


def test_the_inner_loop_is_the_one_without_a_loop_in_it() -> None:
    found = inner_loop(DISASSEMBLED, "rows")

    assert [one.name for one in found] == ["addss", "cmp", "jne"]
    assert found[0].operands == "%xmm0,%xmm1"


def test_of_several_copies_the_one_for_the_widest_registers_is_shown() -> None:
    """A call of a library is shown with its name, which says more than its address."""
    found = inner_loop(DISASSEMBLED, "wide")

    assert (found[0].name, found[0].operands) == ("call", "expf")


@pytest.mark.parametrize("name", ["missing", "row"])
def test_a_function_that_is_not_there_has_none(name: str) -> None:
    with pytest.raises(KeyError):
        inner_loop(DISASSEMBLED, name)


def test_a_template_is_found_by_what_it_is_made_for() -> None:
    head = "void worked::rows<12>(float const*)"
    disassembled = DISASSEMBLED.replace("worked::rows(float const*)", head)

    assert len(inner_loop(disassembled, "rows<12>")) == 3
    with pytest.raises(KeyError):
        inner_loop(disassembled, "rows<1>")


@pytest.mark.parametrize("program", inner_loops.FUNCTIONS)
def test_each_function_of_the_listing_is_in_its_example(program: str) -> None:
    text = (WORKED_EXAMPLES / f"{program}.h").read_text(encoding="utf-8")
    names = [name.partition("<")[0] for name in inner_loops.FUNCTIONS[program]]

    assert all(f" {name}(\n" in text or f" {name}(const" in text for name in names)


def test_no_two_functions_of_the_listing_have_one_name() -> None:
    names = [name for own in inner_loops.FUNCTIONS.values() for name in own]

    assert len(set(names)) == len(names)
