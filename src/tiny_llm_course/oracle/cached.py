"""A cache of the oracle: answers are stored under a digest of the question.

PyTorch and `transformers` take seconds to import, and a test asks the same every time.
So tests call this module,

    from tiny_llm_course.oracle.cached import layer_norm

    layer_norm.rms_norm(x, weight, 1e-6)

and get what `oracle.layer_norm.rms_norm` returns. That module is imported only if the
answer is not in the cache, which is in `.cache/truths` and may be removed.
"""

import contextlib
import functools
import hashlib
import importlib
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np

from tiny_llm_course.imports import course_dependencies

CACHE = Path(__file__).parents[3] / ".cache" / "truths"
"""In the checkout of this file, also when working on a copy."""

LIBRARIES = ("mlx", "numpy", "torch", "transformers")


class Asked:
    """A module of the oracle, whose functions look in the cache first.

    Args:
        module: Its name in this package.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a cached version of the function with this name."""

        def ask(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the oracle has it
            question = (self._module, name, args, kwargs)
            return _answer(question, lambda: self._compute(name, args, kwargs))

        ask.__name__ = name
        return ask

    def _compute(self, name: str, args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        module = importlib.import_module(f"{__package__}.{self._module}")
        return getattr(module, name)(*args, **kwargs)


def __getattr__(module: str) -> Asked:
    """Return a module of the oracle that looks in the cache first."""
    if not Path(__file__).with_name(f"{module}.py").exists():
        raise AttributeError(f"the oracle has no module {module!r}")
    return Asked(module)


def _answer(question: object, compute: Callable[[], Any]) -> Any:  # noqa: ANN401
    """Find the answer to a question, or compute and cache it."""
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(question):
        digest.update(part)
    path = _folder() / digest.hexdigest()
    with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):
        return _kept(path)
    answer = compute()
    with contextlib.suppress(OSError):  # a read-only checkout
        _write_whole(path, pickle.dumps(answer))
    return answer


@functools.cache
def _kept(path: Path) -> Any:  # noqa: ANN401 - as the oracle has it
    """Read an answer. Kept in memory, since a proof asks for it hundreds of times."""
    return pickle.loads(path.read_bytes())  # noqa: S301 - written below


def _write_whole(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)  # noqa: PTH105 - beside the name above


@functools.cache
def _folder() -> Path:
    """Return the folder of this oracle's answers, and remove those of an older one."""
    sources = course_dependencies(Path(__file__).parent.glob("*.py"))
    parts = [path.read_bytes() for path in sources]
    parts += [metadata.version(library).encode() for library in LIBRARIES]
    found = CACHE / hashlib.blake2b(b"\0".join(parts)).hexdigest()[:16]
    if CACHE.exists() and not found.exists():
        shutil.rmtree(CACHE, ignore_errors=True)
    return found


def _parts(value: object) -> Iterator[bytes | memoryview]:
    """Yield the content of an argument as bytes that identify it.

    Raises:
        TypeError: Its type has no such bytes.
    """
    yield f"{type(value).__name__} ".encode()
    if isinstance(value, mx.array | np.ndarray):
        yield f"{value.dtype}{value.shape} ".encode()
        entries = memoryview(value)  # pyright: ignore[reportArgumentType] - it can
        is_whole = entries.c_contiguous and entries.nbytes > 0
        yield entries.cast("B") if is_whole else entries.tobytes()
    elif isinstance(value, Mapping):
        yield from _parts(list(value.items()))
    elif isinstance(value, list | tuple | set | range):
        yield f"{len(value)} ".encode()
        for one in sorted(value) if isinstance(value, set) else value:
            yield from _parts(one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _parts(getattr(value, field.name))
    elif isinstance(value, str | int | float | slice | mx.Dtype | None):
        yield f"{value!r} ".encode()
    else:
        raise TypeError(f"an oracle is asked about a {type(value).__name__}")
