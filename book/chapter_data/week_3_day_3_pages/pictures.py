"""A table that leads to pages, and a chain of hashes."""

from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import blank, cell, words
from tiny_llm_course.book.drawing import GRID, INK, MUTED, SERIES, Texts

TABLES = {"a": (2, 0, 5), "b": (2, 4)}
"""The pages of two texts: the first one is shared."""

LENGTHS = {"a": 10, "b": 7}
NUM_PAGES, PAGE_SIZE = 6, 4


def draw_table(text: Texts) -> Figure:
    """Draw the pages of a pool, and who has each of their slots."""
    figure = Figure(figsize=(5, 1.4))
    axes = figure.add_subplot()
    width = NUM_PAGES * (PAGE_SIZE + 1)
    blank(axes, (-0.2, width), (-4.2, 2.4), aspect="equal")
    held = _held()
    for page in range(NUM_PAGES):
        left = page * (PAGE_SIZE + 1)
        words(axes, (left + 2, 1.6), text["page"].format(number=page), size=8)
        for slot in range(PAGE_SIZE):
            colour, share = held.get((page, slot), (GRID, 0.3))
            cell(axes, (left + slot, 0), (colour, share), ec=INK, lw=0.6)
    for row, (name, table) in enumerate(TABLES.items()):
        label = text["tables"].format(
            name=name, pages=", ".join(map(str, table)), length=LENGTHS[name]
        )
        words(axes, (0, -1.4 - 1.3 * row), label, ha="left", color=SERIES[row])
    words(axes, (0, -4), text["shared"], ha="left", color=MUTED)
    return figure


def _held() -> dict[tuple[int, int], tuple[str, float]]:
    """Return the colour of each slot that is taken."""
    found: dict[tuple[int, int], tuple[str, float]] = {}
    for row, (name, table) in enumerate(TABLES.items()):
        for position in range(LENGTHS[name]):
            page, slot = table[position // PAGE_SIZE], position % PAGE_SIZE
            is_shared = all(page in one for one in TABLES.values())
            found[page, slot] = (SERIES[2 if is_shared else row], 0.55)
    return found


def draw_chain(text: Texts) -> Figure:
    """Draw the hashes of three pages, each made with the one before."""
    figure = Figure(figsize=(5, 1.7))
    axes = figure.add_subplot()
    blank(axes, (-0.4, 12.4), (-2.2, 1.6), aspect="equal")
    for place in range(3):
        left = 4.2 * place
        for slot in range(3):
            cell(axes, (left + slot, 0), (SERIES[place], 0.45), ec=INK, lw=0.8)
        words(axes, (left + 1.5, -1.2), text["hash"].format(number=place))
        axes.annotate(
            "",
            (left + 0.7, -1.2),
            (left - 1.9 if place else left - 0.4, -1.2),
            arrowprops={"arrowstyle": "->", "color": INK},
        )
        axes.annotate(
            "",
            (left + 1.5, -0.8),
            (left + 1.5, -0.1),
            arrowprops={"arrowstyle": "->", "color": INK},
        )
        words(axes, (left + 1.5, 1.3), text["page"].format(number=place), size=8)
    return figure
