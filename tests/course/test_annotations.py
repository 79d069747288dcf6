"""The shapes in the reference's annotations are checked at run time."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import mlx.core as mx
import pytest
from jaxtyping import TypeCheckError, install_import_hook

from tiny_llm_course.grading.engine import shapes
from tiny_llm_course.places import REFERENCE, ROOT
from tiny_llm_course.solution import Solution

HOOK = f"{shapes.__name__}.checked"


@pytest.fixture(scope="module")
def checked() -> Iterator[Solution]:
    """Return the reference, with its annotations checked at every call."""
    with install_import_hook("checked_reference", HOOK):
        yield Solution(REFERENCE, "checked_reference")


def zeros(*shape: int) -> mx.array:
    return mx.zeros(shape)


CALLS: dict[str, Callable[[Callable[..., object]], object]] = {
    "basics.softmax": lambda softmax: softmax(zeros(2, 3), axis="last"),
    "basics.linear": lambda linear: linear(zeros(2, 3), zeros(3, 4)),
    "basics.silu": lambda silu: silu(3.0),
    "attention.scaled_dot_product_attention_simple": lambda attend: attend(
        zeros(2, 3, 4), zeros(2, 5, 4), zeros(2, 6, 4)
    ),
    "attention.scaled_dot_product_attention_grouped": lambda attend: attend(
        zeros(4, 3, 8), zeros(2, 5, 8), zeros(2, 5, 8), mask="Causal"
    ),
    "attention.SimpleMultiHeadAttention": lambda build: build(
        8, 2, *[zeros(8, 8)] * 3, zeros(8)
    ),
    "positional_encoding.RoPE": lambda build: build(8, 16)(zeros(2, 3, 8)),
    "positional_encoding.sinusoidal_positions": lambda wave: wave("4", 8),
    "layer_norm.RMSNorm": lambda build: build(8, zeros(1, 8)),
    "embedding.Embedding": lambda build: build(4, 8, zeros(4, 8))(zeros(2)),
    "qwen2_week1.Qwen2MLP": lambda build: build(
        4, 6, zeros(6, 4), zeros(6, 4), zeros(4, 6)
    )(zeros(4)),
    "transformer_block.pre_norm_block": lambda block: block(
        zeros(8), *[lambda x: x] * 4
    ),
    "transformer_block.post_norm_block": lambda block: block(
        zeros(8), *[lambda x: x] * 4
    ),
    "activations.relu": lambda relu: relu(3.0),
    "activations.gelu": lambda gelu: gelu(3.0),
    "activations.gelu_tanh": lambda gelu_tanh: gelu_tanh(3.0),
    "activations.swish": lambda swish: swish(zeros(3), "steep"),
    "feed_forward.FeedForward": lambda build: build(
        zeros(6, 4), zeros(4), zeros(4, 6), zeros(4), abs
    ),
    "feed_forward.GatedFeedForward": lambda build: build(
        zeros(6, 4), zeros(6, 4), zeros(6, 4), abs
    ),
    "feed_forward.gated_hidden_dim": lambda width: width(64.0),
    "generate.simple_generate": lambda generate: generate(None, None, "x", None),
    "generate.simple_generate_with_kv_cache": lambda generate: generate(None, None, 3),
    "kv_cache.TinyKvFullCache": lambda build: build().update_and_fetch(
        zeros(1, 2, 3, 4), zeros(1, 2, 5, 4)
    ),
    "qwen2_week2.Qwen2MLP": lambda build: build(
        4, 6, zeros(6, 4), zeros(6, 4), zeros(4, 6)
    )(zeros(4)),
    "sampler.make_sampler": lambda make: make(0, None, None)(zeros(5)),
}
"""For each name, a call with one argument of a wrong rank, length or type."""


@pytest.mark.parametrize("symbol", CALLS)
def test_a_wrong_argument_is_noticed(checked: Solution, symbol: str) -> None:
    with pytest.raises(TypeCheckError):
        CALLS[symbol](checked.get(symbol))


@pytest.mark.parametrize(
    ("annotation", "wrong"),
    [
        ('x: Float[mx.array, "*N D"]', 'x: Float[mx.array, "N D"]'),
        ('-> Float[mx.array, "*N D"]', '-> Float[mx.array, "*N 1"]'),
        ('-> Float[mx.array, "*N D"]', '-> Integer[mx.array, "*N D"]'),
        ('weight: Float[mx.array, " D"]', 'weight: Float[mx.array, ""]'),
        ("eps: float", "eps: str"),
    ],
)
def test_a_wrong_annotation_is_noticed(
    tmp_path: Path, annotation: str, wrong: str
) -> None:
    """The call is right, and the shape in the signature is not."""
    folder = shutil.copytree(REFERENCE, tmp_path / "copy")
    file = folder / "layer_norm.py"
    text = file.read_text(encoding="utf-8")
    assert annotation in text
    text = text.replace("import Float", "import Float, Integer")
    file.write_text(text.replace(annotation, wrong), encoding="utf-8")

    with install_import_hook("wrongly_annotated", HOOK):
        norm = Solution(folder, "wrongly_annotated").get("layer_norm.RMSNorm")

    with pytest.raises(TypeCheckError):
        norm(4, mx.ones(4), 1e-6)(mx.ones((2, 3, 4)))


def test_an_int_is_a_float_to_the_annotations(checked: Solution) -> None:
    """Type checkers accept it too: RoPE is called with a base of 10000."""
    rope = checked.get("positional_encoding.RoPE")(8, 16, 10000, False)

    assert rope(zeros(1, 3, 2, 8)).shape == (1, 3, 2, 8)


PROBE = """
import mlx.core as mx


def test_silu_of_an_integer(solution):
    assert solution.get("basics.silu")(mx.array(2)).dtype == mx.float32
"""


@pytest.mark.parametrize("is_checked", [True, False])
def test_only_those_of_the_reference_are_run(
    tmp_path: Path, *, is_checked: bool
) -> None:
    """For a learner, a report about the numbers is more helpful."""
    solution = "ref" if is_checked else shutil.copytree(REFERENCE, tmp_path / "mine")
    (tmp_path / "test_probe.py").write_text(PROBE)

    options = ["--rootdir", ROOT, "-c", ROOT / "pyproject.toml", "--solution", solution]
    probe = subprocess.run(
        [sys.executable, "-m", "pytest", *options, tmp_path / "test_probe.py"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert probe.returncode == is_checked
    assert ("TypeCheckError" in probe.stdout) == is_checked
