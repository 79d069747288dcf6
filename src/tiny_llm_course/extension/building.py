"""Compiles the kernels of a solution into a module beside its Python files.

A small file beside the module holds a fingerprint of all that it was made from. While
that is unchanged, nothing is compiled again, even if compiling failed.
"""

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.doctor.finding import COMPILER, how_to_install, program
from tiny_llm_course.doctor.libraries import version_of
from tiny_llm_course.doctor.system import find_compiler
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension import compiled_cache, output
from tiny_llm_course.extension.sources import (
    BUILD,
    include_path,
    sources,
    sources_of,
)
from tiny_llm_course.places import here

MODULE = "_kernels"
RECORD = f"{MODULE}.json"
Tell = Callable[[str], object]
NUM_JOBS = 2
"""The course is for machines with two cores. A compiler takes up to 0.5 GB."""


@dataclass(frozen=True)
class Built:
    """The result of compiling.

    Attributes:
        fingerprint: A digest of all that the module depends on.
        problem: The compiler's errors. Empty if there is a module.
        warnings: The compiler's warnings.
    """

    fingerprint: str
    problem: str = ""
    warnings: str = ""


def build(solution: Path, *, anew: bool = False, tell: Tell = lambda _: None) -> Built:
    """Compile the kernels of a solution, unless that has been done.

    Args:
        solution: The folder with `kernels.py`, where the module goes.
        anew: Whether to compile again although nothing has changed since it failed.
        tell: Called with each step of the compiler when it is done.

    Raises:
        CourseError: The solution has no kernels, or a tool is missing, or the module
            does not fit this Python and this MLX.
    """
    folder = sources_of(solution)
    if folder is None:
        raise CourseError(say("extension.no_sources", folder=solution))
    if known := _known(solution, folder, anew=anew):
        return known
    with _alone(folder / BUILD):
        if known := _known(solution, folder, anew=anew):
            return known
        built = _made(folder, solution, tell)
        text = json.dumps(asdict(built), indent=2) + "\n"
        (solution / RECORD).write_text(text, encoding="utf-8")
        return built


def _made(folder: Path, solution: Path, tell: Tell) -> Built:
    """Take the module from the cache, or compile it, try it, and cache it."""
    module, fingerprint = module_of(solution), _fingerprint(folder)
    key = f"{folder.name}-{fingerprint}"  # stubs are compiled with other warnings
    if compiled_cache.take(key, module):
        return Built(fingerprint)
    built = _compile(folder, solution, tell)
    if built.problem:
        module.unlink(missing_ok=True)
        return built
    _try(module)
    if not built.warnings:  # shown at every build
        compiled_cache.keep(key, module)
    return built


def is_current(solution: Path) -> bool:
    """Tell whether there is a module, made from the current sources."""
    folder = sources_of(solution)
    known = _known(solution, folder, anew=True) if folder else None
    return known is not None


def problem_of(solution: Path) -> str:
    """Return what the compiler said when the kernels were last compiled, if anything.

    A module that was copied from elsewhere has no problem.
    """
    recorded = _recorded(solution)
    return recorded.problem if recorded else ""


def module_of(solution: Path) -> Path:
    """Return where the module of a solution is, or will be."""
    return solution / f"{MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"


def _known(solution: Path, folder: Path, *, anew: bool) -> Built | None:
    """Return the result of compiling the current sources, if they were compiled."""
    recorded = _recorded(solution)
    if recorded is None or recorded.fingerprint != _fingerprint(folder):
        return None
    if recorded.problem:
        return None if anew else recorded
    return recorded if module_of(solution).exists() else None


def _recorded(solution: Path) -> Built | None:
    try:
        return Built(**json.loads((solution / RECORD).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _fingerprint(folder: Path) -> str:
    """Return a digest of all that a module depends on."""
    versions = filter(None, map(version_of, ("mlx", "nanobind")))
    parts = [platform.python_version(), platform.machine(), *versions]
    for root in include_path(folder):
        for path in sources(root):
            parts += [path.relative_to(root).as_posix(), path.read_bytes().hex()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _compile(folder: Path, solution: Path, tell: Tell) -> Built:
    """Run CMake, then the compiler."""
    tools = _Tools.find()
    fingerprint = _fingerprint(folder)
    is_ours = folder.name.endswith("_ref")
    shared, _ = include_path(folder)
    configure = [
        *(tools.cmake, "-S", str(shared), "-B", str(folder / BUILD), *tools.generator),
        f"-DCMAKE_CXX_COMPILER={tools.compiler}",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DKERNELS_FOLDER={folder}",
        f"-DMODULE_FOLDER={solution}",
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_COMPILE_WARNING_AS_ERROR={'ON' if is_ours else 'OFF'}",
        f"-DHAS_STUBS={'OFF' if is_ours else 'ON'}",
    ]
    ran = _run(configure)
    if ran.returncode:  # files of another compiler may be in the way
        ran = _run([*configure, "--fresh"])
    if ran.returncode:
        return Built(fingerprint, output.of_cmake(ran.stdout))
    steps = [tools.cmake, "--build", str(folder / BUILD), "-j", str(NUM_JOBS)]
    code, printed = _run_step_by_step(steps, tell)
    said = output.of_compiler(printed, (here().root, folder.parent))
    if code:
        return Built(fingerprint, said or printed)
    return Built(fingerprint, warnings=said)


@dataclass(frozen=True)
class _Tools:
    """The programs that compile.

    Attributes:
        cmake: Reads `CMakeLists.txt`.
        compiler: Takes C++20.
        generator: What makes CMake use Ninja, if it is here.
    """

    cmake: str
    compiler: str
    generator: tuple[str, ...]

    @classmethod
    def find(cls) -> "_Tools":
        """Find the programs.

        Raises:
            CourseError: One is missing.
        """
        compiler, cmake = find_compiler(), program("cmake")
        if not compiler:
            cure = how_to_install(COMPILER)
            raise CourseError(say("extension.no_compiler", command=cure))
        if not cmake:
            raise CourseError(say("extension.no_package", name="CMake"))
        if not version_of("nanobind"):
            raise CourseError(say("extension.no_package", name="nanobind"))
        if ninja := program("ninja"):
            return cls(
                cmake, compiler, ("-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}")
            )
        if not shutil.which("make"):
            raise CourseError(say("extension.no_package", name="Ninja"))
        return cls(cmake, compiler, ())


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program, and keep what it prints."""
    code, printed = _run_step_by_step(command, lambda _: None)
    return subprocess.CompletedProcess(command, code, printed)


def _run_step_by_step(command: list[str], tell: Tell) -> tuple[int, str]:
    """Run a program and report its steps; return its exit code and output."""
    lines: list[str] = []
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},  # "error", not "Fehler"
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if step := output.step_of(line):
                tell(step)
    return process.returncode, "".join(lines)


TRIAL = """
import importlib.util, sys
import mlx.core as mx
spec = importlib.util.spec_from_file_location("_kernels", sys.argv[1])
kernels = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)
w, scales, biases = mx.quantize(mx.zeros((1, 64)), group_size=64, bits=4)
kernels.Weight(w, scales, biases, 64, 4)
"""
"""Loads the module, and passes it MLX arrays, as every kernel gets them."""


def _try(module: Path) -> None:
    """Load a module in a fresh process, and pass it arrays.

    Raises:
        CourseError: It does not load, or does not accept the arrays of this MLX.
    """
    ran = _run([sys.executable, "-c", TRIAL, str(module)])
    if ran.returncode:
        module.unlink(missing_ok=True)
        code = say("grading.no_reason", code=ran.returncode)
        reason = (ran.stdout.strip().splitlines() or [code])[-1]
        raise CourseError(say("extension.does_not_fit", reason=reason))


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Hold a lock on a folder, so that only one process builds there."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
