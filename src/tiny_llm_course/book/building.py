"""Running Sphinx: one strict build, or a server that rebuilds after every change."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tiny_llm_course.book.languages import languages, name_of
from tiny_llm_course.language import SETTING
from tiny_llm_course.places import BOOK, ROOT

BUILT = BOOK / "build" / "site"
"""Static files with relative links: to be read from here, or from any server."""

_FRONT_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={first}/index.html">
<title>tiny-llm</title>
{links}
"""
_LINK = '<a href="{code}/index.html" lang="{code}">tiny-llm, {name}</a>'


def complaints() -> list[str]:
    """Build the book from scratch into `BUILT`, and return what is wrong with it."""
    shutil.rmtree(BUILT, ignore_errors=True)
    built = build(fresh=True)
    return [built.stdout] if built.returncode else []


def build_anew() -> int:
    """Build the book from scratch, print what is wrong, and return the exit code."""
    found = complaints()
    print("\n".join(found) or f"{len(list(BUILT.glob('*/*.html')))} pages")
    return int(bool(found))


def build(
    target: Path = BUILT, *, fresh: bool = False
) -> subprocess.CompletedProcess[str]:
    """Build all languages, and let every warning fail the build.

    Args:
        target: Gets a folder per language, and a front page.
        fresh: Build everything from scratch, whatever an earlier build has left.

    Returns:
        The run of Sphinx that failed, in the first such language, or the last one.
    """
    target.mkdir(parents=True, exist_ok=True)
    (target / "index.html").write_text(_front_page(), encoding="utf-8")
    (target / ".nojekyll").touch()  # GitHub leaves out what begins with "_" otherwise
    anew = ["--write-all", "--fresh-env"] if fresh else []
    with ThreadPoolExecutor() as side_by_side:
        ran = list(side_by_side.map(lambda one: _build(one, target, anew), languages()))
    return next((one for one in ran if one.returncode), ran[-1])


def _front_page() -> str:
    """Return a page that leads to the first language, and has a link to each."""
    links = [_LINK.format(code=code, name=name_of(code)) for code in languages()]
    return _FRONT_PAGE.format(first=languages()[0], links="\n".join(links))


def _build(
    code: str, target: Path, options: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Run Sphinx on the chapters of one language."""
    strict = ["--fail-on-warning", "--nitpicky", "--keep-going", "--quiet"]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *strict, *options, *places(code, target)],
        cwd=ROOT,
        env={**os.environ, SETTING: code},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def places(code: str, target: Path) -> list[str]:
    """Return the arguments that say what Sphinx reads and where it writes."""
    cache = target.with_name(f"{target.name}-cache") / code
    return [
        *("--conf-dir", str(BOOK), "--doctree-dir", str(cache)),
        *(str(BOOK / code), str(target / code)),
    ]
