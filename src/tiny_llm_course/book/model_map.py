"""The map of the model, below the first paragraph of each day and of the first page.

It is made from the syllabus (`map_parts.py`), the sentences of the catalogue, and what
one prompt is inside the model (`book/chapter_data/model_map`), so that a chapter has
nothing to write for it. It is a drawing of links (`map_drawing.py`). `model-map.js`
shows what goes through a part, from one file of data for all pages.
"""

import json
from collections.abc import Container
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.builders.html import StandaloneHTMLBuilder

from tiny_llm_course.book.chapter_data import path_of, sources_of, values_of
from tiny_llm_course.book.map_drawing import DATA, day_label, drawn, task_link, text
from tiny_llm_course.book.map_parts import PARTS, Part, day_of
from tiny_llm_course.syllabus import weeks

FIRST_PAGE = "index"

_SCRIPTS = ("figure.js", "model-map-data.js", "model-map.js")

_SHEETS = ("model-map.css", "model-map-panel.css")

_TOLD = ("comes_in", "goes_out", "built", "close", "size", "touch", "legend")


def has_map(page: str, pages: Container[str]) -> bool:
    """Tell whether a page shows the map: those of the days, and the first one.

    Args:
        page: Its name.
        pages: All that the book has. Where a day is missing, nothing shows the map,
            since its links would lead nowhere.
    """
    days = [day.chapter for week in weeks() for day in week.days]
    return page in {FIRST_PAGE, *days} and all(day in pages for day in days)


def content() -> dict[str, Any]:
    """Return all that the script shows, in the language of the book."""
    data = values_of(DATA, "data")
    things = {one for ways in data["flow"].values() for way in ways for one in way}
    heads = range(1, len(data["heads"][0]) + 1)
    return {
        **data,
        "text": {name: text(name) for name in _TOLD},
        "things": {name: text(f"things.{name}") for name in sorted(things)},
        "facts": {name: text(f"facts.{name}") for name in data["facts"]},
        "head_names": [text("head", number=number) for number in heads],
        "parts": {one.name: _told(one) for one in PARTS},
    }


def _told(part: Part) -> dict[str, Any]:
    """Return what is said of a part: its name, what it does, and where it is built."""
    first_of_days = {
        (one.address.week, one.address.day): one for one in part.tasks[::-1]
    }
    return {
        "name": text(f"parts.{part.name}"),
        "does": text(f"does.{part.name}"),
        "days": [
            {"label": day_label(day), "link": task_link(first_of_days[day])}
            for day in part.days
        ],
    }


def _insert(app: Sphinx, chapter: nodes.document) -> None:
    """Put the map below the first paragraph of a page, when Sphinx has read it."""
    page = app.env.docname
    if not has_map(page, app.env.found_docs):
        return
    for source in sources_of(path_of(DATA)):
        app.env.note_dependency(str(source), docname=page)
    first = next(chapter.findall(nodes.paragraph))
    place = first.parent.index(first) + 1
    first.parent.insert(place, nodes.raw("", drawn(day_of(page)), format="html"))


def _load_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object
) -> None:
    """Load what the map needs, only where there is one."""
    del template, context, doctree
    if has_map(page, app.env.found_docs):
        for script in _SCRIPTS:
            app.add_js_file(script, loading_method="defer")


def _write_data(app: Sphinx, builder: Builder) -> None:
    """Write what the script shows: as a script, so that a page needs no server."""
    is_shown = has_map(FIRST_PAGE, app.env.found_docs)
    if not is_shown or not isinstance(builder, StandaloneHTMLBuilder):
        return
    folder = app.outdir / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    written = json.dumps(content(), ensure_ascii=False, allow_nan=False)
    script = f"const MODEL_MAP = {written};\n"
    (folder / "model-map-data.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the map to the pages, and its data to the site."""
    app.connect("doctree-read", _insert)
    app.connect("write-started", _write_data)
    app.connect("html-page-context", _load_scripts)
    for sheet in _SHEETS:
        app.add_css_file(sheet)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
