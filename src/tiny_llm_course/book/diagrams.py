"""Building blocks of the book's diagrams: words, boxes, cells, arrows.

A place is a pair (x, y) in the units of the axes.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from tiny_llm_course.book.drawing import INK, PAPER

Point = tuple[float, float]


def blank(axes: Axes, x: Point, y: Point, **options: Any) -> None:  # noqa: ANN401
    """Hide everything but the area to draw in.

    Args:
        axes: What to clear.
        x: Its left and right end.
        y: Its lower and upper end.
        options: More settings, such as aspect="equal".
    """
    axes.set(xlim=x, ylim=y, **options)
    axes.axis("off")


def bare(axes: Axes) -> None:
    """Remove grid, frame and ticks, as around a table. Labels stay."""
    axes.grid(visible=False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def words(axes: Axes, at: Point, text: str, **options: Any) -> None:  # noqa: ANN401
    """Write a text, centred on a place unless `options` say otherwise."""
    settings: dict[str, Any] = {"ha": "center", "va": "center", "size": 8.5}
    axes.text(*at, text, **settings | options)


def box(
    axes: Axes,
    at: Point,
    text: str,
    colour: str = INK,
    *,
    size: Point | None = None,
    lw: float = 1.2,
) -> None:
    """Draw a box with round corners around a text, over what was drawn before.

    Args:
        axes: Where to draw.
        at: The middle of the box.
        text: Its content.
        colour: Its frame.
        size: Its width and height. By default it fits the text.
        lw: The width of its frame, in points.
    """
    frame: dict[str, Any] = {"fc": PAPER, "ec": colour, "lw": lw}
    if size is None:
        words(axes, at, text, bbox={"boxstyle": "round,pad=0.35", **frame})
        return
    corner = (at[0] - size[0] / 2, at[1] - size[1] / 2)
    style = f"round,pad=0,rounding_size={0.2 * min(size):g}"
    axes.add_patch(FancyBboxPatch(corner, *size, boxstyle=style, zorder=3, **frame))
    words(axes, at, text)


def sign(axes: Axes, at: Point, text: str, colour: str = INK) -> None:
    """Draw a circle with an operator in it, such as +."""
    circle = {"boxstyle": "circle,pad=0.15", "fc": PAPER, "ec": colour}
    words(axes, at, text, size=11, bbox=circle)


def cell(
    axes: Axes,
    corner: Point,
    fill: str | tuple[str, float],
    *,
    side: float = 1,
    **options: Any,  # noqa: ANN401
) -> None:
    """Draw a square, such as the cell of a matrix.

    Args:
        axes: Where to draw.
        corner: The one with the least x and y.
        fill: A colour, or a colour and how opaque it is.
        side: The length of a side.
        options: What its edge looks like: `ec`, `lw`.
    """
    axes.add_patch(Rectangle(corner, side, side, fc=fill, **options))


def arrow(
    axes: Axes,
    start: Point,
    end: Point,
    colour: str = INK,
    *,
    lw: float = 1.2,
    alpha: float = 1,
) -> None:
    """Draw a straight arrow that begins and ends exactly at the given points."""
    look = {"color": colour, "lw": lw, "alpha": alpha, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", **look})


def path(
    axes: Axes, corners: Sequence[Point], colour: str = INK, *, lw: float = 1.2
) -> None:
    """Draw a line around some corners, with an arrow at its end."""
    across, up = zip(*corners[:-1], strict=True)
    axes.plot(across, up, color=colour, lw=lw, solid_joinstyle="miter")
    arrow(axes, corners[-2], corners[-1], colour, lw=lw)
