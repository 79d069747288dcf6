"""The error of the kernels' logits: `python -m tiny_llm_lab.bench.accuracy`.

The truth is `mlx_lm`'s model with the dequantised weights, in float32. The kernels
round activations, so their logits differ.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.predictions import nearness
from tiny_llm_lab.bench import ours
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, args_of, load_mlx
from tiny_llm_lab.bench.probing import Found, answer
from tiny_llm_lab.bench.tokens import draw

NUM_POSITIONS = 64


def measure(model: str, solution: str) -> Found:
    """Compare logits at 64 positions of a prompt read at once, and token by token.

    Raises:
        MissingError: The solution does not have the last variant yet.
    """
    engine = ours.build(model, solution, "everything")
    assert isinstance(engine, ours.WithCacheEngine)
    ids = token_ids(model)
    truth = _true_logits(model, ids)
    at_once = compared(truth, engine.logits([ids]))
    one_by_one = compared(truth, engine.logits([[one] for one in ids]))
    return {
        "positions": len(ids),
        **{f"prefill_{name}": value for name, value in at_once.items()},
        **{f"generate_{name}": value for name, value in one_by_one.items()},
    }


def token_ids(model: str) -> list[int]:
    """Return the input: held-out text, or random tokens for the random model."""
    if model != EMBEDDED_MODEL:
        return draw(NUM_POSITIONS, args_of(model).vocab_size)
    from tiny_llm_course.checkpoint import load
    from tiny_llm_lab.corpus import Corpus

    documents = Corpus(seed=0, held_out=True).documents(chunk=0, number=8)
    text = "\n".join(document.text for document in documents)
    return load().tokenizer.encode(text)[:NUM_POSITIONS]


def compared(truth: NDArray[Any], got: NDArray[Any]) -> Found:
    """Return the mean KL divergence in nats, and the share of equal likeliest tokens.

    Args:
        truth: The exact logits, one row per position.
        got: The kernels' logits, one row per position.
    """
    import mlx.core as mx

    near = nearness(mx.array(got.astype(np.float32)), truth.astype(np.float64))
    return {"kl": near.divergence, "same_argmax": near.agreement}


def _true_logits(model: str, ids: list[int]) -> NDArray[Any]:
    """Return the logits of `mlx_lm` with the dequantised weights."""
    import mlx.core as mx
    from mlx_lm.utils import dequantize_model

    network = load_mlx(model, dtype="float32")
    logits: mx.array = dequantize_model(network)(mx.array([ids]))
    return np.array(logits[0].astype(mx.float32))


if __name__ == "__main__":
    answer(measure)
