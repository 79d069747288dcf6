"""The model's story, when heads, mask or layer are changed in one place."""

import mlx.core as mx

from tiny_llm_course.book.embedded import checkpoint, token_ids
from tiny_llm_course.book.hearing import STORY, Change, heard
from tiny_llm_ref.basics import softmax
from tiny_llm_ref.masks import Mask
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

PAGE = "week-1-day-3-grouped-query-attention"

CHANGES = {
    "other_heads": Change(
        "qwen2_week1",
        "self.rope(key).swapaxes(1, 2),",
        "self.rope(key).swapaxes(1, 2)[:, ::-1],",
    ),
    "own_position_forbidden": Change(
        "attention", "key_position <= query_position", "key_position < query_position"
    ),
    "mask_not_passed_on": Change(
        "qwen2_week1",
        "            mask=mask,\n        )\n        return linear(mx.flatten",
        "            mask=None,\n        )\n        return linear(mx.flatten",
    ),
}


def told() -> dict[str, str]:
    """Return the stories, by the name of the change."""
    return heard(PAGE, CHANGES)


def foreseen(story: str) -> dict[str, float]:
    """Return the probability of the right next token, with and without a mask.

    It is the geometric mean over a story, which the model reads as a whole.
    """
    return {
        "causal": _typical_probability(story, "causal"),
        "none": _typical_probability(story, None),
    }


def _typical_probability(story: str, mask: Mask) -> float:
    """Return what the model gives the tokens of a story that it was asked for."""
    loaded = checkpoint()
    prompt = token_ids(loaded.chat_prompt([{"role": "user", "content": STORY}]))
    ids, model = prompt + token_ids(story), Qwen2ModelWeek1(loaded.model)
    x = model.embedding(mx.array([ids]))
    for layer in model.layers:
        x = layer(x, mask=mask)
    logits = model.embedding.as_linear(model.norm(x))[0]
    before = mx.arange(len(prompt) - 1, len(ids) - 1)
    of_next = softmax(logits, axis=-1)[before, mx.array(ids[len(prompt) :])]
    return mx.exp(mx.mean(mx.log(of_next))).item()
