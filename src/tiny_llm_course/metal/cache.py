"""A folder for what is compiled, which all processes of a checkout share.

Each thing in it is named by a digest of all that it is made of, and may be removed.
"""

import fcntl
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.errors import CourseError
from tiny_llm_course.file_times import changed_at, least_recent

CACHE = Path(__file__).parents[3] / ".cache" / "metal"
"""In the checkout of this file, also when working on a copy."""

_NUM_KEPT = 5
"""Of each thing that `made_once` makes. A version of the course has stored headers for
four sets of options: the usual ones, both of `suspicions`, and the one of `variants`.
One more is of the version before."""

_ABANDONED_S = 3600.0
"""A temporary folder of that age was left behind by a process that was killed."""


def digest(parts: Sequence[str]) -> str:
    """Return a name for what is made of these."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


@contextmanager
def temporary_folder() -> Generator[Path]:
    """Return a folder on the disk of the cache, which is removed in the end.

    Raises:
        CourseError: The cache cannot be written.
    """
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(dir=CACHE)
    except OSError as error:
        raise CourseError(
            say("metal.misuse.cache", path=CACHE, why=error.strerror)
        ) from error
    with folder:
        yield Path(folder.name)


def made_once(kind: str, key: str, make: Callable[[Path], object]) -> Path:
    """Return a file or folder of the cache, made if need be.

    A process that wants what another is making waits for it.

    Args:
        kind: What it is, in a word.
        key: A digest of what it is made of.
        make: Makes it, in the place that it is given.
    """
    path = CACHE / f"{kind}-{key}"
    if path.exists():
        return path
    with temporary_folder() as folder, (CACHE / f"{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            made = folder / path.name
            make(made)
            made.replace(path)
            _remove_others(kind, path)
    return path


def _remove_others(kind: str, path: Path) -> None:
    """Remove what older versions of the course have made, and killed processes."""
    others = [other for other in CACHE.glob(f"{kind}-*") if other != path]
    limit = time.time() - _ABANDONED_S
    abandoned = [one for one in CACHE.glob("tmp*") if changed_at(one) < limit]
    for other in [*least_recent(others, _NUM_KEPT - 1), *abandoned]:
        if other.is_dir():
            shutil.rmtree(other, ignore_errors=True)
        else:
            other.unlink(missing_ok=True)
