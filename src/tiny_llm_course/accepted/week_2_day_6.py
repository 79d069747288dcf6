"""Day 6: other right ways to attend without all scores at once."""

from typing import Any, Literal

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.attention import causal_mask

ONLINE = "kernels.attention_online"
TILED = "kernels.attention_tiled"
SPLIT = "kernels.attention_split"

Array = mx.array
Mask = mx.array | Literal["causal"] | None
Numbers = NDArray[np.float32]
Precise = NDArray[np.float32] | NDArray[np.float64]


def _parts(
    inputs: tuple[Array, Array, Array], scale: float, mask: Mask
) -> tuple[Numbers, Numbers]:
    """Return the scores, and values of as many heads, in float32."""
    query, key, value = (np.array(one.astype(mx.float32)) for one in inputs)
    times = query.shape[1] // key.shape[1]
    key, value = (np.repeat(one, times, axis=1) for one in (key, value))
    scores = query @ key.swapaxes(-1, -2) * np.float32(scale)
    if mask == "causal":
        num_queries, num_keys = scores.shape[-2:]
        mask = causal_mask(num_queries, num_keys, mx.float32)
    if isinstance(mask, mx.array):
        scores = scores + np.array(mask.astype(mx.float32))
    return scores, value


def _array(y: Precise, query: Array) -> Array:
    """Return a result in the dtype of the query."""
    return mx.array(y.astype(np.float32)).astype(query.dtype)


@specimen(1, symbol=ONLINE)
def online_from_the_last_key(
    query: Array, key: Array, value: Array, scale: float, mask: Mask = None
) -> Array:
    """Go through the keys from the last to the first, and divide all along."""
    scores, v = _parts((query, key, value), scale, mask)
    top = np.full((*scores.shape[:-1], 1), -np.inf, np.float32)
    total, mean = np.zeros_like(top), np.zeros((*scores.shape[:-1], v.shape[-1]))
    for j in reversed(range(scores.shape[-1])):
        score = scores[..., j, None]
        new_top = np.maximum(top, score)
        safe = np.where(np.isneginf(new_top), 0, new_top)
        weight = np.exp(score - safe)
        total = total * np.exp(top - safe) + weight
        share = np.divide(weight, total, out=np.zeros_like(total), where=total > 0)
        mean = mean + share * (v[..., j, None, :] - mean)
        top = new_top
    return _array(mean, query)


@specimen(1, symbol=ONLINE)
def online_with_a_maximum_found_first(
    query: Array, key: Array, value: Array, scale: float, mask: Mask = None
) -> Array:
    """Go through the keys twice: for the maximum, and for the sums."""
    scores, v = _parts((query, key, value), scale, mask)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return _array(weights @ v / weights.sum(-1, keepdims=True), query)


@specimen(1, symbol=ONLINE)
def online_that_scales_down_only_if_it_must(
    query: Array, key: Array, value: Array, scale: float, mask: Mask = None
) -> Array:
    """Leave the maximum until a score is larger by 8: weights stay below e^8."""
    scores, v = _parts((query, key, value), scale, mask)
    top = np.full((*scores.shape[:-1], 1), -1e30, np.float32)
    total, sums = np.zeros_like(top), np.zeros((*scores.shape[:-1], v.shape[-1]))
    for j in range(scores.shape[-1]):
        score = scores[..., j, None]
        new_top = np.where(score > top + 8, score, top)
        shrunk, weight = np.exp(top - new_top), np.exp(score - new_top)
        total = total * shrunk + weight
        sums = sums * shrunk + weight * v[..., j, None, :]
        top = new_top
    return _array(sums / total, query)


def _by_tiles(
    inputs: tuple[Array, Array, Array], scale: float, mask: Mask, size: int
) -> Array:
    """Attend tile by tile."""
    scores, v = _parts(inputs, scale, mask)
    top = np.full((*scores.shape[:-1], 1), -np.inf, np.float32)
    total, sums = np.zeros_like(top), np.zeros((*scores.shape[:-1], v.shape[-1]))
    for first in range(0, scores.shape[-1], size):
        tile = scores[..., first : first + size]
        new_top = np.maximum(top, tile.max(-1, keepdims=True))
        safe = np.where(np.isneginf(new_top), 0, new_top)
        shrunk, weights = np.exp(top - safe), np.exp(tile - safe)
        total = total * shrunk + weights.sum(-1, keepdims=True)
        sums = sums * shrunk + weights @ v[..., first : first + size, :]
        top = new_top
    return _array(sums / total, inputs[0])


@specimen(2, symbol=TILED)
def tiles_of_sixteen(
    query: Array, key: Array, value: Array, scale: float, mask: Mask = None
) -> Array:
    return _by_tiles((query, key, value), scale, mask, 16)


@specimen(2, symbol=TILED)
def tiles_of_a_hundred(
    query: Array, key: Array, value: Array, scale: float, mask: Mask = None
) -> Array:
    return _by_tiles((query, key, value), scale, mask, 100)


@specimen(3, symbol=SPLIT)
def pieces_merged_by_their_logarithms(
    query: Array, key: Array, value: Array, scale: float, mask: Mask = None
) -> Array:
    """Divide in each piece, and keep the logarithm of its sum, as papers do."""
    scores, v = _parts((query, key, value), scale, mask)
    means: list[Numbers] = []
    logs: list[Numbers] = []
    for first in range(0, scores.shape[-1], 100):
        piece = scores[..., first : first + 100]
        top = np.maximum(piece.max(-1, keepdims=True), np.float32(-1e30))
        weights = np.exp(piece - top)
        total = np.maximum(weights.sum(-1, keepdims=True), np.float32(1e-30))
        means.append(weights @ v[..., first : first + 100, :] / total)
        logs.append(top + np.log(total))
    shares = np.exp(np.stack(logs) - np.max(logs, axis=0))
    return _array((shares * np.stack(means)).sum(0) / shares.sum(0), query)


@specimen(3, symbol=SPLIT)
def pieces_merged_in_pairs(
    query: Array, key: Array, value: Array, scale: float, mask: Mask = None
) -> Array:
    scores, v = _parts((query, key, value), scale, mask)

    def attend(first: int, last: int) -> tuple[Numbers, Numbers, Numbers]:
        if last - first > 70:
            middle = (first + last) // 2
            return merge(attend(first, middle), attend(middle, last))
        piece = scores[..., first:last]
        top = piece.max(-1, keepdims=True)
        weights = np.exp(piece - np.where(np.isneginf(top), 0, top))
        return top, weights.sum(-1, keepdims=True), weights @ v[..., first:last, :]

    def merge(one: Any, two: Any) -> tuple[Numbers, Numbers, Numbers]:  # noqa: ANN401
        top = np.maximum(one[0], two[0])
        safe = np.where(np.isneginf(top), 0, top)
        shares = np.exp(one[0] - safe), np.exp(two[0] - safe)
        total = one[1] * shares[0] + two[1] * shares[1]
        return top, total, one[2] * shares[0] + two[2] * shares[1]

    _, total, sums = attend(0, scores.shape[-1])
    return _array(sums / total, query)
