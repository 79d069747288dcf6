"""Day 4, task 5: other right ways to write a block."""

from collections.abc import Callable

import mlx.core as mx

from tiny_llm_course.specimens import specimen

PRE = "transformer_block.pre_norm_block"
POST = "transformer_block.post_norm_block"

Part = Callable[[mx.array], mx.array]


@specimen(5, symbol=PRE)
def pre_norm_step_by_step(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    for part, norm in ((attention, norm1), (mlp, norm2)):
        x = part(norm(x)) + x
    return x


@specimen(5, symbol=PRE)
def pre_norm_in_float32(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    wide = x.astype(mx.float32)
    wide = wide + attention(norm1(wide))
    return (wide + mlp(norm2(wide))).astype(x.dtype)


@specimen(5, symbol=PRE)
def pre_norm_sums_in_float32(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    h = x.astype(mx.float32) + attention(norm1(x)).astype(mx.float32)
    added = mlp(norm2(h.astype(x.dtype))).astype(mx.float32)
    return mx.add(h, added).astype(x.dtype)


@specimen(5, symbol=PRE)
def pre_norm_with_all_that_is_added(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    mixed = attention(norm1(x))
    return x + mixed + mlp(norm2(mixed + x))


@specimen(5, symbol=PRE)
def pre_norm_compiled(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    def carry(x: mx.array) -> mx.array:
        h = mx.add(x, attention(norm1(x)))
        return mx.add(h, mlp(norm2(h)))

    return mx.compile(carry)(x)


@specimen(5, symbol=POST)
def post_norm_step_by_step(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    for part, norm in ((attention, norm1), (mlp, norm2)):
        x = norm(part(x) + x)
    return x


@specimen(5, symbol=POST)
def post_norm_in_float32(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    wide = x.astype(mx.float32)
    wide = norm1(wide + attention(wide))
    return norm2(wide + mlp(wide)).astype(x.dtype)


@specimen(5, symbol=POST)
def post_norm_sums_in_float32(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    h = norm1(x.astype(mx.float32) + attention(x)).astype(x.dtype)
    return norm2(h.astype(mx.float32) + mlp(h)).astype(x.dtype)


@specimen(5, symbol=POST)
def post_norm_by_a_helper(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    def around(part: Part, norm: Part) -> Part:
        return lambda stream: norm(mx.add(stream, part(stream)))

    return around(mlp, norm2)(around(attention, norm1)(x))


@specimen(5, symbol=POST)
def post_norm_compiled(
    x: mx.array, attention: Part, mlp: Part, norm1: Part, norm2: Part
) -> mx.array:
    def carry(x: mx.array) -> mx.array:
        h = norm1(x + attention(x))
        return norm2(h + mlp(h))

    return mx.compile(carry)(x)
