"""`kernels.advise_huge_pages` asks for huge pages, and changes nothing else."""

import platform
import re
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_ref import kernels
from tiny_llm_ref.kv_cache import TinyKvCache, TinyKvFullCache
from tiny_llm_ref.paged_kv_cache import TinyKvPagedCache, TinyKvPagedPool

ROLLUP = Path("/proc/self/smaps_rollup")


@pytest.fixture(autouse=True)
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        kernels.built()
    except kernels.NotBuiltError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("TINY_LLM_KERNELS", "own")


def in_large_pages() -> int:
    """Return the bytes of this process in large pages."""
    found = re.search(r"AnonHugePages:\s+(\d+) kB", ROLLUP.read_text(encoding="utf-8"))
    assert found
    return int(found[1]) * 1024


def needs_large_pages_on_request() -> None:
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    enabled = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not (ROLLUP.exists() and enabled.exists() and version):
        pytest.skip("there are no large pages here")
    if "[madvise]" not in enabled.read_text(encoding="utf-8"):
        pytest.skip("all memory has large pages here, or none")
    if tuple(map(int, version.groups())) < (6, 1):
        pytest.skip("Linux moves memory at once from 6.1 on")


@pytest.mark.parametrize("size", [0, 5, 1 << 16, 3_000_001])
def test_advised_arrays_hold_what_they_held(size: int) -> None:
    """They have all sizes, and neighbours in the same pages."""
    arrays = [mx.arange(size) + i for i in range(3)]

    kernels.advise_huge_pages(arrays[1])

    for i, array in enumerate(arrays):
        assert mx.array_equal(array, mx.arange(size) + i)


def test_a_large_array_stands_in_large_pages() -> None:
    needs_large_pages_on_request()
    array = mx.arange(1 << 24)
    mx.eval(array)
    before = in_large_pages()

    kernels.advise_huge_pages(array)

    assert in_large_pages() > before


def test_a_cache_that_grows_keeps_its_tokens() -> None:
    """The longer buffer is advised before the new tokens are written."""
    cache = TinyKvFullCache()
    new = mx.random.normal((1, 2, 300, 64), key=mx.random.key(0))

    for begin in range(0, 300, 50):
        piece = new[:, :, begin : begin + 50]
        seen = cache.update_and_fetch(piece, 2 * piece)

        stop = begin + 50
        assert mx.array_equal(seen[0], new[:, :, :stop])
        assert mx.array_equal(seen[1], 2 * new[:, :, :stop])


@pytest.mark.parametrize(
    "make", [TinyKvFullCache, lambda: TinyKvPagedCache(TinyKvPagedPool(num_pages=4))]
)
@pytest.mark.parametrize(("made_with", "then"), [("own", "none"), ("none", "own")])
def test_a_cache_stays_with_what_it_was_made_for(
    monkeypatch: pytest.MonkeyPatch,
    made_with: str,
    then: str,
    make: Callable[[], TinyKvCache],
) -> None:
    """The environment is asked once, and not whenever a buffer grows."""
    advised: list[mx.array] = []
    monkeypatch.setattr(kernels, "advise_huge_pages", advised.append)
    monkeypatch.setenv("TINY_LLM_KERNELS", made_with)
    cache = make()
    monkeypatch.setenv("TINY_LLM_KERNELS", then)

    cache.update_and_fetch(mx.ones((1, 2, 3, 4)), mx.ones((1, 2, 3, 4)))

    assert len(advised) == (2 if made_with == "own" else 0)
