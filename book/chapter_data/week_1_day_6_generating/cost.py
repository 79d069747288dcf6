"""How many positions a loop without memory computes."""

from matplotlib.figure import Figure

from tiny_llm_course.book.drawing import SERIES, Texts
from tiny_llm_course.book.embedded import checkpoint

from .loop import QUESTION, chat, run

ANSWER_LENGTHS = (10, 100, 1_000, 10_000)


def evaluations(num_prompt: int, num_steps: int) -> int:
    """Count the positions that a loop without memory computes.

    sum of (num_prompt + k - 1) over the steps k = 1 .. num_steps
    """
    return num_prompt * num_steps + num_steps * (num_steps - 1) // 2


def cost_of(num_prompt: int, num_steps: int) -> dict[str, float]:
    """Return what a run computes, and how much of it was known before."""
    total, needed = evaluations(num_prompt, num_steps), num_prompt + num_steps - 1
    return {
        "prompt": num_prompt,
        "steps": num_steps,
        "before_last": num_steps - 1,
        "last": num_prompt + num_steps - 1,
        "shown_each": num_prompt * num_steps,
        "triangle": num_steps * (num_steps - 1) // 2,
        "total": total,
        "needed": needed,
        "again": total - needed,
        "share": (total - needed) / total,
        "ratio": total / needed,
    }


def draw_cost(text: Texts) -> Figure:
    """Draw how many positions are computed for answers of growing length."""
    num_prompt = len(run(chat(QUESTION)).prompt)
    lengths = range(1, checkpoint().context - num_prompt + 2)
    figure = Figure(figsize=(5, 2.7))
    axes = figure.add_subplot()
    again = [evaluations(num_prompt, one) / 1000 for one in lengths]
    once = [(num_prompt + one - 1) / 1000 for one in lengths]
    axes.plot(lengths, again, color=SERIES[1])
    axes.plot(lengths, once, color=SERIES[0])
    middle = len(lengths) // 2
    axes.text(middle - 12, again[middle] + 9, text["again"], ha="right")
    axes.text(middle, 7, text["once"], ha="center")
    axes.set(xlabel=text["x"], ylabel=text["y"])
    axes.set_ylim(bottom=0)
    return figure
