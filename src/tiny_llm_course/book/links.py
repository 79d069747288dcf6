"""The links that leave the book: listed always, requested only when asked for."""

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tiny_llm_course.book.building import places
from tiny_llm_course.book.languages import chapters_by_language, languages
from tiny_llm_course.language import SETTING
from tiny_llm_course.places import ROOT

_LINK = re.compile(r"https?://[^\s)>\]`\"']+")


def external() -> list[str]:
    """Return every link that leaves the book, with the chapters that have it."""
    found: dict[str, set[str]] = {}
    for chapter in itertools.chain(*chapters_by_language().values()):
        for link in _LINK.findall(chapter.read_text(encoding="utf-8")):
            found.setdefault(link.rstrip(".,;"), set()).add(chapter.stem)
    return [f"{link}  {', '.join(sorted(found[link]))}" for link in sorted(found)]


def broken() -> list[str]:
    """Request every link that leaves the book, and return those that are broken."""
    found: list[str] = []
    for code in languages():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [
                    *(sys.executable, "-m", "sphinx", "-b", "linkcheck", "--quiet"),
                    *places(code, Path(folder)),
                ],
                cwd=ROOT,
                env={**os.environ, SETTING: code},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
            answers = Path(folder, code, "output.json").read_text(encoding="utf-8")
        for answer in map(json.loads, answers.splitlines()):
            if answer["status"] in {"broken", "timeout"}:
                at = f"{answer['filename']}:{answer['lineno']}"
                found.append(f"{at}: {answer['uri']}: {answer['info']}")
    return found
