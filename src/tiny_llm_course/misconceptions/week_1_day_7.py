"""Day 7: what goes wrong in temperature, top-k and top-p."""

import functools
from collections.abc import Callable
from typing import cast

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.sampler import make_sampler

MAKE_SAMPLER = "sampler.make_sampler"

Sampler = Callable[[mx.array], object]
MakeSampler = Callable[[float, float | None, int | None], Sampler]


def _draw(draw: Callable[[mx.array, float], object]) -> MakeSampler:
    """Make a task 1 mistake of a way to draw at a temperature that is not 0."""

    @specimen(1, symbol=MAKE_SAMPLER)
    @functools.wraps(draw)
    def make(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
        greedy = make_sampler(temp, top_p, top_k)
        return greedy if temp == 0 else lambda x: draw(x, temp)

    return make


def _top_k(keep: Callable[[mx.array, int], mx.array]) -> MakeSampler:
    """Make a task 2 mistake of a way to keep the `top_k` likeliest."""

    @specimen(2, symbol=MAKE_SAMPLER)
    @functools.wraps(keep)
    def make(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
        sample = make_sampler(temp, top_p, None)
        return (lambda x: sample(keep(x, top_k))) if top_k else sample

    return make


def _top_p(keep: Callable[[mx.array, float], mx.array]) -> MakeSampler:
    """Make a task 3 mistake of a way to keep the likeliest that make up `top_p`."""

    @specimen(3, symbol=MAKE_SAMPLER)
    @functools.wraps(keep)
    def make(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
        sample = make_sampler(temp, 0, None)

        def sample_kept(x: mx.array) -> mx.array:
            left = _likeliest(x, top_k) if top_k else x
            return sample(keep(left, top_p or 1.0))

        return sample_kept if _is_on(top_p) else make_sampler(temp, 0, top_k)

    return make


def _is_on(top_p: float | None) -> bool:
    """Tell whether top-p removes anything, rightly."""
    return top_p is not None and 0 < top_p < 1


def _ranks(x: mx.array) -> mx.array:
    """Return the place of each entry in its row: 0 for the largest."""
    return mx.argsort(mx.argsort(-x, axis=-1), axis=-1)


def _likeliest(x: mx.array, num_kept: int) -> mx.array:
    return mx.where(_ranks(x) < num_kept, x, -mx.inf)


def _sum_before(x: mx.array, order: mx.array) -> mx.array:
    """Return the probability of all tokens that come earlier in `order`, for each."""
    ordered = mx.take_along_axis(mx.softmax(x, axis=-1), order, axis=-1)
    sums = mx.cumsum(ordered, axis=-1, inclusive=False)
    return mx.put_along_axis(mx.zeros_like(x), order, sums, axis=-1)


def _sum_of_likelier(x: mx.array) -> mx.array:
    return _sum_before(x, mx.argsort(-x, axis=-1))


@_draw
def temperature_multiplied(x: mx.array, temp: float) -> mx.array:
    return mx.random.categorical(x * temp)


@_draw
def temperature_ignored(x: mx.array, temp: float) -> mx.array:
    return mx.random.categorical(x)


@_draw
def temperature_twice(x: mx.array, temp: float) -> mx.array:
    return mx.random.categorical(x / temp / temp)


@_draw
def temperature_divides_probabilities(x: mx.array, temp: float) -> mx.array:
    return mx.random.categorical(mx.exp(x) / temp)


@_draw
def probabilities_drawn_as_scores(x: mx.array, temp: float) -> mx.array:
    return mx.random.categorical(mx.softmax(x / temp, axis=-1))


@_draw
def always_greedy(x: mx.array, temp: float) -> mx.array:
    return mx.argmax(x / temp, axis=-1)


@_draw
def only_the_first_row(x: mx.array, temp: float) -> mx.array:
    return mx.random.categorical(x[:1] / temp)


@_draw
def one_id_as_a_python_number(x: mx.array, temp: float) -> object:
    return mx.random.categorical(x / temp).item()


@_draw
def same_seed_at_every_call(x: mx.array, temp: float) -> mx.array:
    return mx.random.categorical(x / temp, key=mx.random.key(0))


@_draw
def noise_of_one_logarithm(x: mx.array, temp: float) -> mx.array:
    noise = -mx.log(mx.random.uniform(shape=x.shape))
    return mx.argmax(x / temp + noise, axis=-1)


@_draw
def one_number_for_all_rows(x: mx.array, temp: float) -> mx.array:
    sums = mx.cumsum(mx.softmax(x / temp, axis=-1), axis=-1)
    return mx.sum(sums < mx.random.uniform() * sums[:, -1:], axis=-1)


@specimen(1, symbol=MAKE_SAMPLER)
def sampler_called_at_once(
    temp: float, top_p: float | None, top_k: int | None
) -> object:
    def sample(logprobs: mx.array) -> object:
        return make_sampler(temp, top_p, top_k)(logprobs)

    return sample()  # type: ignore[call-arg]


@specimen(1, symbol=MAKE_SAMPLER)
def log_probability_for_an_id(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    sample = make_sampler(temp, top_p, top_k)
    return (lambda x: mx.max(x, axis=-1)) if temp == 0 else sample


@specimen(1, symbol=MAKE_SAMPLER)
def greedy_below_1(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
    return make_sampler(0 if temp < 1 else temp, top_p, top_k)


@specimen(1, symbol=MAKE_SAMPLER)
def temperature_0_divides(temp: float, *_: object) -> Sampler:
    return lambda x: mx.random.categorical(x / temp)


@specimen(1, symbol=MAKE_SAMPLER)
def arguments_under_other_names(
    temperature: float, p: float | None, k: int | None
) -> Sampler:
    return make_sampler(temperature, p, k)


@specimen(1, symbol=MAKE_SAMPLER)
def argmax_without_an_axis(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    return mx.argmax if temp == 0 else make_sampler(temp, top_p, top_k)


@specimen(1, symbol=MAKE_SAMPLER)
def ids_keep_an_axis(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
    sample = make_sampler(temp, top_p, top_k)
    return lambda x: sample(x)[:, None]


@_top_k
def top_k_ignored(x: mx.array, top_k: int) -> mx.array:
    return x


@_top_k
def top_k_keeps_one_more(x: mx.array, top_k: int) -> mx.array:
    return _likeliest(x, top_k + 1)


@_top_k
def top_k_keeps_one_less(x: mx.array, top_k: int) -> mx.array:
    return _likeliest(x, top_k - 1)


@_top_k
def top_k_keeps_the_least_likely(x: mx.array, top_k: int) -> mx.array:
    return mx.where(_ranks(-x) < top_k, x, -mx.inf)


@_top_k
def top_k_keeps_the_first_ids(x: mx.array, top_k: int) -> mx.array:
    return mx.where(mx.arange(x.shape[-1]) < top_k, x, -mx.inf)


@_top_k
def top_k_drops_with_0(x: mx.array, top_k: int) -> mx.array:
    return mx.where(_ranks(x) < top_k, x, 0.0)


@_top_k
def top_k_makes_all_alike(x: mx.array, top_k: int) -> mx.array:
    return mx.where(_ranks(x) < top_k, 0.0, -mx.inf)


@_top_k
def top_k_drops_in_every_row(x: mx.array, top_k: int) -> mx.array:
    # As `x[:, dropped] = -mx.inf` does, which takes N times as long.
    return mx.where(mx.any(_ranks(x) >= top_k, axis=0), -mx.inf, x)


@_top_k
def top_k_threshold_of_all_rows(x: mx.array, top_k: int) -> mx.array:
    return mx.where(x >= mx.min(mx.topk(x, top_k)), x, -mx.inf)


@_top_k
def top_k_of_all_rows_together(x: mx.array, top_k: int) -> mx.array:
    return mx.where(x >= mx.sort(x.flatten())[-top_k], x, -mx.inf)


@_top_k
def top_k_threshold_of_the_first_row(x: mx.array, top_k: int) -> mx.array:
    place = min(top_k, x.shape[-1])
    return mx.where(x >= mx.sort(x[0])[-place], x, -mx.inf)


@_top_k
def top_k_ranks_across_the_rows(x: mx.array, top_k: int) -> mx.array:
    ranks = mx.argsort(mx.argsort(-x, axis=0), axis=0)
    return mx.where(ranks < top_k, x, -mx.inf)


@_top_k
def top_k_order_for_ranks(x: mx.array, top_k: int) -> mx.array:
    return mx.where(mx.argsort(-x, axis=-1) < top_k, x, -mx.inf)


@_top_k
def top_k_drops_the_likeliest(x: mx.array, top_k: int) -> mx.array:
    return mx.where(_ranks(x) < top_k, -mx.inf, x)


@_top_k
def top_k_multiplies_by_infinity(x: mx.array, top_k: int) -> mx.array:
    return x + (_ranks(x) >= top_k) * -mx.inf


@_top_k
def top_k_lowers_a_little(x: mx.array, top_k: int) -> mx.array:
    return mx.where(_ranks(x) < top_k, x, x - 1.0)


@_top_k
def top_k_changes_its_argument(x: mx.array, top_k: int) -> mx.array:
    x[:] = _likeliest(x, top_k)
    return x


@_top_k
def top_k_place_for_an_id(x: mx.array, top_k: int) -> mx.array:
    return -mx.sort(-x, axis=-1)[:, :top_k]


@_top_k
def top_k_place_in_topk(x: mx.array, top_k: int) -> mx.array:
    return mx.topk(x, top_k, axis=-1)


@specimen(2, symbol=MAKE_SAMPLER)
def top_k_0_keeps_nothing(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    sample = make_sampler(temp, top_p, top_k)
    return (lambda x: sample(_likeliest(x, 0))) if top_k == 0 else sample


@_top_k
def top_k_above_the_vocabulary_fails(x: mx.array, top_k: int) -> mx.array:
    dropped = mx.argpartition(-x, top_k - 1, axis=-1)[:, top_k:]
    return mx.put_along_axis(x, dropped, mx.array(-mx.inf), axis=-1)


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def top_p_none_compared(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
    is_on = 0 < cast("float", top_p) < 1
    return make_sampler(temp, top_p if is_on else None, top_k)


@specimen(1, 2, 3, symbol=MAKE_SAMPLER)
def top_k_none_compared(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
    is_on = cast("int", top_k) > 0
    return make_sampler(temp, top_p, top_k if is_on else None)


@_top_p
def top_p_ignored(x: mx.array, top_p: float) -> mx.array:
    return x


@_top_p
def top_p_without_the_crossing_token(x: mx.array, top_p: float) -> mx.array:
    sums = _sum_of_likelier(x) + mx.softmax(x, axis=-1)
    return mx.where(sums <= top_p, x, -mx.inf)


@_top_p
def top_p_keeps_one_more(x: mx.array, top_p: float) -> mx.array:
    num_kept = mx.sum(_sum_of_likelier(x) < top_p, axis=-1, keepdims=True)
    return mx.where(_ranks(x) <= num_kept, x, -mx.inf)


@_top_p
def top_p_from_the_least_likely(x: mx.array, top_p: float) -> mx.array:
    return mx.where(_sum_before(x, mx.argsort(x, axis=-1)) < top_p, x, -mx.inf)


@_top_p
def top_p_without_sorting(x: mx.array, top_p: float) -> mx.array:
    sums = mx.cumsum(mx.softmax(x, axis=-1), axis=-1, inclusive=False)
    return mx.where(sums < top_p, x, -mx.inf)


@_top_p
def top_p_sorts_across_the_rows(x: mx.array, top_p: float) -> mx.array:
    # As `x[:, order] = ...` does with N orders: that of the last row is written last.
    order = mx.broadcast_to(mx.argsort(-x[-1:], axis=-1), x.shape)
    return mx.where(_sum_before(x, order) < top_p, x, -mx.inf)


@_top_p
def top_p_mask_left_in_sorted_order(x: mx.array, top_p: float) -> mx.array:
    likeliest_first = -mx.sort(-mx.softmax(x, axis=-1), axis=-1)
    sums = mx.cumsum(likeliest_first, axis=-1, inclusive=False)
    return mx.where(sums < top_p, x, -mx.inf)


@_top_p
def top_p_place_for_an_id(x: mx.array, top_p: float) -> mx.array:
    likeliest_first = -mx.sort(-x, axis=-1)
    return mx.where(_sum_of_likelier(likeliest_first) < top_p, likeliest_first, -mx.inf)


@_top_p
def top_p_put_back_by_the_order(x: mx.array, top_p: float) -> mx.array:
    order = mx.argsort(-x, axis=-1)
    likeliest_first = mx.take_along_axis(x, order, axis=-1)
    sums = _sum_of_likelier(likeliest_first)
    kept = mx.where(sums < top_p, likeliest_first, -mx.inf)
    return mx.take_along_axis(kept, order, axis=-1)


@_top_p
def top_p_sum_of_all_rows(x: mx.array, top_p: float) -> mx.array:
    order = mx.argsort(-x, axis=-1)
    ordered = mx.take_along_axis(mx.softmax(x, axis=-1), order, axis=-1)
    sums = mx.cumsum(ordered, inclusive=False).reshape(x.shape)
    before = mx.put_along_axis(mx.zeros_like(x), order, sums, axis=-1)
    return mx.where(before < top_p, x, -mx.inf)


@_top_p
def top_p_sum_down_the_rows(x: mx.array, top_p: float) -> mx.array:
    order = mx.argsort(-x, axis=-1)
    ordered = mx.take_along_axis(mx.softmax(x, axis=-1), order, axis=-1)
    sums = mx.cumsum(ordered, axis=0, inclusive=False)
    before = mx.put_along_axis(mx.zeros_like(x), order, sums, axis=-1)
    return mx.where(before < top_p, x, -mx.inf)


@_top_p
def top_p_as_a_least_probability(x: mx.array, top_p: float) -> mx.array:
    return mx.where(mx.softmax(x, axis=-1) >= top_p, x, -mx.inf)


@_top_p
def top_p_as_the_share_to_drop(x: mx.array, top_p: float) -> mx.array:
    return mx.where(_sum_of_likelier(x) < 1 - top_p, x, -mx.inf)


@_top_p
def top_p_keeps_the_tail(x: mx.array, top_p: float) -> mx.array:
    return mx.where(_sum_of_likelier(x) >= top_p, x, -mx.inf)


@_top_p
def top_p_drops_with_0(x: mx.array, top_p: float) -> mx.array:
    return mx.where(_sum_of_likelier(x) < top_p, x, 0.0)


@_top_p
def top_p_changes_its_argument(x: mx.array, top_p: float) -> mx.array:
    x[:] = mx.where(_sum_of_likelier(x) < top_p, x, -mx.inf)
    return x


@specimen(3, symbol=MAKE_SAMPLER)
def temperature_before_top_p(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    if temp == 0:
        return make_sampler(temp, top_p, top_k)
    sample = make_sampler(1, top_p, top_k)
    return lambda x: sample(x / temp)


@specimen(3, symbol=MAKE_SAMPLER)
def top_p_only_without_top_k(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    return make_sampler(temp, 0 if top_k else top_p, top_k)


@specimen(3, symbol=MAKE_SAMPLER)
def top_p_undoes_top_k(temp: float, top_p: float | None, top_k: int | None) -> Sampler:
    return make_sampler(temp, top_p, None if _is_on(top_p) else top_k)


@specimen(3, symbol=MAKE_SAMPLER)
def top_p_1_still_filters(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    sample = make_sampler(temp, top_p, top_k)
    kept_of_all = make_sampler(temp, 0, top_k)
    if temp == 0 or top_p != 1:
        return sample
    return lambda x: kept_of_all(mx.where(_sum_of_likelier(x) < 1, x, -mx.inf))


@specimen(3, symbol=MAKE_SAMPLER)
def top_p_0_keeps_nothing(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    sample = make_sampler(temp, top_p, top_k)
    return (lambda x: sample(_likeliest(x, 0))) if top_p == 0 else sample


@specimen(3, symbol=MAKE_SAMPLER)
def top_p_of_the_whole_row(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    sample = make_sampler(temp, 0, top_k)
    share = top_p if top_p and _is_on(top_p) else 2.0
    return lambda x: sample(mx.where(_sum_of_likelier(x) < share, x, -mx.inf))


@specimen(3, symbol=MAKE_SAMPLER)
def top_p_1_without_the_last_token(
    temp: float, top_p: float | None, top_k: int | None
) -> Sampler:
    if temp == 0 or top_p != 1:
        return make_sampler(temp, top_p, top_k)
    sample = make_sampler(temp, 0, top_k)
    return lambda x: sample(_likeliest(x, x.shape[-1] - 1))
