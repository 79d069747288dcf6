"""Week 1, day 6: generating text, token by token.

The chapter: book/en/week-1-day-6-generating.md
"""

import mlx.core as mx
import pytest

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.scenarios.fakes import (
    END_OF_DOCUMENT,
    VOCAB_SIZE,
    ByteTokenizer,
    ScriptedModel,
)
from tiny_llm_course.grading.scenarios.generating import (
    LONG_TEXT,
    assert_prints_once,
    assert_prints_while_it_generates,
)

GENERATE = "generate.simple_generate"


@pytest.mark.parametrize("prompt", ["Once", "x"])
def test_task_1_returns_the_likeliest_text(grade: Grader, prompt: str) -> None:
    """Only the last position of the logits predicts the next token."""
    model = ScriptedModel(prompt, " upon a time", second="!!!!!!!!!!!!")

    call = Call(GENERATE, (model, ByteTokenizer(), prompt, None))

    grade.assert_equal(call, " upon a time")


def test_task_1_prints_the_text_once(grade: Grader) -> None:
    assert_prints_once(grade, GENERATE, ScriptedModel("Once", " upon a time"), None)


def test_task_1_prints_while_it_generates(grade: Grader) -> None:
    """A reader should not have to wait for the end of the text, or of a line."""
    assert_prints_while_it_generates(grade, GENERATE, ScriptedModel, None)


def test_task_1_stops_at_once_when_the_end_token_comes_first(grade: Grader) -> None:
    model = ScriptedModel("The end.", "")

    call = Call(GENERATE, (model, ByteTokenizer(), "The end.", None))

    grade.assert_equal(call, "")


def test_task_1_stops_at_any_of_the_end_tokens(grade: Grader) -> None:
    """Qwen2 has one for a turn and one for a document."""
    model = ScriptedModel("Once", " upon a time", end=END_OF_DOCUMENT)

    call = Call(GENERATE, (model, ByteTokenizer(), "Once", None))

    grade.assert_equal(call, " upon a time")


@pytest.mark.parametrize("prompt", ["Hello.<end>Once", "Once<end>"])
def test_task_1_reads_on_past_the_end_tokens_of_the_prompt(
    grade: Grader, prompt: str
) -> None:
    """A chat has one behind each turn. Only what the model chooses ends the text."""
    model = ScriptedModel(prompt, " upon a time")

    call = Call(GENERATE, (model, ByteTokenizer(), prompt, None))

    grade.assert_equal(call, " upon a time")


def test_task_1_goes_on_until_the_end_token(grade: Grader) -> None:
    """The model ends the text, not a limit on the steps."""
    model = ScriptedModel("Once", LONG_TEXT)

    call = Call(GENERATE, (model, ByteTokenizer(), "Once", None))

    grade.assert_equal(call, LONG_TEXT)


def test_task_1_puts_together_characters_of_several_tokens(grade: Grader) -> None:
    """Each byte is a token, and no single one is a character."""
    model = ScriptedModel("1 ", "€ = 7.8 元")

    call = Call(GENERATE, (model, ByteTokenizer(), "1 ", None))

    grade.assert_equal(call, "€ = 7.8 元")


def test_task_1_lets_the_detokenizer_finish(grade: Grader) -> None:
    """A text may end within a character: what was held back has to be added."""
    model = ScriptedModel("1 ", "= 7.8 元".encode()[:-1])

    call = Call(GENERATE, (model, ByteTokenizer(), "1 ", None))

    grade.assert_equal(call, "= 7.8 \ufffd")


def test_task_1_takes_the_token_that_the_sampler_chooses(grade: Grader) -> None:
    model = ScriptedModel("Once", " upon a time", second="_more")

    def second_likeliest(log_probabilities: mx.array) -> mx.array:
        return mx.argsort(log_probabilities, axis=-1)[:, -2]

    call = Call(GENERATE, (model, ByteTokenizer(), "Once", second_likeliest))

    grade.assert_equal(call, "_more")


def test_task_1_hands_log_probabilities_to_the_sampler(grade: Grader) -> None:
    """The sampler gets one row, whose probabilities add up to 1."""
    seen: list[mx.array] = []

    def greedy(log_probabilities: mx.array) -> mx.array:
        seen.append(log_probabilities)
        return mx.argmax(log_probabilities, axis=-1)

    model = ScriptedModel("Once", " upon a time")
    call = Call(GENERATE, (model, ByteTokenizer(), "Once", greedy))

    grade.run(call)
    shapes = [one.shape for one in seen]
    grade.assert_that(
        shapes[:1] == [(1, VOCAB_SIZE)],
        call,
        say(
            "week_1_day_6.complaints.sampler_shape",
            shapes=shapes[:2],
            num_tokens=VOCAB_SIZE,
        ),
    )
    total = mx.exp(seen[0].astype(mx.float32)).sum().item()
    grade.assert_that(
        abs(total - 1) < 1e-3,
        call,
        say("week_1_day_6.complaints.sampler_sum", total=total),
    )
