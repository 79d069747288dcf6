"""Cached results of steps, valid while everything they depend on is unchanged."""

import json
import os
import platform
import shutil
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from tiny_llm_course.checks.sources import Sources, depended_on, digest_of, short_hash
from tiny_llm_course.checks.steps import Outcome, Step
from tiny_llm_course.doctor.system import describe_cpu

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
PROGRAMS = ("c++", "clang++", *BROWSERS, "git")
SETTINGS = ("TINY_LLM_", "MLX_", "OPENBLAS_CORETYPE", "BOOK", "CHROMIUM", "CXX")


class Kept:
    """The results of steps in earlier checks of a checkout.

    Attributes:
        root: The checkout. Its files are read once, when this is created.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._sources = Sources.of(root)
        self._machine = describe_machine()
        self._folder = root / ".cache" / "checks"

    def outcome(self, step: Step) -> Outcome | None:
        """Return the result of a step, if nothing that it depends on has changed."""
        record = self._record(step)
        if record.get("machine") != self._machine:
            return None
        if step.makes and not step.makes.exists():
            return None
        reads: dict[str, str] = record["reads"]
        if any(self._sources.digest(name) != was for name, was in reads.items()):
            return None
        return Outcome(True, record["last_line"], 0.0, was_kept=True)

    def duration_s(self, step: Step) -> float:
        """Return how long a step took the last time; infinity if that is unknown."""
        return self._record(step).get("duration_s", float("inf"))

    def keep(self, step: Step, outcome: Outcome, noted: Iterable[str]) -> None:
        """Store the result of a step, if it succeeded and no file changed meanwhile.

        Args:
            step: The step.
            outcome: How it ended.
            noted: What it has read, as lines that `tracing` wrote.
        """
        names = depended_on(noted) | self._sources.matching(step.reads)
        if step.makes:
            made = step.makes.parent.relative_to(self.root).as_posix()
            names = {name for name in names if not name.startswith(f"{made}/")}
        reads = {name: self._sources.digest(name) for name in sorted(names)}
        files = reads.keys() & self._sources.digests.keys()
        if outcome.succeeded and all(
            digest_of(self.root / name) == reads[name] for name in files
        ):
            record = {
                "step": f"{step.claim}: {step.part}",
                "machine": self._machine,
                "last_line": outcome.last_line,
                "duration_s": outcome.duration_s,
                "reads": reads,
            }
            self._folder.mkdir(parents=True, exist_ok=True)
            self._path(step).write_text(json.dumps(record, indent=1), encoding="utf-8")

    def _record(self, step: Step) -> dict[str, Any]:
        """Read what was written about a step, or return nothing."""
        try:
            return json.loads(self._path(step).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    def _path(self, step: Step) -> Path:
        return self._folder / f"{short_hash(repr(step).encode())}.json"


def describe_machine() -> str:
    """Return a description of the machine, its libraries, programs and settings."""
    libraries = sorted(f"{one.name} {one.version}" for one in metadata.distributions())
    programs = [path for path in map(shutil.which, PROGRAMS) if path]
    versions = [(path, Path(path).stat().st_mtime) for path in programs]
    settings = sorted(one for one in os.environ.items() if one[0].startswith(SETTINGS))
    everything = (
        describe_cpu(),
        platform.python_version(),
        libraries,
        versions,
        settings,
    )
    return short_hash(repr(everything).encode())
