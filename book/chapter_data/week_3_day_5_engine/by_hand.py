"""What the chapter works out by hand: tokens decoded alone, penalties, logarithms."""

from typing import Any

import mlx.core as mx

from tiny_llm_course.book.embedded import checkpoint, token_ids
from tiny_llm_ref.request import SamplingParams
from tiny_llm_ref.sampler import LogitsProcessors, token_logprobs
from tiny_llm_ref.streaming import REPLACEMENT

TEXT = "a 狐 😀"

PROMPT, OUTPUT = [0, 1], [1, 2, 2]
LOGITS = [2.0, 1.0, 3.0, -1.0]
PENALTIES = SamplingParams(
    repetition_penalty=2.0,
    presence_penalty=0.5,
    frequency_penalty=0.25,
    logit_bias={3: 4.0},
)


def alone() -> dict[str, Any]:
    """Return the tokens of a text with a fox and a face, each decoded by itself."""
    ids = token_ids(TEXT)
    texts = [checkpoint().tokenizer.decode([one]) for one in ids]
    return {
        "text": TEXT,
        "num_tokens": len(ids),
        "num_half": sum(one.endswith(REPLACEMENT) for one in texts),
        "rows": [
            [str(one), text.replace(" ", "·").replace(REPLACEMENT, "�")]
            for one, text in zip(ids, texts, strict=True)
        ],
    }


def penalties() -> list[dict[str, Any]]:
    """Return what becomes of four logits, step by step."""
    return [
        {
            "logit": logit,
            "in_prompt": PROMPT.count(token),
            "in_output": OUTPUT.count(token),
            "repeated": _processed(repetition_penalty=2.0)[token],
            "counted": _processed(
                repetition_penalty=2.0, presence_penalty=0.5, frequency_penalty=0.25
            )[token],
            "all": _of(PENALTIES)[token],
        }
        for token, logit in enumerate(LOGITS)
    ]


def _processed(**params: float) -> list[float]:
    return _of(SamplingParams(**params))  # pyright: ignore[reportArgumentType]


def _of(params: SamplingParams) -> list[float]:
    changed = LogitsProcessors(params)(mx.array(LOGITS), PROMPT, OUTPUT)
    return [float(one) for one in changed.tolist()]  # pyright: ignore


def logprobs() -> dict[str, Any]:
    """Return log-probabilities of four logits, as they are and at a half."""
    rows = mx.array([LOGITS, [2 * one for one in LOGITS]])
    plain, sharp = (
        [one.logprob for one in token_logprobs(mx.repeat(row[None], 4, 0), range(4), 0)]
        for row in rows
    )
    return {"logits": LOGITS, "plain": plain, "sharp": sharp}
