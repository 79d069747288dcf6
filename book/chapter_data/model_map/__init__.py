"""The map of the model: what one sentence is at each part of the embedded model."""

from typing import Any

from tiny_llm_course.book.embedded import tokens

from .costs import costs
from .passing import CHANNELS, LAYER, PROMPT, ids, on_the_way, shown
from .speaking import NUM_DRAWS, continuation, likeliest, said, shares_of_heads

FLOW = {
    "embedding": (["ids"], ["embedded"]),
    "norm_1": (["stream"], ["norm_1"]),
    "qkv": (["norm_1"], ["query", "key", "value"]),
    "rope": (["query", "key"], ["turned_query", "turned_key"]),
    "cache": (["turned_key", "value"], ["kept"]),
    "attention": (["turned_query", "kept"], ["heads", "collected"]),
    "output": (["collected"], ["output"]),
    "add_1": (["stream", "output"], ["h"]),
    "norm_2": (["h"], ["norm_2"]),
    "gate_up": (["norm_2"], ["gate", "up"]),
    "swiglu": (["gate", "up"], ["gated"]),
    "down": (["gated"], ["down"]),
    "add_2": (["h", "down"], ["y"]),
    "norm_3": (["last"], ["final"]),
    "head": (["final"], ["likeliest"]),
    "sampler": (["likeliest"], ["greedy", "draws"]),
    "speed": (["ids"], ["costs"]),
    "loop": (["greedy"], ["story"]),
    "rows": (["pieces"], ["rows"]),
    "scheduler": (["request"], ["pieces"]),
    "engine": (["request", "greedy"], ["story"]),
    "server": (["asked"], ["request", "answered"]),
    "load": (["asked"], ["admitted"]),
}
"""What comes into each part and what goes out: strips, shares, words or facts."""

FACTS = (
    "kept",
    "costs",
    "asked",
    "answered",
    "request",
    "admitted",
    "pieces",
    "rows",
)
"""Those that are sentences of the catalogue."""


def numbers() -> dict[str, Any]:
    """Return what the sentence of each day quotes."""
    way = on_the_way()
    next_token, second = likeliest()[-1][:2]
    return {
        "prompt": PROMPT,
        "num_tokens": len(ids()),
        "first": shown(ids()[0]),
        "last": shown(ids()[-1]),
        "smallest": min(way.sizes("stream")),
        "largest": max(way.sizes("stream")),
        "size_after": way.sizes("norm_1")[-1],
        "share": shares_of_heads()[-1][1][-2],
        "layer": LAYER + 1,
        "next": next_token[0],
        "next_share": next_token[1],
        "second": second[0],
        "second_share": second[1],
        "story": "".join(tokens(continuation())).strip(),
        "num_draws": NUM_DRAWS,
        "channels": CHANNELS,
        **costs(),
    }


def data() -> dict[str, Any]:
    """Return what the parts show: strips of channels, shares and words.

    Each list has an entry for each token of the prompt.
    """
    way = on_the_way()
    return {
        "tokens": [shown(one) for one in ids()],
        "ids": ids(),
        "flow": FLOW,
        "facts": FACTS,
        "strips": {name: way.strip(name) for name in way.states},
        "heads": shares_of_heads(),
        "likeliest": likeliest(),
        "story": [shown(one) for one in continuation()],
        **said(),
    }
