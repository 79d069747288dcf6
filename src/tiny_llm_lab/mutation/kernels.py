"""Runs the tests of a day on mutants of its kernels in C++: all compiled at once."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.preparing import prepare
from tiny_llm_course.extension.programs import COMPILER
from tiny_llm_course.extension.sanitizing import FOLDER as PROGRAMS
from tiny_llm_course.extension.sources import sources
from tiny_llm_course.places import (
    REFERENCE,
    REFERENCE_KERNELS,
    ROOT,
    SHARED_KERNELS,
    Checkout,
)
from tiny_llm_course.syllabus import Day
from tiny_llm_lab.mutation import outcomes
from tiny_llm_lab.mutation.cpp import Header
from tiny_llm_lab.mutation.cpp_places import SUPPORT
from tiny_llm_lab.mutation.kernel_worker import NOT_SEEN
from tiny_llm_lab.mutation.outcomes import Tried
from tiny_llm_lab.mutation.proof import MutantScore, score

EQUIVALENT = Path(__file__).with_name("equivalent_cpp.toml")
WORKER = "tiny_llm_lab.mutation.kernel_worker"
SCRATCH = Checkout(ROOT / ".cache" / "mutants")
BUILD = "from tiny_llm_course.commands.build_ext import command; command()"
HEADERS = {
    4: ("matvec.h", "int8.h", "matvec_int8.h", "matvec_avx512.h"),
    5: ("matmul.h", "matmul_int8.h", "matmul_packing.h", "matmul_tiles.h"),
    6: ("collected.h", "attention.h"),
    7: ("fused.h", "layer.h"),
}
"""What is written on which day of Week 2, with the files that are all answer.

Three are left out, for processors with AVX2, with AVX-VNNI, and with NEON. Of the
others, nothing that is for AVX-512 has mutants on a processor without it.
"""

STORE = """#include "kernels/mutants.h"
int tiny_llm_chosen_mutant = 0;
signed char tiny_llm_seen_mutants[{size}];
"""
_PLACE = re.compile(r"^\S*/([\w.]+):(\d+):(\d+): +(error|required from)", re.MULTILINE)


def prove(days: Sequence[Day]) -> Iterator[MutantScore]:
    """Run the tests of each day on all mutants of what it asks for in C++.

    Raises:
        CourseError: The reference does not pass, or there is no compiler.
    """
    own = [day for day in days if day.week == 2 and day.number in HEADERS]
    if not own:
        return
    folder, headers = solution(own)
    prepare(own, REFERENCE.name)  # known mistakes take its place
    for day in own:
        name = f"week {day.week}, day {day.number}"
        of_day = [headers[one].mutants for one in HEADERS[day.number]]
        keys = {one.number: one.key for mutants in of_day for one in mutants}
        yield score(name, tried(day, folder, keys), equivalent(HEADERS[day.number]))


def equivalent(files: Collection[str]) -> set[str]:
    """Return the keys of the mutants of some headers that keep every promise."""
    groups = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["groups"]
    listed = (key for group in groups for key in group["mutants"])
    return {key for key in listed if key.partition(":")[0] in files}


def tried(day: Day, folder: Path, keys: dict[int, str]) -> list[Tried]:
    """Run mutants with the instructions of this processor, then with those of any.

    Args:
        day: Whose tests they have to fail.
        folder: The solution that has them.
        keys: By number.

    Returns:
        What came of each. Of those that no test comes to, there is nothing.
    """
    known: dict[int, Tried] = {}
    for settings in ({}, {"TINY_LLM_INSTRUCTIONS": "portable"}):
        left = [one for one in keys if one not in known or _passes(known[one])]
        if not left:
            break
        found = {int(one.key): one for one in _work(day, folder, left, settings)}
        known |= {
            number: one for number, one in found.items() if one.status != NOT_SEEN
        }
    return [replace(one, key=keys[number]) for number, one in known.items()]


def _passes(one: Tried) -> bool:
    """Tell whether a mutant has not been rejected."""
    return one.status == outcomes.SURVIVED


def _work(
    day: Day, folder: Path, numbers: Sequence[int], settings: dict[str, str]
) -> list[Tried]:
    """Have a process run mutants on the tests of a day."""
    with tempfile.NamedTemporaryFile() as file:
        ran = subprocess.run(
            [sys.executable, "-m", WORKER, str(folder), str(day.number), file.name],
            input=json.dumps(numbers),
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": "0"} | settings,
            text=True,
            check=False,
        )
        if ran.returncode:
            raise CourseError(f"no mutant runs: {ran.stderr[-500:]}")
        return outcomes.read(Path(file.name))


def solution(days: Sequence[Day]) -> tuple[Path, dict[str, Header]]:
    """Make a solution whose kernels have the mutants of some days in them.

    Returns:
        Its folder, and the headers with mutants by name.
    """
    headers = headers_of(days)
    shutil.copytree(
        REFERENCE,
        SCRATCH.starter,
        ignore=shutil.ignore_patterns("_kernels*", "__pycache__"),
        dirs_exist_ok=True,
    )
    _write(headers)
    while offsets := _complaints(headers):
        for name, places in offsets.items():
            headers[name].drop(places)
        _write(headers)
    _build()
    return SCRATCH.starter, headers


def _build() -> None:
    """Compile the mutants, in a process whose checkout is the one that has them."""
    ran = subprocess.run(
        [sys.executable, "-c", BUILD],
        env=os.environ | {"TINY_LLM_HOME": str(SCRATCH.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise CourseError(f"the mutants do not compile: {ran.stderr[:2000]}")


def headers_of(days: Sequence[Day]) -> dict[str, Header]:
    """Return the headers of some days by name, their mutants numbered through."""
    answers: dict[str, set[str]] = {}
    for day in days:
        for kernel in (one for task in day.tasks for one in task.kernels):
            file, _, function = kernel.partition(":")
            answers.setdefault(file, set()).add(function)
    names = [name for day in days for name in HEADERS.get(day.number, ())]
    headers, number = dict[str, Header](), 1
    for name in names:
        text = (REFERENCE_KERNELS / "kernels" / name).read_text(encoding="utf-8")
        headers[name] = Header(name, text, answers.get(name, set()), number)
        number += len(headers[name].mutants)
    return headers


def _write(headers: dict[str, Header]) -> None:
    """Write the sources where they differ, with the headers changed."""
    own = _texts(REFERENCE_KERNELS)
    own |= {f"kernels/{name}": one.text() for name, one in headers.items()}
    own["kernels/mutants.h"] = SUPPORT.read_text(encoding="utf-8")
    numbers = (each.number for one in headers.values() for each in one.mutants)
    shared = _compiled_quickly(_texts(SHARED_KERNELS))
    shared["glue/mutants.cpp"] = STORE.format(size=max(numbers) + 1)
    _write_where_it_differs(SCRATCH.kernels, own)
    _write_where_it_differs(SCRATCH.shared_kernels, shared)


def _texts(folder: Path) -> dict[str, str]:
    """Read all sources in a folder, by their path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sources(folder)
    }


def _compiled_quickly(texts: dict[str, str]) -> dict[str, str]:
    """Compile with less optimisation, as most of the time goes into that."""
    options = "-O1 -w -ffp-contract=fast"
    lists = re.sub(r"-O3(.|\n)*?-Wshadow", options, texts["CMakeLists.txt"])
    return texts | {"CMakeLists.txt": lists}


def _write_where_it_differs(folder: Path, texts: dict[str, str]) -> None:
    """Write files, but those that have their text already: they are not compiled."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _complaints(headers: dict[str, Header]) -> dict[str, list[int]]:
    """Return where in which header the compiler finds what makes no program."""
    found: dict[str, list[int]] = {}
    for program in ("matvec", "matmul", "attention", "fused", "layer"):
        folders = (SCRATCH.shared_kernels, SCRATCH.kernels, PROGRAMS)
        includes = [f"-I{folder}" for folder in folders]
        options = ["-std=c++20", "-fsyntax-only", "-w", *includes]
        ran = subprocess.run(
            [str(COMPILER), *options, str(PROGRAMS / f"{program}.cpp")],
            capture_output=True,
            text=True,
            check=False,
        )
        for name, line, column in _errors(ran.stderr, headers):
            lines = headers[name].text().split("\n")
            offset = sum(len(one) + 1 for one in lines[: line - 1])
            found.setdefault(name, []).append(offset + column - 1)
        if ran.returncode and not found:
            raise CourseError(ran.stderr[:2000])
    return found


def _errors(said: str, headers: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """Yield header, line and column of each error of a compiler.

    Of one in a template of somebody else, it is the place that uses the template.
    """
    used: list[tuple[str, int, int]] = []
    for name, line, column, kind in _PLACE.findall(said):
        place = (name, int(line), int(column))
        if name in headers:
            used.append(place)
        if kind == "error" and used:
            yield place if name in headers else used[0]
            used = []
