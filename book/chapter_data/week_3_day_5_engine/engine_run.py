"""Three requests and the embedded model: what each step of the engine brings."""

import functools
from typing import Any

from tiny_llm_course.book.embedded import checkpoint, token_ids
from tiny_llm_ref.engine import Engine
from tiny_llm_ref.qwen2_week3 import Qwen2ModelWeek3
from tiny_llm_ref.request import Output, SamplingParams

BEGINNING = "Once upon a time there was a small fox"
REQUESTS = {
    "a": (BEGINNING, SamplingParams(max_tokens=4)),
    "b": (BEGINNING + " who", SamplingParams(max_tokens=8, stop=("the swamp",))),
    "c": ("What is RoPE?", SamplingParams(max_tokens=3, temperature=1.0, seed=7)),
}
COMES = {"a": 0, "b": 2, "c": 0}
BUDGET, PAGE_SIZE = 8, 4


@functools.cache
def _steps() -> list[list[Output]]:
    """Run the engine, and return the outputs of each step."""
    engine = Engine(
        Qwen2ModelWeek3(checkpoint().model),
        checkpoint().tokenizer,
        max_num_seqs=4,
        max_num_batched_tokens=BUDGET,
        num_pages=64,
        page_size=PAGE_SIZE,
    )
    steps: list[list[Output]] = []
    while engine.has_work or len(steps) <= max(COMES.values()):
        for name, (prompt, params) in REQUESTS.items():
            if COMES[name] == len(steps):
                engine.add_request(name, token_ids(prompt), params)
        steps.append(engine.step())
    return steps


def table() -> list[list[str]]:
    """Return a row for each step: its number, and what each request gets."""
    rows: list[list[str]] = []
    for place, outputs in enumerate(_steps()):
        told = {one.id: _told(one) for one in outputs}
        rows.append([str(place + 1), *(told.get(name, "") for name in REQUESTS)])
    return rows


def _told(output: Output) -> str:
    """Write an output: its text, with its spaces and new lines, and why it ends."""
    written = output.text.replace(" ", "·").replace("\n", "↵")
    text = f"`{written}`" if written else "(held)"
    return f"{text} {output.finish_reason}" if output.finish_reason else text


def told() -> dict[str, Any]:
    """Return what the text says of the run."""
    last = {one.id: one for step in _steps() for one in step}
    return {
        "num_steps": len(_steps()),
        "budget": BUDGET,
        "page_size": PAGE_SIZE,
        "prompts": {name: one.num_prompt_tokens for name, one in last.items()},
        "outputs": {name: one.num_output_tokens for name, one in last.items()},
        "cached": {name: one.num_cached_tokens for name, one in last.items()},
        "reasons": {name: one.finish_reason for name, one in last.items()},
    }
