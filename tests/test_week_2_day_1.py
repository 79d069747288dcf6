"""Week 2, day 1: the key/value cache, and a model that remembers.

The chapter: book/en/week-2-day-1-kv-cache.md
"""

from dataclasses import replace

import mlx.core as mx
import pytest
from mlx import nn

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import copied, wide
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import each_dtype, normal
from tiny_llm_course.grading.scenarios.architecture import (
    IDS,
    UNUSUAL,
    Architecture,
    Weights,
    attention_arguments,
    attention_weights,
    block_arguments,
    block_weights,
    dequantised,
    embedded,
    mlp_arguments,
    mlp_weights,
    mlx_model,
    model_weights,
)
from tiny_llm_course.grading.scenarios.caching import (
    CACHE,
    Attribute,
    CopyCount,
    Filling,
    InPieces,
    Part,
    compositions,
)
from tiny_llm_course.grading.scenarios.fakes import (
    END_OF_DOCUMENT,
    ByteTokenizer,
    ScriptedCachedModel,
)
from tiny_llm_course.grading.scenarios.generating import (
    LONG_TEXT,
    assert_prints_once,
    assert_prints_while_it_generates,
)
from tiny_llm_course.oracle.cached import attention, qwen2

ATTENTION = "qwen2_week2.Qwen2MultiHeadAttention"
MLP = "qwen2_week2.Qwen2MLP"
BLOCK = "qwen2_week2.Qwen2TransformerBlock"
MODEL = "qwen2_week2.Qwen2ModelWeek2"
GENERATE = "generate.simple_generate_with_kv_cache"

MIXED = (3, 1, 2, 1)
"""Several tokens at the beginning, and again when the cache holds some."""

without_a_mask = pytest.mark.parametrize("mask", [(None,), ()], ids=["None", "nothing"])
each_change_of_mask = pytest.mark.parametrize(
    ("before", "now"), [("causal", None), (None, "causal")], ids=str
)
each_part = pytest.mark.parametrize("part", ["keys", "values"])


@each_dtype
@each_part
@pytest.mark.parametrize("pieces", list(compositions(4)), ids=str)
def test_task_1_cache_hands_out_all_tokens(
    grade: Grader, part: Part, pieces: tuple[int, ...], dtype: mx.Dtype
) -> None:
    """In their order, and unchanged."""
    _assert_filled(grade, (2, 3, 4, 6), pieces, part, dtype)


@each_part
@pytest.mark.parametrize(
    "pieces",
    [(1,) * 70, (5, 1, 300, 1, 1, 40), (257, 1, 1), (250,) * 16, (1, 1025)],
    ids=["ones", "long-between", "257-first", "many-long", "long-second"],
)
def test_task_1_cache_holds_long_texts(
    grade: Grader, part: Part, pieces: tuple[int, ...]
) -> None:
    """Whatever the size of its buffers, some of these texts do not fit."""
    _assert_filled(grade, (1, 2, sum(pieces), 4), pieces, part, mx.float32)


@each_part
def test_task_1_cache_keeps_its_dtype_when_it_grows(grade: Grader, part: Part) -> None:
    """Spare room in float32 would promote the whole buffer to float32."""
    _assert_filled(grade, (1, 2, 40, 4), (1,) * 40, part, mx.float16)


@pytest.mark.parametrize("part", ["offset", "length"])
@pytest.mark.parametrize("pieces", [(4,), (3, 1, 2), (1, 1, 1, 1)], ids=str)
def test_task_1_cache_counts_its_tokens(
    grade: Grader, part: Part, pieces: tuple[int, ...]
) -> None:
    keys = normal(2, 3, sum(pieces), 6)

    call = Filling(CACHE, (keys, keys), pieces=pieces, part=part)

    grade.assert_equal(call, sum(pieces))


@pytest.mark.parametrize("mask", [None, "causal"])
def test_task_1_cache_hands_back_the_mask(grade: Grader, mask: str | None) -> None:
    keys = normal(1, 2, 4, 6)
    more = {"mask_length": 2, "mask": mask}

    call = Filling(CACHE, (keys, keys), more, pieces=(2, 2), part="mask")

    grade.assert_equal(call, mask)


def test_task_1_cache_hands_back_none_where_there_is_no_mask(grade: Grader) -> None:
    keys = normal(1, 2, 4, 6)

    call = Filling(CACHE, (keys, keys), pieces=(2, 2), part="mask")

    grade.assert_equal(call, None)


@each_part
def test_task_1_two_caches_have_nothing_in_common(grade: Grader, part: Part) -> None:
    """Every layer has a cache of its own."""
    keys, values = normal(1, 2, 5, 6, name="keys"), normal(1, 2, 5, 6, name="values")

    call = Filling(CACHE, (keys, values), pieces=(4, 1), part=part, num_others=2)

    right = keys if part == "keys" else values
    grade.assert_close(call, copied(wide(right)), mx.float32)


@each_part
def test_task_1_what_was_handed_out_does_not_change(grade: Grader, part: Part) -> None:
    keys, values = normal(1, 2, 9, 6, name="keys"), normal(1, 2, 9, 6, name="values")

    call = Filling(CACHE, (keys, values), pieces=(3, *[1] * 6), part=part, of_piece=2)

    right = (keys if part == "keys" else values)[:, :, :5]
    grade.assert_close(call, copied(wide(right)), mx.float32)


def test_task_1_cache_does_not_copy_itself_at_each_token(grade: Grader) -> None:
    """Whether it grows in steps or doubles, at least 3 of 4 tokens need no copy."""
    token = normal(1, 2, 1, 64)

    call = CopyCount(CACHE, (token, token))

    num_copies = grade.run(call)
    names = {"num_copies": num_copies, "num_tokens": call.num_counted}
    grade.assert_that(
        num_copies <= call.num_counted // 4,
        call,
        say("week_2_day_1.complaints.copied", **names),
    )


@each_dtype
@pytest.mark.parametrize(
    "sizes",
    [
        Architecture(),
        Architecture(num_attention_heads=8, num_key_value_heads=1),
        Architecture(hidden_size=24, num_key_value_heads=4),
    ],
    ids=["grouped", "one-kv-head", "all-kv-heads"],
)
@pytest.mark.parametrize("pieces", [(7,), (6, 1), MIXED, (1,) * 7], ids=str)
def test_task_2_attention_agrees_with_transformers(
    grade: Grader, pieces: tuple[int, ...], sizes: Architecture, dtype: mx.Dtype
) -> None:
    x = normal(2, 7, sizes.hidden_size, dtype=dtype)

    _assert_attention(grade, x, sizes, pieces)


def test_task_2_attention_agrees_up_to_the_last_position(grade: Grader) -> None:
    """The table of angles has exactly as many positions as the model says."""
    sizes = Architecture(max_position_embeddings=40)

    _assert_attention(grade, normal(1, 40, 32), sizes, (30, 9, 1))


@without_a_mask
def test_task_2_attention_without_a_mask_sees_everything(
    grade: Grader, mask: tuple[None, ...]
) -> None:
    """A single new token is run without a mask."""
    sizes = Architecture()
    weights = attention_weights(sizes, mx.float32)
    x = normal(2, 5, sizes.hidden_size)

    call = _attention_call(x, weights, sizes, (5,), *mask)

    grade.assert_close(call, qwen2.attention(x, weights, sizes, None), mx.float32)


@each_change_of_mask
def test_task_2_attention_takes_the_mask_of_each_call(
    grade: Grader, before: str | None, now: str | None
) -> None:
    """The call before has none, or has one.

    It was another text, as long as any may be, so its positions cannot be counted on.
    """
    sizes, x = Architecture(max_position_embeddings=5), normal(2, 5, 32)
    weights = attention_weights(sizes, mx.float32)
    mask = attention.causal_mask(5, 5) if now else None

    call = _attention_call(x, weights, sizes, (5,), now)
    call = replace(call, earlier=((x, before),))

    grade.assert_close(call, qwen2.attention(x, weights, sizes, mask), mx.float32)


def test_task_2_attention_knows_what_it_is_not_told(grade: Grader) -> None:
    """The defaults are no mask, a base of a million, and enough positions."""
    sizes = Architecture(hidden_size=16, rope_theta=1000000.0)
    x, weights = normal(1, 9, 16), attention_weights(sizes, mx.float32)

    call = InPieces(ATTENTION, (x,), build=(16, 4, 2, *weights.values()), pieces=(9,))

    grade.assert_close(call, qwen2.attention(x, weights, sizes, None), mx.float32)


def test_task_2_attention_caches_only_the_key_heads(grade: Grader) -> None:
    """Grouped attention exists to cache fewer heads."""
    sizes = Architecture()
    weights = attention_weights(sizes, mx.float32)

    call = _attention_call(normal(1, 4, 32), weights, sizes, (3, 1), "causal")

    grade.run(call)
    num_heads = max(call.cached_heads, default=sizes.num_key_value_heads)
    names = {"num_heads": num_heads, "expected": sizes.num_key_value_heads}
    grade.assert_that(
        num_heads == sizes.num_key_value_heads,
        call,
        say("week_2_day_1.complaints.cached_heads", **names),
    )


def test_task_2_attention_adds_an_array_as_mask(grade: Grader) -> None:
    """Padding is masked with an array, one row of keys for each sequence."""
    mask = mx.zeros((2, 1, 5, 5))
    mask[1, :, :, 0] = -mx.inf
    sizes = Architecture()
    weights = attention_weights(sizes, mx.float32)
    x = normal(2, 5, sizes.hidden_size)

    call = _attention_call(x, weights, sizes, (5,), mask)

    expected = qwen2.attention(x, weights, sizes, wide(mask))
    grade.assert_close(call, expected, mx.float32)


def test_task_2_attention_has_a_base_of_a_million_when_none_is_given(
    grade: Grader,
) -> None:
    sizes = Architecture(rope_theta=1000000.0)
    x, weights = normal(1, 9, 32), attention_weights(sizes, mx.float32)

    build = (32, 4, 2, *weights.values(), 64)
    call = InPieces(ATTENTION, (x, "causal"), build=build, pieces=(5, 4))

    truth = qwen2.attention_in_pieces(x, weights, sizes, (5, 4))
    grade.assert_close(call, truth, mx.float32)


def test_task_2_attention_knows_its_arguments_by_name(grade: Grader) -> None:
    sizes = Architecture(rope_theta=100.0)
    x, weights = normal(1, 9, 32), attention_weights(sizes, mx.float32)
    named = attention_arguments(sizes, weights) | {"use_flash_attention": False}

    call = InPieces(
        ATTENTION, (x,), {"mask": "causal"}, build=(), named=named, pieces=(5, 4)
    )

    truth = qwen2.attention_in_pieces(x, weights, sizes, (5, 4))
    grade.assert_close(call, truth, mx.float32)


@each_dtype
def test_task_2_mlp_agrees_with_transformers(grade: Grader, dtype: mx.Dtype) -> None:
    sizes = Architecture()
    weights = mlp_weights(sizes, dtype)
    x = normal(2, 3, sizes.hidden_size, dtype=dtype)

    build = tuple(mlp_arguments(sizes, weights).values())
    call = Call(MLP, (x,), build=build)

    grade.assert_close(call, qwen2.mlp(x, weights), dtype)


@pytest.mark.parametrize("leading", [(3,), (2, 2, 3)], ids=str)
def test_task_2_mlp_treats_leading_axes_alike(
    grade: Grader, leading: tuple[int, ...]
) -> None:
    sizes = Architecture()
    weights = mlp_weights(sizes, mx.float32)
    x = normal(*leading, sizes.hidden_size)

    call = Call(MLP, (x,), build=(), named=mlp_arguments(sizes, weights))

    grade.assert_close(call, qwen2.mlp(x, weights), mx.float32)


@each_dtype
@pytest.mark.parametrize("pieces", [(7,), (6, 1), MIXED, (1,) * 7], ids=str)
def test_task_2_block_agrees_with_transformers(
    grade: Grader, pieces: tuple[int, ...], dtype: mx.Dtype
) -> None:
    sizes = Architecture(rms_norm_eps=0.5)
    weights = block_weights(sizes, dtype)
    x = normal(2, 7, sizes.hidden_size, dtype=dtype)

    build = tuple(block_arguments(sizes, weights).values())
    call = InPieces(BLOCK, (x, "causal"), build=build, pieces=pieces)

    grade.assert_close(call, qwen2.block_in_pieces(x, weights, sizes, pieces), dtype)


@without_a_mask
def test_task_2_block_without_a_mask_sees_everything(
    grade: Grader, mask: tuple[None, ...]
) -> None:
    sizes = Architecture(rms_norm_eps=0.5)
    x, weights = normal(2, 5, 32), block_weights(sizes, mx.float32)

    build = tuple(block_arguments(sizes, weights).values())
    call = InPieces(BLOCK, (x, *mask), build=build, pieces=(5,))

    grade.assert_close(call, qwen2.block(x, weights, sizes, None), mx.float32)


@each_change_of_mask
def test_task_2_block_takes_the_mask_of_each_call(
    grade: Grader, before: str | None, now: str | None
) -> None:
    """The call before has none, or has one."""
    sizes = Architecture(rms_norm_eps=0.5)
    x, weights = normal(2, 5, 32), block_weights(sizes, mx.float32)
    mask = attention.causal_mask(5, 5) if now else None

    build = (4, 2, 32, 48, 0.5, *weights.values(), 64, sizes.rope_theta)
    earlier = ((x, before),)
    call = InPieces(BLOCK, (x, now), build=build, pieces=(5,), earlier=earlier)

    grade.assert_close(call, qwen2.block(x, weights, sizes, mask), mx.float32)


def test_task_2_block_knows_what_it_is_not_told(grade: Grader) -> None:
    """The block has the same defaults as the attention."""
    sizes = Architecture(hidden_size=16, rope_theta=1000000.0)
    x, weights = normal(1, 9, 16), block_weights(sizes, mx.float32)

    build = (4, 2, 16, 48, 1e-6, *weights.values())
    call = InPieces(BLOCK, (x,), build=build, pieces=(9,))

    grade.assert_close(call, qwen2.block(x, weights, sizes, None), mx.float32)


def test_task_2_block_hands_on_the_number_of_positions(grade: Grader) -> None:
    """The text has 80 tokens: more than there are channels, or rows in the MLP."""
    sizes = Architecture(hidden_size=16, max_position_embeddings=80)
    x, weights = normal(1, 80, 16), block_weights(sizes, mx.float32)

    build = tuple(block_arguments(sizes, weights).values())
    call = InPieces(BLOCK, (x, "causal"), build=build, pieces=(79, 1))

    truth = qwen2.block_in_pieces(x, weights, sizes, (79, 1))
    grade.assert_close(call, truth, mx.float32)


def test_task_2_block_knows_its_arguments_by_name(grade: Grader) -> None:
    """The default base is a million."""
    sizes = Architecture(rms_norm_eps=0.5, rope_theta=1000000.0)
    x, weights = normal(1, 9, 32), block_weights(sizes, mx.float32)
    named = block_arguments(sizes, weights) | {"use_flash_attention": False}
    del named["theta"]

    call = InPieces(
        BLOCK, (x,), {"mask": "causal"}, build=(), named=named, pieces=(5, 4)
    )

    truth = qwen2.block_in_pieces(x, weights, sizes, (5, 4))
    grade.assert_close(call, truth, mx.float32)


@pytest.mark.parametrize("pieces", list(compositions(5)), ids=str)
def test_task_3_model_agrees_for_every_split_of_a_prompt(
    grade: Grader, pieces: tuple[int, ...]
) -> None:
    _assert_model(grade, Architecture(), mx.float32, pieces, num_tokens=5)


@each_dtype
@pytest.mark.parametrize("tie_word_embeddings", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("pieces", [(7,), MIXED], ids=str)
def test_task_3_model_agrees_with_transformers(
    grade: Grader,
    pieces: tuple[int, ...],
    dtype: mx.Dtype,
    *,
    tie_word_embeddings: bool,
) -> None:
    sizes = Architecture(tie_word_embeddings=tie_word_embeddings)

    _assert_model(grade, sizes, dtype, pieces)


def test_task_3_model_reads_its_sizes_from_the_checkpoint(grade: Grader) -> None:
    """Layers, heads, eps and base differ from any constants in the code."""
    _assert_model(grade, UNUSUAL, mx.float32, MIXED)


def test_task_3_model_takes_as_many_tokens_as_it_has_positions(grade: Grader) -> None:
    """The text has 80 tokens: more than channels, or than different tokens."""
    sizes = Architecture(hidden_size=16, max_position_embeddings=80)
    weights = model_weights(sizes, mx.float32)
    ids = mx.arange(80)[None] * 7 % sizes.vocab_size

    call = _model_call(mlx_model(sizes, weights), sizes, (79, 1))

    _assert_logits(grade, replace(call, args=(ids,)), weights, sizes)


@pytest.mark.parametrize("tie_word_embeddings", [True, False], ids=["tied", "untied"])
def test_task_3_model_reads_quantised_weights(
    grade: Grader, *, tie_word_embeddings: bool
) -> None:
    """Each row of each weight has two groups or more."""
    sizes = Architecture(
        hidden_size=64, intermediate_size=96, tie_word_embeddings=tie_word_embeddings
    )
    model = mlx_model(sizes, model_weights(sizes, mx.float32))
    nn.quantize(model, group_size=32, bits=4)

    call = _model_call(model, sizes, MIXED)

    _assert_logits(grade, call, dequantised(model), sizes)


def test_task_3_model_agrees_on_the_checkpoint_that_comes_along(grade: Grader) -> None:
    sizes, weights = embedded()

    call = _model_call(mlx_model(sizes, weights), sizes, MIXED)

    _assert_logits(grade, call, weights, sizes)


def test_task_3_model_begins_anew_with_new_caches(grade: Grader) -> None:
    """Only the caches hold earlier tokens, not the model."""
    _assert_model(grade, Architecture(), mx.float32, (6, 1), times=2)


def test_task_3_model_says_how_many_caches_it_needs(grade: Grader) -> None:
    sizes = Architecture(num_hidden_layers=3)
    model = mlx_model(sizes, model_weights(sizes, mx.float32))

    call = Attribute(MODEL, (), build=(model,), method="num_hidden_layers")

    grade.assert_equal(call, 3)


@pytest.mark.parametrize("prompt", ["Once", "x"])
def test_task_4_returns_the_likeliest_text(grade: Grader, prompt: str) -> None:
    model = ScriptedCachedModel(prompt, " upon a time")

    call = Call(GENERATE, (model, ByteTokenizer(), prompt))

    grade.assert_equal(call, " upon a time")


def test_task_4_computes_each_token_once(grade: Grader) -> None:
    """The cache holds the earlier tokens, so they need not be computed again."""
    model = ScriptedCachedModel("Once", " upon a time")

    call = Call(GENERATE, (model, ByteTokenizer(), "Once"))

    grade.run(call)
    num_tokens = len("Once upon a time")
    names = {"num_positions": model.num_positions, "num_tokens": num_tokens}
    grade.assert_that(
        model.num_positions <= num_tokens + 1,
        call,
        say("week_2_day_1.complaints.computed_again", **names),
    )


def test_task_4_begins_each_text_with_empty_caches(grade: Grader) -> None:
    model = ScriptedCachedModel("Once", " upon a time")

    call = Call(GENERATE, (model, ByteTokenizer(), "Once"), times=2)

    grade.assert_equal(call, [" upon a time"] * 2)


def test_task_4_prints_the_text_once(grade: Grader) -> None:
    assert_prints_once(grade, GENERATE, ScriptedCachedModel("Once", " upon a time"))


def test_task_4_prints_while_it_generates(grade: Grader) -> None:
    """The text appears at once, not at the end of a line."""
    assert_prints_while_it_generates(grade, GENERATE, ScriptedCachedModel)


def test_task_4_stops_at_once_when_the_end_token_comes_first(grade: Grader) -> None:
    model = ScriptedCachedModel("The end.", "")

    call = Call(GENERATE, (model, ByteTokenizer(), "The end."))

    grade.assert_equal(call, "")


def test_task_4_stops_at_any_of_the_end_tokens(grade: Grader) -> None:
    """Qwen2 has one for a turn and one for a document."""
    model = ScriptedCachedModel("Once", " upon a time", end=END_OF_DOCUMENT)

    call = Call(GENERATE, (model, ByteTokenizer(), "Once"))

    grade.assert_equal(call, " upon a time")


@pytest.mark.parametrize("prompt", ["Hello.<end>Once", "Once<end>"])
def test_task_4_reads_on_past_the_end_tokens_of_the_prompt(
    grade: Grader, prompt: str
) -> None:
    """A chat has one behind each turn. Only what the model chooses ends the text."""
    model = ScriptedCachedModel(prompt, " upon a time")

    call = Call(GENERATE, (model, ByteTokenizer(), prompt))

    grade.assert_equal(call, " upon a time")


def test_task_4_goes_on_until_the_end_token(grade: Grader) -> None:
    """The model ends the text, not a limit on the steps."""
    model = ScriptedCachedModel("Once", LONG_TEXT)

    call = Call(GENERATE, (model, ByteTokenizer(), "Once"))

    grade.assert_equal(call, LONG_TEXT)


def test_task_4_puts_together_characters_of_several_tokens(grade: Grader) -> None:
    model = ScriptedCachedModel("1 ", "€ = 7.8 元")

    call = Call(GENERATE, (model, ByteTokenizer(), "1 "))

    grade.assert_equal(call, "€ = 7.8 元")


def test_task_4_lets_the_detokenizer_finish(grade: Grader) -> None:
    """A text may end within a character: what was held back has to be added."""
    model = ScriptedCachedModel("1 ", "= 7.8 元".encode()[:-1])

    call = Call(GENERATE, (model, ByteTokenizer(), "1 "))

    grade.assert_equal(call, "= 7.8 \ufffd")


def _assert_filled(
    grade: Grader,
    shape: tuple[int, ...],
    pieces: tuple[int, ...],
    part: Part,
    dtype: mx.Dtype,
) -> None:
    """Fill a cache, and compare its output with what was put in."""
    keys = normal(*shape, dtype=dtype, name="keys")
    values = normal(*shape, dtype=dtype, name="values")

    call = Filling(CACHE, (keys, values), pieces=pieces, part=part)

    right = keys if part == "keys" else values
    grade.assert_close(call, copied(wide(right)), dtype)


def _attention_call(
    x: mx.array,
    weights: Weights,
    sizes: Architecture,
    pieces: tuple[int, ...],
    *mask: mx.array | str | None,
) -> InPieces:
    """Return a call that builds the attention and passes `x`, masked or not."""
    build = tuple(attention_arguments(sizes, weights).values())
    return InPieces(ATTENTION, (x, *mask), build=build, pieces=pieces)


def _assert_attention(
    grade: Grader, x: mx.array, sizes: Architecture, pieces: tuple[int, ...]
) -> None:
    """Run one attention with a causal mask, and compare with `transformers`."""
    weights = attention_weights(sizes, x.dtype)

    call = _attention_call(x, weights, sizes, pieces, "causal")

    truth = qwen2.attention_in_pieces(x, weights, sizes, pieces)
    grade.assert_close(call, truth, x.dtype)


def _assert_model(
    grade: Grader,
    sizes: Architecture,
    dtype: mx.Dtype,
    pieces: tuple[int, ...],
    **more: int,
) -> None:
    """Run a model with random weights, and compare with `transformers`."""
    weights = model_weights(sizes, dtype)

    call = _model_call(mlx_model(sizes, weights), sizes, pieces, **more)

    _assert_logits(grade, call, weights, sizes)


def _model_call(
    model: nn.Module,
    sizes: Architecture,
    pieces: tuple[int, ...],
    num_tokens: int = 7,
    times: int = 1,
) -> InPieces:
    """Return a call that passes the first tokens of `IDS` to the solution's model."""
    return InPieces(
        MODEL,
        (mx.array(IDS)[:, :num_tokens],),
        build=(model,),
        pieces=pieces,
        num_caches=sizes.num_hidden_layers,
        times=times,
    )


def _assert_logits(
    grade: Grader, call: InPieces, weights: Weights, sizes: Architecture
) -> None:
    """Compare the output of a model with that of `transformers`."""
    truth = qwen2.model_in_pieces(call.args[0], weights, sizes, call.pieces)

    grade.assert_close(call, truth, weights["model.norm.weight"].dtype)
