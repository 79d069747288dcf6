"""Mistakes that are composed of a place and a kind of change."""

import ast
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.composed_mistakes.changes import changes_of
from tiny_llm_course.composed_mistakes.mistakes import (
    Composed,
    beside,
    composed,
    sentence,
)
from tiny_llm_course.composed_mistakes.text import CarefulMlx, text_of
from tiny_llm_course.grading.diagnosis import composing, repairing
from tiny_llm_course.grading.diagnosis.known_mistakes import does_the_same
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.closeness import Truth
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import normal, weight
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.grading.judgement.verdict import (
    ArrayEvidence,
)
from tiny_llm_course.oracle.cached import basics
from tiny_llm_course.solution import load_solution
from tiny_llm_course.specimens import Specimen, misconceptions
from tiny_llm_course.syllabus import Address, task_at

LINEAR = Address(1, 1, 2)
ROPE = "positional_encoding.RoPE"
ROOFLINE_OF = "roofline.roofline"
AXIS = "Axis -2 stands where axis -1 belongs."
NONE = "`bias` may be None or not, and is used as if it never were one of the two."


@pytest.mark.parametrize(
    "address", [(1, 1, 1), (1, 1, 2), (1, 6, 1), (1, 7, 3), (2, 2, 2)], ids=str
)
def test_every_change_has_a_sentence_and_is_taken_back(
    address: tuple[int, int, int],
) -> None:
    task = task_at(Address(*address))
    before = [_shown(symbol) for symbol in task.symbols]

    sentences = [one.says for one in composed(task.address)]

    assert all(one.endswith(".") and "{" not in one for one in sentences)
    assert [_shown(symbol) for symbol in task.symbols] == before


def _shown(symbol: str) -> str:
    text = text_of(symbol)
    return ast.unparse(text.tree) if text else ""


@pytest.mark.parametrize(
    ("task", "says"),
    [
        (LINEAR, "`w` is not transposed."),
        (LINEAR, "`bias` is not added to `y`."),
        (Address(1, 1, 1), "`min` stands where `max` belongs."),
        (Address(1, 4, 2), "`w_gate` stands where `w_up` belongs."),
        (Address(1, 5, 1), "`bk` and `bv` have changed places."),
    ],
)
def test_a_place_and_a_kind_make_a_sentence(task: Address, says: str) -> None:
    assert says in [one.says for one in composed(task)]


@pytest.mark.parametrize(
    ("symbol", "says"),
    [
        ("basics.softmax", "1e-05 is added to the total, which changes the result."),
        ("basics.softmax", "`axis` is taken to be `-1`, whatever is asked for."),
        (ROPE, "The default of `base` is `1000000` instead of `10000`."),
        ("basics.silu", "`x` is added to the result, which does not belong there."),
        (
            "basics.silu",
            "`x` is cut off at 20: larger entries come out as if they were that.",
        ),
        (
            "basics.silu",
            "The leading axes of the result are joined to one and not cut again.",
        ),
        (
            "basics.linear",
            "`bias` gets an axis at the end, and so meets another axis than its own.",
        ),
        ("basics.linear", NONE),
        ("basics.linear", "`bias` is added to `y` twice."),
        ("basics.softmax", "The last two axes of the result have changed places."),
        ("basics.softmax", "The result is an array of NumPy, not of MLX."),
        ("attention.scaled_dot_product_attention_simple", AXIS),
        (
            ROOFLINE_OF,
            "The result is 1000 times what it should be: it has another unit.",
        ),
        ("embedding.Embedding", "`x` is off by one where it is looked up."),
        (
            "qwen2_week1.Qwen2TransformerBlock",
            "`max_seq_len` and `theta` have changed places.",
        ),
        (
            "qwen2_week1.Qwen2ModelWeek1",
            "`wo` and `bq` stand side by side, and have changed places.",
        ),
        (
            "generate.simple_generate_with_kv_cache",
            "The offset is set anew, where something is to be added to it.",
        ),
        (
            "kv_cache.TinyKvFullCache",
            "The line for `offset` comes too early: others have to see first what it "
            "changes.",
        ),
        (
            "kv_cache.TinyKvFullCache",
            "The whole of the keys is taken, where a part of it belongs.",
        ),
    ],
)
def test_what_is_done_beside_makes_a_sentence(symbol: str, says: str) -> None:
    text = text_of(symbol)
    assert text is not None

    assert says in [sentence(one) for one in changes_of(text)]


def test_what_is_wrong_at_several_places_alike_is_one_mistake() -> None:
    """A learner who forgets one transpose forgets them all."""
    says = "`wq` is not transposed.\n`wk` is not transposed.\n`wv` is not transposed."

    assert any(one.says.startswith(says) for one in composed(LINEAR))


def test_the_reference_comes_before_other_ways_and_the_usual_first() -> None:
    """Time is limited, and other solutions have hundreds of places."""
    order = [(not one.is_ours, one.rank) for one in composed(LINEAR)]

    assert order[0] == (False, 0)
    assert order == sorted(order)


def test_a_mistake_lies_in_a_name_itself_and_not_in_what_it_calls() -> None:
    """The code of an earlier task has tests of its own."""
    heads = text_of("attention.SimpleMultiHeadAttention")
    assert heads is not None

    shown = ast.unparse(heads.tree)

    assert "def _split_heads" in shown
    assert "def scaled_dot_product_attention_simple" not in shown


def test_what_would_end_the_process_raises() -> None:
    """MLX divides by the size of a part, and a cache may double at every token."""
    with pytest.raises(ValueError, match="unflatten"):
        CarefulMlx().unflatten(mx.zeros((2, 4)), -1, (-1, 0))
    with pytest.raises(ValueError, match="split"):
        CarefulMlx().split(mx.zeros(4), 0)
    with pytest.raises(ValueError, match="zeros"):
        CarefulMlx().zeros((1, 2, 2**40, 4))


def _trial(name: str, *, has_bias: bool) -> Trial:
    def test(grade: Grader) -> None:
        x, w, bias = normal(3, 4), weight(4, 4), normal(4, name="bias")
        call = Call("basics.linear", (x, w, bias) if has_bias else (x, w))
        expected = basics.linear(x, w, bias if has_bias else None)
        grade.assert_close(call, expected, mx.float32)

    return Trial(LINEAR, name, test, {}, mx.cpu)


TRIALS = [_trial("without", has_bias=False), _trial("with", has_bias=True)]


def _named(linear: Any) -> Composed | None:  # noqa: ANN401 - a learner's function
    solution = Specimen(LINEAR, "basics.linear", linear).as_solution()
    outcomes = [Outcome(one, one.run(solution)) for one in TRIALS]
    return composing.compose(outcomes, LINEAR)


def test_what_another_hand_got_wrong_is_named() -> None:
    def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        y = mx.einsum("...i,oi->...o", x, w)
        return y - bias if bias is not None else y

    found = _named(linear)

    assert found is not None
    assert found.says == "`-` stands between `y` and `bias`, where `+` belongs."


def test_two_mistakes_at_once_are_named() -> None:
    def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        del bias
        return mx.tensordot(x, w, axes=1)

    found = _named(linear)

    assert found is not None
    assert found.says.splitlines() == [
        "`w` is not transposed.",
        "`bias` is not added to `y`.",
    ]


def test_a_known_mistake_becomes_two_by_one_change_more() -> None:
    """Some mistakes are no change of one place, and people make another beside them."""
    record = next(
        one for one in misconceptions(LINEAR) if one.name == "weight_not_transposed"
    )

    def wrong(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        return x @ w if bias is None else x @ w - bias

    solution = Specimen(LINEAR, "basics.linear", wrong).as_solution()
    outcomes = [Outcome(one, one.run(solution)) for one in TRIALS]
    same = [
        one.says
        for one in beside(record)
        if all(does_the_same(one, outcome) for outcome in outcomes)
    ]

    minus = "`-` stands between `y` and `bias`, where `+` belongs."
    assert same == [f"{record.says.strip()}\n{minus}"]


ROOFLINE = Address(2, 2, 3)


def _works(name: str, work: tuple[float, ...], expected: tuple[float, str]) -> Trial:
    def test(grade: Grader) -> None:
        grade.assert_equal(Call("roofline.roofline", work), expected)

    return Trial(ROOFLINE, name, test, {}, mx.cpu)


WORKS = [
    _works("compute", (6.0, 1.0, 2.0, 1.0), (3.0, "compute")),
    _works("memory", (2.0, 5.0, 2.0, 1.0), (5.0, "memory")),
]


def test_a_change_of_another_right_way_is_named() -> None:
    """The reference has no `max` that could be confused with `min`."""

    def roofline(
        flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
    ) -> tuple[float, str]:
        compute_s, memory_s = flops / flops_per_s, num_bytes / bytes_per_s
        word = "memory" if memory_s >= compute_s else "compute"
        return sorted([compute_s, memory_s])[0], word

    solution = Specimen(ROOFLINE, "roofline.roofline", roofline).as_solution()

    found = composing.compose(
        [Outcome(one, one.run(solution)) for one in WORKS], ROOFLINE
    )

    assert found is not None
    assert found.says == "`min` stands where `max` belongs."


def test_two_mistakes_of_plain_numbers_are_named() -> None:
    """The mistakes need not concern arrays."""

    def roofline(
        flops: float, num_bytes: float, flops_per_s: float, bytes_per_s: float
    ) -> tuple[float, str]:
        compute_s, memory_s = flops * flops_per_s, num_bytes * bytes_per_s
        if compute_s > memory_s:
            return compute_s, "compute"
        return memory_s, "memory"

    solution = Specimen(ROOFLINE, "roofline.roofline", roofline).as_solution()
    works = [
        _works("compute", (6.0, 1.0, 2.0, 3.0), (3.0, "compute")),
        _works("memory", (2.0, 50.0, 2.0, 5.0), (10.0, "memory")),
    ]

    found = composing.compose(
        [Outcome(one, one.run(solution)) for one in works], ROOFLINE
    )

    assert found is not None
    assert "`*` stands between `flops` and `flops_per_s`" in found.says
    assert "`*` stands between `num_bytes` and `bytes_per_s`" in found.says


def test_an_array_where_a_number_belongs_is_no_error_of_ours() -> None:
    solution = Specimen(
        ROOFLINE, "roofline.roofline", lambda *_: np.array([1.0, 2.0])
    ).as_solution()

    verdicts = [WORKS[0].run(solution) for _ in range(2)]

    first, again = (one.evidence for one in verdicts if one)
    assert first is not None
    assert first.matches(again)


def test_what_is_wrong_is_compared_as_precisely_as_it_is_large() -> None:
    """The truth is small, and the wrong output a thousand times as large."""
    truth = Truth(np.ones(2), np.ones(2))
    got, other = mx.array([1234.0, 1.0]), mx.array([1234.0002, 1.0])

    assert ArrayEvidence(got, truth).matches(ArrayEvidence(other, truth))
    assert not ArrayEvidence(got, truth).matches(ArrayEvidence(got + 1, truth))


SILU = Address(1, 4, 2)


def _activated(dtype: mx.Dtype) -> Trial:
    def test(grade: Grader) -> None:
        x = normal(3, 4, dtype=dtype)
        grade.assert_close(Call("basics.silu", (x,)), basics.silu(x), dtype)

    return Trial(SILU, str(dtype), test, {}, mx.cpu, frozenset({"basics.silu"}))


def test_two_mistakes_of_which_one_is_the_dtype_are_named() -> None:
    """Apart from the dtype, a result left in float32 is right."""

    def silu(x: mx.array) -> mx.array:
        x = x.astype(mx.float32)
        return x / (1 - mx.exp(-x))

    solution = Specimen(SILU, "basics.silu", silu).as_solution()
    trials = [_activated(mx.float32), _activated(mx.float16)]

    found = composing.compose([Outcome(one, one.run(solution)) for one in trials], SILU)

    assert found is not None
    assert found.says.splitlines() == [
        "The result is left in float32, whatever the dtype of the input.",
        "`-` stands between `1` and the exponential of minus `x`, where `+` belongs.",
    ]


def test_what_calls_a_wrong_name_has_no_say() -> None:
    """The MLP is wrong only because `silu` is: with the reference's it is right."""

    def fails(grade: Grader) -> None:
        grade.assert_equal(Call("basics.silu", (mx.zeros(1),)), 1)

    mlp = Trial(SILU, "mlp", fails, {}, mx.cpu, frozenset({"qwen2_week1.Qwen2MLP"}))
    wrong = Specimen(SILU, "basics.silu", mx.sigmoid).as_solution()
    trials = [_activated(mx.float32), mlp, mlp, mlp]

    found = composing.compose([Outcome(one, one.run(wrong)) for one in trials], SILU)

    assert found is not None
    assert found.says == "The sigmoid is not multiplied by `x`."


def test_errors_that_are_alike_in_kind_only_name_nothing() -> None:
    """Among a thousand changes, some raise the same kind of error by chance."""

    def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        del x, w, bias
        return mx.zeros((5, 7)) @ mx.zeros((2, 3))

    assert _named(linear) is None


def test_an_error_that_several_changes_raise_names_none_of_them() -> None:
    """Of one axis, the end is also what comes after the first."""

    def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        y = x @ w.T
        return y if bias is None else y + bias[:, None]

    assert _named(linear) is None


def test_what_is_like_no_change_has_no_name() -> None:
    def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        del bias
        return mx.sin(x @ w.T)

    assert _named(linear) is None


def test_a_right_solution_has_no_name() -> None:
    def linear(x: mx.array, w: mx.array, bias: mx.array | None = None) -> mx.array:
        y = mx.einsum("...i,oi->...o", x, w)
        return y if bias is None else y + bias

    assert _named(linear) is None


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [("metal_norms.rms_norm", False), ("", True), ("basics.silu", True)],
)
def test_changes_of_kernels_in_metal_are_not_tried(symbol: str, expected: bool) -> None:
    """Each would have to be compiled, and run in the simulator."""
    assert composing.is_tried(symbol, SILU) == expected


@pytest.mark.parametrize(
    ("module", "search"),
    [
        (composing, lambda: composing.compose([], SILU)),
        (repairing, lambda: repairing.repaired([], SILU, load_solution("ref"))),
    ],
    ids=["changes", "repairs"],
)
def test_what_is_tried_is_not_compiled(
    module: ModuleType, search: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLX runs what is compiled once, to see what it does."""
    runs: list[mx.array] = []

    @mx.compile
    def doubled(x: mx.array) -> mx.array:
        runs.append(x)
        return x * 2

    def three_times(outcomes: Sequence[Outcome], _: Address) -> tuple[str, object]:
        assert [doubled(mx.array(1.0)).item() for _ in range(3)] == [2.0] * 3
        return "", outcomes

    monkeypatch.setattr(module, "first_wrong", three_times)

    search()
    while_trying = len(runs)
    three_times([], SILU)

    assert while_trying == 3
    assert len(runs) == 4
