"""The embedded model, with rotations that it was not trained with."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from tiny_llm_course.book.embedded import checkpoint, head_dim, sizes, token_ids
from tiny_llm_ref.basics import softmax
from tiny_llm_ref.positional_encoding import RoPE
from tiny_llm_ref.qwen2_week1 import Qwen2ModelWeek1

# A sample of the embedded model's own (its model card), so that it knows such a text.
REQUEST = "Tell me a story about a fox in the forest."

STORY = (
    "A long time ago, a grumpy fox lived in the forest. His name was Otto. The sun was "
    "shining. One morning, Otto found blackberries under the ferns."
)

NUM_WRITTEN = 14


def model_with_other_rotations() -> dict[str, dict[str, Any]]:
    """Let the embedded model read and write with rotations it was not trained with."""
    dims, theta = head_dim(), sizes().rope_theta
    right = RoPE(dims, 512, theta)
    rotations: dict[str, Callable[[mx.array], mx.array]] = {
        "right": right,
        "shifted": lambda x: right(x, slice(100, 100 + x.shape[1])),
        "base": RoPE(dims, 512, 1000000),
        "neighbours": RoPE(dims, 512, theta, traditional=True),
        "none": lambda x: x,
    }
    model = Qwen2ModelWeek1(checkpoint().model)
    found: dict[str, dict[str, Any]] = {}
    for name, rotation in rotations.items():
        for layer in model.layers:
            layer.attention.rope = rotation
        found[name] = {"probability": _typical_probability(model)}
        if name in {"right", "neighbours", "none"}:
            found[name]["text"] = _written_by(model)
    return found


def _prompt() -> list[int]:
    """Return the tokens of the request, up to where the answer begins."""
    return token_ids(checkpoint().chat_prompt([{"role": "user", "content": REQUEST}]))


def _typical_probability(model: Qwen2ModelWeek1) -> float:
    """Return the geometric mean of what the model gave each token of the story."""
    prompt, story = _prompt(), token_ids(STORY)
    probabilities = softmax(model(mx.array([prompt + story]))[0], axis=-1)
    before = mx.arange(len(prompt) - 1, len(prompt) + len(story) - 1)
    of_next = probabilities[before, mx.array(story)]
    return mx.exp(mx.mean(mx.log(of_next))).item()


def _written_by(model: Qwen2ModelWeek1) -> str:
    """Return how the model begins its answer when the likeliest token wins."""
    loaded, ids = checkpoint(), _prompt()
    start = len(ids)
    for _ in range(NUM_WRITTEN):
        likeliest = int(mx.argmax(model(mx.array([ids]))[0, -1]).item())
        if likeliest == loaded.config["eos_token_id"]:
            break
        ids.append(likeliest)
    return " ".join(loaded.tokenizer.decode(ids[start:]).split())
