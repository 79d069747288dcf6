"""Compiled modules, kept: what was compiled once is not compiled in another checkout.

They lie in `.cache/modules`, which may be removed.
"""

import os
import shutil
import tempfile
from pathlib import Path

CACHE = Path(__file__).parents[3] / ".cache" / "modules"
"""In the checkout that holds this file, whichever is worked on."""

NUM_KEPT = 32
"""A module takes some megabytes."""


def take(key: str, to: Path) -> bool:
    """Copy a module from here, if it is here.

    Args:
        key: All that it depends on, boiled down.
        to: Where it goes.
    """
    try:
        os.utime(CACHE / key)
        shutil.copyfile(CACHE / key, to)
    except FileNotFoundError:
        return False
    return True


def keep(key: str, module: Path) -> None:
    """Copy a module to here, and let go of those that nobody took for longest."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE.parent) as folder:
        shutil.copyfile(module, Path(folder) / key).replace(CACHE / key)
    by_age = sorted(CACHE.iterdir(), key=lambda path: path.stat().st_mtime)
    for path in by_age[:-NUM_KEPT]:
        path.unlink(missing_ok=True)
