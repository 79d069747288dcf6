"""What an operation of MLX costs, however little it has to do."""

from typing import Any

from tiny_llm_lab import measured
from tiny_llm_lab.experiments.operation_costs import JOINED, NUMBERS

FEW, SOME, MANY = NUMBERS[0], 1024, NUMBERS[-1]
ADDITIONS = 8


def numbers() -> dict[str, Any]:
    """Return eight additions of few numbers and of many, one by one and joined."""
    alone, joined = measured.additions_us(1), measured.additions_us(ADDITIONS)
    assert alone[SOME] < 1.6 * alone[FEW], "dispatch is nearly all of it"
    assert joined[SOME] < 1.6 * alone[SOME], "what is joined comes for free"
    assert joined[MANY] < 0.4 * ADDITIONS * alone[MANY], "what is joined moves less"
    return {
        "one": alone[FEW],
        "few": ADDITIONS * alone[FEW],
        "some": ADDITIONS * alone[SOME],
        "some_joined": joined[SOME],
        "many_ms": ADDITIONS * alone[MANY] / 1000,
        "many_joined_ms": joined[MANY] / 1000,
        "many": MANY,
    }


def figure_data() -> dict[str, Any]:
    """Return the microseconds of an operation, by its additions and its numbers."""
    times = {count: measured.additions_us(count) for count in JOINED}
    return {
        "numbers": list(NUMBERS),
        "us": {
            str(count): [own[one] for one in NUMBERS] for count, own in times.items()
        },
    }
