"""Mistakes that are named by a change of the learner's own text."""

import ast
import contextlib
from pathlib import Path

import mlx.core as mx
import pytest

from tiny_llm_course.composed_mistakes.text import Text, text_of
from tiny_llm_course.grading.diagnosis.harmless import (
    TooLongError,
    harmless,
    in_time,
)
from tiny_llm_course.grading.diagnosis.repairing import Repaired, repaired
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.judgement.inputs import normal, weight
from tiny_llm_course.grading.judgement.trial import Outcome, Trial
from tiny_llm_course.oracle.cached import basics
from tiny_llm_course.repairs.candidates import pieces_of, repairs_of
from tiny_llm_course.repairs.difference import told
from tiny_llm_course.repairs.quoting import MOST, two_codes
from tiny_llm_course.solution import Solution
from tiny_llm_course.syllabus import Address

LINEAR, SILU = Address(1, 1, 2), Address(1, 4, 2)


def _linear(name: str, *, has_bias: bool) -> Trial:
    def test(grade: Grader) -> None:
        x, w, bias = normal(3, 4), weight(4, 4), normal(4, name="bias")
        call = Call("basics.linear", (x, w, bias) if has_bias else (x, w))
        expected = basics.linear(x, w, bias if has_bias else None)
        grade.assert_close(call, expected, mx.float32)

    return Trial(LINEAR, name, test, {}, mx.cpu, frozenset({"basics.linear"}))


def _silu(dtype: mx.Dtype) -> Trial:
    def test(grade: Grader) -> None:
        x = normal(3, 4, dtype=dtype)
        grade.assert_close(Call("basics.silu", (x,)), basics.silu(x), dtype)

    symbols, arguments = frozenset({"basics.silu"}), {}
    return Trial(SILU, str(dtype), test, arguments, mx.cpu, symbols)


TRIALS = {
    LINEAR: [_linear("without", has_bias=False), _linear("with", has_bias=True)],
    SILU: [_silu(mx.float32), _silu(mx.float16)],
}


def _repaired(folder: Path, task: Address, text: str) -> Repaired | None:
    (folder / "basics.py").write_text(f"import mlx.core as mx\n\n{text}")
    solution = Solution(folder, f"learner_{folder.name}")
    outcomes = [Outcome(one, one.run(solution)) for one in TRIALS[task]]
    return repaired(outcomes, task, solution)


@pytest.mark.parametrize(
    ("task", "text", "says"),
    [
        pytest.param(
            LINEAR,
            "def linear(x, w, bias=None):\n"
            "    y = mx.einsum('...i,oi->...o', x, w)\n"
            "    return y if bias is None else y - bias\n",
            "Line 5 of `basics.py` is all that is wrong: "
            "`y - bias` stands where `y + bias` belongs.",
            id="operator",
        ),
        pytest.param(
            LINEAR,
            "def _times(a, b):\n"
            "    return a @ b\n\n"
            "def linear(inputs, matrix, bias=None):\n"
            "    out = _times(inputs, matrix)\n"
            "    return out + (0 if bias is None else bias)\n",
            "`b` is not transposed.",
            id="in a helper, under other names",
        ),
        pytest.param(
            LINEAR,
            "def linear(x, w, bias=None):\n    return mx.inner(x, 2 * w) * 3\n",
            None,
            id="two steps are missing",
        ),
        pytest.param(
            SILU,
            "def silu(x):\n"
            "    y = x * mx.sigmoid(x)\n"
            "    y = mx.where(y < 0.1, 0.0, y)\n"
            "    return y\n",
            "Line 5 of `basics.py` is all that is wrong: "
            "`y = mx.where(y < 0.1, 0.0, y)` does not belong there.",
            id="a line too many",
        ),
        pytest.param(
            SILU,
            "def silu(x):\n"
            "    y = x * mx.sigmoid(x)\n"
            "    y[y < 0.1] = 0\n"
            "    return y\n",
            "`y[y < 0.1] = 0` does not belong there.",
            id="a line too many that changes a part",
        ),
        pytest.param(
            SILU,
            "def silu(x):\n"
            "    y = x * mx.sigmoid(x)\n"
            "    return mx.where(y < 0.1, 0.0, y)\n",
            "`mx.where(y < 0.1, 0.0, y)` stands where `y` is enough.",
            id="a call too many",
        ),
        pytest.param(
            SILU,
            "def _mine(args, y):\n"
            "    return y - args\n\n"
            "def silu(x):\n"
            "    return _mine(1, x * mx.sigmoid(x))\n",
            "Line 4 of `basics.py` is all that is wrong: "
            "`y - args` stands where `y` is enough.",
            id="in a helper, which stays",
        ),
        pytest.param(
            SILU,
            "def silu(x):\n"
            "    wide = x.astype(mx.float32)\n"
            "    return wide * mx.sigmoid(wide)\n",
            "`wide * mx.sigmoid(wide)` is not cast to `x.dtype`.",
            id="dtype",
        ),
        pytest.param(
            SILU,
            "def silu(x):\n"
            "    parts = []\n"
            "    i = 0\n"
            "    while i < len(x):\n"
            "        i = i + 1\n"
            "        parts.append(x[i] * mx.sigmoid(x[i]))\n"
            "    return mx.stack(parts)\n",
            "Line 7 of `basics.py` is all that is wrong: `i = i + 1` comes too early.",
            id="a loop that a change may keep from ending",
        ),
    ],
)
def test_the_line_is_named_that_is_wrong(
    tmp_path: Path, task: Address, text: str, says: str | None
) -> None:
    found = _repaired(tmp_path, task, text)

    assert (says is None) == (found is None)
    assert found is None or found.says.endswith(str(says))


def test_a_change_may_leave_a_known_mistake(tmp_path: Path) -> None:
    """Both are told. Neither alone is what the solution does."""
    found = _repaired(
        tmp_path,
        SILU,
        "def silu(x):\n    e = mx.exp(x.astype(mx.float32))\n    return x / (1 + e)\n",
    )

    assert found is not None
    assert found.left is not None
    assert found.left.name == "sign_of_the_exponent_flipped"
    assert "Line 4 of `basics.py`: `x.astype(mx.float32)` stands where" in found.says


def test_to_cut_out_what_is_wrong_explains_nothing(tmp_path: Path) -> None:
    """Without its end it forgets the bias. That is not what it does."""
    found = _repaired(
        tmp_path,
        LINEAR,
        "def linear(x, w, bias=None):\n"
        "    y = x @ w.T\n"
        "    return y if bias is None else mx.exp(y) * mx.cos(bias)\n",
    )

    assert found is None


def test_pieces_of_the_reference_may_take_the_place_of_a_name() -> None:
    """They hold public names only, which every solution has."""
    ours = text_of("quantize.dequantize")
    theirs = Text("", "f", ast.parse("def f(w_q, group_size, bits): return 15"))
    assert ours is not None

    pieces = pieces_of(ours)
    placed = {ast.unparse(one.node) for one in repairs_of(theirs, "value", pieces)}

    assert {"2 ** bits - 1", "2 ** bits"} <= placed
    assert not any("scales" in one for one in placed)


def test_pieces_of_a_text_may_stand_in_the_same_text() -> None:
    """Where the reference fails. A piece within itself would have no end."""
    ours = text_of("quantize.dequantize")
    assert ours is not None

    made = set[str]()
    for repair in repairs_of(ours, "value", pieces_of(ours)):
        there = repair.slot.node
        repair.slot.put(repair.node)
        made.add(ast.unparse(ours.tree))
        repair.slot.put_back(there)

    assert any("2 ** 2 ** bits" in one for one in made)


def test_what_is_right_needs_no_repair(tmp_path: Path) -> None:
    assert (
        _repaired(tmp_path, SILU, "def silu(x):\n    return x * mx.sigmoid(x)\n")
        is None
    )


def test_a_call_that_never_ends_is_interrupted() -> None:
    def endless() -> None:
        while True:
            with contextlib.suppress(Exception):
                mx.eval(mx.ones(1) + 1)

    with pytest.raises(TooLongError), in_time():
        endless()


def test_what_would_end_the_process_raises() -> None:
    """MLX divides by the size of a part, and writes wherever an index points."""
    x = mx.zeros((2, 4))
    with harmless(), pytest.raises(ValueError, match="unflatten"):
        mx.unflatten(x, -1, (-1, 0))
    for outside in ((0, 4), (..., -5), 2):
        with harmless(), pytest.raises(IndexError, match="out of bounds"):
            x[outside] = 1
    with harmless():
        x[..., -4] = x[None, 1, 3] = 1
    assert x.sum().item() == 3

    assert mx.unflatten(mx.zeros((2, 4)), -1, (2, 2)).shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("got", "expected", "says"),
    [
        ("f(x, axis=0)", "f(x, axis=-1)", "`axis=0` stands where `axis=-1` belongs."),
        ("x @ w", "x @ w + b", "`b` is not added to `x @ w`."),
        ("x", "x * 2", "`x` is not multiplied by `2`."),
        ("x", "x / n", "`x` stands where `x / n` belongs."),
        ("f(x)", "f(x, axis=-1)", "`axis=-1` is not handed on to `f`."),
        ("f(x, y)", "f(x)", "`y` does not belong into the call of `f`."),
        ("x", "x.swapaxes(-1, -2)", "`x` is not transposed."),
        ("g(x)", "mx.exp(g(x))", "`exp` is not applied to `g(x)`."),
        ("x", "x[..., None]", "`x` stands where `x[..., None]` belongs."),
        ("f(w.T)", "f(w)", "`w.T` stands where `w` is enough."),
        ("f(a, b, c)", "f(b, a, c)", "`a` and `b` have changed places."),
        ("a - b", "b - a", "`a` and `b` have changed places."),
        ("f(x)[1:]", "f(x)[2:]", "`1` stands where `2` belongs."),
        (
            "f(x, w_gate=g(up), w_up=g(gate), eps=1)",
            "f(x, eps=1, w_gate=g(gate), w_up=g(up))",
            "the values of `w_gate` and `w_up` have changed places.",
        ),
        (
            "mx.broadcast_to(mask, (*front, H, L, S)).reshape(*front, G, H_kv).T",
            "mx.broadcast_to(mask, (*front, H, L, S)).reshape(*front, G, H_kv)",
            "`...S)).reshape(*front, G, H_kv).T` stands where "
            "`...S)).reshape(*front, G, H_kv)` is enough.",
        ),
    ],
)
def test_the_smallest_part_that_differs_is_named(
    got: str, expected: str, says: str
) -> None:
    trees = (ast.parse(one, mode="eval").body for one in (got, expected))

    assert told(*trees) == (1, says)


@pytest.mark.parametrize(
    ("got", "expected", "found"),
    [
        ("for i in x:\n  a\n  b", "for i in x:\n  b\n  a", (2, "`a` comes too early.")),
        ("if x:\n  a\n  b", "if x:\n  b\n  a", (2, "`a` comes too early.")),
        ("a()", "pass", (1, "`a()` does not belong there.")),
    ],
)
def test_a_statement_is_misplaced_or_too_many(
    got: str, expected: str, found: tuple[int, str]
) -> None:
    trees = (ast.parse(one).body[0] for one in (got, expected))

    assert told(*trees) == found


@pytest.mark.parametrize(
    ("got", "expected", "line"),
    [
        ("f(\n  a=1,\n  b=g(u),\n  c=g(v),\n)", "f(a=1, b=g(v), c=g(u))", 3),
        ("f(\n  a,\n  b,\n)", "f(a)", 3),
        ("(\n  f(a)\n  .min(0)\n)", "f(a).max(0)", 3),
        ("(\n  f(a)\n  .reshape(1)\n  .T\n)", "f(a).reshape(1)", 4),
    ],
)
def test_the_line_is_the_one_where_the_difference_begins(
    got: str, expected: str, line: int
) -> None:
    trees = (ast.parse(one, mode="eval").body for one in (got, expected))

    assert told(*trees)[0] == line


ARGUMENTS = [f"argument_{i}=value_{i}" for i in range(8)]
CALL = f"function({', '.join(ARGUMENTS)})"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param(CALL, f"{CALL}.T", id="a step more"),
        pytest.param(CALL, CALL.replace("value_7", "value"), id="late"),
        pytest.param(CALL, CALL.replace("value", "other"), id="from the beginning"),
        pytest.param(CALL, CALL.replace("_6", "_n"), id="twice"),
        pytest.param(f"{'a' * 90}.b.c", f"{'a' * 90}.c.b", id="no space"),
        pytest.param(f"if x:\n  {CALL}", f"if x:\n  {CALL}\n  b", id="a line more"),
    ],
)
def test_two_quotes_are_never_the_same(a: str, b: str) -> None:
    shown = two_codes(*(ast.parse(one).body[0] for one in (a, b)))

    assert len(set(shown)) == 2
    assert all(len(one) <= MOST + 2 for one in shown)
