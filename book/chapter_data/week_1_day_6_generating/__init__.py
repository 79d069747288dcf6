"""Day 6: the loop on a question and on a story, step by step."""

import math
from typing import Any

import mlx.core as mx

from tiny_llm_course.book.drawing import Drawing
from tiny_llm_course.book.embedded import checkpoint

from .answers import chosen_logs, fork, greedy_and_better, rows, steps_of, unstopped
from .breaking import told
from .by_hand import pieces, three
from .cost import ANSWER_LENGTHS, cost_of, draw_cost
from .examples import examples as examples
from .loop import (
    QUESTION,
    STORY,
    STORY_TOKENS,
    Run,
    candidates,
    chat,
    model,
    piece,
    run,
)
from .pictures import draw_loop

NUM_CANDIDATES = 5


def numbers() -> dict[str, Any]:
    """Return the numbers of the text."""
    asked, config = run(chat(QUESTION)), checkpoint().config
    steps, logs = steps_of(asked), chosen_logs(asked)
    return {
        "answer": asked.answer,
        "cost": cost_of(len(asked.prompt), len(asked.chosen)),
        "costs": [cost_of(len(asked.prompt), one) for one in ANSWER_LENGTHS],
        "steps": steps,
        "last": steps[-1],
        "fork": fork(steps),
        "first_three": math.prod(one["top"][0]["p"] for one in steps[:3]),
        "log": sum(logs),
        "p": mx.exp(mx.array(sum(logs))).item(),
        "rows": rows(),
        "three": three(),
        "better": greedy_and_better(),
        "euro": pieces("1 €"),
        "context": checkpoint().context,
        "ends": sorted(checkpoint().tokenizer.eos_token_ids),
        "story_tokens": STORY_TOKENS,
        "tenths": 1000 * math.log(0.1),
        "last_token": steps[-1]["top"][0]["token"].replace("|", "\\|"),
        "last_id": config["vocab_size"] - 1,
        "flat_last": len(asked.prompt) * config["vocab_size"] - 1,
        "unstopped": unstopped(asked),
        "told": told(),
        "forever": candidates(model()(mx.array([asked.prompt]))[0, 0], 1)[0]["token"],
    }


def drawings() -> dict[str, Drawing]:
    """Return the loop, and how the work grows."""
    return {
        "loop": draw_loop,
        "cost": draw_cost,
    }


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from."""
    return {
        "one-token-at-a-time": {
            "question": _as_data(run(chat(QUESTION))),
            "story": _as_data(run(STORY, STORY_TOKENS)),
        }
    }


def _as_data(done: Run) -> dict[str, Any]:
    """Write a run as JSON."""
    return {
        "prompt": [piece(one) for one in done.prompt],
        "steps": [
            {
                "logsumexp": mx.logsumexp(logits).item(),
                "candidates": [
                    [one["token"], one["logit"]]
                    for one in candidates(logits, NUM_CANDIDATES)
                ],
            }
            for logits in done.logits
        ],
    }
