"""The data of the set-up: sizes from the README, findings from the doctor."""

import re
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from tiny_llm_course.commands.doctor import show
from tiny_llm_course.doctor.system import CHECKPOINT_FILES, EMBEDDED, check_python
from tiny_llm_course.places import ROOT

SIZES = {
    "pdm": r"\| pdm, the package manager \| (\d+) MB",
    "main": r"\| the first command: .* \| (\d+) MB \|",
    "main_disk": r"\| the first command: .* ([\d.]+) GB, and",
    "check": r"\| the second command, besides: .* \| (\d+) MB \|",
    "kernels": r"\| and what compiles .* \| (\d+) MB \|",
    "book": r"\| and what the book .* \| ([\d.]+) GB \|",
    "torch": r"\| PyTorch, which .* \| ([\d.]+) GB \|",
    "torch_disk": r"\| PyTorch, which .* then ([\d.]+) GB \|",
    "torch_cuda": r"which brings CUDA:\s+([\d.]+) GB more to download",
    "torch_cuda_disk": r"and a `\.venv` of ([\d.]+) GB",
    "cuda": r"pdm install -L pdm\.cuda\.lock`, ([\d.]+) GB",
    "glibc": r"glibc ([\d.]+)",
}
"""What the README says that things take, measured on Linux x86-64."""


def numbers() -> dict[str, Any]:
    """Return how large things are."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = {name: re.search(pattern, readme) for name, pattern in SIZES.items()}
    size_bytes = sum((EMBEDDED / name).stat().st_size for name in CHECKPOINT_FILES)
    return {
        "size": {name: match[1] for name, match in found.items() if match},
        "model_mb": size_bytes / 1e6,
    }


def phrases() -> dict[str, str]:
    """Return what the doctor says to Python 3.10, which is too old."""
    with redirect_stdout(StringIO()) as printed:
        show(check_python((3, 10, 4)))
    return {"old_python": printed.getvalue().rstrip()}
