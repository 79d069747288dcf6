"""Day 7: what a sampler does to the model's own probabilities."""

from typing import Any

import numpy as np

from tiny_llm_course.book.drawing import Drawing
from tiny_llm_course.book.embedded import checkpoint, token_ids, tokens

from .breaking import told
from .by_hand import draw_temperatures, worked_filters, worked_order, worked_temperature
from .chance import judged, many_draws, sum_reaches_1, worked_gumbel
from .examples import examples as examples
from .story import (
    NARROW,
    NUM_SHOWN,
    PROMPT,
    described,
    draw_two_rows,
    hot_first,
    likeliest_first,
    tail,
)
from .texts import continuations


def numbers() -> dict[str, Any]:
    """Return the numbers and the generated texts of the chapter."""
    return {
        "defaults": vars(checkpoint().sampling),
        "inverse": 1 / checkpoint().sampling.temp,
        "vocabulary": checkpoint().config["vocab_size"],
        "prompt_tokens": len(token_ids(PROMPT)),
        "forest": described(PROMPT),
        "she": described(NARROW),
        "tail": [tail(temp) for temp in (0.7, 1.0, 2.0, 3.0)],
        "words": worked_temperature(),
        "filters": worked_filters(),
        "order": worked_order(),
        "draws": many_draws(),
        "hot_first": hot_first(),
        "gumbel": worked_gumbel(),
        "judged": judged(),
        "sum_reaches_1": sum_reaches_1(),
        "texts": continuations(),
        "told": told(),
    }


def drawings() -> dict[str, Drawing]:
    """Return the figures of the chapter."""
    return {
        "temperature": draw_temperatures,
        "two-rows": draw_two_rows,
    }


def data() -> dict[str, Any]:
    """Return what the interactive figure starts from: all tokens, likeliest first."""
    log_probabilities, ids = likeliest_first(PROMPT)
    rounded = np.round(np.array(log_probabilities, dtype=np.float64), 4).tolist()
    return {
        "sampling-filters": {
            "log_probabilities": rounded,
            "tokens": [_label(one) for one in tokens(ids)],
            "shown": NUM_SHOWN,
        }
    }


def _label(token: str) -> str:
    """Write a token so that its first space and its line breaks can be seen."""
    shown = token.replace("\n", "\\n")
    return "·" + shown[1:] if shown.startswith(" ") else shown
