"""What MLX allocates when each of some texts writes one token into a common pool."""

import mlx.core as mx

from tiny_llm_course.grading.judgement.memory import peak_bytes
from tiny_llm_course.specimens import mistake
from tiny_llm_ref.paged_kv_cache import TinyKvPagedCache, TinyKvPagedPool

NUM_TEXTS = 4


def allocated(num_pages: int) -> dict[str, float]:
    """Return the KiB of a pool, and of a step: as ours, and with copies to make.

    Args:
        num_pages: Of the pool.
    """
    lazy = mistake("week_3_day_3", "copies_still_to_be_made")
    return {
        "pages": num_pages,
        "pool": 2 * num_pages * 2 * 16 * 32 * 4 / 2**10,
        "ours": _of_a_step(TinyKvPagedPool, num_pages),
        "lazy": _of_a_step(lazy, num_pages),
    }


def _of_a_step(make: type[TinyKvPagedPool], num_pages: int) -> float:
    """Return the KiB that are allocated at most while each text adds a token."""
    pool = make(16, num_pages)
    caches = [TinyKvPagedCache(pool) for _ in range(NUM_TEXTS)]
    token = mx.ones((1, 2, 1, 32))

    def step() -> None:
        mx.eval([one.update_and_fetch(token, token)[:2] for one in caches])

    step()
    mx.clear_cache()  # from which more may be taken than asked for
    # A thread of MLX that still holds what is done with makes a step look smaller.
    return max(peak_bytes(step) for _ in range(20)) / 2**10
