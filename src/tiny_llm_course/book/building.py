"""Running Sphinx: one strict build, or a server that rebuilds after every change."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tiny_llm_course.book.languages import languages, name_of
from tiny_llm_course.language import SETTING, speaking
from tiny_llm_course.places import BOOK, ROOT

BUILT = BOOK / "build" / "site"
"""Static files with relative links: to be read from here, or from any server."""

NUMBERS = BUILT.with_name("numbers.pickle")
"""What `chapter_data.keep_numbers` writes: the numbers of all chapters."""

_STRICT = ("--fail-on-warning", "--nitpicky", "--keep-going", "--quiet")
_ANEW = ("--write-all", "--fresh-env")

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


def build_here() -> int:
    """Build the language that the command line names, from scratch, in this process."""
    from sphinx.cmd.build import main

    (code,) = sys.argv[1:]
    shutil.rmtree(BUILT / code, ignore_errors=True)
    _write_front_page(BUILT)
    with speaking(code):
        return main([*_STRICT, *_ANEW, *places(code, BUILT)])


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
    _write_front_page(target)
    anew = _ANEW if fresh else ()
    with ThreadPoolExecutor() as side_by_side:
        ran = list(side_by_side.map(lambda one: _build(one, target, anew), languages()))
    return next((one for one in ran if one.returncode), ran[-1])


def _write_front_page(target: Path) -> None:
    """Write a page that leads to the first language, and has a link to each."""
    target.mkdir(parents=True, exist_ok=True)
    links = [_LINK.format(code=code, name=name_of(code)) for code in languages()]
    page = _FRONT_PAGE.format(first=languages()[0], links="\n".join(links))
    (target / "index.html").write_text(page, encoding="utf-8")
    (target / ".nojekyll").touch()  # GitHub leaves out what begins with "_" otherwise


def _build(
    code: str, target: Path, options: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """Run Sphinx on the chapters of one language."""
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *_STRICT, *options, *places(code, target)],
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
