"""How many heads there are, and what a token leaves behind in the cache."""

from typing import Any

from tiny_llm_course.book.embedded import head_dim, sizes

BYTES = 2
"""Of one cached number in bfloat16, as Qwen2 is published."""

CONTEXT = 32768

# Layers, query heads, key/value heads, width of a head: Yang et al. 2024, table 1.
QWEN2 = {
    "Qwen2-0.5B": (24, 14, 2, 64),
    "Qwen2-1.5B": (28, 12, 2, 128),
    "Qwen2-7B": (28, 28, 4, 128),
    "Qwen2-72B": (80, 64, 8, 128),
}


def cache_bytes(num_layers: int, num_kv_heads: int, head_dim: int) -> int:
    """Return the size of the keys and values that one token leaves behind."""
    return 2 * num_layers * num_kv_heads * head_dim * BYTES


def ours() -> dict[str, Any]:
    """Return the sizes of the embedded model."""
    own = sizes()
    layers, kv_heads = own.num_hidden_layers, own.num_key_value_heads
    return own.as_config() | {
        "head_dim": head_dim(),
        "groups": own.num_attention_heads // kv_heads,
        "bytes": cache_bytes(layers, kv_heads, head_dim()),
    }


def models() -> dict[str, dict[str, int]]:
    """Return the sizes of the published models, and what a token costs each."""
    names = ("layers", "heads", "kv_heads", "head_dim")
    found = {}
    for name, known in QWEN2.items():
        layers, heads, kv_heads, width = known
        found[name.split("-")[1].replace(".", "_").lower()] = {
            **dict(zip(names, known, strict=True)),
            "groups": heads // kv_heads,
            "hidden": heads * width,
            "kv_size": kv_heads * width,
            "bytes": cache_bytes(layers, kv_heads, width),
        }
    return found


def cache() -> dict[str, dict[str, float]]:
    """Return what the cache of Qwen2-0.5B costs with 14, 2 and 1 key/value heads."""
    layers, heads, kv_heads, width = QWEN2["Qwen2-0.5B"]
    counts = {"all": heads, "grouped": kv_heads, "one": 1}
    return {
        name: {
            "heads": count,
            "numbers": cache_bytes(layers, count, width) // BYTES,
            "bytes": cache_bytes(layers, count, width),
            "mb": cache_bytes(layers, count, width) * CONTEXT / 1e6,
        }
        for name, count in counts.items()
    }


def num_parameters() -> int:
    """Count the parameters of Qwen2-0.5B, whose head is its embedding."""
    layers, heads, kv_heads, width = QWEN2["Qwen2-0.5B"]
    hidden, intermediate, vocabulary = heads * width, 4864, 151936
    kv_size = kv_heads * width
    attention = 2 * hidden * hidden + 2 * kv_size * hidden + hidden + 2 * kv_size
    block = attention + 3 * hidden * intermediate + 2 * hidden
    return vocabulary * hidden + layers * block + hidden


def copies() -> dict[str, float]:
    """Return the size of a layer's keys and values, as they are and repeated."""
    _, heads, kv_heads, width = QWEN2["Qwen2-0.5B"]
    return {
        "kept_mb": cache_bytes(1, kv_heads, width) * CONTEXT / 1e6,
        "repeated_mb": cache_bytes(1, heads, width) * CONTEXT / 1e6,
    }
