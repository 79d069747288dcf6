"""A known mistake is text that stands in the reference, and text instead of it."""

import subprocess
from itertools import product
from pathlib import Path

import mlx.core as mx
import pytest
from click.testing import CliRunner, Result
from mlx import nn

from tiny_llm_course.catalogue import say
from tiny_llm_course.composed_mistakes.text import text_of_variant
from tiny_llm_course.records import cpp_text, kernels, python_text, record
from tiny_llm_course.records.definitions import name_of
from tiny_llm_course.records.record import MISTAKES, RIGHT_WAYS, Record, records
from tiny_llm_course.records.replacing import (
    Replacement,
    StaleRecordError,
    replaced,
    replacements,
)
from tiny_llm_course.specimens import Specimen, misconceptions
from tiny_llm_course.syllabus import Address, tasks
from tiny_llm_lab.commands.test_grader import command
from tiny_llm_ref.basics import silu
from tiny_llm_ref.quantize import QuantizedWeights

DAY_7 = "week_2_day_7"
ALL_FILES = sorted({task.files for task in tasks()})
ALL_RECORDS = [
    one
    for kind, files in product((MISTAKES, RIGHT_WAYS), ALL_FILES)
    for one in records(kind, files)
]


@pytest.mark.parametrize("one", ALL_RECORDS, ids=lambda one: one.name)
def test_record_fits_the_reference_and_makes_a_program(one: Record) -> None:
    """It is told here, and not by whoever makes the mistake."""
    if one.kernel:
        text = cpp_text.text_of(one.kernel.kernel.headers)
        assert replaced(one.name, text, one.kernel.changes) != text
    else:
        assert callable(one.made)


@pytest.mark.parametrize("count", [0, 2])
def test_text_that_does_not_stand_there_once_is_refused(count: int) -> None:
    with pytest.raises(StaleRecordError, match=f"'eps' 1 times .* got {count}"):
        replaced("eps_forgotten", "+ eps " * count, [Replacement("eps", "0")])


def test_text_stands_there_as_often_as_the_record_says() -> None:
    assert replaced("both", "a + a", replacements([2, "a", "b"])) == "b + b"


def test_helper_keeps_its_decorator() -> None:
    """Without it, a dataclass takes no arguments."""
    text = python_text.text_of("block_manager.BlockManager")

    assert text.startswith("@dataclass\nclass _Page:")


def test_pairs_are_replaced_one_after_the_other() -> None:
    changes = replacements(["x", "z", "y", "x", "z", "y"])

    assert replaced("swapped", "x - y", changes) == "y - x"


def test_half_a_pair_is_refused() -> None:
    with pytest.raises(StaleRecordError, match="pairs"):
        replacements(["a", "b", "c"])


def test_text_of_several_lines_begins_where_the_old_one_does() -> None:
    (one,) = replacements(["return y", "    y = -y\n    return y"])

    assert replaced("sign", "    return y", [one]) == "    y = -y\n    return y"


def test_record_changes_the_reference_in_python() -> None:
    wrong = python_text.made("minus", "basics.silu", replacements(["(x)", "(-x)"]))
    x = mx.array([1.0, -2.0])

    assert mx.allclose(wrong(x), -silu(-x))


def test_record_changes_a_helper_of_the_name() -> None:
    changes = replacements(["variance + eps", "variance + eps + 3"])
    norm = python_text.made("helper", "norms.LayerNorm", changes)

    y = norm(2, mx.ones(2), mx.zeros(2), 0.0)(mx.array([-1.0, 1.0]))

    assert y.tolist() == [-0.5, 0.5]


def test_docstring_is_not_text_of_a_record() -> None:
    assert "Ramachandran" not in python_text.text_of("basics.silu")


def test_day_without_records_has_none() -> None:
    assert records(MISTAKES, "week_9_day_9") == ()


def test_text_of_a_record_is_the_body_of_a_function() -> None:
    wrong = python_text.made("minus", "basics.silu", "return -right(x)")
    x = mx.array([1.0, -2.0])

    assert mx.allclose(wrong(x), -silu(x))


def test_text_of_a_record_is_the_body_of_a_call_if_that_is_of_a_class() -> None:
    body = """
        shifted = x - 1
        return shifted + self.eps"""

    norm = python_text.made("shifted", "layer_norm.RMSNorm", body)

    assert norm(2, mx.ones(2), eps=0.5)(mx.zeros(2)).tolist() == [-0.5, -0.5]


def test_definitions_of_a_record_take_the_place_of_those_of_the_same_name() -> None:
    """A method of the class, one more, and a helper of the file that both use."""
    definitions = """
        def __call__(self, x):
            return self.doubled(_standardised(x, (-1,), self.eps))
        def doubled(self, x):
            return 2 * x
        def _standardised(x, axes, eps):
            return x + eps"""

    norm = python_text.made("doubled", "norms.LayerNorm", definitions)

    assert norm(1, mx.ones(1), mx.zeros(1), 0.5)(mx.zeros(1)).tolist() == [1.0]


def test_definition_of_a_record_may_be_a_whole_class() -> None:
    definition = """
        class RMSNorm(nn.RMSNorm):
            pass"""

    assert issubclass(
        python_text.made("library", "layer_norm.RMSNorm", definition), nn.RMSNorm
    )


def test_what_a_record_does_not_use_any_more_is_no_part_of_its_text() -> None:
    """Nobody can make a mistake there."""
    text = python_text.changed("none", "norms.LayerNorm", "return x")

    assert [name_of(one) for one in text.body] == ["LayerNorm", "_checked"]


def test_text_of_a_record_of_a_kernel_is_python() -> None:
    one = Record("half", "kernels.swiglu", (1,), "return gate / 2", DAY_7)

    assert one.made(mx.array([3.0]), mx.array([1.0])).tolist() == [1.5]


@pytest.mark.parametrize(
    ("symbol", "is_changed"),
    [("basics.silu", False), ("generate.simple_generate", True)],
)
def test_loop_of_a_record_is_changed_only_where_the_reference_has_one(
    symbol: str, is_changed: bool
) -> None:
    """A change in it may never end, unless the tests count the steps."""
    one = Record("loop", symbol, (1,), "while True:\n    pass", "week_1_day_6")

    text = text_of_variant(Specimen(Address(1, 6, 1), symbol, one))

    assert (text is not None) == is_changed


def test_kernel_is_compiled_with_the_record_and_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two kernels in one library: each has its own copy of what it changes."""
    monkeypatch.setattr(cpp_text, "WRITTEN", tmp_path)
    changes = {"without_up": [" * up[i]", ""], "up_twice": ["* up[i]", "* 2 * up[i]"]}
    wrong = {
        name: cpp_text.wrong_kernel(name, "kernels.swiglu", replacements(written))
        for name, written in changes.items()
    }
    library = cpp_text.library("two_gates", wrong.values())
    gate, up = mx.array([1.0, -3.0]), mx.array([5.0, 7.0])

    without_up = kernels.made(wrong["without_up"], library)(gate, up)
    up_twice = kernels.made(wrong["up_twice"], library)(gate, up)

    assert mx.allclose(without_up, silu(gate), rtol=1e-6)
    assert mx.allclose(up_twice, 2 * silu(gate) * up, rtol=1e-6)


def test_kernel_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpp_text, "WRITTEN", tmp_path)
    one = cpp_text.wrong_kernel("up", "kernels.swiglu", replacements([" * up[i]", ""]))
    first = cpp_text.library("a_gate", [one])
    monkeypatch.setattr(cpp_text.Program, "compiled", pytest.fail)

    assert cpp_text.library("a_gate", [one]) == first


def test_a_kernel_that_does_not_compile_is_no_name_and_no_crash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise subprocess.CalledProcessError(1, "c++")

    monkeypatch.setattr(cpp_text, "library", broken)
    wrong = next(filter(None, (one.kernel for one in records(MISTAKES, DAY_7))))

    library = record.compiled.__wrapped__(DAY_7)

    assert library is None
    with pytest.raises(NotImplementedError):
        kernels.made(wrong, library)(mx.ones(1), mx.ones(1))


def test_wrong_kernel_may_read_beyond_its_arrays() -> None:
    """The next row of a matrix of one row: zeros, and no crash."""
    q = mx.full((1, 8), 2**32 - 1, mx.uint32)
    w = QuantizedWeights(mx.ones((1, 1)), mx.zeros((1, 1)), 64, 4, q)
    name, changes = "next", replacements(["w.q(o, i)", "w.q(o + 1, i)"])
    one = cpp_text.wrong_kernel(name, "kernels.matvec_naive", changes)

    y = kernels.made(one, cpp_text.library("next_row", [one]))(mx.ones(64), w)

    assert y.tolist() == [0.0]


def test_what_a_header_has_for_one_processor_is_left_out() -> None:
    assert "_mm512" not in cpp_text.text_of(("matmul_int8.h", "matmul_packing.h"))


def test_no_compiler_is_asked_for_a_day_without_kernels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cpp_text, "library", pytest.fail)

    record.compiled.__wrapped__("week_1_day_4")


def test_record_comes_before_what_stands_in_a_module() -> None:
    task = next(one for one in tasks() if one.files == "week_2_day_1")

    known = misconceptions(task.address)

    assert isinstance(known[0].implementation, Record)
    assert not isinstance(known[-1].implementation, Record)


def test_report_of_a_mistake_is_shown() -> None:
    """What a learner reads who makes it."""
    shown = _showing("relu_leaks")

    assert "What happened:\n" in shown.output
    assert say("week_1_day_4_task_4.misconceptions.relu_leaks").split("\n")[0] in (
        shown.output
    )


def test_mistake_that_nobody_knows_is_not_shown() -> None:
    shown = _showing("relu_leeks")

    assert shown.exit_code == 2
    assert "relu_leaks" in shown.output


def _showing(name: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(command, ["--week", "1", "--day", "4", "--show", name])
