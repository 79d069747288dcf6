"""Day 7: other ways to sample with temperature, top-k and top-p."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeGuard

import mlx.core as mx
import numpy as np

from tiny_llm_course.specimens import specimen

MAKE_SAMPLER = "sampler.make_sampler"

Sampler = Callable[[mx.array], mx.array]


def _is_on(top_p: float | None) -> TypeGuard[float]:
    return top_p is not None and 0 < top_p < 1


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def gumbel_noise(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
    """Add noise and take the largest; find places by sorting twice."""

    def sample(x: mx.array) -> mx.array:
        places = mx.argsort(mx.argsort(-x, axis=-1), axis=-1)
        kept = mx.where(places < (top_k or x.shape[-1]), x, -mx.inf)
        if _is_on(top_p):
            likeliest_first = -mx.sort(-mx.softmax(kept, axis=-1), axis=-1)
            sums = mx.cumsum(likeliest_first, axis=-1) - likeliest_first
            before = mx.take_along_axis(sums, places, axis=-1)
            kept = mx.where(before < top_p, kept, -mx.inf)
        if temp == 0:
            return mx.argmax(kept, axis=-1)
        return mx.argmax(kept / temp + mx.random.gumbel(x.shape), axis=-1)

    return sample


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def drawn_by_cumulative_sums(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    """Find where a uniform number falls, in sorted order, and look up the id."""

    def sample(x: mx.array) -> mx.array:
        order = mx.argsort(-x, axis=-1)
        if temp == 0:
            return order[:, 0]
        scores = mx.take_along_axis(x, order, axis=-1)
        if top_k:
            order, scores = order[:, :top_k], scores[:, :top_k]
        if _is_on(top_p):
            probabilities = mx.softmax(scores, axis=-1)
            crossed = mx.cumsum(probabilities, axis=-1) - probabilities >= top_p
            scores = mx.where(crossed, -mx.inf, scores)
        sums = mx.cumsum(mx.softmax(scores / temp, axis=-1), axis=-1)
        drawn = (1 - mx.random.uniform(shape=(x.shape[0], 1))) * sums[:, -1:]
        place = mx.sum(sums < drawn, axis=-1, keepdims=True)
        return mx.take_along_axis(order, place, axis=-1).squeeze(-1)

    return sample


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def thresholds(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
    """Keep what is at least as likely as the last token to be kept."""

    def sample(x: mx.array) -> mx.array:
        if temp == 0:
            return mx.argmax(x, axis=-1)
        if top_k:
            likeliest = mx.topk(x, min(top_k, x.shape[-1]), axis=-1)
            least = mx.min(likeliest, axis=-1, keepdims=True)
            x = mx.where(x < least, -mx.inf, x)
        if _is_on(top_p):
            p = mx.softmax(x, axis=-1)
            likeliest_first = mx.sort(p, axis=-1)[:, ::-1]
            sums = mx.cumsum(likeliest_first, axis=-1, inclusive=False)
            kept = mx.where(sums < top_p, likeliest_first, 1.0)
            x = mx.where(p < mx.min(kept, axis=-1, keepdims=True), -mx.inf, x)
        return mx.random.categorical(x * (1 / temp))

    return sample


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def sums_from_the_least_likely(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    """Sort upwards, and drop what lies in the tail of 1 - top_p."""

    def sample(x: mx.array) -> mx.array:
        if top_k and top_k < x.shape[-1]:
            dropped = mx.argpartition(x, -top_k, axis=-1)[:, :-top_k]
            x = mx.put_along_axis(x, dropped, mx.array(-mx.inf), axis=-1)
        if _is_on(top_p):
            order = mx.argsort(x, axis=-1)
            inverse = mx.argsort(order, axis=-1)
            upwards = mx.take_along_axis(mx.softmax(x, axis=-1), order, axis=-1)
            sums = mx.take_along_axis(mx.cumsum(upwards, axis=-1), inverse, axis=-1)
            x = mx.where(sums > 1 - top_p, x, -mx.inf)
        return mx.random.categorical(x / temp) if temp else mx.argmax(x, axis=-1)

    return sample


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
@dataclass
class sampler_object:
    """Be an object that can be called, and that splits a random key of its own."""

    temp: float
    top_p: float | None = None
    top_k: int | None = None
    key: mx.array = field(default_factory=lambda: mx.random.key(42))

    def __call__(self, x: mx.array) -> mx.array:
        if self.temp == 0:
            return mx.argmax(x, axis=-1)
        order = mx.argsort(-x, axis=-1)
        places = mx.argsort(order, axis=-1)
        if self.top_k:
            x = mx.where(places < self.top_k, x, -mx.inf)
        if _is_on(self.top_p):
            p = mx.take_along_axis(mx.softmax(x, axis=-1), order, axis=-1)
            num_kept = 1 + mx.sum(mx.cumsum(p, axis=-1) < self.top_p, axis=-1)
            x = mx.where(places < num_kept[:, None], x, -mx.inf)
        self.key, now = mx.random.split(self.key)
        return mx.random.categorical(x / self.temp, key=now)


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def list_of_ids(
    temp: float, top_p: float | None, top_k: int | None, greedy_below: float = 0.0
) -> Callable[[mx.array], object]:
    """Compare every token with every other, and return a Python list."""

    def sample(x: mx.array) -> object:
        if temp <= greedy_below:
            return x.argmax(axis=-1).tolist()
        if top_k:
            num_likelier = (x[:, None, :] > x[:, :, None]).sum(axis=-1)
            x = mx.where(num_likelier < top_k, x, -mx.inf)
        if _is_on(top_p):
            p = mx.softmax(x, axis=-1)
            likelier = p[:, None, :] > p[:, :, None]
            before = mx.einsum("nvw,nw->nv", likelier.astype(p.dtype), p)
            x = mx.where(before < top_p, x, -mx.inf)
        return mx.random.categorical(x / temp).tolist()

    return sample


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def one_row_mapped_over_all(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    """Write the filters for a single row, and let `vmap` add the batch."""

    def kept(row: mx.array) -> mx.array:
        order = mx.argsort(-row)
        scores = row[order]
        if top_k:
            scores = mx.where(mx.arange(row.size) < top_k, scores, -mx.inf)
        if _is_on(top_p):
            p = mx.softmax(scores)
            scores = mx.where(mx.cumsum(p) - p < top_p, scores, -mx.inf)
        return scores[mx.argsort(order)]

    def sample(x: mx.array) -> mx.array:
        if temp == 0:
            return mx.argmax(x, axis=1)
        return mx.random.categorical(mx.vmap(kept)(x) / temp)

    return sample


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def powers_of_probabilities(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    """Leave log-probabilities behind: set probabilities to 0, then take a power."""

    def sample(x: mx.array) -> mx.array:
        if temp == 0:
            return mx.argmax(x, axis=-1)
        order = mx.argsort(-x, axis=-1)
        p = mx.take_along_axis(mx.softmax(x, axis=-1), order, axis=-1)
        if top_k:
            p[:, top_k:] = 0
            p /= p.sum(axis=-1, keepdims=True)
        if _is_on(top_p):
            p = mx.where(mx.cumsum(p, axis=-1, inclusive=False) < top_p, p, 0)
        powers = (p / p[:, :1]) ** (1 / temp)
        place = mx.random.categorical(mx.log(powers))[:, None]
        return mx.take_along_axis(order, place, axis=-1).reshape(-1)

    return sample


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def filters_in_a_list(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
    """Collect the filters first; write a large negative number for -inf."""
    filters: list[Sampler] = []
    if top_k is not None and top_k > 0:
        filters.append(lambda x: mx.where(mx.arange(x.shape[1]) < top_k, x, -1e9))
    if _is_on(top_p):
        filters.append(lambda x: mx.where(_sum_before(x) < top_p, x, -1e9))

    def sample(x: mx.array) -> mx.array:
        if temp == 0:
            return x.argmax(-1)
        order = mx.argsort(x, axis=-1)[:, ::-1]
        scores = mx.take_along_axis(x, order, -1)
        for each in filters:
            scores = each(scores)
        place = mx.random.categorical(scores / temp)
        return order[mx.arange(len(x)), place]

    return sample


def _sum_before(sorted_x: mx.array) -> mx.array:
    p = mx.softmax(sorted_x, axis=-1)
    return mx.cumsum(p, axis=-1) - p


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def drawn_with_numpy(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
    """Go over to numpy and its generator, in float64, and come back with the ids."""
    generator = np.random.default_rng(7)

    def sample(log_probabilities: mx.array) -> mx.array:
        x = np.array(log_probabilities).astype(np.float64)
        order = np.argsort(-x, axis=-1)
        if temp == 0:
            return mx.array(order[:, 0])
        x = np.take_along_axis(x, order, axis=-1)
        x[:, top_k or x.shape[-1] :] = -np.inf
        if _is_on(top_p):
            p = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
            x[np.cumsum(p, axis=-1) - p >= top_p] = -np.inf
        places = np.argmax(x / temp + generator.gumbel(size=x.shape), axis=-1)
        return mx.array(order[np.arange(len(x)), places])

    return sample
