"""Proves the tests without a record: a mutant that breaks a promise fails one."""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.preparing import prepare
from tiny_llm_course.grading.engine import session
from tiny_llm_course.syllabus import Day, select_days
from tiny_llm_lab.mutation import outcomes
from tiny_llm_lab.mutation.outcomes import Tried
from tiny_llm_lab.mutation.unproven import equivalent

SILENCE_LIMIT_S = 90.0
"""For one mutant, or one test of the reference, on a machine that does much else."""

ON_THE_CPU = {"TINY_LLM_DEVICES": "cpu"}
"""So that the list of those that pass is the same on every machine."""

WORKER = ("-q", "-p", "tiny_llm_lab.mutation.worker")


@dataclass(frozen=True)
class MutantScore:
    """How many mutants of one day the tests reject.

    Attributes:
        day: Whose tests they are, such as "week 1, day 1".
        num_mutants: Number of mutants.
        num_rejected: Of these, those that fail a test.
        num_ended: Of the rejected, those that ended the process, or never came back.
        equivalent: Those that pass, and are listed with a reason.
        survived: Those that pass, and are not.
        stale: What is listed and fails, or does not exist any more.
        named: How many rejected ones of a sample are explained, by what explains them.
    """

    day: str
    num_mutants: int
    num_rejected: int
    num_ended: int = 0
    equivalent: tuple[str, ...] = ()
    survived: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    named: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def is_proven(self) -> bool:
        """Whether every mutant is rejected or listed, and none is listed in vain."""
        return not (self.survived or self.stale)


def prove(days: Sequence[Day]) -> Iterator[MutantScore]:
    """Run the tests of each day on all mutants of what it asks for in Python.

    Raises:
        CourseError: The reference does not pass.
    """
    for day in days:
        if any(task.symbols for task in day.tasks if not task.optional):
            name = f"week {day.week}, day {day.number}"
            yield score(name, _tried(day), equivalent(name))


def score(day: str, tried: Sequence[Tried], listed: set[str]) -> MutantScore:
    """Count what came of the mutants of a day."""
    passed = [one.key for one in tried if one.status == outcomes.SURVIVED]
    return MutantScore(
        day,
        len(tried),
        len(tried) - len(passed),
        sum(one.status == outcomes.ENDED for one in tried),
        tuple(key for key in passed if key in listed),
        tuple(key for key in passed if key not in listed),
        tuple(sorted(listed - set(passed))),
        dict(Counter(one.named for one in tried if one.named)),
    )


def _tried(day: Day) -> list[Tried]:
    """Run all mutants of a day, in one process after the other."""
    prepare(select_days(None, None), "tiny_llm_ref")  # a mutant may call a kernel
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutants.jsonl"
        options = [*WORKER, "--mutants", str(path)]
        arguments = session.pytest_arguments([day], "tiny_llm_ref", options)
        return work_off([sys.executable, "-m", "pytest", *arguments], path)


def work_off(
    command: Sequence[str], path: Path, silence_limit_s: float = SILENCE_LIMIT_S
) -> list[Tried]:
    """Run a command until it has tried all mutants, again after each one that ends it.

    Args:
        command: Tries those that are not in a file yet, and writes there.
        path: The file.
        silence_limit_s: How long one mutant may take.

    Raises:
        CourseError: The reference does not pass, before all mutants or after them.
    """
    path.touch()
    tried: dict[str, Tried] = {}
    while outcomes.ALL_DONE not in tried:
        said = _run(command, path, silence_limit_s)
        num_before = len(tried)
        tried = {one.key: one for one in outcomes.read(path)}
        if len(tried) == num_before:
            raise CourseError(f"the reference does not pass: {said}")
        for key, one in tried.items():
            if one.status == outcomes.RUNNING and key != outcomes.ALL_DONE:
                tried[key] = replace(one, status=outcomes.ENDED)
                outcomes.append(path, tried[key])
    if harmed := tried.pop(outcomes.ALL_DONE).test:
        raise CourseError(f"a mutant has changed what other tests use: {harmed}")
    return list(tried.values())


def _run(command: Sequence[str], path: Path, silence_limit_s: float) -> str:
    """Wait until a process ends, or has been silent for too long. Return its words."""
    path.touch()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | ON_THE_CPU,
        )
        try:
            while process.poll() is None:
                time.sleep(0.05)
                if time.time() - path.stat().st_mtime > silence_limit_s:
                    break
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        return output.read()[-500:]
