"""Measures the memory of a run: `python -m tiny_llm_lab.bench.memory`."""

import importlib
import resource
import sys

from tiny_llm_lab.bench import ours
from tiny_llm_lab.bench.models import args_of
from tiny_llm_lab.bench.probing import Found, answer

PROMPT, NUM_NEW = 1024, 32


def measure(model: str, solution: str) -> Found:
    """Read a prompt, write an answer, and measure the memory that this takes.

    MLX's peak is reset after loading, because a file may store the weights in another
    dtype; the weights themselves count. The peak of the process is from its start,
    including libraries and loading.

    Raises:
        MissingError: The solution does not have the last variant yet.
    """
    import mlx.core as mx

    # Imported before the count begins: a library, not part of the run.
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
    """Return the peak memory of this process in bytes. Linux reports it in KiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    answer(measure)
