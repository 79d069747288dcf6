"""Stories of the embedded model, told with a draft and without."""

import contextlib
import functools
import io
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tiny_llm_course.checkpoint import load
from tiny_llm_course.solution import Solution
from tiny_llm_lab.timing import Step

Tell = Callable[[str], str]


def alone(solution: Solution, large: Any) -> Tell:  # noqa: ANN401 - of a solution
    """Return a function that answers a prompt without a draft."""
    loop = solution.get("generate.simple_generate_with_kv_cache")
    return silently(functools.partial(loop, large, load().tokenizer))


def together(solution: Solution, draft: Any, large: Any, length: int) -> Tell:  # noqa: ANN401 - of a solution
    """Return a function that answers a prompt with a draft."""
    loop, tokenizer = solution.get("generate.speculative_generate"), load().tokenizer
    return silently(
        functools.partial(
            loop, draft, large, tokenizer, tokenizer, proposal_length=length
        )
    )


def silently(tell: Tell) -> Tell:
    """Return the same function, which prints nothing."""

    def answer(prompt: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()):
            return tell(prompt)

    return answer


def each_in_turn(asked: Sequence[str], tell: Tell) -> Step:
    """Return a step that answers the next prompt each time."""
    following = itertools.cycle(asked)
    return lambda: tell(next(following))
