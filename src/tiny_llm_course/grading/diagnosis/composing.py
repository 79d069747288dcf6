"""Names a mistake that nobody has written down, by trying changes of the reference."""

import itertools
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence

import mlx.core as mx
import numpy as np

from tiny_llm_course.composed_mistakes.mistakes import Composed, beside, composed
from tiny_llm_course.grading.diagnosis.known_mistakes import (
    does_the_same,
    tells,
    verdict_on,
)
from tiny_llm_course.grading.diagnosis.replay import Replay, replay
from tiny_llm_course.grading.judgement.trial import Outcome, uncompiled
from tiny_llm_course.grading.judgement.verdict import ArrayEvidence, RaisedEvidence
from tiny_llm_course.grading.results import NOT_STARTED
from tiny_llm_course.specimens import Specimen, misconceptions
from tiny_llm_course.syllabus import Address, task_at

COMPOSING_S = 1.5
"""CPU time that goes into one change at most, and again into two at once."""

BESIDE_S = 1.0
"""CPU time that goes into one change of a known mistake."""

LEAST_AGREEMENT = 0.8
"""Of the tests, those on which a composed mistake has to do what a solution does."""

ENOUGH_AGREEMENT = 0.95
"""Nothing better is looked for. In half precision two ways may be rounded apart."""

SOME_PASSED = 3
"""Of the tests that a solution passes, so many are asked before pairs are made."""

NOT_TRIED = frozenset({"engine_thread.EngineThread", "server.create_app"})
"""Names whose tests wait for sockets and threads: a change of them costs no time of the
processor, and many of them leave threads behind."""

IN_METAL = "metal_"
"""Files whose tests wait for a compiler and a simulator: for them, too, a change costs
no time of this process, and one in a template has to be compiled."""

FEW_NUMBERS = 8
"""A wrong array of fewer entries may be like many others."""


@uncompiled()
def compose(outcomes: Sequence[Outcome], task: Address) -> Composed | None:
    """Return the change of the reference's own text that does what a solution did.

    If there is none, two changes. They have to agree with the solution on most tests,
    those that pass included. Of several that do, the first is named: they are different
    ways to say the same.
    """
    symbol, outcomes = first_wrong(outcomes, task)
    failed = [one for one in outcomes if one.verdict and one.verdict.evidence]
    verdicts = [one.verdict for one in failed if one.verdict]
    if not failed or any(one.status == NOT_STARTED for one in verdicts):
        return None
    if not is_tried(symbol, task):
        return None
    stop_s = time.process_time() + COMPOSING_S
    suspects = [one for one in composed(task) if symbol in {"", one.symbol}]
    shown = _shown(failed)
    single = _best(_until(stop_s, suspects), shown, outcomes)
    if single:
        return single
    stop_s += COMPOSING_S
    pairs = _pairs(_until(stop_s - COMPOSING_S / 2, suspects), shown, outcomes)
    double = _best(_until(stop_s, pairs), shown, outcomes)
    if double:
        return double
    records = [one for one in misconceptions(task) if symbol in {"", one.symbol}]
    return _best(_until(stop_s + BESIDE_S, _beside(records, outcomes)), shown, outcomes)


def is_tried(symbol: str, task: Address) -> bool:
    """Tell whether changes are tried of a public name, or of all those of a task."""
    names = [symbol] if symbol else task_at(task).symbols
    return not any(one in NOT_TRIED or one.startswith(IN_METAL) for one in names)


def first_wrong(
    outcomes: Sequence[Outcome], task: Address
) -> tuple[str, Sequence[Outcome]]:
    """Return the first public name that is wrong, and the tests that ask for it.

    Those of another name may fail because that calls this one, and no change of the
    reference's `silu` is called by the reference's MLP.
    """
    for symbol in task_at(task).symbols:
        own = [one for one in outcomes if symbol in one.trial.symbols]
        if any(one.verdict for one in own):
            return symbol, own
    return "", outcomes


def _until(stop_s: float, mistakes: Iterable[Composed]) -> Iterator[Composed]:
    """Yield mistakes that are programs, as long as there is time."""
    for one in mistakes:
        if time.process_time() > stop_s:
            return
        if one.implementation is not None:
            yield one


def _best(
    mistakes: Iterable[Composed], shown: Sequence[Replay], outcomes: Sequence[Outcome]
) -> Composed | None:
    """Return the mistake that agrees best with a solution, if it does well enough.

    It has to explain half of the failed tests at least: where most pass, all agree. And
    where there are only errors, it has to be the only one that raises them.
    """
    num_failed = sum(one.verdict is not None for one in outcomes)
    most, found = round((1 - LEAST_AGREEMENT) * len(outcomes), 6), None
    raising: set[str] = set()
    for one in mistakes:
        if not _seems_the_same(one, shown):
            continue
        same = _same(one, outcomes, most)
        explained = [each for each in same if each.verdict]
        if 2 * len(explained) < num_failed:
            continue
        if not any(tells(one, each, has_passed=False) for each in explained):
            continue
        found, num_other = one, len(outcomes) - len(same)
        if all(map(_is_error, explained)):
            raising.add(one.says)
            most = num_other
            continue
        raising.clear()
        if num_other <= (1 - ENOUGH_AGREEMENT) * len(outcomes):
            break
        most = num_other - 1
    return None if len(raising) > 1 else found


def _is_error(outcome: Outcome) -> bool:
    """Tell whether a test failed by an error, which has many reasons."""
    evidence = outcome.verdict.evidence if outcome.verdict else None
    return isinstance(evidence, RaisedEvidence)


def _seems_the_same(one: Composed, shown: Sequence[Replay]) -> bool:
    """Tell whether a mistake does what a solution does in the first test it fails."""
    for each in shown:
        compared = each.compared_with(one)
        if compared is not None:
            return compared
    return False


def _same(one: Composed, outcomes: Sequence[Outcome], most: float) -> list[Outcome]:
    """Return the tests on which a mistake does what a solution does.

    There are none if it does something else on more than `most`.
    """
    same: list[Outcome] = []
    for position, outcome in enumerate(outcomes):
        if _is_the_same(one, outcome):
            same.append(outcome)
        elif position + 1 - len(same) > most:
            return []
    return same


def _is_the_same(one: Composed, outcome: Outcome) -> bool:
    """Tell whether a mistake passes or fails a test just as a solution did.

    Among so many mistakes some raise errors of the same kind by chance: the texts have
    to be equal, and with them all sizes, or what they are about.
    """
    if not does_the_same(one, outcome):
        return False
    evidence = outcome.verdict.evidence if outcome.verdict else None
    if not isinstance(evidence, RaisedEvidence):
        return True
    own = verdict_on(one, outcome.trial)
    known = own.evidence if own else None
    return isinstance(known, RaisedEvidence) and known.is_exactly(evidence)


def _shown(failed: Sequence[Outcome]) -> list[Replay]:
    """Choose a few failed tests that are quick, and yet tell mistakes apart."""
    by_size = sorted(failed, key=_size)
    places = dict.fromkeys((0, len(failed) // 4, len(failed) // 2))
    return [replay(by_size[place]) for place in places]


def _size(outcome: Outcome) -> tuple[bool, int]:
    """Return how much a failed test shows: with few numbers all mistakes look alike."""
    evidence = outcome.verdict.evidence if outcome.verdict else None
    size = evidence.got.size if isinstance(evidence, ArrayEvidence) else 0
    return size < FEW_NUMBERS, size


def _pairs(
    singles: Iterable[Composed], shown: Sequence[Replay], outcomes: Sequence[Outcome]
) -> Iterator[Composed]:
    """Yield two usual mistakes at once, none of which fails what a solution passes.

    Of those that do the same in some of the failing tests, one is enough.
    """
    passed = _some_passed(outcomes)
    likely: dict[tuple[Hashable, ...], Composed] = {}
    for one in filter(lambda each: each.is_usual, singles):
        done = tuple(_done(one, each) for each in shown)
        if any(done) and all(does_the_same(one, outcome) for outcome in passed):
            likely.setdefault((one.text, *done), one)
    pairs = itertools.combinations(likely.values(), 2)
    for a, b in sorted(pairs, key=_rank):
        if both := a.and_also(b):
            yield both


def _beside(
    records: Iterable[Specimen], outcomes: Sequence[Outcome]
) -> Iterator[Composed]:
    """Yield one change more of each known mistake that may be one of two."""
    passed = _some_passed(outcomes)
    for record in records:
        if all(does_the_same(record, outcome) for outcome in passed):
            yield from beside(record)


def _some_passed(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """Return a few tests that a solution passes, from all over."""
    passed = [one for one in outcomes if not one.verdict]
    return passed[:: max(1, len(passed) // SOME_PASSED)][:SOME_PASSED]


def _rank(pair: tuple[Composed, Composed]) -> tuple[bool, int]:
    """Sort pairs: what is ours first, because there are many, then what is usual."""
    return not pair[0].is_ours, pair[0].rank + pair[1].rank


def _done(one: Composed, seen: Replay) -> bytes:
    """Return what a mistake gives in a test, or nothing if that is right."""
    if seen.call and seen.is_of_an_error:
        error = seen.raised_by(one)
        return repr(error).encode() if error else b""
    if seen.call:
        got = seen.result_of(one)
        return b"" if got is None or seen.is_right(got) else _bytes(got)
    verdict = verdict_on(one, seen.outcome.trial)
    evidence = verdict.evidence if verdict else None
    if isinstance(evidence, ArrayEvidence):
        return _bytes(evidence.got)
    return repr(evidence).encode() if evidence else b""


def _bytes(array: mx.array) -> bytes:
    """Return the entries of an array, and their dtype."""
    return np.array(array.astype(mx.float32)).tobytes() + repr(array.dtype).encode()
