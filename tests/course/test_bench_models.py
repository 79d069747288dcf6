"""The models that `pdm run bench` times: where they come from, and what is missing."""

import importlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_lab.bench import models, ours
from tiny_llm_lab.bench.engines import MissingError
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, load_mlx, random_model
from tiny_llm_lab.bench.random_model import folder_of
from tiny_llm_ref.kv_cache import TinyKvFullCache
from tiny_llm_ref.qwen2_week2 import Qwen2ModelWeek2

SMALL: dict[str, Any] = {
    "model_type": "qwen2",
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 320,
    "max_position_embeddings": 64,
    "rope_theta": 1000000.0,
    "rms_norm_eps": 1e-06,
    "tie_word_embeddings": True,
}


@dataclass
class Written:
    """A solution that has these names."""

    names: dict[str, Any]

    def get(self, name: str) -> Any:  # noqa: ANN401
        return self.names[name]


def logits_of(network: Any) -> np.ndarray:  # noqa: ANN401 - mlx_lm has no types
    return np.array(network(mx.array([[3, 1, 4]]))[0].astype(mx.float32))


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Replace the random model of a real size by a small one."""
    monkeypatch.setattr(models, "config_of", lambda _: SMALL)
    monkeypatch.setattr(models, "CACHE", tmp_path)
    return "small, random"


def test_the_random_model_is_written_once(tmp_path: Path) -> None:
    folder = random_model(SMALL, tmp_path)
    written = (folder / "model.safetensors").stat().st_mtime_ns

    again = random_model(SMALL, tmp_path)

    assert again == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == written


def test_the_random_model_is_the_same_everywhere(tmp_path: Path) -> None:
    first, second = (random_model(SMALL, tmp_path / name) for name in "ab")

    name = "model.safetensors"
    assert (first / name).read_bytes() == (second / name).read_bytes()


def test_a_model_that_was_half_written_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "qwen2-128x2-4bit.new").mkdir()

    folder = random_model(SMALL, tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_a_random_model_for_peers_has_the_sizes_that_are_asked_for(
    tmp_path: Path,
) -> None:
    folder = folder_of(SMALL, tmp_path)

    said = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert {name: said[name] for name in SMALL} == SMALL
    assert said["dtype"] == "float16"
    assert folder_of(SMALL, tmp_path) == folder


@pytest.mark.parametrize(
    ("peer", "library", "option"),
    [
        ("peer_llama_cpp", "llama_cpp", "q4_0"),
        ("peer_onnxruntime", "onnxruntime_genai", "int4"),
        ("peer_openvino", "openvino_genai", "int4-bfloat16"),
    ],
)
def test_a_peer_that_is_not_installed_says_what_brings_it(
    peer: str, library: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    build = importlib.import_module(f"tiny_llm_lab.bench.{peer}").build

    with pytest.raises(MissingError, match=r"`pdm install -L pdm\..*\.lock`"):
        build(models.QWEN2_0_5B, "ref", option)


def test_dense_weights_are_what_the_bits_stand_for(small: str) -> None:
    packed, dense = load_mlx(small, dtype="float32"), load_mlx(small, bits=None)

    np.testing.assert_allclose(logits_of(dense), logits_of(packed), atol=1e-4)


@pytest.mark.parametrize("model", [EMBEDDED_MODEL, "small, random"])
def test_a_model_has_the_dtype_that_is_asked_for(
    model: str, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    del small
    monkeypatch.undo() if model == EMBEDDED_MODEL else None

    network = load_mlx(model, dtype="bfloat16")

    assert network.model.norm.weight.dtype == mx.bfloat16
    assert network.model.layers[0].mlp.up_proj.scales.dtype == mx.bfloat16


@pytest.mark.parametrize("variant", ["week1", "cache", "quantised"])
def test_a_variant_reads_and_writes(variant: str) -> None:
    engine = ours.build(EMBEDDED_MODEL, "ref", variant)

    engine.prefill(5)()
    step = engine.generate(5)
    step()
    step()

    assert engine.stored.bits == (4 if variant == "quantised" else None)


def test_a_prompt_in_two_pieces_fills_the_cache() -> None:
    """The logits of the tokens before the last one are never computed."""
    engine = ours.build(EMBEDDED_MODEL, "ref", "cache")
    assert isinstance(engine, ours.WithCacheEngine)
    ids = [5, 6, 7, 8]

    at_once, in_pieces = engine.logits([ids]), engine.logits([ids[:3], ids[3:]])

    np.testing.assert_allclose(in_pieces, at_once, atol=1e-4)


class ThatScores:
    """A stand-in for Week 3's model, which notes what it is asked for."""

    asked: list[tuple[int, int | None]]

    def __init__(self, network: Any, enable_flash_attn: bool) -> None:  # noqa: ANN401
        assert enable_flash_attn
        self.parts = Qwen2ModelWeek2(network)
        self.num_hidden_layers = self.parts.num_hidden_layers
        self.asked = []

    def __call__(
        self,
        inputs: mx.array,
        offset: int,
        cache: list[Any],
        logits_to_keep: int | None = None,
    ) -> mx.array:
        self.asked.append((inputs.shape[1], logits_to_keep))
        return self.parts(inputs, offset, cache)


def test_the_model_of_week_3_reads_a_prompt_at_once_and_scores_its_end() -> None:
    written = {
        "qwen2_week3.Qwen2ModelWeek3": ThatScores,
        "kv_cache.TinyKvFullCache": TinyKvFullCache,
    }
    engine = ours.Week3Engine(Written(written), EMBEDDED_MODEL)

    engine.prefill(5)()

    assert engine.model.asked[1:] == [(5, 1)]


def test_packed_weights_count_as_they_were_loaded() -> None:
    engine = ours.build(EMBEDDED_MODEL, "ref", "quantised")

    network = load_mlx(EMBEDDED_MODEL)
    num_weights = sum(
        one.size * 8
        for name, one in _flat(network)
        if one.dtype == mx.uint32 and name.endswith("weight")
    )
    # 4 bits, and in float32 a scale and a bias for 64 of them; biases and gains.
    least = num_weights * 5 / 8
    assert engine.stored.weight_bytes is not None
    assert least < engine.stored.weight_bytes < 1.02 * least


@pytest.mark.parametrize(
    "variant", ["week1", "cache", "kernels", "everything", "week3"]
)
def test_a_variant_that_is_not_there_is_missing(variant: str, tmp_path: Path) -> None:
    """A learner on Day 2 has no kernels, which must not give a stack trace."""
    (tmp_path / "basics.py").touch()

    with pytest.raises(MissingError):
        ours.build(EMBEDDED_MODEL, str(tmp_path), variant)


def _flat(network: Any) -> Any:  # noqa: ANN401 - mlx has no types
    from mlx.utils import tree_flatten

    return tree_flatten(network.parameters())
