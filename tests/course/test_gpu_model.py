"""The model on kernels in Metal is Qwen2, and runs where there is no GPU for them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from click.testing import CliRunner
from mlx import nn

from tiny_llm_course.commands.main import command
from tiny_llm_course.grading.judgement.closeness import Truth, is_close
from tiny_llm_course.grading.scenarios.architecture import (
    Architecture,
    dequantised,
    embedded,
    mlx_model,
)
from tiny_llm_course.grading.scenarios.predicting import story
from tiny_llm_course.inference.loaders import BITS, GROUP_SIZE, is_simulated, simulate
from tiny_llm_course.oracle.cached import qwen2
from tiny_llm_ref import metal_model, qwen2_week2_gpu
from tiny_llm_ref.kv_cache import TinyKvFullCache

KERNELS = Path(__file__).parents[1] / "metal" / "kernels"


@pytest.fixture(autouse=True)
def usual_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what the loader does to MLX, which a process needs once only."""
    monkeypatch.setattr(mx.fast, "metal_kernel", mx.fast.metal_kernel)


@pytest.fixture(scope="module")
def network() -> tuple[Architecture, Any]:
    """Load the embedded model, and pack it as the loader does."""
    sizes, weights = embedded()
    model = mlx_model(sizes, weights)
    nn.quantize(model, GROUP_SIZE, BITS)
    return sizes, model


@pytest.fixture
def on_cpu() -> Iterator[None]:
    usual = mx.default_device()
    mx.set_default_device(mx.cpu)
    yield
    mx.set_default_device(usual)


def logits(model: Any, pieces: tuple[int, ...]) -> mx.array:  # noqa: ANN401
    """Show the model of the GPU's track a story in pieces."""
    network = qwen2_week2_gpu.Qwen2ModelWeek2Gpu(model)
    caches = [TinyKvFullCache() for _ in range(network.num_hidden_layers)]
    ids, seen, found = story(sum(pieces)), 0, list[mx.array]()
    for length in pieces:
        found.append(network(ids[:, seen : seen + length], seen, caches))
        seen += length
    return mx.concatenate(found, axis=1)


def truth(network: tuple[Architecture, Any], pieces: tuple[int, ...]) -> Truth:
    sizes, model = network
    return qwen2.model_in_pieces(story(sum(pieces)), dequantised(model), sizes, pieces)


@pytest.mark.usefixtures("on_cpu")
def test_a_token_through_the_simulator_is_right(
    network: tuple[Architecture, Any],
) -> None:
    simulate()

    assert is_close(logits(network[1], (1,)), truth(network, (1,)))


@pytest.mark.usefixtures("on_cpu")
def test_a_text_in_pieces_is_right(network: tuple[Architecture, Any]) -> None:
    """A prompt, one behind a cache, and a token."""
    simulate()

    assert is_close(logits(network[1], (4, 2, 1)), truth(network, (4, 2, 1)))


@pytest.mark.usefixtures("on_cpu")
@pytest.mark.parametrize("is_right", [True, False])
def test_each_step_is_that_of_the_solution(
    network: tuple[Architecture, Any],
    monkeypatch: pytest.MonkeyPatch,
    is_right: bool,
) -> None:
    """Here a kernel of silu times up, and one that forgets to multiply."""
    source = (KERNELS / "silu_times_up.metal").read_text(encoding="utf-8")
    assert source.count("float(up[i])") == 1
    if not is_right:
        source = source.replace("float(up[i])", "1.0f")
    calls = list[tuple[int, ...]]()

    def swiglu(gate: mx.array, up: mx.array) -> mx.array:
        calls.append(gate.shape)
        names = ["gate", "up", "size"]
        kernel: Any = mx.fast.metal_kernel("silu_times_up", names, ["out"], source)
        (y,) = kernel(
            inputs=[gate.flatten(), up.flatten(), gate.size],
            output_shapes=[gate.shape],
            output_dtypes=[gate.dtype],
            grid=(gate.size, 1, 1),
            threadgroup=(64, 1, 1),
            template=[("T", gate.dtype)],
        )
        return y

    monkeypatch.setattr(metal_model, "swiglu", swiglu)
    simulate()

    assert is_close(logits(network[1], (1,)), truth(network, (1,))) == is_right
    assert calls == [(1, 1, 448)] * 5


def test_the_loader_talks_without_a_gpu_and_says_how_slowly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mx.metal, "is_available", lambda: False)
    arguments = ["--device", "cpu", "--loader", "week2-gpu", "--max-tokens", "1"]

    said = CliRunner().invoke(command, [*arguments, "--temp", "0", "--prompt", "Once"])

    assert said.exit_code == 0, said.stderr
    assert said.stderr.startswith("No GPU runs Metal here, so a simulator runs ")
    assert "This is --loader week2-gpu, with kernels in Metal" in said.stderr


@pytest.mark.parametrize("has_gpu", [True, False])
def test_with_a_gpu_nothing_is_simulated(
    monkeypatch: pytest.MonkeyPatch, has_gpu: bool
) -> None:
    monkeypatch.setattr(mx.metal, "is_available", lambda: has_gpu)

    assert is_simulated("week2-gpu") is not has_gpu
    assert not is_simulated("kernels")
