"""Verdicts on speed, in lines for the terminal."""

from collections.abc import Iterator, Sequence
from operator import itemgetter

from tiny_llm_course.catalogue import say
from tiny_llm_course.layout import pad, widest
from tiny_llm_course.speed.races import name_of_rung, section_of
from tiny_llm_course.speed.verdict import AS_FAST, Verdict

MARGIN = " " * 10


def short(verdict: Verdict) -> list[str]:
    """Write a verdict in three lines at most."""
    speeds = {
        "yours": digits(verdict.yours.speed),
        "ours": digits(verdict.ours[verdict.race.kernel].speed),
        "limit": digits(verdict.limit_speed),
    }
    first = say(
        "speed.short",
        task=verdict.task.address.task,
        level=_level(verdict),
        unit=_unit(verdict),
        source=say(f"speed.limit.{verdict.race.limit}"),
        **speeds,
    )
    return [first, *(MARGIN + line for line in _advice(verdict))]


def table(verdict: Verdict) -> Iterator[str]:
    """Yield a title, a line for each kernel, and what to do."""
    task, race = verdict.task, verdict.race
    yield say(
        "speed.title", address=task.address.named, title=task.title, kernel=race.kernel
    )
    speeds = {name_of_rung(one): verdict.ours[one].speed for one in race.rungs}
    slowest = speeds[name_of_rung(race.rungs[0])]
    speeds[say("speed.yours")] = verdict.yours.speed
    speeds[say(f"speed.limit.{race.limit}")] = verdict.limit_speed
    width = widest(speeds)
    yield say("speed.columns", name=pad("", width), unit=_unit(verdict))
    for name, speed in sorted(speeds.items(), key=itemgetter(1)):
        times = digits(speed / slowest)
        own = {"name": pad(name, width), "speed": digits(speed), "times": times}
        yield say("speed.row", **own)
    yield say("speed.reached", level=_level(verdict))
    yield from (f"  {line}" for line in _advice(verdict))


def busy(verdicts: Sequence[Verdict]) -> list[str]:
    """Write a warning if other programs have disturbed some timings."""
    return [say("speed.busy")] if any(one.is_disturbed for one in verdicts) else []


def digits(number: float) -> str:
    """Write a number with two digits, or more in front of the point."""
    if number >= 10:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 1 else f"{number:.2f}"


def _level(verdict: Verdict) -> str:
    name = name_of_rung(verdict.race.rungs[verdict.level])
    if verdict.is_at_the_limit:
        return say("speed.at_the_limit", level=name)
    if verdict.next_rung:
        return name
    share = verdict.share_of_ours
    if share >= AS_FAST:
        return say("speed.as_ours", level=name)
    return say("speed.slower_than_ours", level=name, share=share)


def _unit(verdict: Verdict) -> str:
    return say(f"speed.unit.{verdict.race.unit}")


def _advice(verdict: Verdict) -> Sequence[str]:
    """Return a line on the causes, and one on the next level."""
    lines = [" ".join(verdict.causes)] if verdict.causes else []
    if rung := verdict.next_rung:
        lines.append(
            say(
                "speed.next",
                level=name_of_rung(rung),
                takes=say(f"speed.takes.{rung}"),
                command=section_of(rung, verdict.task),
            )
        )
    return lines
