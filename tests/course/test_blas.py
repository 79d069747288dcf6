"""Loading OpenBLAS never fails, a person can choose, and no verdict depends on it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tiny_llm_course import blas
from tiny_llm_course.blas import copy_for_mlx, load_openblas
from tiny_llm_course.places import REFERENCE

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="macOS has Accelerate")

GRADE = "from tiny_llm_course.commands.test import command; command()"


def run_python(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a Python whose choice of BLAS depends only on `environment`."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(sys.path)}
        | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the number of threads after a test."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The wheel of OpenBLAS alone in a folder, as if just installed."""
    site = copy_for_mlx().parents[2]
    library = "scipy_openblas32/lib/libscipy_openblas.so"
    (tmp_path / library).parent.mkdir(parents=True)
    (tmp_path / library).symlink_to(site / library)
    (tmp_path / "scipy_openblas32-7.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path / "scipy_openblas32" / "lib"


def test_loading_twice_gives_the_same() -> None:
    """MLX has it loaded when imported, and `pdm run doctor` asks again."""
    assert load_openblas() == load_openblas()


@linux_only
@pytest.mark.parametrize("wanted", ["off", "system", "/no/such/library.so", __file__])
def test_what_cannot_be_loaded_is_no_library(
    wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas, "SYSTEM", ("libno-such-library.so.0",))
    monkeypatch.setenv("TINY_LLM_BLAS", wanted)

    assert load_openblas() is None


@linux_only
@pytest.mark.parametrize("wanted", ["system", "libm.so.6"])
def test_the_environment_chooses_another_library(
    wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas, "SYSTEM", ("libno-such-library.so.0", "libm.so.6"))
    monkeypatch.setenv("TINY_LLM_BLAS", wanted)

    assert load_openblas() == "libm.so.6"


def test_other_systems_keep_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert load_openblas() is None


@linux_only
@pytest.mark.usefixtures("wheel")
@pytest.mark.parametrize(
    "code", ["import tiny_llm_course, mlx.core", "import tiny_llm_lab.bench.machine"]
)
def test_mlx_multiplies_with_the_copy_once_a_package_is_imported(code: str) -> None:
    """The loader prints which library a symbol is bound to when it binds it."""
    _, bindings = run_python(code, LD_DEBUG="bindings").communicate()

    products = [line for line in bindings.split("\n") if "`cblas_sgemm'" in line]

    assert any("libmlx.so" in line and copy_for_mlx().name in line for line in products)


@linux_only
@pytest.mark.usefixtures("wheel")
def test_nobody_else_multiplies_with_the_copy() -> None:
    """PyTorch looks up `sgemm_`, and would use it from any loaded library."""
    code = """if True:
        import ctypes, tiny_llm_course, mlx.core
        print([hasattr(ctypes.CDLL(None), name) for name in ("cblas_sgemm", "sgemm_")])
    """

    stdout, _ = run_python(code).communicate()

    assert stdout == "[True, False]\n"


@linux_only
def test_who_imports_no_mlx_loads_nothing() -> None:
    """`pdm run hint` needs no threads for matrix products."""
    code = "import tiny_llm_course; print(open('/proc/self/maps').read())"

    stdout, _ = run_python(code).communicate()

    assert "libc.so" in stdout
    assert "openblas" not in stdout


@linux_only
def test_the_copy_is_made_once_even_by_many(wheel: Path) -> None:
    """Tests run in several processes, each of which may be the first."""
    code = "from tiny_llm_course.blas import load_openblas; print(load_openblas())"

    firsts = [run_python(code) for _ in range(4)]

    assert {first.communicate() for first in firsts} == {
        ("libopenblas-7-for-mlx.so\n", "")
    }
    assert {file.name for file in wheel.iterdir()} == {
        "libopenblas-7-for-mlx.so",
        "libscipy_openblas.so",
    }
    made = (wheel / "libopenblas-7-for-mlx.so").stat()
    copy_for_mlx()
    assert (wheel / "libopenblas-7-for-mlx.so").stat() == made


@linux_only
def test_a_copy_that_cannot_be_made_is_said_and_leaves_nothing(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk can become full in the middle of a file."""
    fails = tmp_path / "patchelf"
    fails.write_text(
        '#!/bin/sh\nfor last; do :; done; echo half > "$last"; echo full >&2; exit 1'
    )
    fails.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    with pytest.raises(OSError, match=r"^full$"):
        copy_for_mlx()

    assert [file.name for file in wheel.iterdir()] == ["libscipy_openblas.so"]


@linux_only
def test_without_patchelf_there_is_no_copy(
    wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(wheel / "python"))
    monkeypatch.setenv("PATH", "")

    with pytest.raises(OSError, match=r"^patchelf is not installed$"):
        copy_for_mlx()


@linux_only
def test_without_the_wheel_the_system_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(blas, "SYSTEM", ("libm.so.6",))
    monkeypatch.delenv("TINY_LLM_BLAS", raising=False)

    with pytest.raises(OSError, match=r"^scipy-openblas32 is not installed$"):
        copy_for_mlx()
    assert load_openblas() == "libm.so.6"


@linux_only
@pytest.mark.parametrize(
    ("cores", "given", "threads"),
    [
        (1, {}, "1"),
        (2, {}, "1"),
        (8, {}, "7"),
        (8, {"OPENBLAS_NUM_THREADS": "8"}, "8"),
        (8, {"OMP_NUM_THREADS": "3"}, None),
    ],
)
def test_one_core_is_left_to_others(
    cores: int,
    given: dict[str, str],
    threads: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OpenBLAS also obeys OMP_NUM_THREADS, if its own variable is not set."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "TINY_LLM_BLAS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    load_openblas()

    assert os.environ.get("OPENBLAS_NUM_THREADS") == threads


@linux_only
@pytest.mark.timeout(240)
def test_no_verdict_depends_on_the_library(tmp_path: Path) -> None:
    """Task 1 is right, and task 2 lacks a product."""
    solution = shutil.copytree(REFERENCE, tmp_path / "theirs")
    file = solution / "attention.py"
    code = file.read_text(encoding="utf-8")
    wrong = code.replace("linear(_merge_heads(heads), self.wo)", "_merge_heads(heads)")
    assert wrong != code
    file.write_text(wrong, encoding="utf-8")
    day = ("--week", "1", "--day", "1", "--solution", str(solution), "--json")

    off = run_python(GRADE, *day, str(tmp_path / "off"), TINY_LLM_BLAS="off")
    on = run_python(GRADE, *day, str(tmp_path / "on"))

    assert [run.communicate()[1] for run in (off, on)] == ["", ""]
    assert verdicts(tmp_path / "on") == verdicts(tmp_path / "off")
    assert [status for status, *_ in verdicts(tmp_path / "on")] == ["done", "wrong"]


def verdicts(report: Path) -> list[tuple[Any, ...]]:
    """Return the report on each task, without the size of the error."""
    tasks = json.loads(report.read_text(encoding="utf-8"))["tasks"]
    return [(one["status"], one["tests_passed"], one["mistakes"]) for one in tasks]
