"""How much memory scores take, and how many tiles there are."""

# Heads, key and value heads, width of a head, layers: from the config.json of
# Qwen2-0.5B.
HEADS, KV_HEADS, WIDTH, LAYERS = 14, 2, 64, 24
KEYS_OF_TILE, QUERIES_OF_BLOCK = 64, 32


def sizes() -> dict[str, float]:
    """Count the bytes of scores and of what is kept instead, in float32."""
    length, cached = 4096, 4096
    rows = HEADS // KV_HEADS * QUERIES_OF_BLOCK
    return {
        "scores_mb": 4 * HEADS * length * length / 1e6,
        "heads_mb": 4 * (2 * HEADS + 2 * KV_HEADS) * length * WIDTH / 1e6,
        "cache_mb": 4 * 2 * KV_HEADS * cached * WIDTH / 1e6,
        "all_caches_mb": 4 * 2 * KV_HEADS * cached * WIDTH * LAYERS / 1e6,
        "tile_kb": 4 * 2 * KEYS_OF_TILE * WIDTH / 1024,
        "rows": rows,
        "group": HEADS // KV_HEADS,
        "flops_per_byte": 2 * HEADS // KV_HEADS / 4,
    }


def tiles(length: int = 1024) -> dict[str, float]:
    """Count tiles of a prompt with a causal mask: skipped, cut, and whole."""
    kinds = [
        kind_of(block, tile)
        for block in range(length // QUERIES_OF_BLOCK)
        for tile in range(length // KEYS_OF_TILE)
    ]
    counted = {kind: kinds.count(kind) for kind in ("skipped", "cut", "whole")}
    return counted | {"all": len(kinds), "share": 1 - counted["skipped"] / len(kinds)}


def kind_of(block: int, tile: int) -> str:
    """Tell how much of a tile the queries of a block may see."""
    first_query = block * QUERIES_OF_BLOCK
    first_key = tile * KEYS_OF_TILE
    if first_key > first_query + QUERIES_OF_BLOCK - 1:
        return "skipped"
    return "whole" if first_key + KEYS_OF_TILE - 1 <= first_query else "cut"
