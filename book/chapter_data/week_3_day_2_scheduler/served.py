"""Two small loads that our scheduler serves: one has a budget, one a small memory."""

from collections.abc import Sequence
from typing import Any

from tiny_llm_course.grading.scenarios.loads import Job, Served, Step
from tiny_llm_course.grading.scenarios.scheduling import SCHEDULER, Load
from tiny_llm_course.solution import load_solution

CUT = Load(SCHEDULER, (3, 8), jobs=(Job(3, 7), Job(12, 3, comes=2), Job(4, 2, comes=2)))
"""A long prompt and a short one come while a text is generated."""

SCARCE = Load(SCHEDULER, (2, 8), jobs=(Job(4, 6), Job(4, 4)), num_places=10)
"""Two requests whose tokens do not fit into memory together."""


def served(load: Load) -> Served:
    """Serve a load with our scheduler."""
    return load.run(load_solution("ref"))


def table_of(load: Load) -> Sequence[Sequence[str]]:
    """Return a line for each step: its number, the tokens of each request, and all."""
    return [
        [str(step.number), *_cells(load, step), str(step.num_tokens)]
        for step in served(load).steps
    ]


def _cells(load: Load, step: Step) -> list[str]:
    """Return how many tokens each request has, or that it waits or is not there."""
    return [
        str(step.given(name) or ("waits" if name in step.present else ""))
        for name in load.by_name
    ]


def cut_numbers() -> dict[str, Any]:
    """Return what the text says of the first load."""
    steps = served(CUT).steps
    pieces = [step.given("b") for step in steps if step.given("b") > 1]
    return {"pieces": pieces, "steps": len(steps), "budget": CUT.args[1]}


def scarce_numbers() -> dict[str, Any]:
    """Return what the text says of the second load."""
    steps = served(SCARCE).steps
    (preempts,) = (step for step in steps if step.preempted)
    again = next(
        step for step in steps if step.number > preempts.number and step.given("b")
    )
    said = preempts.num_said["b"]
    return {
        "places": SCARCE.num_places,
        "preempts": preempts.number,
        "said": said,
        "again": again.number,
        "computed_again": again.given("b"),
        "prompt": SCARCE.by_name["b"].num_prompt,
        "steps": len(steps),
    }
