"""Day 4, task 5: what goes wrong where a norm stands before or after a part."""

from collections.abc import Callable

import mlx.core as mx

from tiny_llm_course.specimens import specimen
from tiny_llm_ref.transformer_block import post_norm_block, pre_norm_block

PRE = "transformer_block.pre_norm_block"
POST = "transformer_block.post_norm_block"

Part = Callable[[mx.array], mx.array]


@specimen(5, symbol=PRE)
def pre_norm_attention_added_to_the_normed(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    normed = norm1(x)
    h = normed + attention(normed)
    return h + mlp(norm2(h))


@specimen(5, symbol=PRE)
def pre_norm_mlp_added_to_the_normed(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    normed = norm2(x + attention(norm1(x)))
    return normed + mlp(normed)


@specimen(5, symbol=PRE)
def pre_norm_both_added_to_the_normed(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    x = norm1(x)
    x = norm2(x + attention(x))
    return x + mlp(x)


@specimen(5, symbol=PRE)
def pre_norm_without_the_first_norm(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    del norm1
    h = x + attention(x)
    return h + mlp(norm2(h))


@specimen(5, symbol=PRE)
def pre_norm_without_the_second_norm(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    del norm2
    h = x + attention(norm1(x))
    return h + mlp(h)


@specimen(5, symbol=PRE)
def pre_norm_with_norms_swapped(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return pre_norm_block(x, attention, mlp, norm2, norm1)


@specimen(5, symbol=PRE)
def pre_norm_with_one_norm_twice(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    del norm2
    return pre_norm_block(x, attention, mlp, norm1, norm1)


@specimen(5, symbol=PRE)
def pre_norm_with_parts_swapped(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return pre_norm_block(x, mlp, attention, norm1, norm2)


@specimen(5, symbol=PRE)
def pre_norm_without_the_first_sum(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    h = attention(norm1(x))
    return h + mlp(norm2(h))


@specimen(5, symbol=PRE)
def pre_norm_without_the_second_sum(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return mlp(norm2(x + attention(norm1(x))))


@specimen(5, symbol=PRE)
def pre_norm_mlp_added_to_x(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return x + mlp(norm2(x + attention(norm1(x))))


@specimen(5, symbol=PRE)
def pre_norm_mlp_reads_x(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return x + attention(norm1(x)) + mlp(norm2(x))


@specimen(5, symbol=PRE)
def post_norm_for_pre_norm(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return post_norm_block(x, attention, mlp, norm1, norm2)


@specimen(5, symbol=PRE)
def pre_norm_on_what_the_parts_give(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    h = x + norm1(attention(x))
    return h + norm2(mlp(h))


@specimen(5, symbol=PRE)
def pre_norm_left_in_float32(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return pre_norm_block(x.astype(mx.float32), attention, mlp, norm1, norm2)


@specimen(5, symbol=PRE)
def pre_norm_in_place(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    x += attention(norm1(x))
    x += mlp(norm2(x))
    return x


@specimen(5, symbol=POST)
def pre_norm_for_post_norm(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return pre_norm_block(x, attention, mlp, norm1, norm2)


@specimen(5, symbol=POST)
def post_norm_without_the_first_norm(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    del norm1
    h = x + attention(x)
    return norm2(h + mlp(h))


@specimen(5, symbol=POST)
def post_norm_without_the_second_norm(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    del norm2
    h = norm1(x + attention(x))
    return h + mlp(h)


@specimen(5, symbol=POST)
def post_norm_with_norms_swapped(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return post_norm_block(x, attention, mlp, norm2, norm1)


@specimen(5, symbol=POST)
def post_norm_with_one_norm_twice(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    del norm2
    return post_norm_block(x, attention, mlp, norm1, norm1)


@specimen(5, symbol=POST)
def post_norm_with_parts_swapped(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return post_norm_block(x, mlp, attention, norm1, norm2)


@specimen(5, symbol=POST)
def post_norm_before_the_sums(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    h = x + norm1(attention(x))
    return h + norm2(mlp(h))


@specimen(5, symbol=POST)
def post_norm_without_the_first_sum(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    h = norm1(attention(x))
    return norm2(h + mlp(h))


@specimen(5, symbol=POST)
def post_norm_without_the_second_sum(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return norm2(mlp(norm1(x + attention(x))))


@specimen(5, symbol=POST)
def post_norm_mlp_added_to_x(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return norm2(x + mlp(norm1(x + attention(x))))


@specimen(5, symbol=POST)
def post_norm_stream_past_the_first_norm(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    h = x + attention(x)
    return norm2(h + mlp(norm1(h)))


@specimen(5, symbol=POST)
def post_norm_mlp_reads_x(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return norm2(norm1(x + attention(x)) + mlp(x))


@specimen(5, symbol=POST)
def post_norm_with_norms_on_both_sides(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    h = norm1(x + attention(norm1(x)))
    return norm2(h + mlp(norm2(h)))


@specimen(5, symbol=POST)
def post_norm_left_in_float32(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    return post_norm_block(x.astype(mx.float32), attention, mlp, norm1, norm2)


@specimen(5, symbol=POST)
def post_norm_in_place(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    x += attention(x)
    h = norm1(x)
    return norm2(h + mlp(h))
