"""A plugin of pytest: when the reference has passed, it runs mutants on its tests.

The outcome of each is written down line by line, since a mutant may end the process.
"""

import resource
import signal
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

from tiny_llm_course.grading.diagnosis import known_mistakes
from tiny_llm_course.grading.diagnosis.composing import compose
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.grading.judgement.verdict import VerdictError
from tiny_llm_course.solution import load_solution
from tiny_llm_course.specimens import misconceptions
from tiny_llm_course.syllabus import file_of, task_at
from tiny_llm_lab.mutation.outcomes import (
    ALL_DONE,
    REJECTED,
    RUNNING,
    SURVIVED,
    Tried,
    append,
    read,
)
from tiny_llm_lab.mutation.python import Mutant, helpers_of, mutants_of
from tiny_llm_lab.mutation.unproven import besides, left_out
from tiny_llm_lab.proof import trials_of

LIMIT_S = 10.0
"""CPU time of one mutant on one test. On the reference none takes a tenth of it."""

MEMORY_BYTES = 6 * 2**30

MOST_VERDICTS = 4000
"""That are kept, with the arrays that they are about."""

NUM_NAMED = 40
"""So many mutants of a day are named if they are rejected: each takes seconds."""


class TooLongError(BaseException):
    """A mutant does not come back. No `except Exception` of a test takes it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--mutants`."""
    parser.addoption("--mutants", type=Path, help="write the outcome of each here")


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Show that the tests of the reference go on."""
    _file(item.config).touch()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Run all mutants that no earlier process has run."""
    trials = trials_of(session)
    if session.testsfailed or not trials:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, hard))
    try_all(_mutants(trials), trials, _file(session.config))


def _file(config: pytest.Config) -> Path:
    """Return where to write the outcomes."""
    path = config.getoption("--mutants")
    assert isinstance(path, Path)
    return path


def try_all(mutants: Iterable[Mutant], trials: Sequence[Trial], path: Path) -> None:
    """Run mutants on the tests of their tasks, and write down the outcomes.

    Args:
        mutants: Those that the file knows are left alone.
        trials: All tests of the day.
        path: The file.
    """
    known = {one.key for one in read(path)}
    mutants = list(mutants)
    keys = sorted((one.key for one in mutants), key=_place_in_line)
    sample = frozenset(keys[:NUM_NAMED])
    for mutant in mutants:
        if mutant.key not in known:
            own = _own(mutant, trials)
            _try(mutant, own, path, is_sampled=mutant.key in sample)
    reference = load_solution("ref")
    broken = (one.test for one in trials if one.run(reference))
    append(path, Tried(ALL_DONE, test=next(broken, "")))


def _end(_signum: int, _frame: FrameType | None) -> None:
    """Leave a mutant alone that takes too long."""
    raise TooLongError


def _mutants(trials: Sequence[Trial]) -> Iterator[Mutant]:
    """Yield the mutants of all names that the required tasks of these tests are for.

    What several names of a file use is changed under the last of them, which has most.
    """
    tasks = [task_at(one) for one in dict.fromkeys(trial.task for trial in trials)]
    symbols = (one for task in tasks if not task.optional for one in task.symbols)
    day = f"week {tasks[0].address.week}, day {tasks[0].address.day}"
    done: dict[str, frozenset[str]] = {}
    for symbol in reversed(dict.fromkeys(symbols)):
        file = file_of(symbol)
        before = done.get(file, frozenset())
        unchanged = left_out(day, symbol) | before
        yield from mutants_of(symbol, unchanged, besides(day, symbol))
        done[file] = before | helpers_of(symbol)


def _own(mutant: Mutant, trials: Sequence[Trial]) -> list[Trial]:
    """Return the tests of required tasks that use the name which a mutant replaces."""
    return [
        one
        for one in trials
        if mutant.symbol in one.symbols and not task_at(one.task).optional
    ]


def _place_in_line(key: str) -> int:
    """Return where a mutant stands in a line that is mixed, and never again."""
    return zlib.crc32(key.encode())


def _try(
    mutant: Mutant, trials: Sequence[Trial], path: Path, *, is_sampled: bool
) -> None:
    """Write down whether any test rejects a mutant and, of some, how it is named."""
    tried = Tried(mutant.key, RUNNING)
    append(path, tried)
    rejection = next((one for one in _outcomes(mutant, trials) if one.verdict), None)
    if rejection is None:
        append(path, replace(tried, status=SURVIVED))
        return
    tried = replace(tried, status=REJECTED, test=rejection.trial.test)
    append(path, replace(tried, named="nothing" if is_sampled else ""))
    if is_sampled:
        task = rejection.trial.task
        own = [one for one in trials if one.task == task]
        append(path, replace(tried, named=_named(list(_outcomes(mutant, own)))))


def _outcomes(mutant: Mutant, trials: Sequence[Trial]) -> Iterator[Outcome]:
    """Run a mutant on one test after the other."""
    signal.signal(signal.SIGPROF, _end)
    for trial in trials:
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        try:
            verdict = trial.run(mutant.as_solution())
        except (Exception, TooLongError) as error:  # noqa: BLE001 - the mutant's own
            verdict = VerdictError(f"{type(error).__name__}: {error}")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        yield Outcome(trial, verdict and verdict.with_traceback(None))


def _named(outcomes: Sequence[Outcome]) -> str:
    """Tell what explains a failure to a learner: a record, a change, a symptom."""
    if known_mistakes.verdict_on.cache_info().currsize > MOST_VERDICTS:
        known_mistakes.verdict_on.cache_clear()
    task = outcomes[0].trial.task
    if known_mistakes.explain(outcomes, misconceptions(task)):
        return "record"
    if compose(outcomes, task):
        return "composed"
    return "symptom" if known_mistakes.describe(outcomes) else "nothing"
