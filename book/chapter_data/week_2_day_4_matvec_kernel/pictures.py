"""What lies in the lanes of a register, and in which order."""

from matplotlib.figure import Figure

from tiny_llm_course.book.diagrams import blank, cell, words
from tiny_llm_course.book.drawing import INK, MUTED, SERIES, Texts


def draw_lanes(text: Texts) -> Figure:
    """Draw four words side by side, and which entries of x their weights meet."""
    figure = Figure(figsize=(5, 2.7))
    axes = figure.subplots()
    blank(axes, (-4.2, 12.4), (-4.3, 2.6))
    for lane in range(4):
        left = 3.1 * lane
        words(axes, (left + 1.4, 2.1), text["lane"].format(number=lane), size=8)
        for row in range(3):
            y = 0.6 - 1.25 * row
            cell(axes, (left, y), (SERIES[row], 0.25), side=0.95, ec=INK, lw=0.7)
            words(axes, (left + 0.48, y + 0.48), f"q{8 * lane + row}", size=8)
            words(axes, (left + 1.9, y + 0.48), f"x{8 * lane + row}", size=8)
            words(axes, (left + 1.25, y + 0.48), "*", size=8, color=MUTED)
    for row, label in enumerate(("& 15", ">> 4, & 15", ">> 8, & 15")):
        words(axes, (-0.4, 1.08 - 1.25 * row), label, size=8, ha="right")
    words(axes, (5.6, -2.55), text["more"], size=8)
    order = f"{text['order']} 0 8 16 24 | 1 9 17 25 | 2 10 18 26 | ..."
    words(axes, (5.6, -3.6), order, size=8, color=SERIES[0])
    return figure


def draw_planes(text: Texts) -> Figure:
    """Draw eight bytes that become two planes, and activations in that order."""
    figure = Figure(figsize=(5, 2.9))
    axes = figure.subplots()
    blank(axes, (-3.4, 16.3), (-4.6, 3.1))
    words(axes, (-0.3, 2.1), text["bytes"], size=8, ha="right")
    for byte in range(8):
        for half in range(2):
            # The lower half of a byte is written on the right.
            left = 2 * byte + (1 - half)
            cell(axes, (left, 1.6), (SERIES[half], 0.3), ec=INK, lw=0.7)
            words(axes, (left + 0.5, 2.1), str(2 * byte + half), size=8)
    words(axes, (-0.3, -0.5), text["weights"], size=8, ha="right")
    words(axes, (-0.3, -2.3), text["activations"], size=8, ha="right")
    for half, taken in enumerate(("& 15", ">> 4 & 15")):
        label = f"{text['bytes']} {taken}"
        words(axes, (8 * half + 4, 0.55), label, size=8, color=SERIES[half])
        for place in range(8):
            left = 8 * half + place
            number = 2 * place + half
            cell(axes, (left, -1.0), (SERIES[half], 0.3), ec=INK, lw=0.7)
            words(axes, (left + 0.5, -0.5), f"q{number}", size=8)
            cell(axes, (left, -2.8), (SERIES[half], 0.12), ec=INK, lw=0.7)
            words(axes, (left + 0.5, -2.3), f"x{number}", size=8)
    words(axes, (8, -3.9), text["dot"], size=8)
    return figure
