"""The map of the model: its parts, their days, and what the prompt is at each part."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course import catalogue
from tiny_llm_course.book import model_map
from tiny_llm_course.book.chapter_data import values_of
from tiny_llm_course.book.embedded import checkpoint, token_ids
from tiny_llm_course.book.map_drawing import DATA, drawn, text
from tiny_llm_course.book.map_parts import PARTS, Part, day_of, state
from tiny_llm_course.syllabus import Day, tasks_of, weeks
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

DAYS = [day for week in weeks() for day in week.days]

LINE = 105
"""How many characters stand in a line of the page."""


def label(day: Day) -> str:
    return f"{day.week}.{day.number}"


def lit(day: Day) -> list[Part]:
    return [part for part in PARTS if state(part, day) == "lit"]


@pytest.fixture(scope="module")
def data() -> Any:  # noqa: ANN401 - lists and tables by name
    """What the script of the map shows."""
    return values_of(DATA, "data")


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_each_symbol_of_a_part_is_a_task(part: Part) -> None:
    """A symbol that is renamed in the syllabus would silently take its day away."""
    assert not [one for one in part.symbols if not tasks_of(one)]


@pytest.mark.parametrize("day", DAYS, ids=label)
def test_each_day_lights_a_part_and_leads_to_its_tasks(day: Day) -> None:
    assert lit(day)
    assert {part.task_for(day).chapter for part in lit(day)} == {day.chapter}


@pytest.mark.parametrize("day", [None, *DAYS], ids=lambda day: day and label(day))
def test_each_map_leads_to_every_day(day: Day | None) -> None:
    links = set(re.findall(r'href="([^"]+)"', drawn(day)))

    assert {f"{one.chapter}.html" for one in DAYS} <= links


@pytest.mark.parametrize("day", [None, *DAYS], ids=lambda day: day and label(day))
def test_what_is_said_of_a_day_fits_a_line(day: Day | None) -> None:
    """Two lines would push the first task of some chapters off the fifth screen."""
    name = f"week_{day.week}.day_{day.number}".lower() if day else "none"

    sentence = text(f"days.{name}").replace("*", "")

    assert len(sentence) <= LINE
    assert not re.search(r"[{}]", sentence)


def test_a_part_is_to_come_then_lit_then_yours() -> None:
    (cache,) = (part for part in PARTS if part.name == "cache")

    states = [state(cache, day) for day in DAYS if day.week < 3]
    assert states == ["later"] * 7 + ["lit"] + ["yours"] * (len(states) - 8)
    assert state(cache, None) == "any"


def test_a_part_of_an_earlier_day_leads_to_where_it_was_built_last() -> None:
    (norm,) = (part for part in PARTS if part.name == "norm_1")

    found = [str(norm.task_for(day).address) for day in (DAYS[0], DAYS[5], DAYS[13])]

    assert found == ["week 1, day 4, task 1"] * 2 + ["week 2, day 7, task 1"]


def test_the_first_page_lists_all_days_of_a_part() -> None:
    drawing = drawn(None)

    listed = dict(re.findall(r'data-part="(\w+)".*?class="map-when">(.*?)<', drawing))
    span = text("span", begin="2.3", end="2.5")
    assert listed["head"] == f"1.5, {span}"
    assert listed["rope"] == "1.2, 2.7"


def test_what_serves_the_model_is_shown_from_its_week_on() -> None:
    shown = ["map-service" in drawn(day) for day in (None, *DAYS)]

    assert shown == [True, *(day.week >= 3 for day in DAYS)]


def test_only_a_whole_book_has_maps() -> None:
    """The links of a map in a part of a book would lead nowhere."""
    pages = {day.chapter for day in DAYS} | {"index", "preface"}
    first = DAYS[0].chapter

    assert model_map.has_map(first, pages)
    assert model_map.has_map("index", pages)
    assert not model_map.has_map("preface", pages)
    assert not model_map.has_map(first, pages - {DAYS[-1].chapter})
    assert day_of("preface") is None


def test_the_layer_that_is_shown_is_that_of_the_reference(data: Any) -> None:  # noqa: ANN401
    """Taken apart, it puts out what it puts out in one piece."""
    model, numbers = Qwen2ModelWeek1(checkpoint().model), values_of(DATA, "numbers")
    x = model.embedding(mx.array([token_ids(numbers["prompt"])]))
    for layer in model.layers[: numbers["layer"]]:
        x = layer(x, mask="causal")

    shown = np.array(data["strips"]["y"]["values"])
    computed = np.array(x[0, :, : shown.shape[1]])
    assert shown == pytest.approx(computed, rel=6e-3, abs=1e-5)


def test_the_likeliest_token_is_that_of_the_reference(data: Any) -> None:  # noqa: ANN401
    model, numbers = Qwen2ModelWeek1(checkpoint().model), values_of(DATA, "numbers")
    logits = model(mx.array([token_ids(numbers["prompt"])]))[0, -1]

    (best,) = token_ids(f" {data['likeliest'][-1][0][0]}")
    assert best == mx.argmax(logits).item()
    assert data["likeliest"][-1][0][1] == pytest.approx(
        mx.softmax(logits)[best].item(), abs=1e-3
    )


def test_shares_add_up_and_nothing_goes_to_later_tokens(data: Any) -> None:  # noqa: ANN401
    shares = np.array(data["heads"])

    assert shares.sum(axis=-1) == pytest.approx(1, abs=5e-3)
    assert all(not shares[token, :, token + 1 :].any() for token in range(len(shares)))


def test_each_sentence_of_the_catalogue_is_shown() -> None:
    """And no more of them are asked for than there are: `say` would fail."""
    path = Path(catalogue.__file__).parent / "en" / "model_map.toml"
    written = tomllib.loads(path.read_text(encoding="utf-8"))

    shown = model_map.content()

    for table in ("things", "facts", "parts"):
        assert set(written[table]) == set(shown[table])
    assert set(written["does"]) == set(shown["parts"])


def test_every_part_shows_what_comes_in_and_what_goes_out(data: Any) -> None:  # noqa: ANN401
    assert set(data["flow"]) == {part.name for part in PARTS}
    assert all(before and after for before, after in data["flow"].values())


def test_all_pages_share_one_small_file() -> None:
    assert len(json.dumps(model_map.content())) < 30_000
