"""Day 1: softmax, attention and several heads, in numbers to redo by hand."""

import math
from collections.abc import Mapping
from typing import Any

import mlx.core as mx

from tiny_llm_course.book.drawing import Drawing
from tiny_llm_course.book.embedded import checkpoint, head_dim
from tiny_llm_course.grading.judgement.closeness import ALLOWED_ULPS, epsilon
from tiny_llm_ref.attention import scaled_dot_product_attention_simple as attention
from tiny_llm_ref.basics import linear

from .breaking import told
from .by_hand import attention_by_hand, limits, softmax_by_hand
from .pictures import draw_dot_products, draw_shapes, draw_splitting
from .sentence import WORD_KEYS, WORD_QUERIES, words_at_a_glance
from .story import draw_trained_heads, story_at_a_glance
from .why_the_root import NUM_DRAWN, NUM_RIVALS, draw_why_the_root, spread


def numbers() -> Mapping[str, Any]:
    """Return what the text quotes."""
    config = checkpoint().config
    return {
        "softmax": softmax_by_hand(),
        "limits": limits(),
        "worked": attention_by_hand(),
        "told": told(),
        "spread": spread(),
        "num_rivals": NUM_RIVALS,
        "num_drawn": NUM_DRAWN,
        "words": words_at_a_glance(),
        "model": {
            "hidden": config["hidden_size"],
            "heads": config["num_attention_heads"],
            "width": head_dim(),
            "root": math.isqrt(head_dim()),
            "layers": config["num_hidden_layers"],
        },
        "story": story_at_a_glance(),
        "qwen_width": 896 // 14,
        "qwen_root": math.isqrt(896 // 14),
        "blur": attention(
            mx.zeros((1, 2)), mx.zeros((2, 2)), mx.array([[10.0, 0.0], [0.0, 10.0]])
        )[0].tolist(),
        "linear": linear(
            mx.array([1.0, 2.0]), mx.array([[1.0, 0.0], [0.0, 1.0], [3.0, -1.0]])
        ).tolist(),
        "judge": {
            "allowed": ALLOWED_ULPS,
            "float32": round(math.log2(epsilon(mx.float32))),
            "float16": round(math.log2(epsilon(mx.float16))),
            "bfloat16": round(math.log2(epsilon(mx.bfloat16))),
        },
    }


def drawings() -> Mapping[str, Drawing]:
    """Return the figures of the chapter."""
    return {
        "dot-products": draw_dot_products,
        "shapes": draw_shapes,
        "why-the-root": draw_why_the_root,
        "splitting": draw_splitting,
        "trained-heads": draw_trained_heads,
    }


def data() -> Mapping[str, Any]:
    """Return what the interactive figure starts from."""
    return {
        "attention-weights": {
            "queries": WORD_QUERIES,
            "keys": WORD_KEYS,
        }
    }
