"""Day 2: what goes wrong in rotary position embedding."""

import mlx.core as mx

from tiny_llm_course.specimens import specimen

ROPE = "positional_encoding.RoPE"

Pair = list[mx.array]
Offset = slice | None


class _Rope:
    """The solution in small pieces, of which each mistake replaces one."""

    def __init__(
        self, dims: int, seq_len: int, base: float = 10000, traditional: bool = False
    ) -> None:
        self.dims = dims
        self.base = base
        self.is_split_in_halves = not traditional
        self.is_joined_in_halves = not traditional
        self.positions = mx.arange(seq_len)

    def frequencies(self) -> mx.array:
        return mx.power(self.base, -mx.arange(0, self.dims, 2) / self.dims)

    def angles(self, positions: mx.array, x: mx.array) -> mx.array:
        return positions[..., None] * self.frequencies()

    def positions_of(self, x: mx.array, offset: Offset) -> mx.array:
        """Return positions 1 x L, which all sequences have."""
        return self.positions[offset or slice(0, x.shape[1])][None]

    def rotate(self, a: mx.array, b: mx.array, cos: mx.array, sin: mx.array) -> Pair:
        return [a * cos - b * sin, b * cos + a * sin]

    def rotate_all(self, x: mx.array, angles: mx.array) -> mx.array:
        if self.is_split_in_halves:
            a, b = mx.split(x, 2, axis=-1)
        else:
            a, b = x[..., 0::2], x[..., 1::2]
        pair = self.rotate(a, b, mx.cos(angles), mx.sin(angles))
        if self.is_joined_in_halves:
            return mx.concatenate(pair, axis=-1)
        return mx.stack(pair, axis=-1).reshape(x.shape)

    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        angles = self.angles(self.positions_of(x, offset), x)[:, :, None, :]
        return self.rotate_all(x.astype(mx.float32), angles).astype(x.dtype)


@specimen(1, 2, symbol=ROPE)
class exponent_without_the_2(_Rope):
    def frequencies(self) -> mx.array:
        return mx.power(self.base, -mx.arange(self.dims // 2) / self.dims)


@specimen(1, 2, symbol=ROPE)
class exponent_over_half_the_width(_Rope):
    def frequencies(self) -> mx.array:
        return mx.power(self.base, -mx.arange(0, self.dims, 2) / (self.dims // 2))


@specimen(1, 2, symbol=ROPE)
class exponent_without_the_minus(_Rope):
    def frequencies(self) -> mx.array:
        return mx.power(self.base, mx.arange(0, self.dims, 2) / self.dims)


@specimen(1, 2, symbol=ROPE)
class exponent_up_to_1(_Rope):
    def frequencies(self) -> mx.array:
        return mx.power(self.base, -mx.linspace(0, 1, self.dims // 2))


@specimen(1, 2, symbol=ROPE)
class base_always_10000(_Rope):
    def frequencies(self) -> mx.array:
        return mx.power(10000, -mx.arange(0, self.dims, 2) / self.dims)


@specimen(1, 2, symbol=ROPE)
class positions_from_1(_Rope):
    def angles(self, positions: mx.array, x: mx.array) -> mx.array:
        return super().angles(positions + 1, x)


@specimen(1, 2, symbol=ROPE)
class angles_in_float16(_Rope):
    def angles(self, positions: mx.array, x: mx.array) -> mx.array:
        frequencies = self.frequencies().astype(mx.float16)
        return positions.astype(mx.float16)[..., None] * frequencies


@specimen(1, 2, symbol=ROPE)
class angles_in_the_input_dtype(_Rope):
    def angles(self, positions: mx.array, x: mx.array) -> mx.array:
        exponents = -mx.arange(0, self.dims, 2, dtype=x.dtype) / self.dims
        return positions.astype(x.dtype)[..., None] * mx.power(self.base, exponents)


@specimen(1, 2, symbol=ROPE)
class angles_cast_to_the_input_dtype(_Rope):
    def angles(self, positions: mx.array, x: mx.array) -> mx.array:
        return super().angles(positions, x).astype(x.dtype)


@specimen(1, 2, symbol=ROPE)
class positions_in_the_input_dtype(_Rope):
    def angles(self, positions: mx.array, x: mx.array) -> mx.array:
        return super().angles(positions.astype(x.dtype), x)


@specimen(1, 2, symbol=ROPE)
class cosines_in_float16(_Rope):
    def rotate(self, a: mx.array, b: mx.array, cos: mx.array, sin: mx.array) -> Pair:
        return super().rotate(a, b, cos.astype(mx.float16), sin.astype(mx.float16))


@specimen(1, 2, symbol=ROPE)
class rotated_backwards(_Rope):
    def rotate(self, a: mx.array, b: mx.array, cos: mx.array, sin: mx.array) -> Pair:
        return [a * cos + b * sin, b * cos - a * sin]


@specimen(1, 2, symbol=ROPE)
class two_plus_signs(_Rope):
    def rotate(self, a: mx.array, b: mx.array, cos: mx.array, sin: mx.array) -> Pair:
        return [a * cos + b * sin, b * cos + a * sin]


@specimen(1, 2, symbol=ROPE)
class two_minus_signs(_Rope):
    def rotate(self, a: mx.array, b: mx.array, cos: mx.array, sin: mx.array) -> Pair:
        return [a * cos - b * sin, b * cos - a * sin]


@specimen(1, 2, symbol=ROPE)
class sine_and_cosine_swapped(_Rope):
    def rotate(self, a: mx.array, b: mx.array, cos: mx.array, sin: mx.array) -> Pair:
        return [a * sin - b * cos, b * sin + a * cos]


@specimen(1, 2, symbol=ROPE)
class first_overwritten_too_early(_Rope):
    def rotate(self, a: mx.array, b: mx.array, cos: mx.array, sin: mx.array) -> Pair:
        a = a * cos - b * sin
        return [a, b * cos + a * sin]


@specimen(1, 2, symbol=ROPE)
class results_swapped(_Rope):
    def rotate(self, a: mx.array, b: mx.array, cos: mx.array, sin: mx.array) -> Pair:
        return [b * cos + a * sin, a * cos - b * sin]


@specimen(1, symbol=ROPE)
class halves_though_traditional(_Rope):
    def __init__(
        self, dims: int, seq_len: int, base: float = 10000, traditional: bool = False
    ) -> None:
        del traditional
        super().__init__(dims, seq_len, base, traditional=False)


@specimen(1, symbol=ROPE)
class neighbours_joined_as_halves(_Rope):
    def __init__(
        self, dims: int, seq_len: int, base: float = 10000, traditional: bool = False
    ) -> None:
        super().__init__(dims, seq_len, base, traditional)
        self.is_joined_in_halves = True


@specimen(1, symbol=ROPE)
class angles_laid_out_as_halves(_Rope):
    def rotate_all(self, x: mx.array, angles: mx.array) -> mx.array:
        if self.is_split_in_halves:
            return super().rotate_all(x, angles)
        wide = mx.concatenate([angles, angles], axis=-1)
        turned = mx.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)
        return x * mx.cos(wide) + turned * mx.sin(wide)


@specimen(2, symbol=ROPE)
class neighbours_though_not_traditional(_Rope):
    def __init__(
        self, dims: int, seq_len: int, base: float = 10000, traditional: bool = False
    ) -> None:
        del traditional
        super().__init__(dims, seq_len, base, traditional=True)


@specimen(2, symbol=ROPE)
class traditional_by_default(_Rope):
    def __init__(
        self, dims: int, seq_len: int, base: float = 10000, traditional: bool = True
    ) -> None:
        super().__init__(dims, seq_len, base, traditional)


@specimen(2, symbol=ROPE)
class base_1000000_by_default(_Rope):
    def __init__(
        self, dims: int, seq_len: int, base: float = 1000000, traditional: bool = False
    ) -> None:
        super().__init__(dims, seq_len, base, traditional)


@specimen(2, symbol=ROPE)
class halves_joined_as_neighbours(_Rope):
    def __init__(
        self, dims: int, seq_len: int, base: float = 10000, traditional: bool = False
    ) -> None:
        super().__init__(dims, seq_len, base, traditional)
        self.is_joined_in_halves = False


@specimen(2, symbol=ROPE)
class angles_laid_out_as_neighbours(_Rope):
    def rotate_all(self, x: mx.array, angles: mx.array) -> mx.array:
        if not self.is_split_in_halves:
            return super().rotate_all(x, angles)
        wide = mx.repeat(angles, 2, axis=-1)
        a, b = mx.split(x, 2, axis=-1)
        return x * mx.cos(wide) + mx.concatenate([-b, a], axis=-1) * mx.sin(wide)


@specimen(1, 2, symbol=ROPE)
class offset_ignored(_Rope):
    def positions_of(self, x: mx.array, offset: Offset) -> mx.array:
        return super().positions_of(x, None)


@specimen(1, 2, symbol=ROPE)
class all_tokens_at_the_start(_Rope):
    def positions_of(self, x: mx.array, offset: Offset) -> mx.array:
        positions = super().positions_of(x, offset)
        return positions if offset is None else positions[:, :1]


@specimen(1, 2, symbol=ROPE)
class positions_counted_on(_Rope):
    num_seen = 0

    def positions_of(self, x: mx.array, offset: Offset) -> mx.array:
        if offset is None:
            offset = slice(self.num_seen, self.num_seen + x.shape[1])
            self.num_seen += x.shape[1]
        return super().positions_of(x, offset)


@specimen(1, 2, symbol=ROPE)
class arguments_under_other_names(_Rope):
    def __init__(
        self,
        head_dim: int,
        max_seq_len: int,
        theta: float = 10000,
        is_traditional: bool = False,
    ) -> None:
        super().__init__(head_dim, max_seq_len, theta, is_traditional)


@specimen(1, 2, symbol=ROPE)
class no_rotation_without_an_offset(_Rope):
    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        return x if offset is None else super().__call__(x, offset)


@specimen(1, 2, symbol=ROPE)
class positions_along_the_heads(_Rope):
    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        return super().__call__(x.swapaxes(1, 2), offset).swapaxes(1, 2)


@specimen(1, 2, symbol=ROPE)
class angles_without_the_head_axis(_Rope):
    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        angles = self.angles(self.positions_of(x, offset), x)[0]
        return self.rotate_all(x.astype(mx.float32), angles).astype(x.dtype)


@specimen(1, 2, symbol=ROPE)
class left_in_float32(_Rope):
    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        return super().__call__(x.astype(mx.float32), offset)


@specimen(1, 2, symbol=ROPE)
class changes_its_argument(_Rope):
    def __call__(self, x: mx.array, offset: Offset = None) -> mx.array:
        x[:] = super().__call__(x, offset)
        return x
