"""Day 4: other right ways to attend to pages."""

from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.kernels import paged_attention_online

ONLINE = "kernels.paged_attention_online"
TILED = "kernels.paged_attention_tiled"

Array = mx.array
Numbers = NDArray[np.float32]


def _row(
    pages: tuple[Array, Array], table: Array, num_tokens: int
) -> tuple[Numbers, Numbers]:
    """Return the keys and the values of a row, H_kv x S x D."""
    P = pages[0].shape[2]  # noqa: N806 - as in the shapes
    used = table[: -(-num_tokens // P)]
    found = (np.array(one[used].astype(mx.float32)) for one in pages)
    key, value = (np.concatenate(list(one), axis=1)[:, :num_tokens] for one in found)
    return key, value


def _scores(query: Array, key: Numbers, scale: float, *, is_causal: bool) -> Numbers:
    """Return the scores of a row, H x L x S."""
    q = np.array(query.astype(mx.float32))
    repeated = np.repeat(key, len(q) // len(key), axis=0)
    scores = q @ repeated.swapaxes(-1, -2) * np.float32(scale)
    num_queries, num_keys = scores.shape[-2:]
    allowed = np.tri(num_queries, num_keys, num_keys - num_queries, dtype=bool)
    return np.where(allowed, scores, -np.inf) if is_causal else scores


def _merged(scores: Numbers, value: Numbers, size: int) -> Numbers:
    """Attend to pieces of a row, and merge them: each divided, with its logarithm."""
    repeated = np.repeat(value, len(scores) // len(value), axis=0)
    means: list[Numbers] = []
    logs: list[Numbers] = []
    for first in range(0, scores.shape[-1], size):
        piece = scores[..., first : first + size]
        top = np.maximum(piece.max(-1, keepdims=True), np.float32(-1e30))
        weights = np.exp(piece - top)
        total = np.maximum(weights.sum(-1, keepdims=True), np.float32(1e-30))
        means.append(weights @ repeated[:, first : first + size] / total)
        logs.append(top + np.log(total))
    shares = np.exp(np.stack(logs) - np.max(logs, axis=0))
    return (shares * np.stack(means)).sum(0) / shares.sum(0)


def _by_rows(query: Array, given: tuple[Any, ...], size: int) -> Array:
    """Attend row by row, in pieces of some keys."""
    key_pages, value_pages, block_table, context_lens, scale, mask = given
    rows: list[Numbers] = []
    for own, table, num_tokens in zip(query, block_table, context_lens, strict=True):
        key, value = _row((key_pages, value_pages), table, int(num_tokens))
        scores = _scores(own, key, scale, is_causal=mask == "causal")
        rows.append(_merged(scores, value, size))
    return mx.array(np.stack(rows).astype(np.float32)).astype(query.dtype)


@specimen(1, symbol=ONLINE)
def all_scores_of_a_row_at_once(query: Array, *given: Any) -> Array:  # noqa: ANN401
    """Read a row out of its pages, and attend to it as in Week 1."""
    return _by_rows(query, given, 10**6)


@specimen(1, symbol=ONLINE)
def page_by_page(query: Array, *given: Any) -> Array:  # noqa: ANN401
    """Attend to each page by itself, and merge the results."""
    return _by_rows(query, given, given[0].shape[2])


@specimen(2, symbol=TILED)
def tiles_of_forty_keys(query: Array, *given: Any) -> Array:  # noqa: ANN401
    """Attend in tiles that begin and end anywhere in a page."""
    return _by_rows(query, given, 40)


@specimen(2, symbol=TILED)
def paged_one_key_at_a_time(query: Array, *given: Any) -> Array:  # noqa: ANN401
    return paged_attention_online(query, *given)
