"""The drawing of the map: a page's HTML, in which each part is a link."""

import functools
import re
from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from typing import Any

from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_course.book.map_parts import (
    ATTENTION,
    BEGINNING,
    END,
    MLP,
    SERVICE,
    Part,
    place,
    state,
)
from tiny_llm_course.catalogue import say
from tiny_llm_course.day_number import DayNumber
from tiny_llm_course.syllabus import Day, Task, Week, weeks

DATA = "model-map"
"""The name of the map's data, as `values_of` finds them."""


def drawn(today: Day | None) -> str:
    """Return the map with the parts of a day lit.

    Args:
        today: The day of the page. On a page of no day, no part is lit.
    """
    lanes = "".join(_lane(parts, today) for parts in (ATTENTION, MLP))
    weeks_of_links = "".join(_week(week, today) for week in weeks())
    return (
        f'<nav class="model-map" aria-label="{_text("label")}">'
        f'<div class="map-drawing">{_service(today)}'
        f'<div class="map-top">{_lane(BEGINNING, today)}{_sentence()}</div>'
        f'<div class="map-rest"><div class="map-block">'
        f'<p class="map-label">{_text("block")}</p>{lanes}</div>'
        f"{_lane(END, today)}</div></div>"
        f'<p class="map-today">{_emphasised(_of_today(today))}</p>'
        f'<div class="map-weeks">{weeks_of_links}</div></nav>'
    )


def text(name: str, **values: object) -> str:
    """Return a sentence of the map, with the numbers that it quotes.

    Args:
        name: Its key in the map's file of the catalogue.
        **values: What the data of the map do not have.
    """
    return say(f"model_map.{name}", **values, **_numbers())


@functools.cache
def _numbers() -> Mapping[str, Any]:
    """Return the numbers of the map, which each of its sentences is given."""
    return values_of(DATA, "numbers")


def task_link(task: Task) -> str:
    """Return the address of a task, from any page with a map."""
    return f"{task.chapter}.html#task-{task.address.task}"


def day_label(day: tuple[int, int]) -> str:
    """Write a day with its week and its title."""
    found = next(
        one for week in weeks() for one in week.days if (one.week, one.number) == day
    )
    return text("day", week=day[0], day=day[1], title=found.title)


def _service(today: Day | None) -> str:
    """Return what serves the model: from its week on, and on pages of no day."""
    built = [one for one in SERVICE if one.tasks]
    if not built or (today and today.week < built[0].days[0][0]):
        return ""
    return f'<div class="map-service">{_lane(built, today)}</div>'


def _sentence() -> str:
    """Return the tokens of the prompt, and the one that the loop brings back."""
    tokens: list[str] = values_of(DATA, "data")["tokens"]
    chips = "".join(f'<li class="map-token">{escape(one)}</li>' for one in tokens)
    returned = escape(_numbers()["next"])
    return (
        f'<ol class="map-sentence" aria-label="{_text("sentence")}">{chips}'
        f'<li class="map-token map-next">{returned}</li></ol>'
    )


def _lane(parts: Iterable[Part], today: Day | None) -> str:
    """Return parts that follow each other."""
    return f'<div class="map-lane">{"".join(_box(one, today) for one in parts)}</div>'


def _box(part: Part, today: Day | None) -> str:
    """Return a part: its name, when it is built, and a link to that place."""
    now, task = state(part, today), part.task_for(today)
    kinds = f"map-part map-{now}" + " map-add" * part.name.startswith("add_")
    return (
        f'<a class="{kinds}" data-part="{part.name}" href="{task_link(task)}">'
        f'<span class="map-name">{_text(f"parts.{part.name}")}</span> '
        f'<span class="map-when">{escape(_when(part, now, task))}</span></a>'
    )


def _when(part: Part, now: str, task: Task) -> str:
    """Say when a part is built, in a word or a number."""
    if now == "lit":
        return text("today")
    if now == "yours":
        return text("yours", day=_short(place(task)))
    # Days of the track build a part again: on a phone there is no room for them.
    days = [one for one in part.days if not DayNumber(one[1]).is_on_track]
    return _listed(days if now == "any" else days[:1])


def _listed(days: Iterable[tuple[int, int]]) -> str:
    """Write days, and those that follow each other as one span."""
    runs = groupby(enumerate(days), lambda one: (one[1][0], one[1][1] - one[0]))
    return ", ".join(_span([_short(day) for _, day in run]) for _, run in runs)


def _span(days: list[str]) -> str:
    return days[0] if len(days) == 1 else text("span", begin=days[0], end=days[-1])


def _week(week: Week, today: Day | None) -> str:
    """Return links to all days of a week."""
    links = "".join(_day_link(day, is_today=day == today) for day in week.days)
    name = _text("week", number=week.number)
    return f'<div class="map-week"><span>{name}</span><ol>{links}</ol></div>'


def _day_link(day: Day, *, is_today: bool) -> str:
    """Return a link to a day, which is named in full to those who listen."""
    here = (day.week, day.number)
    name, current = escape(day_label(here)), ' aria-current="page"' * is_today
    return (
        f'<li><a href="{day.chapter}.html" title="{name}"{current} '
        f'aria-label="{_short(here)} {name}">{_short(here)}</a></li>'
    )


def _of_today(today: Day | None) -> str:
    """Say what today's part does to the prompt."""
    name = f"week_{today.week}.day_{today.number}".lower() if today else "none"
    return text(f"days.{name}")


def _short(day: tuple[int, int]) -> str:
    """Write a day in few letters. There is one track for GPUs, so it needs no week."""
    week, number = day
    return f"{number}" if DayNumber(number).is_on_track else f"{week}.{number}"


def _text(name: str, **values: object) -> str:
    """Return a sentence of the map, safe in HTML."""
    return escape(text(name, **values))


def _emphasised(sentence: str) -> str:
    """Return a text as HTML, with what stands between stars emphasised."""
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", escape(sentence))
