"""Day 2: wrong ways to count what a token costs, and to tell what limits it."""

from typing import Any

import mlx.core as mx

from tiny_llm_course.specimens import specimen

FLOPS = "roofline.flops_per_token"
BYTES = "roofline.bytes_per_token"
ROOFLINE = "roofline.roofline"

FLOAT32 = mx.float32

Config = Any


def _kv_size(config: Config) -> int:
    head_dim = config.hidden_size // config.num_attention_heads
    return config.num_key_value_heads * head_dim


def _attention_weights(config: Config) -> int:
    hidden = config.hidden_size
    return 2 * hidden * hidden + 2 * hidden * _kv_size(config)


def _mlp_weights(config: Config) -> int:
    return 3 * config.hidden_size * config.intermediate_size


def _layer_weights(config: Config) -> int:
    return _attention_weights(config) + _mlp_weights(config)


def _table(config: Config) -> int:
    return config.vocab_size * config.hidden_size


def _flops(config: Config, context: int) -> int:
    layer = 2 * _layer_weights(config) + 4 * context * config.hidden_size
    return config.num_hidden_layers * layer + 2 * _table(config)


@specimen(1, symbol=FLOPS)
def additions_forgotten(config: Config, context: int) -> int:
    return _flops(config, context) // 2


@specimen(1, symbol=FLOPS)
def head_forgotten(config: Config, context: int) -> int:
    return _flops(config, context) - 2 * _table(config)


@specimen(1, symbol=FLOPS)
def tied_head_left_out(config: Config, context: int) -> int:
    head = 2 * _table(config) if config.tie_word_embeddings else 0
    return _flops(config, context) - head


@specimen(1, symbol=FLOPS)
def lookup_counted(config: Config, context: int) -> int:
    return _flops(config, context) + 2 * _table(config)


@specimen(1, symbol=FLOPS)
def attention_forgotten(config: Config, context: int) -> int:
    del context
    return _flops(config, 0)


@specimen(1, symbol=FLOPS)
def only_scores_counted(config: Config, context: int) -> int:
    attention = 2 * context * config.hidden_size
    return _flops(config, 0) + config.num_hidden_layers * attention


@specimen(1, symbol=FLOPS)
def attention_of_the_key_heads(config: Config, context: int) -> int:
    attention = 4 * context * _kv_size(config)
    return _flops(config, 0) + config.num_hidden_layers * attention


@specimen(1, symbol=FLOPS)
def attention_of_one_head(config: Config, context: int) -> int:
    attention = 4 * context * config.hidden_size // config.num_attention_heads
    return _flops(config, 0) + config.num_hidden_layers * attention


@specimen(1, symbol=FLOPS)
def attention_of_one_layer(config: Config, context: int) -> int:
    return _flops(config, 0) + 4 * context * config.hidden_size


@specimen(1, symbol=FLOPS)
def all_queries_again(config: Config, context: int) -> int:
    attention = 4 * context * context * config.hidden_size
    return _flops(config, 0) + config.num_hidden_layers * attention


@specimen(1, symbol=FLOPS)
def all_tokens_again(config: Config, context: int) -> int:
    return context * _flops(config, context)


@specimen(1, symbol=FLOPS)
def new_token_not_seen(config: Config, context: int) -> int:
    return _flops(config, context - 1)


@specimen(1, symbol=FLOPS)
def new_token_seen_twice(config: Config, context: int) -> int:
    return _flops(config, context + 1)


@specimen(1, symbol=FLOPS)
def keys_as_wide_as_queries(config: Config, context: int) -> int:
    hidden = config.hidden_size
    more = 2 * 2 * hidden * (hidden - _kv_size(config))
    return _flops(config, context) + config.num_hidden_layers * more


@specimen(1, symbol=FLOPS)
def output_projection_left_out(config: Config, context: int) -> int:
    less = 2 * config.hidden_size * config.hidden_size
    return _flops(config, context) - config.num_hidden_layers * less


@specimen(1, symbol=FLOPS)
def gate_left_out(config: Config, context: int) -> int:
    less = 2 * config.hidden_size * config.intermediate_size
    return _flops(config, context) - config.num_hidden_layers * less


@specimen(1, symbol=FLOPS)
def one_layer_counted(config: Config, context: int) -> int:
    layer = 2 * _layer_weights(config) + 4 * context * config.hidden_size
    return layer + 2 * _table(config)


@specimen(1, symbol=FLOPS)
def every_parameter_multiplied(config: Config, context: int) -> int:
    vectors = 3 * config.hidden_size + 2 * _kv_size(config)
    num_vectors = config.num_hidden_layers * vectors + config.hidden_size
    return _flops(config, context) + 2 * num_vectors


class _InParts:
    """The bytes of a token in parts, of which each mistake below replaces one.

    To call the class is to count: there is nothing to construct.
    """

    def __new__(
        cls,
        config: Config,
        context: int,
        bits: int | None = None,
        group_size: int = 64,
        dtype: mx.Dtype = FLOAT32,
    ) -> int:
        parts = super().__new__(cls)
        return int(parts.count(config, context, bits, group_size, dtype))

    def count(
        self,
        config: Config,
        context: int,
        bits: int | None,
        group_size: int,
        dtype: mx.Dtype,
    ) -> float:
        matrices = self.matrices(config)
        cache = self.cache(config, context)
        if bits is None:
            numbers = matrices + self.vectors(config) + cache
            return numbers * self.dense_size(dtype) + self.dense_groups(matrices, dtype)
        return (
            matrices * self.weight_size(bits)
            + self.groups(matrices, group_size, dtype)
            + self.vectors(config) * self.vector_size(bits, dtype)
            + cache * self.cache_size(bits, dtype)
        )

    def matrices(self, config: Config) -> int:
        layers = config.num_hidden_layers * _layer_weights(config)
        return layers + self.tables(config)

    def tables(self, config: Config) -> int:
        row = 0 if config.tie_word_embeddings else config.hidden_size
        return _table(config) + row

    def vectors(self, config: Config) -> int:
        layer = 3 * config.hidden_size + 2 * _kv_size(config)
        return config.num_hidden_layers * layer + config.hidden_size

    def cache(self, config: Config, context: int) -> int:
        return config.num_hidden_layers * 2 * context * _kv_size(config)

    def dense_size(self, dtype: mx.Dtype) -> int:
        return dtype.size

    def dense_groups(self, matrices: int, dtype: mx.Dtype) -> int:
        del matrices, dtype
        return 0

    def weight_size(self, bits: int) -> float:
        return bits / 8

    def groups(self, matrices: int, group_size: int, dtype: mx.Dtype) -> int:
        return 2 * matrices // group_size * dtype.size

    def vector_size(self, bits: int, dtype: mx.Dtype) -> float:
        del bits
        return dtype.size

    def cache_size(self, bits: int, dtype: mx.Dtype) -> float:
        del bits
        return dtype.size


@specimen(2, symbol=BYTES)
class bits_taken_for_bytes(_InParts):
    def weight_size(self, bits: int) -> float:
        return bits


@specimen(2, symbol=BYTES)
class always_four_bits(_InParts):
    def weight_size(self, bits: int) -> float:
        del bits
        return 0.5


@specimen(2, symbol=BYTES)
class two_weights_in_a_byte_at_most(_InParts):
    def weight_size(self, bits: int) -> float:
        return 1 / (8 // bits)


@specimen(2, symbol=BYTES)
class bits_ignored(_InParts):
    def count(
        self,
        config: Config,
        context: int,
        bits: int | None,
        group_size: int,
        dtype: mx.Dtype,
    ) -> float:
        del bits
        return super().count(config, context, None, group_size, dtype)


@specimen(2, symbol=BYTES)
class scales_and_biases_left_out(_InParts):
    def groups(self, matrices: int, group_size: int, dtype: mx.Dtype) -> int:
        del matrices, group_size, dtype
        return 0


@specimen(2, symbol=BYTES)
class group_biases_left_out(_InParts):
    def groups(self, matrices: int, group_size: int, dtype: mx.Dtype) -> int:
        return matrices // group_size * dtype.size


@specimen(2, symbol=BYTES)
class scales_of_two_bytes(_InParts):
    def groups(self, matrices: int, group_size: int, dtype: mx.Dtype) -> int:
        del dtype
        return 2 * matrices // group_size * 2


@specimen(2, symbol=BYTES)
class scales_of_four_bytes(_InParts):
    def groups(self, matrices: int, group_size: int, dtype: mx.Dtype) -> int:
        del dtype
        return 2 * matrices // group_size * 4


@specimen(2, symbol=BYTES)
class groups_of_64(_InParts):
    def groups(self, matrices: int, group_size: int, dtype: mx.Dtype) -> int:
        del group_size
        return super().groups(matrices, 64, dtype)


@specimen(2, symbol=BYTES)
class scales_without_groups(_InParts):
    def dense_groups(self, matrices: int, dtype: mx.Dtype) -> int:
        return 2 * matrices // 64 * dtype.size


@specimen(2, symbol=BYTES)
class always_float32(_InParts):
    def count(
        self,
        config: Config,
        context: int,
        bits: int | None,
        group_size: int,
        dtype: mx.Dtype,
    ) -> float:
        del dtype
        return super().count(config, context, bits, group_size, FLOAT32)


@specimen(2, symbol=BYTES)
class numbers_taken_for_bytes(_InParts):
    def dense_size(self, dtype: mx.Dtype) -> int:
        del dtype
        return 1


@specimen(2, symbol=BYTES)
class vectors_left_out(_InParts):
    def vectors(self, config: Config) -> int:
        del config
        return 0


@specimen(2, symbol=BYTES)
class biases_left_out(_InParts):
    def vectors(self, config: Config) -> int:
        return (2 * config.num_hidden_layers + 1) * config.hidden_size


@specimen(2, symbol=BYTES)
class last_norm_left_out(_InParts):
    def vectors(self, config: Config) -> int:
        return super().vectors(config) - config.hidden_size


@specimen(2, symbol=BYTES)
class vectors_quantised(_InParts):
    def vector_size(self, bits: int, dtype: mx.Dtype) -> float:
        del dtype
        return bits / 8


@specimen(2, symbol=BYTES)
class cache_left_out(_InParts):
    def cache(self, config: Config, context: int) -> int:
        del config, context
        return 0


@specimen(2, symbol=BYTES)
class values_left_out(_InParts):
    def cache(self, config: Config, context: int) -> int:
        return super().cache(config, context) // 2


@specimen(2, symbol=BYTES)
class cache_of_the_query_heads(_InParts):
    def cache(self, config: Config, context: int) -> int:
        return config.num_hidden_layers * 2 * context * config.hidden_size


@specimen(2, symbol=BYTES)
class cache_of_one_head(_InParts):
    def cache(self, config: Config, context: int) -> int:
        return super().cache(config, context) // config.num_key_value_heads


@specimen(2, symbol=BYTES)
class cache_of_one_layer(_InParts):
    def cache(self, config: Config, context: int) -> int:
        return 2 * context * _kv_size(config)


@specimen(2, symbol=BYTES)
class cache_without_the_new_token(_InParts):
    def cache(self, config: Config, context: int) -> int:
        return super().cache(config, context - 1)


@specimen(2, symbol=BYTES)
class cache_of_one_token(_InParts):
    def cache(self, config: Config, context: int) -> int:
        return super().cache(config, min(context, 1))


@specimen(2, symbol=BYTES)
class cache_quantised(_InParts):
    def cache_size(self, bits: int, dtype: mx.Dtype) -> float:
        del dtype
        return bits / 8


@specimen(2, symbol=BYTES)
class head_left_out(_InParts):
    def tables(self, config: Config) -> int:
        return config.hidden_size


@specimen(2, symbol=BYTES)
class both_tables_read(_InParts):
    def tables(self, config: Config) -> int:
        num_tables = 1 if config.tie_word_embeddings else 2
        return num_tables * _table(config)


@specimen(2, symbol=BYTES)
class tied_table_read_twice(_InParts):
    def tables(self, config: Config) -> int:
        return 2 * _table(config)


@specimen(2, symbol=BYTES)
class row_of_the_table_left_out(_InParts):
    def tables(self, config: Config) -> int:
        return _table(config)


@specimen(2, symbol=BYTES)
class row_read_besides_the_head(_InParts):
    def tables(self, config: Config) -> int:
        return _table(config) + config.hidden_size


@specimen(2, symbol=BYTES)
class weights_read_for_every_token(_InParts):
    def count(
        self,
        config: Config,
        context: int,
        bits: int | None,
        group_size: int,
        dtype: mx.Dtype,
    ) -> float:
        weights = super().count(config, 0, bits, group_size, dtype)
        return context * weights + self.cache(config, context) * dtype.size


@specimen(2, symbol=BYTES)
class tables_not_quantised(_InParts):
    def count(
        self,
        config: Config,
        context: int,
        bits: int | None,
        group_size: int,
        dtype: mx.Dtype,
    ) -> float:
        right = super().count(config, context, bits, group_size, dtype)
        if bits is None:
            return right
        tables = self.tables(config)
        quantised = tables * bits / 8 + self.groups(tables, group_size, dtype)
        return right - quantised + tables * dtype.size


@specimen(3, symbol=ROOFLINE)
def times_added(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    compute_s, memory_s = flops / flops_per_s, num_bytes / bytes_per_s
    return compute_s + memory_s, "compute" if compute_s > memory_s else "memory"


@specimen(3, symbol=ROOFLINE)
def shorter_time_taken(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    compute_s, memory_s = flops / flops_per_s, num_bytes / bytes_per_s
    return min((compute_s, "compute"), (memory_s, "memory"))


@specimen(3, symbol=ROOFLINE)
def limits_swapped(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    compute_s, memory_s = flops / flops_per_s, num_bytes / bytes_per_s
    return max((compute_s, "memory"), (memory_s, "compute"))


@specimen(3, symbol=ROOFLINE)
def amounts_compared(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    seconds = max(flops / flops_per_s, num_bytes / bytes_per_s)
    return seconds, "compute" if flops > num_bytes else "memory"


@specimen(3, symbol=ROOFLINE)
def rates_compared(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    seconds = max(flops / flops_per_s, num_bytes / bytes_per_s)
    return seconds, "compute" if flops_per_s < bytes_per_s else "memory"


@specimen(3, symbol=ROOFLINE)
def memory_always_named(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    return max(flops / flops_per_s, num_bytes / bytes_per_s), "memory"


@specimen(3, symbol=ROOFLINE)
def rates_swapped(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    compute_s, memory_s = flops / bytes_per_s, num_bytes / flops_per_s
    return max((compute_s, "compute"), (memory_s, "memory"))


@specimen(3, symbol=ROOFLINE)
def speed_for_time(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    compute_s, memory_s = flops / flops_per_s, num_bytes / bytes_per_s
    seconds, limit = max((compute_s, "compute"), (memory_s, "memory"))
    return 1 / seconds, limit


@specimen(3, symbol=ROOFLINE)
def operations_per_second_for_time(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, str]:
    intensity = flops / num_bytes if num_bytes else float("inf")
    sloping = (intensity * bytes_per_s, "memory")
    return min((flops_per_s, "compute"), sloping)


@specimen(3, symbol=ROOFLINE)
def limit_not_returned(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> float:
    return max(flops / flops_per_s, num_bytes / bytes_per_s)


@specimen(3, symbol=ROOFLINE)
def limit_returned_first(
    flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[str, float]:
    compute_s, memory_s = flops / flops_per_s, num_bytes / bytes_per_s
    seconds, limit = max((compute_s, "compute"), (memory_s, "memory"))
    return limit, seconds
