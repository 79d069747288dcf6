"""Loading OpenBLAS never fails, and a person can choose."""

import subprocess
import sys

import pytest

from tiny_llm_course.blas import load_system_openblas

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="macOS has Accelerate")


def test_loading_twice_gives_the_same() -> None:
    """The package loads it when imported, and `pdm run doctor` asks again."""
    assert load_system_openblas() == load_system_openblas()


@linux_only
@pytest.mark.parametrize("wanted", ["off", "/no/such/library.so", __file__])
def test_what_cannot_be_loaded_is_no_library(
    wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_LLM_BLAS", wanted)

    assert load_system_openblas() is None


@linux_only
def test_the_environment_names_another_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_LLM_BLAS", "libm.so.6")

    assert load_system_openblas() == "libm.so.6"


def test_other_systems_keep_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert load_system_openblas() is None


@pytest.mark.skipif(load_system_openblas() is None, reason="no OpenBLAS here")
def test_mlx_multiplies_with_openblas_once_the_package_is_imported() -> None:
    """The loader prints which library a symbol is bound to when it binds it."""
    code = "import tiny_llm_course, mlx.core"
    bindings = subprocess.run(
        [sys.executable, "-c", code],
        env={"LD_DEBUG": "bindings", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stderr

    products = [line for line in bindings.split("\n") if "`cblas_sgemm'" in line]

    assert any("libmlx.so" in line and "libopenblas" in line for line in products)
