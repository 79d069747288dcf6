"""What the engine does without a server: how soon a token comes, and what is stored."""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from tiny_llm_course.checkpoint import load
from tiny_llm_course.serving.starting import PAGE_SIZE, Settings, engine_of
from tiny_llm_course.solution import Solution

MIXED = (3, 7, 12, 18, 25, 33, 40, 47, 60, 77, 95, 120, 150, 190, 240, 300)
"""Lengths of 16 prompts."""

ANSWER = 40

TEXT = (
    "{} went into the dark wood with the old dog. There was a lamp by the river, and "
    "{} took it, looked at it for a long time and said that it was a"
)
"""Some forty tokens, after which comes a word."""

NAMES = ("Lucy", "Tom", "The fox", "A bear", "Anna", "The king", "My cat", "Old Max")


class Inside:
    """The engine of a solution with the embedded model, as the server has it.

    Args:
        solution: Whose.
        settings: What the server is started with.
    """

    def __init__(self, solution: Solution, settings: Settings) -> None:
        checkpoint = load("embedded")
        self._tokenizer = checkpoint.tokenizer
        self._params: Callable[..., Any] = solution.get("request.SamplingParams")
        self._engine = engine_of(solution, checkpoint, settings)

    def prompts(self, number: int, draw: random.Random) -> list[list[int]]:
        """Return the ids of some prompts of words: after them comes a word, too.

        What comes after ids at random may be half a character, which no client sees.
        """
        return [
            self._tokenizer.encode(TEXT.format(draw.choice(NAMES), draw.choice(NAMES)))
            for _ in range(number)
        ]

    def first_token_s(self, prompt: Sequence[int]) -> float:
        """Return the seconds from a prompt to its first token."""
        began_s = time.perf_counter()
        params = self._params(max_tokens=2, ignore_end=True)
        self._engine.add_request("one", prompt, params)
        while not any(one.token is not None for one in self._engine.step()):
            pass
        took_s = time.perf_counter() - began_s
        self._engine.abort("one")
        return took_s

    def pages_per_token(self, draw: random.Random) -> float:
        """Return the memory of the pages in use, by what all tokens need: the most.

        Sixteen requests of mixed length run. After each step, the places in all pages
        are counted, and the tokens that are in the cache.
        """
        params = self._params(max_tokens=ANSWER, ignore_end=True)
        for number, length in enumerate(MIXED):
            prompt = [draw.randint(100, 1900) for _ in range(length)]
            self._engine.add_request(f"{number}", prompt, params)
        ratios = list[float]()
        while self._engine.has_work:
            self._engine.step()
            running = self._engine.scheduler.running
            num_tokens = sum(one.num_computed for one in running)
            if len(running) == len(MIXED) and not any(
                one.num_uncomputed > 1 for one in running
            ):
                places = self._engine.block_manager.num_in_use * PAGE_SIZE
                ratios.append(places / num_tokens)
        return max(ratios)
