"""Times the kernels of a solution beside ours, and looks at what holds them up."""

import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.doctor.finding import how_to_install
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.building import NUM_JOBS, Tell
from tiny_llm_course.extension.disassembly import vector_bits
from tiny_llm_course.extension.programs import COMPILER, Program
from tiny_llm_course.extension.sources import include_path, sources_of
from tiny_llm_course.places import here
from tiny_llm_course.speed.races import Race
from tiny_llm_course.speed.timing import Running, Step, Timing, in_turns
from tiny_llm_course.speed.verdict import Verdict
from tiny_llm_course.syllabus import Task

PROGRAMS = Path(__file__).parent / "programs"

OPTIONS = (
    *("-std=c++20", "-O3", "-pthread", "-w"),
    *("-ffp-contract=fast", "-fno-trapping-math", "-fno-math-errno"),
)
"""As the module of the kernels is compiled; its build has shown the warnings."""

YOURS, OURS, LIMITS = "yours", "ours", "limits"

A_COPY = 0.1
"""From this share of its inputs and outputs on, what a kernel allocates matters."""


def judge(
    races: Mapping[Task, Race], solution: Path, tell: Tell = lambda _: None
) -> list[Verdict]:
    """Time a solution's kernels in turns with ours, and find out what holds them up.

    Kernels that are not written are left out.

    Args:
        races: What to time.
        solution: The folder of the learner's files.
        tell: Called with a sentence before something has to be compiled.

    Raises:
        CourseError: There are no kernels, there is no compiler, or it finds an error.
    """
    programs = _compiled({one.program for one in races.values()}, solution, tell)
    with ExitStack() as stack:
        running = {
            key: stack.enter_context(Running(path)) for key, path in programs.items()
        }
        timings = in_turns(_steps(races.values(), running))
    found = (_verdict(task, race, timings) for task, race in races.items())
    return [_with_causes(one, programs) for one in found if one]


def _steps(
    races: Iterable[Race], running: Mapping[tuple[str, str], Running]
) -> dict[tuple[str, str, str], Step]:
    """Return a step for each kernel of some races: whose, the program, its name."""
    wanted: list[tuple[str, str, str]] = []
    for race in races:
        wanted += [(OURS, race.program, rung) for rung in race.rungs]
        wanted.append((YOURS, race.program, race.kernel))
        wanted.append((LIMITS, LIMITS, race.limit))
    return {
        (whose, program, kernel): partial(running[whose, program].call, kernel)
        for whose, program, kernel in wanted
    }


def _verdict(
    task: Task, race: Race, timings: Mapping[tuple[str, str, str], Timing]
) -> Verdict | None:
    """Pick the timings of one race. None if the learner's kernel is not there."""
    yours = timings.get((YOURS, race.program, race.kernel))
    if yours is None:
        return None
    ours = {rung: timings[OURS, race.program, rung] for rung in race.rungs}
    return Verdict(task, race, yours, ours, timings[LIMITS, LIMITS, race.limit])


def _compiled(
    names: set[str], solution: Path, tell: Tell
) -> dict[tuple[str, str], Path]:
    """Compile the programs that have not been, and return the paths of all."""
    yours = sources_of(solution)
    if yours is None:
        raise CourseError(say("extension.no_sources", folder=solution))
    if COMPILER is None:
        cure = how_to_install("a C++ compiler")
        raise CourseError(say("extension.no_compiler", command=cure))
    ours = here().reference_kernels
    programs = {(LIMITS, LIMITS): _program(LIMITS, LIMITS, ours)}
    for name in sorted(names):
        programs[YOURS, name] = _program(YOURS, name, yours)
        programs[OURS, name] = _program(OURS, name, ours)
    if not all(one.path().exists() for one in programs.values()):
        tell(say("speed.compiling"))
    with ThreadPoolExecutor(NUM_JOBS) as pool:
        paths = list(pool.map(_path, programs.values()))
    return dict(zip(programs, paths, strict=True))


def _program(whose: str, name: str, folder: Path) -> Program:
    headers = (PROGRAMS, *include_path(folder))
    return Program(PROGRAMS / f"{name}.cpp", headers, f"speed_{whose}", OPTIONS)


def _path(program: Program) -> Path:
    try:
        return program.compiled()
    except subprocess.CalledProcessError as error:
        said = "".join(error.__notes__).splitlines() or [str(error)]
        first = next((line for line in said if "error:" in line), said[-1])
        raise CourseError(say("speed.not_compiled", error=first)) from error


def _with_causes(verdict: Verdict, programs: Mapping[tuple[str, str], Path]) -> Verdict:
    """Add what can be seen, if the kernel is not yet where the task leads."""
    if verdict.next_rung is None:
        return verdict
    return replace(verdict, causes=tuple(causes(verdict, programs)))


def causes(verdict: Verdict, programs: Mapping[tuple[str, str], Path]) -> Iterator[str]:
    """Yield sentences on what can be seen: threads, copies, vector instructions."""
    race, yours, ours = verdict.race, verdict.yours, verdict.ours[verdict.race.kernel]
    if race.is_on_all_cores and yours.is_alone and not ours.is_alone:
        yield say("speed.one_thread")
    if yours.copied > max(A_COPY, 2 * ours.copied):
        yield say("speed.copies", times=yours.copied)
    yield from _registers(race, programs)


def _registers(race: Race, programs: Mapping[tuple[str, str], Path]) -> Iterator[str]:
    """Yield a sentence if wider registers could be used, or any at all."""
    own, best = (
        vector_bits(programs[whose, race.program], f"run_{race.kernel}")
        for whose in (YOURS, OURS)
    )
    if own is None or best is None or own >= best:
        return
    key = "speed.narrow" if own else "speed.no_vectors"
    yield say(key, yours=own, ours=best)
