"""How much memory a run takes: `python -m tiny_llm_lab.bench.memory`."""

import importlib
import resource
import sys

from tiny_llm_lab.bench import ours
from tiny_llm_lab.bench.models import args_of
from tiny_llm_lab.bench.probing import Found, answer

PROMPT, NUM_NEW = 1024, 32


def measure(model: str, solution: str) -> Found:
    """Read a prompt and write an answer, and count the bytes that it took.

    The most that MLX held is counted anew after loading: weights are there, and come
    out of a file that may be stored in another dtype. What the process held at most is
    counted from its start, libraries and loading and all.

    Raises:
        MissingError: The solution does not have the last variant yet.
    """
    import mlx.core as mx

    # It is there before the count begins: a library, and no part of a run.
    importlib.import_module("mlx_lm.utils")
    at_start = most_of_process()
    engine = ours.build(model, solution, "everything")
    loading = mx.get_peak_memory()
    mx.reset_peak_memory()
    args = args_of(model)
    length = min(PROMPT, args.max_position_embeddings - NUM_NEW)
    engine.prefill(length)()
    step = engine.generate(length)
    for _ in range(NUM_NEW):
        step()
    weights, dtype = engine.stored.weight_bytes, getattr(mx, engine.stored.dtype)
    assert weights is not None, "the last variant keeps its weights packed"
    head_dim = args.hidden_size // args.num_attention_heads
    per_token = 2 * args.num_hidden_layers * args.num_key_value_heads * head_dim
    return {
        "tokens": length + NUM_NEW,
        "weight_bytes": weights,
        "cache_bytes": (length + NUM_NEW) * per_token * dtype.size,
        "mlx_peak_bytes": mx.get_peak_memory(),
        "mlx_peak_bytes_when_loading": loading,
        "process_bytes_before": at_start,
        "process_peak_bytes": most_of_process(),
    }


def most_of_process() -> int:
    """Return the most memory that this process has had: bytes on a Mac, else KiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    answer(measure)
