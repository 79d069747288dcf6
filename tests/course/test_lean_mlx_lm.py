"""Single modules of `mlx_lm`, without all that its package imports."""

import json
import subprocess
import sys
import types
from typing import Any

import pytest

from tiny_llm_course.grading.scenarios import lean_mlx_lm

LOGITS = """
import mlx.core as mx
from tiny_llm_course.grading.scenarios.architecture import IDS, embedded, mlx_model

logits = mlx_model(*embedded())(mx.array(IDS))
print(json.dumps([logits.tolist(), "torch" in sys.modules]))
"""


def result_of(program: str) -> Any:  # noqa: ANN401 - whatever it writes
    """Run a program in a process of its own. Return what it writes as JSON."""
    command = [sys.executable, "-c", f"import json, sys\n{program}"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_a_model_computes_what_that_of_the_package_does() -> None:
    """It is the library's own code. And transformers imports PyTorch, as it did."""
    plain, has_torch = result_of("import mlx_lm.models.qwen2\n" + LOGITS)
    lean, has_torch_when_lean = result_of(LOGITS)

    assert lean == plain
    assert has_torch
    assert not has_torch_when_lean


def test_the_package_can_be_imported_afterwards() -> None:
    """A learner's file takes the tokenizer from it: its modules are not left behind."""
    left = result_of("""
from tiny_llm_course.grading.scenarios import lean_mlx_lm

lean_mlx_lm.module("models.qwen2")
print(json.dumps([one for one in sys.modules if one.startswith(("mlx_lm", "transf"))]))
""")

    assert left == []


def test_a_module_that_is_imported_already_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So its classes are those that a learner's file has imported."""
    imported = types.ModuleType("mlx_lm.models.imported")
    monkeypatch.setitem(sys.modules, imported.__name__, imported)

    assert lean_mlx_lm.module("models.imported") is imported
