"""What it costs the stories in English if the embedded model learns Chinese as well.

All arms have the shape and the optimiser of the recipe of the embedded model, and are
trained for a fraction of its tokens: on English alone, on as many tokens of which half
are Chinese, or on twice as many, so that the English ones are as many as in the first.
Tokenizers differ, so losses are compared per byte of text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.experiment import Lab
from tiny_llm_lab.records import Row


@dataclass(frozen=True)
class Arm:
    """What one model is trained on.

    Attributes:
        languages: How many, English first.
        times: How many times the steps of the first arm.
    """

    languages: int
    times: int


ARMS = {
    "English": Arm(1, 1),
    "half Chinese": Arm(2, 1),
    "half Chinese, twice the tokens": Arm(2, 2),
}

LIMIT_BYTES = 8_000_000
"""What all files of an embedded checkpoint may take."""


def cases(quick: bool) -> list[Row]:
    """Return the arms, or only the first one."""
    arms: list[Row] = [{"arm": arm} for arm in ARMS]
    return arms[:1] if quick else arms


def measure(case: Row, solution: Solution) -> Iterable[Row]:
    """Train one model, and measure it on stories that it has not seen."""
    from tiny_llm_lab.experiments.bilingual_training import FULL, WORK, measure_arm

    del solution  # a checkpoint is trained with PyTorch
    yield measure_arm(ARMS[str(case["arm"])], FULL, WORK)


def summary(rows: Sequence[Row]) -> list[Row]:
    """Return a line for each model."""
    return [
        {
            "trained on": row["arm"],
            "steps": row["steps"],
            "vocabulary": row["vocab_size"],
            "files, MB": f"{float(row['file_bytes']) / 1e6:.2f}",
            "tokens per English story": row["english_tokens_per_story"],
            "English, nats per byte": f"{float(row['english_loss_per_byte']):.4f}",
            "Chinese, nats per byte": f"{float(row['chinese_loss_per_byte']):.4f}",
        }
        for row in rows
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """Draw the loss of every model on English stories."""
    figure = Figure(figsize=(5, 0.4 * len(rows) + 0.8), layout="constrained")
    axes = figure.subplots()
    for place, row in enumerate(reversed(rows)):
        axes.plot(float(row["english_loss_per_byte"]), place, "o", color="C0")
    axes.set_yticks(range(len(rows)), [str(row["arm"]) for row in reversed(rows)])
    axes.set_xlabel("loss on English stories, nats per byte")
    return figure


LAB = Lab(
    "bilingual",
    ("arm",),
    (
        "steps",
        "tokens",
        "vocab_size",
        "parameters",
        "file_bytes",
        "english_tokens_per_story",
        "english_loss_per_byte",
        "chinese_loss_per_byte",
    ),
    cases,
    measure,
    summary,
    draw,
)
