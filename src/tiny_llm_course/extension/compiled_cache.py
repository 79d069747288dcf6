"""A cache of compiled modules, shared with copies of this checkout.

They lie in `.cache/modules`, which may be removed.
"""

import os
import shutil
import tempfile
from pathlib import Path

from tiny_llm_course.file_times import least_recent

CACHE = Path(__file__).parents[3] / ".cache" / "modules"
"""In the checkout of this file, also when working on a copy."""

NUM_KEPT = 32
"""The number of modules that are kept. Each takes a few megabytes."""


def take(key: str, to: Path) -> bool:
    """Copy a module from the cache, if it is there.

    Args:
        key: A digest of all that it depends on.
        to: Where it goes.
    """
    try:
        os.utime(CACHE / key)
        shutil.copyfile(CACHE / key, to)
    except FileNotFoundError:
        return False
    return True


def keep(key: str, module: Path) -> None:
    """Copy a module to the cache, and remove the least recently used."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE.parent) as folder:
        shutil.copyfile(module, Path(folder) / key).replace(CACHE / key)
    for path in least_recent(list(CACHE.iterdir()), NUM_KEPT):
        path.unlink(missing_ok=True)
