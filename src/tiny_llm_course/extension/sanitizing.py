"""Runs kernels without MLX under the sanitizers of the compiler.

For each header there is a program in tests/course/kernels that calls all its kernels at
many sizes. A sanitizer stops it at the first access outside an array, the first
overflow of an int, or a data race between two threads.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.doctor import finding
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.building import NUM_JOBS
from tiny_llm_course.extension.programs import COMPILER, Program
from tiny_llm_course.extension.sources import include_path, sources_of
from tiny_llm_course.places import TESTS

FOLDER = TESTS / "course" / "kernels"

# A report needs only line numbers from the debug information.
OPTIONS = ("-std=c++20", "-g1", "-pthread", "-fno-sanitize-recover=all")
SANITIZERS = {
    # Nothing is optimised away before it is checked, and compiling takes half as long.
    "memory": ("-fsanitize=address,undefined,float-cast-overflow", "-O0"),
    # Races are as frequent as in the module, whose loops are vectorised.
    "threads": ("-fsanitize=thread", "-O1", "-ftree-vectorize"),
}
PROGRAMS = {
    "matvec": ("matvec.h", "int8.h", "matvec_int8.h"),
    "matmul": ("matmul.h", "matmul_int8.h"),
    "attention": ("attention.h",),
    "fused": ("fused.h",),
    "layer": ("layer.h",),
    "paged": ("paged.h",),
}
"""The headers whose kernels a program calls."""

WRITTEN = {header for headers in PROGRAMS.values() for header in headers}
"""The files that a learner writes. For errors in others, the caller is shown."""

WITHOUT_THREADS = {"fused", "layer"}
LIMIT_S = 60
SETTINGS = {"UBSAN_OPTIONS": "print_stacktrace=1", "TINY_LLM_WATCH": "1"}
"""Show stacks, and let threads interfere with each other."""


def complaints(kernels: Iterable[str], solution: Path) -> list[str]:
    """Return the sanitizers' reports on some tasks' kernels, in a few lines each.

    Stubs are left out.

    Args:
        kernels: As in the syllabus, "matvec.h:matvec_naive".
        solution: Its folder.

    Raises:
        CourseError: There are no such kernels, or no compiler.
    """
    folder = sources_of(solution)
    headers = {one.partition(":")[0] for one in kernels}
    stems = [stem for stem, own in PROGRAMS.items() if headers & set(own)]
    if folder is None or not stems:
        raise CourseError(say("sanitizing.no_kernels"))
    if COMPILER is None:
        cure = finding.how_to_install(finding.COMPILER)
        raise CourseError(say("extension.no_compiler", command=cure))
    programs = [
        _program(stem, kind, folder)
        for stem in stems
        for kind in SANITIZERS
        if kind != "threads" or stem not in WITHOUT_THREADS
    ]
    with ThreadPoolExecutor(NUM_JOBS) as pool:
        said = list(pool.map(_said, programs))
    found: dict[str, list[str]] = {}
    for program, text in zip(programs, said, strict=True):
        # Both sanitizers see memory errors, but only one sees races.
        if text and ("data race" in text or program.source.stem not in found):
            found.setdefault(program.source.stem, []).append(text)
    return [shortened(text, folder) for own in found.values() for text in own]


def _program(stem: str, kind: str, folder: Path) -> Program:
    """Return the program for some kernels. Learners' results are not compared."""
    options = (*OPTIONS, *SANITIZERS[kind], "-w", "-DTINY_LLM_LOOKS_ON")
    headers = (*include_path(folder), FOLDER)
    return Program(FOLDER / f"{stem}.cpp", headers, f"yours_{kind}", options)


def _said(program: Program) -> str:
    """Compile and run a program, and return what a sanitizer says, if anything."""
    try:
        path = program.compiled()
        ran = subprocess.run(
            [str(path)],
            env={**os.environ, **SETTINGS},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.CalledProcessError:
        return say("sanitizing.not_compiled")
    except subprocess.TimeoutExpired:
        return say("sanitizing.hangs", seconds=LIMIT_S)
    return ran.stderr if ran.returncode else ""


_FRAME = re.compile(r"^\s+#\d+ (?:0x\w+ in )?(.+?) (/\S+?):(\d+)(?::\d+)?(?: |$)", re.M)
_KINDS = (
    (r"Sanitizer: SEGV[\s\S]*?caused by a (\w+)", "sanitizing.beyond"),
    (r"Sanitizer: [\w-]*(?:over|under)flow[\s\S]*?^(\w+) of", "sanitizing.beyond"),
    (r"Sanitizer: [\w-]*use-after[\s\S]*?^\s*(\w+) of", "sanitizing.gone"),
    (r"runtime error: (.+)", "sanitizing.undefined"),
    (r"ThreadSanitizer: (data race)", "sanitizing.race"),
    (r"Sanitizer: ([\w-]+)", "sanitizing.other"),
    (r"what\(\):\s+(.+)", "sanitizing.thrown"),
)


def shortened(said: str, folder: Path) -> str:
    """Return what a sanitizer says in a few lines: what, where, and the code there.

    Args:
        said: Its whole output.
        folder: With the sources of the kernels.
    """
    found = ((re.search(kind, said, re.M), key) for kind, key in _KINDS)
    match, key = next(((one, key) for one, key in found if one), (None, ""))
    if match is None:
        return said[-300:].strip()
    lines = [say(key, what=match[1].lower() if match[1].isupper() else match[1])]
    num_places = 2 if key == "sanitizing.race" else 1
    lines += list(dict.fromkeys(_places(said, folder)))[:num_places]
    return "\n".join(lines)


def _places(said: str, folder: Path) -> Iterator[str]:
    """Yield the innermost place in the kernels of each stack."""
    for stack in re.split(r"\n\s*\n|^Previous|^  Previous", said, flags=re.M):
        for function, file, line in _FRAME.findall(stack):
            path = Path(file)
            if path.parent == folder / "kernels" and path.name in WRITTEN:
                name = re.findall(r"tiny_llm::(?:detail::)?(\w+)", function)
                code = path.read_text(encoding="utf-8").splitlines()[int(line) - 1]
                yield say(
                    "sanitizing.place",
                    file=path.relative_to(folder.parent),
                    line=line,
                    function=name[0] if name else function,
                    code=code.strip(),
                )
                break
