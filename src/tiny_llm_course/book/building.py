"""Running Sphinx: one strict build, or a server that rebuilds after every change."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tiny_llm_course.book.languages import languages
from tiny_llm_course.places import BOOK, ROOT

BUILT = BOOK / "build" / "site"
"""Static files with relative links: to be read from here, or from any server."""

_FRONT_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=en/index.html">
<title>tiny-llm</title>
<a href="en/index.html">tiny-llm</a>
"""


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
        The first run of Sphinx that failed, or the last one.
    """
    target.mkdir(parents=True, exist_ok=True)
    (target / "index.html").write_text(_FRONT_PAGE, encoding="utf-8")
    (target / ".nojekyll").touch()  # GitHub leaves out what begins with "_" otherwise
    ran = subprocess.CompletedProcess([], 0, "")
    for code in languages():
        strict = ["--fail-on-warning", "--nitpicky", "--keep-going", "--quiet"]
        anew = ["--write-all", "--fresh-env"] if fresh else []
        ran = subprocess.run(
            [sys.executable, "-m", "sphinx", *strict, *anew, *places(code, target)],
            cwd=ROOT,
            env={**os.environ, "BOOK_LANG": code},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if ran.returncode:
            break
    return ran


def places(code: str, target: Path) -> list[str]:
    """Return the arguments that say what Sphinx reads and where it writes."""
    cache = target.with_name(f"{target.name}-cache") / code
    return [
        *("--conf-dir", str(BOOK), "--doctree-dir", str(cache)),
        *(str(BOOK / code), str(target / code)),
    ]
