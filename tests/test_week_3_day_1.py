"""Week 3, day 1: several texts in one batch, each at a place of its own.

The chapter: book/en/week-3-day-1-many-at-once.md
"""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import pytest
from mlx import nn

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.grading.scenarios.architecture import (
    UNUSUAL,
    Architecture,
    attention_arguments,
    attention_weights,
    dequantised,
    embedded,
    mlx_model,
    model_weights,
)
from tiny_llm_course.grading.scenarios.batched import Batched
from tiny_llm_course.grading.scenarios.batches import (
    BATCHES,
    LONGER_FIRST,
    SEVERAL_NEW,
    SHORTER_FIRST,
    TAKEN_AGAIN,
    WITH_IDLE_SLOTS,
    Batch,
    Row,
)
from tiny_llm_course.grading.scenarios.caching import Attribute, InPieces
from tiny_llm_course.grading.scenarios.fakes import END_OF_DOCUMENT, END_TOKEN
from tiny_llm_course.grading.scenarios.slots import (
    BATCHING_CACHE,
    Collected,
    Counted,
    InSlots,
    NewCaches,
    PeakOfScored,
    Scored,
)
from tiny_llm_course.oracle.cached import attention, qwen2

ATTENTION = "qwen2_week2.Qwen2MultiHeadAttention"
MODEL = "qwen2_week3.Qwen2ModelWeek3"
GENERATE = "batch.batch_generate"

each_batch = pytest.mark.parametrize(
    ("batch", "dtype"),
    [
        *(pytest.param(one, mx.float32, id=name) for name, one in BATCHES.items()),
        pytest.param(SHORTER_FIRST, mx.float16, id="float16"),
        pytest.param(SHORTER_FIRST, mx.bfloat16, id="bfloat16"),
    ],
)

STORIES = {
    "Once": " upon a time",
    "The fox": " ran.",
    "It was late": ", and nobody saw the light in the window.",
    "No": "",
    "One day": " it rained, and the mole stayed at home",
}
"""What the scripted model says after each prompt."""


@each_batch
def test_task_1_each_row_finds_its_own_tokens(
    grade: Grader, batch: Batch, dtype: mx.Dtype
) -> None:
    """Attention with what is handed out is that of each text alone."""
    _assert_collects(grade, batch, dtype=dtype)


@pytest.mark.parametrize("mask", ["causal", None], ids=str)
def test_task_1_no_token_sees_what_comes_later(grade: Grader, mask: str | None) -> None:
    """Whatever mask is asked for."""
    _assert_collects(grade, SEVERAL_NEW, mask=mask)


def test_task_1_a_long_text_is_handed_out_whole(grade: Grader) -> None:
    batch = Batch(3, (1, 1), (Row(0, 300), Row(2, 40)))

    _assert_collects(grade, batch)


def test_task_1_keys_and_values_may_have_several_heads(grade: Grader) -> None:
    _assert_collects(grade, LONGER_FIRST, heads=3)


@pytest.mark.parametrize(
    "batch",
    [
        WITH_IDLE_SLOTS,
        Batch(2, (1, 1, 1), (Row(0, 5, 0, 1), Row(1, 5, 0, 2))),
        Batch(3, (2, 3), (Row(1, 5),)),
    ],
    ids=["beside-others", "left", "several-new"],
)
def test_task_1_nothing_in_an_idle_slot_is_nan(grade: Grader, batch: Batch) -> None:
    """A row whose mask is -inf from end to end has no softmax."""
    call = Collected(BATCHING_CACHE, _texts(batch), batch=batch, of_idle=True)

    got = grade.run(call)
    grade.assert_that(
        isinstance(got, mx.array) and bool(mx.isfinite(got).all()),
        call,
        say("week_3_day_1.complaints.idle_nan"),
    )


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_task_1_says_how_many_tokens_the_longest_row_has(
    grade: Grader, batch: Batch
) -> None:
    """Cached and new, in each step."""
    call = Counted(BATCHING_CACHE, _texts(batch), batch=batch)

    grade.assert_equal(call, [batch.longest(step) for step in range(len(batch.steps))])


def test_task_1_a_cache_may_be_told_how_long_texts_get(grade: Grader) -> None:
    """Some make room for that many tokens at once."""
    _assert_collects(grade, TAKEN_AGAIN, most=(16,))


@each_batch
def test_task_2_attention_agrees_with_each_row_alone(
    grade: Grader, batch: Batch, dtype: mx.Dtype
) -> None:
    _assert_attends(grade, batch, Architecture(), dtype)


@pytest.mark.parametrize(
    "sizes",
    [
        Architecture(num_attention_heads=8, num_key_value_heads=1),
        Architecture(hidden_size=24, num_key_value_heads=4, rope_theta=100.0),
    ],
    ids=["one-kv-head", "all-kv-heads"],
)
def test_task_2_attention_agrees_for_other_sizes(
    grade: Grader, sizes: Architecture
) -> None:
    _assert_attends(grade, SHORTER_FIRST, sizes)


def test_task_2_attention_agrees_up_to_the_last_position(grade: Grader) -> None:
    """One row ends at the last row of the table, the other one does not."""
    batch = Batch(2, (1, 1), (Row(0, 38), Row(1, 3)))

    _assert_attends(grade, batch, Architecture(max_position_embeddings=40))


def test_task_2_attention_still_takes_one_offset_for_all(grade: Grader) -> None:
    """As the model of Week 2 calls it."""
    sizes, x = Architecture(), normal(2, 7, 32)
    weights = attention_weights(sizes, mx.float32)

    build = tuple(attention_arguments(sizes, weights).values())
    call = InPieces(ATTENTION, (x, "causal"), build=build, pieces=(3, 1, 2, 1))

    truth = qwen2.attention_in_pieces(x, weights, sizes, (3, 1, 2, 1))
    grade.assert_close(call, truth, mx.float32)


@each_batch
def test_task_3_logits_agree_with_each_row_alone(
    grade: Grader, batch: Batch, dtype: mx.Dtype
) -> None:
    _assert_scores(grade, batch, Architecture(), _model(Architecture(), dtype))


@pytest.mark.parametrize("flash", [False, True], ids=["grouped", "flash"])
@pytest.mark.parametrize("keep", [1, 2])
def test_task_3_only_the_last_positions_are_scored(
    grade: Grader, keep: int, *, flash: bool
) -> None:
    """Of the two new tokens of each row, one or both."""
    batch = Batch(3, (2,), (Row(0, 5), Row(2, 1)))

    _assert_scores(
        grade, batch, Architecture(), _model(Architecture()), flash, keep=keep
    )


def test_task_3_model_reads_its_sizes_from_the_checkpoint(grade: Grader) -> None:
    """Layers, heads, eps and base differ from any constants in the code."""
    _assert_scores(grade, LONGER_FIRST, UNUSUAL, _model(UNUSUAL))


@pytest.mark.parametrize("tie_word_embeddings", [True, False], ids=["tied", "untied"])
def test_task_3_model_reads_quantised_weights(
    grade: Grader, *, tie_word_embeddings: bool
) -> None:
    sizes = Architecture(
        hidden_size=64, intermediate_size=96, tie_word_embeddings=tie_word_embeddings
    )
    model = _model(sizes)
    nn.quantize(model, group_size=32, bits=4)

    _assert_scores(grade, LONGER_FIRST, sizes, model)


def test_task_3_model_agrees_on_the_checkpoint_that_comes_along(grade: Grader) -> None:
    sizes, weights = embedded()

    _assert_scores(grade, SHORTER_FIRST, sizes, mlx_model(sizes, weights))


def test_task_3_model_makes_a_cache_for_each_layer(grade: Grader) -> None:
    sizes = Architecture(num_hidden_layers=3)
    model = _model(sizes)

    call = NewCaches(MODEL, (), build=(model,))

    in_all, different, new_in_each_call = 3, 3, 3
    grade.assert_equal(call, [in_all, different, new_in_each_call])


def test_task_3_model_says_how_many_layers_it_has(grade: Grader) -> None:
    sizes = Architecture(num_hidden_layers=3)
    model = _model(sizes)

    call = Attribute(MODEL, (), build=(model,), method="num_hidden_layers")

    grade.assert_equal(call, 3)


def test_task_3_logits_that_are_not_kept_are_not_computed(grade: Grader) -> None:
    """Those of 200 positions take 16 MB, everything else far less."""
    sizes = Architecture(vocab_size=20000, max_position_embeddings=256)
    model = _model(sizes)
    batch = Batch(1, (200,), (Row(0, 1),))

    call = PeakOfScored(MODEL, _ids(batch, sizes), build=(model,), batch=batch, keep=1)

    most_bytes = 8e6
    grade.assert_that(
        grade.run(call) < most_bytes,
        call,
        say("week_3_day_1.complaints.all_scored", most_mb=most_bytes / 1e6),
    )


@pytest.mark.parametrize("batch_size", [1, 2, 3, 5, 8])
def test_task_4_every_prompt_gets_its_own_answer(
    grade: Grader, batch_size: int
) -> None:
    """In the order of the prompts, whoever is done first."""
    _assert_generates(grade, list(STORIES), batch_size=batch_size)


def test_task_4_knows_what_it_is_not_told(grade: Grader) -> None:
    """Five slots, texts of 512 tokens, and prompts in pieces of 128."""
    long = "Once " * 96
    answers = STORIES | {long: " and for all" * 4}
    call = Batched(GENERATE, (list(answers),), answers=answers)

    grade.assert_equal(call, [*STORIES.values(), answers[long][:32]])
    use = call.used[0]
    names = {"widest": use.widest, "longest": use.longest}
    grade.assert_that(
        (use.widest, use.longest) == (5, 128),
        call,
        say("week_3_day_1.complaints.defaults", **names),
    )


def test_task_4_says_the_same_to_equal_prompts(grade: Grader) -> None:
    _assert_generates(grade, ["Once", "One day", "Once", "Once"], batch_size=2)


def test_task_4_a_prompt_may_be_answered_by_nothing(grade: Grader) -> None:
    """The first token that is chosen is the end already."""
    _assert_generates(grade, ["No", "Once", "No", "No"], batch_size=2)


@pytest.mark.parametrize("prompts", [[], ["No"]], ids=["no-prompt", "nothing-to-say"])
def test_task_4_ends_when_there_is_nothing_to_do(
    grade: Grader, prompts: list[str]
) -> None:
    _assert_generates(grade, prompts)


def test_task_4_stops_at_any_of_the_end_tokens(grade: Grader) -> None:
    """Qwen2 has one for a turn and one for a document."""
    _assert_generates(grade, list(STORIES), batch_size=2, end=END_OF_DOCUMENT)


def test_task_4_reads_on_past_the_end_tokens_of_a_prompt(grade: Grader) -> None:
    answers = {"Hello.<end>Once": " upon a time", "The fox": " ran."}

    _assert_generates(grade, list(answers), answers=answers)


def test_task_4_puts_together_characters_of_several_tokens(grade: Grader) -> None:
    """Of two texts at once, whose tokens come in turns."""
    answers = {"It is ": "7.8 元 or 1 €", "No, ": "€ 0.99, or 元", "Or ": "ten"}

    _assert_generates(grade, list(answers), answers=answers, batch_size=2)


def test_task_4_lets_each_detokenizer_finish(grade: Grader) -> None:
    """A text may end within a character: what was held back has to be added."""
    answers = {"It is ": "7.8 元".encode()[:-1], "Or ": "ten or twelve"}
    call = Batched(GENERATE, (list(answers),), answers=answers)

    grade.assert_equal(call, ["7.8 \ufffd", "ten or twelve"])


@pytest.mark.parametrize("max_seq_len", [12, 24])
def test_task_4_ends_a_text_that_has_no_more_room(
    grade: Grader, max_seq_len: int
) -> None:
    """A prompt and its answer have so many tokens at most."""
    answers = {name: said for name, said in STORIES.items() if len(name) < max_seq_len}
    kwargs = {"max_seq_len": max_seq_len, "batch_size": 2}

    call = Batched(GENERATE, (list(answers),), kwargs, answers=answers)

    expected = [said[: max_seq_len - len(name)] for name, said in answers.items()]
    grade.assert_equal(call, expected)


@pytest.mark.parametrize("prefill_step", [1, 3, 4, 5, 128])
def test_task_4_shows_a_prompt_in_pieces(grade: Grader, prefill_step: int) -> None:
    """One of the prompts has two pieces of 4, and one has less than one."""
    answers = {"It rains": " and", "Or": " else", "One day": ""}
    kwargs = {"prefill_step": prefill_step}
    call = Batched(GENERATE, (list(answers),), kwargs, answers=answers)

    grade.assert_equal(call, list(answers.values()))
    longest = call.used[0].longest
    names = {"longest": longest, "most": prefill_step}
    grade.assert_that(
        longest <= prefill_step, call, say("week_3_day_1.complaints.too_long", **names)
    )


def test_task_4_has_no_more_rows_than_slots(grade: Grader) -> None:
    call = Batched(GENERATE, (list(STORIES),), {"batch_size": 3}, answers=STORIES)

    grade.run(call)
    names = {"widest": call.used[0].widest, "most": 3}
    grade.assert_that(
        call.used[0].widest == 3, call, say("week_3_day_1.complaints.rows", **names)
    )


def test_task_4_texts_go_on_together(grade: Grader) -> None:
    """Five texts of 20 tokens take one call for each prompt, and one for each token."""
    answers = {f"{name} is": " twenty tokens long" for name in "ABCDE"}

    _assert_calls(grade, answers, batch_size=5, most=5 + 20)


def test_task_4_a_slot_is_free_when_its_text_has_ended(grade: Grader) -> None:
    """The next prompt does not wait for the longest text of the batch.

    Two texts of 30 tokens, and each begins beside a short one.
    """
    long = " thirty tokens, one by one by"
    answers = {"A is": long, "B is": "x", "C is": "x", "D is": long, "E is": "x"}

    _assert_calls(grade, answers, batch_size=2, most=5 + 40)


def _texts(
    batch: Batch, heads: int = 2, dtype: mx.Dtype = mx.float32
) -> tuple[mx.array, ...]:
    """Draw queries, keys and values for the texts of a batch."""
    return tuple(
        normal(
            1, batch.num_tokens(row), 3, heads, 4, dtype=dtype, name=f"text {number}"
        )
        for number, row in enumerate(batch.rows)
    )


def _ids(batch: Batch, sizes: Architecture) -> tuple[mx.array, ...]:
    """Return token ids for the texts of a batch, other ones for each."""
    return tuple(
        (mx.arange(batch.num_tokens(row)) * (5 + 2 * number) + number)[None]
        % sizes.vocab_size
        for number, row in enumerate(batch.rows)
    )


def _assert_collects(
    grade: Grader,
    batch: Batch,
    *,
    heads: int = 2,
    dtype: mx.Dtype = mx.float32,
    mask: str | None = "causal",
    most: tuple[int, ...] = (),
) -> None:
    """Attend to what a cache hands out, and compare with each text alone."""
    texts = _texts(batch, heads, dtype)

    call = Collected(BATCHING_CACHE, texts, batch=batch, mask=mask, most=most)

    truths = [
        attention.attention(*_heads_first(text), None, _causal(text.shape[1]))
        for text in texts
    ]
    tokens_first = [
        Truth(one.value.swapaxes(1, 2), one.scale.swapaxes(1, 2)) for one in truths
    ]
    grade.assert_close(call, batch.new_only(tokens_first), mx.float32)


def _heads_first(text: mx.array) -> Sequence[mx.array]:
    """Return queries, keys and values, 1 x H x S x D each."""
    return [text[:, :, part].swapaxes(1, 2) for part in range(3)]


def _causal(length: int) -> mx.array:
    return mx.array(attention.causal_mask(length, length).astype("float32"))


def _assert_attends(
    grade: Grader, batch: Batch, sizes: Architecture, dtype: mx.Dtype = mx.float32
) -> None:
    """Run the attention on texts in slots, and compare with each text alone."""
    weights = attention_weights(sizes, dtype)
    texts = tuple(
        normal(1, batch.num_tokens(row), sizes.hidden_size, dtype=dtype, name=str(row))
        for row in batch.rows
    )

    build = tuple(attention_arguments(sizes, weights).values())
    call = InSlots(ATTENTION, texts, build=build, batch=batch)

    truths = [
        qwen2.attention_in_pieces(text, weights, sizes, (text.shape[1],))
        for text in texts
    ]
    grade.assert_close(call, batch.new_only(truths), dtype)


def _model(sizes: Architecture, dtype: mx.Dtype = mx.float32) -> Any:  # noqa: ANN401
    """Make what `mlx_lm` would load."""
    return mlx_model(sizes, model_weights(sizes, dtype))


def _assert_scores(
    grade: Grader,
    batch: Batch,
    sizes: Architecture,
    *build: Any,  # noqa: ANN401 - what the model is built of
    keep: int | None = None,
) -> None:
    """Run a model on texts in slots, and compare with each text alone.

    Args:
        grade: The fixture.
        batch: Who is in which slot.
        sizes: Of the model.
        *build: What `mlx_lm` loads, and more arguments of the constructor.
        keep: How many positions of a step are asked for.
    """
    ids = _ids(batch, sizes)

    call = Scored(MODEL, ids, build=build, batch=batch, keep=keep)

    weights = dequantised(build[0])
    truths = [qwen2.model(one, weights, sizes) for one in ids]
    dtype = weights["model.norm.weight"].dtype
    grade.assert_close(call, batch.new_only(truths, keep), dtype)


def _assert_generates(
    grade: Grader,
    prompts: list[str],
    *,
    answers: dict[str, str] = STORIES,
    end: int = END_TOKEN,
    **named: int,
) -> None:
    """Continue prompts, and compare with what the model says to each."""
    call = Batched(GENERATE, (prompts,), named, answers=answers, end=end)

    grade.assert_equal(call, [answers[one] for one in prompts])


def _assert_calls(
    grade: Grader, answers: dict[str, str], *, batch_size: int, most: int
) -> None:
    """Fail if a loop calls the model more often than texts side by side need."""
    call = Batched(
        GENERATE, (list(answers),), {"batch_size": batch_size}, answers=answers
    )

    grade.run(call)
    num_calls = call.used[0].num_calls
    names = {"num_calls": num_calls, "most": most}
    grade.assert_that(
        num_calls <= most, call, say("week_3_day_1.complaints.too_many_calls", **names)
    )
