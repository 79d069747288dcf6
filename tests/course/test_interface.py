"""A public name with other parameters is reported; one with renamed ones is not."""

import importlib
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tiny_llm_course.grading.diagnosis.interface import difference
from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.scenarios.batched import Batched
from tiny_llm_course.grading.scenarios.caching import InPieces
from tiny_llm_course.grading.scenarios.fakes import ByteTokenizer
from tiny_llm_course.grading.scenarios.pieces import InSteps
from tiny_llm_course.grading.scenarios.served import Served
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import load_solution
from tiny_llm_course.specimens import Specimen, misconceptions
from tiny_llm_course.syllabus import Task, tasks

X = mx.zeros((1, 2, 4))

BLOCK = """
class Qwen2TransformerBlock:
    def __init__({init}):
        pass

    def {call}:
        return x
"""
INIT = (
    "self, num_attention_heads, num_kv_heads, hidden_size, intermediate_size, "
    "rms_norm_eps, wq, wk, wv, wo, bq, bk, bv, w_gate, w_up, w_down, "
    "w_input_layernorm, w_post_attention_layernorm, max_seq_len=32768, theta=1000000"
)


def told(folder: Path, code: str, call: Call) -> str:
    """Return the message about a call, for a solution with some code."""
    folder = folder / "theirs"
    folder.mkdir()
    file = call.symbol.partition(".")[0]
    (folder / f"{file}.py").write_text(textwrap.dedent(code), encoding="utf-8")
    return difference(call, load_solution(str(folder)))


def block(*args: Any, **kwargs: Any) -> Call:  # noqa: ANN401
    """Return a call of the block of Week 1."""
    build = tuple(range(17))
    return Call("qwen2_week1.Qwen2TransformerBlock", args, kwargs, build)


@pytest.mark.parametrize(
    ("own", "call"),
    [
        ("(x, offset, mask)", block(X)),
        ("(x, offset, mask)", block(X, None)),
        ("(x, offset=0, mask=None)", block(X, None)),
        ("(x, offset)", block(X, None)),
        ("(x)", block(X, mask="causal")),
        ("(x, cache, mask)", block(X, mask="causal")),
    ],
)
def test_an_older_form_is_told_by_its_names(
    tmp_path: Path, own: str, call: Call
) -> None:
    code = BLOCK.format(init=INIT, call=f"__call__{own.replace('(', '(self, ')}")

    assert told(tmp_path, code, call) == (
        f"`Qwen2TransformerBlock.__call__` takes {own}, and is called as "
        "(x, mask=None)."
    )


@pytest.mark.parametrize(
    ("own", "call"),
    [
        ("(self, x, mask=None)", block(X)),
        ("(self, hidden, attention_mask=None)", block(X, None)),
        ("(self, h, offset=0)", block(X)),
        ("(self, x, mask=None, offset=0)", block(X, mask="causal")),
        ("(self, *args)", block(X, None)),
    ],
)
def test_what_takes_the_arguments_differs_in_nothing(
    tmp_path: Path, own: str, call: Call
) -> None:
    code = BLOCK.format(init=INIT, call=f"__call__{own}")

    assert told(tmp_path, code, call) == ""


@pytest.mark.parametrize(
    ("init", "said"),
    [
        (
            INIT.replace("wq, wk", "q_norm, k_norm, wq, wk"),
            "Argument 6 of `Qwen2TransformerBlock.__init__` is q_norm, and wq is "
            "passed in its place.",
        ),
        (
            INIT.replace("wq, wk", "wk, wq"),
            "Argument 6 of `Qwen2TransformerBlock.__init__` is wk, and wq is passed "
            "in its place.",
        ),
    ],
    ids=["as in Qwen3", "exchanged"],
)
def test_of_many_arguments_the_first_that_differs_is_told(
    tmp_path: Path, init: str, said: str
) -> None:
    code = BLOCK.format(init=init, call="__call__(self, x, mask=None)")

    assert told(tmp_path, code, block(X)) == said


@pytest.mark.parametrize("name", ["forward", "call"])
def test_a_method_of_another_name_is_told(tmp_path: Path, name: str) -> None:
    code = BLOCK.format(init=INIT, call=f"{name}(self, x, mask=None)")

    assert told(tmp_path, code, block(X)) == (
        f"`Qwen2TransformerBlock` has no `__call__`; did you mean {name!r}?"
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def softmax(x, axis): ...", ""),
        ("def softmax(scores, axis): ...", ""),
        (
            "def softmax(axis, x): ...",
            "`softmax` takes (axis, x), and is called as (x, axis).",
        ),
        ("def softmax(x): ...", "`softmax` takes (x), and is called as (x, axis)."),
        (
            "def softmax(x, dim): ...",
            "`softmax` takes (x, dim), and is called as (x, axis).",
        ),
        ("softmax = max", ""),
        ("", ""),
    ],
)
def test_a_function_is_told_by_its_names(tmp_path: Path, code: str, said: str) -> None:
    call = Call("basics.softmax", (X,), {"axis": -1})

    assert told(tmp_path, code.replace("...", "return 0"), call) == said


KNOWN_TO_DIFFER = {
    "parts_in_the_order_of_quantize",
    # These have no defaults, but the tests of their task pass them.
    *("halves_though_traditional", "neighbours_joined_as_halves"),
}


@pytest.mark.parametrize("task", list(tasks()), ids=lambda task: str(task.address))
def test_known_mistakes_keep_their_names(task: Task) -> None:
    """A mistake has our parameters, unless they are the mistake."""
    differing = [
        one.name
        for one in misconceptions(task.address)
        if difference(required(one), one.as_solution())
    ]

    assert set(differing) <= KNOWN_TO_DIFFER


def required(one: Specimen) -> Call:
    """Return a call of a public name with all required arguments of ours."""
    file, name = one.symbol.split(".")
    ours = getattr(importlib.import_module(f"tiny_llm_ref.{file}"), name)
    if not inspect.isclass(ours):
        return Call(one.symbol, counted(ours))
    called = counted(ours.__call__)[1:] if "__call__" in vars(ours) else ()
    return Call(one.symbol, called, build=counted(ours))


def counted(function: Callable[..., Any]) -> tuple[int, ...]:
    """Return a number for each required argument."""
    parameters = inspect.signature(function).parameters.values()
    needed = [one for one in parameters if one.default is inspect.Parameter.empty]
    return tuple(range(len(needed)))


def test_a_factory_is_told_by_its_names(tmp_path: Path) -> None:
    call = Call("sampler.make_sampler", (X,), build=(1, 1, 0))

    assert told(tmp_path, "def make_sampler(temp, top_k, top_p): return 0", call) == (
        "`make_sampler` takes (temp, top_k, top_p), and is called as "
        "(temp, top_p, top_k)."
    )


def test_a_call_in_pieces_is_told_by_what_ours_has_to_be_given(tmp_path: Path) -> None:
    code = """
        class Qwen2MultiHeadAttention:
            def __call__(self, x, mask):
                return x
    """
    call = InPieces("qwen2_week2.Qwen2MultiHeadAttention", (X,), build=(), pieces=(2,))

    assert told(tmp_path, code, call) == (
        "`Qwen2MultiHeadAttention.__call__` takes (x, mask), and is called as "
        "(x, offset, cache, mask=None)."
    )


@pytest.mark.parametrize(
    "call",
    [
        Batched("batch.batch_generate", (["Once"],), {"batch_size": 1}),
        InSteps("qwen2_week3.run_pieces", ("model",), texts=((1, 2),)),
    ],
    ids=str,
)
def test_a_function_that_a_scenario_gives_the_rest_differs_in_nothing(
    call: Call,
) -> None:
    assert difference(call, load_solution(REFERENCE.name)) == ""


def test_a_scenario_passes_what_a_function_has_to_be_given(tmp_path: Path) -> None:
    """What it passes stands in its `run`, so `args` is empty."""
    call = Served("server.create_app", (), drive=str, shown="GET /health")
    ours = "engine, limits, *, admission=None, metrics=None, model_name='tiny'"
    code = "def create_app({}):\n    return None\n"

    assert told(tmp_path, code.format(ours), call) == ""
    assert told(tmp_path / "theirs", code.format("engine"), call) == (
        "`create_app` takes (engine), and is called as (engine, limits, "
        "admission=None, metrics=None, model_name='tiny')."
    )


def test_what_the_tokenizer_has_not_is_told_with_what_it_has() -> None:
    with pytest.raises(AttributeError, match="has no _tokenizer; it has bos_token, "):
        ByteTokenizer()._tokenizer  # noqa: B018


def test_arguments_of_a_constructor_that_are_passed_by_name_are_passed() -> None:
    named = {"dim": 4, "weight": mx.ones(4)}
    call = Call("layer_norm.RMSNorm", (mx.ones(4),), build=(), named=named)

    assert difference(call, load_solution("tiny_llm_ref")) == ""
