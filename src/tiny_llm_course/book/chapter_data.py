"""The data of a chapter: the script that its numbers and figures come from.

`book/chapter_data/reference.py` belongs to the chapter of that name. It offers up to
six functions, which run the course's own code or read what labs left in
`book/results`:

    numbers()   -> what stands in the text as <<name>> or <<name.0.key:.3f>>
    phrases()   -> what stands there too, and is said in the language of the book
    drawings()  -> what draws the figures of {drawing}, by name, from their texts
    tables()    -> the rows that {tabulated} shows, by name
    data()      -> what the interactive figures start from, by name
    examples()  -> what the examples of known mistakes may call, by name

A number that is not there fails the build, so none can be out of date.

Data with more than one idea are a package, `book/chapter_data/week_1_day_2_rope/`: its
`__init__.py` offers the functions, and its modules import from each other with a dot:
`from .model import ...`.
"""

import functools
import importlib.util
import os
import pickle
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

from tiny_llm_course.book.building import NUMBERS
from tiny_llm_course.places import BOOK, REFERENCE, RESULTS

_NUMBER = re.compile(r"<<([a-z]\w*(?:\.\w+)*)(?::([^<>\n]+))?>>")

_OF_A_DAY = re.compile(r"week_\d+_day_g?\d+_")

_NO_NUMBER = re.compile(r"<<[^\s<>]+>>")

_KEPT = ("numbers", "tables", "data")
"""What is the same in all languages."""

_log = logging.getLogger(__name__)


def path_of(chapter: str) -> Path:
    """Return where the data of a chapter are, or would be: a file or a folder.

    The further pages of a day share those of its chapter.
    """
    folder, own = BOOK / "chapter_data", chapter.replace("-", "_")
    day = _OF_A_DAY.match(own)
    of_day = sorted(folder.glob(f"{day[0]}*/__init__.py")) if day else []
    if not of_day or (folder / own / "__init__.py").exists():
        path = folder / own
        # Git leaves a folder with only `__pycache__` where a package was removed.
        return path if (path / "__init__.py").exists() else path.with_suffix(".py")
    return of_day[0].parent


def sources_of(path: Path) -> list[Path]:
    """Return the files that chapter data depend on: their own, solutions and results.

    Args:
        path: What `path_of` returns. It does not have to exist.
    """
    if not path.exists():
        return []
    own = path.rglob("*.py") if path.is_dir() else [path]
    return [*own, *REFERENCE.glob("*.py"), *RESULTS.glob("*.*")]


def values_of(chapter: str, kind: str) -> Mapping[str, Any]:
    """Return what one function of a chapter's data gives; nothing if there is none.

    Args:
        chapter: File name of the chapter without ".md".
        kind: "numbers", "phrases", "drawings", "tables", "data" or "examples".
    """
    path = path_of(chapter)
    kept = kept_numbers().get((path, kind))
    return _values_in(path, kind) if kept is None else kept


def keep_numbers() -> None:
    """Write to a file what all chapters have that is the same in any language.

    Whoever sets `BOOK_NUMBERS` to its path need not work them out again. That is for
    one who knows that nothing has changed since, as `pdm run check` does.
    """
    NUMBERS.unlink(missing_ok=True)
    folder = BOOK / "chapter_data"
    packages = [one.parent for one in folder.glob("*/__init__.py")]
    every = sorted([*folder.glob("*.py"), *packages])
    found = {(path, kind): _values_in(path, kind) for path in every for kind in _KEPT}
    NUMBERS.parent.mkdir(exist_ok=True)
    NUMBERS.write_bytes(pickle.dumps(found))


@functools.cache
def kept_numbers() -> Mapping[tuple[Path, str], Mapping[str, Any]]:
    """Return what has been kept, by the path of the data and the kind."""
    path = os.environ.get("BOOK_NUMBERS")
    if not path or not Path(path).exists():
        return {}
    return pickle.loads(Path(path).read_bytes())  # noqa: S301 - of `keep_numbers`


def _values_in(path: Path, kind: str) -> Mapping[str, Any]:
    """Run a function of some data, unless that has been done since they changed."""
    sources = sources_of(path)
    if not sources:
        return {}
    return _run(path, kind, max(one.stat().st_mtime for one in sources))


@functools.lru_cache(maxsize=64)
def _run(path: Path, kind: str, changed_s: float) -> Mapping[str, Any]:
    """Call a function of the chapter data; a changed source invalidates the cache."""
    function = getattr(_load(path, changed_s), kind, None)
    return function() if function else {}


@functools.lru_cache(maxsize=16)
def _load(path: Path, changed_s: float) -> ModuleType:
    """Import chapter data from their file or folder, with the modules they import."""
    del changed_s
    name = f"chapter_data_{path.stem}"
    for known in [one for one in sys.modules if one.partition(".")[0] == name]:
        del sys.modules[known]
    start = path / "__init__.py" if path.is_dir() else path
    # With a folder to search, it is a package.
    parts = [str(path)] if path.is_dir() else None
    spec = importlib.util.spec_from_file_location(
        name, start, submodule_search_locations=parts
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where a relative import looks for its package
    spec.loader.exec_module(module)
    return module


def fill_in(text: str, numbers: Mapping[str, Any]) -> str:
    """Put the numbers where the text names them.

    Args:
        text: A chapter as its author wrote it.
        numbers: What the data give: values, or lists and tables of them.

    Raises:
        KeyError: The text names a number that is not there.
    """
    return _NUMBER.sub(lambda found: _written(numbers, found[1], found[2]), text)


def _written(numbers: Mapping[str, Any], name: str, how: str | None) -> str:
    """Format one number as the text asks for it."""
    value: Any = numbers
    for step in name.split("."):
        try:
            value = _part(value, step)
        except (KeyError, IndexError, ValueError, TypeError):
            raise KeyError(name) from None
    return format(value, how or "")


def _part(value: Any, step: str) -> Any:  # noqa: ANN401 - numbers of any kind
    """Take one step into a table or a list."""
    if isinstance(value, Mapping):
        return value[step]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value[int(step)]
    raise KeyError(step)


def _fill_in_chapter(app: Sphinx, chapter: str, source: list[str]) -> None:
    """Put the numbers into a chapter that Sphinx is about to read."""
    path = path_of(chapter)
    for one in sources_of(path):
        app.env.note_dependency(str(one), docname=chapter)
    values = {**values_of(chapter, "numbers"), **values_of(chapter, "phrases")}
    try:
        source[0] = fill_in(source[0], values)
    except KeyError as error:
        _log.warning("expected a number %s in %s", error, path.name, location=chapter)
    for left in _NO_NUMBER.findall(source[0]):
        _log.warning("%s: expected a name like rows.0.mean", left, location=chapter)


def setup(app: Sphinx) -> dict[str, Any]:
    """Let Sphinx fill in the numbers before it reads a chapter."""
    app.connect("source-read", _fill_in_chapter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
