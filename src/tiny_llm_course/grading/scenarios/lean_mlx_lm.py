"""Single modules of `mlx_lm`: the package imports transformers, and with it PyTorch."""

import functools
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from tiny_llm_course.solution import lent


@functools.cache
def module(name: str) -> Any:  # noqa: ANN401 - mlx_lm has no types
    """Return a module of `mlx_lm`, imported without the package if it is not yet.

    Args:
        name: Such as "models.qwen2".
    """
    full_name = f"mlx_lm.{name}"
    if imported := sys.modules.get(full_name):
        return imported
    spec = importlib.util.find_spec("mlx_lm")
    folders = spec.submodule_search_locations if spec else None
    assert folders, "pdm installs mlx_lm"
    with lent({"mlx_lm"}, Path(folders[0])):
        return importlib.import_module(full_name)
