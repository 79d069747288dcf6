"""The process of one engine: `python -m tiny_llm_lab.bench.worker`.

It speaks JSON, one object per line. It first says how it stores the model, or why it is
missing; then it answers each request with the seconds of some steps.
"""

import contextlib
import importlib
import json
import os
import sys
import time
from dataclasses import asdict
from typing import Any, TextIO

from tiny_llm_lab.bench.engines import MissingError

PAUSE_S = 0.2
"""OpenBLAS's and PyTorch's threads spin for a while, which slows the next engine."""


NUM_IN_A_ROW = 8
"""Tokens written in a sequence, so that no single step pays for growing the cache."""


def measure(engine: Any, work: str, tokens: int, for_s: float) -> list[float]:  # noqa: ANN401
    """Take steps for a while, at least one, and return the seconds of each.

    Args:
        engine: An `Engine`, or another object with a method for the work.
        work: Name of the method.
        tokens: Length of the prompt, or of the context.
        for_s: No new step begins after this time.
    """
    steps_s: list[float] = []
    num_in_a_row = NUM_IN_A_ROW if work == "generate" else 1
    while sum(steps_s) < for_s or not steps_s:
        step = getattr(engine, work)(tokens)
        for _ in range(num_in_a_row):
            start_s = time.perf_counter()
            step()
            steps_s.append(time.perf_counter() - start_s)
            if sum(steps_s) >= for_s:
                break
    return steps_s


def serve(engine: Any, requests: TextIO, answers: TextIO) -> None:  # noqa: ANN401
    """Answer requests until there are no more."""
    print(json.dumps(asdict(engine.stored)), file=answers, flush=True)
    for line in requests:
        time.sleep(PAUSE_S)
        print(json.dumps(measure(engine, **json.loads(line))), file=answers, flush=True)


def main() -> None:
    """Build the engine that the arguments name, and serve."""
    module, option, model, solution = sys.argv[1:]
    # The output of libraries must not get between the answers.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        try:
            build = importlib.import_module(f"tiny_llm_lab.bench.{module}").build
            engine = build(model, solution, option)
        except ModuleNotFoundError as error:
            missing = f"{error.name} is not installed"
        except MissingError as error:
            missing = str(error)
        else:
            with contextlib.suppress(KeyboardInterrupt):
                serve(engine, sys.stdin, answers)
            return
        print(json.dumps({"missing": missing}), file=answers, flush=True)


if __name__ == "__main__":
    main()
