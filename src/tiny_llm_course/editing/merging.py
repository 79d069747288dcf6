"""Whether git has merged the new version of the course, or is in the middle of it."""

import re
import shutil
import subprocess
from pathlib import Path

from tiny_llm_course.catalogue import say
from tiny_llm_course.places import Checkout

FINISHING = {
    "MERGE_HEAD": "git commit --no-edit",
    "rebase-merge": "git rebase --continue",
    "rebase-apply": "git rebase --continue",
}
"""What ends a merge, by the file that git keeps until then."""

CPP = {".h", ".cpp"}

MARKER = re.compile(r"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)
"""What git writes around the lines that it could not merge."""


def half_merged(checkout: Checkout) -> str | None:
    """Say which file is not merged yet, and how to go on."""
    unfinished = _unfinished(checkout.root)
    finish = unfinished or "git commit"
    for path in _learners_files(checkout):
        text = path.read_bytes().decode("utf-8", "replace")
        if marker := MARKER.search(text):
            place = checkout.link(path, text.count("\n", 0, marker.start()) + 1)
            file = checkout.link(path)
            named = {"place": place, "file": file, "finish": finish}
            return say("commands.update.conflict", **named)
    if unmerged := _git(checkout.root, "diff", "--name-only", "--diff-filter=U"):
        file = unmerged.splitlines()[0]
        return say("commands.update.unmerged", file=file, finish=finish)
    if unfinished:
        return say("commands.update.unfinished", finish=finish)
    return None


def not_pulled(checkout: Checkout) -> str | None:
    """Say that a newer version was fetched, and is not in the files yet.

    `git pull` leaves it like that where it would overwrite what is not committed.
    """
    missing = _git(checkout.root, "rev-list", "--count", "HEAD..@{upstream}")
    is_newer = missing is not None and int(missing) > 0
    return say("commands.update.not_pulled") if is_newer else None


def _learners_files(checkout: Checkout) -> list[Path]:
    """Return what a learner writes, and so what can be in conflict."""
    in_cpp = [path for path in checkout.kernels.rglob("*") if path.suffix in CPP]
    return sorted([*checkout.starter.rglob("*.py"), *in_cpp])


def _unfinished(root: Path) -> str | None:
    """Return the command that ends what git has begun, if it has."""
    for name, finish in FINISHING.items():
        place = _git(root, "rev-parse", "--git-path", name)
        if place and (root / place.strip()).exists():
            return finish
    return None


def _git(root: Path, *arguments: str) -> str | None:
    """Ask git about a checkout. None if it is no repository, or has no answer."""
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    asked = [git, "-C", str(root), *arguments]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False)
    return ran.stdout if ran.returncode == 0 else None
