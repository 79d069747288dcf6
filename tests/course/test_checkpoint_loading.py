"""A checkpoint loads with the right numbers, or gives an error of one line."""

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import mlx.core as mx
import pytest
from huggingface_hub import constants
from huggingface_hub.utils import filter_repo_objects

from tiny_llm_course.checkpoint import EMBEDDED, CheckpointError, load, resolve
from tiny_llm_course.checkpoint.names import DOWNLOADED
from tiny_llm_course.solution import load_solution

Change = Callable[[Path], None]

TOKENS = mx.array([[5, 9, 42, 7]])


@pytest.fixture
def folder(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny checkpoint, to be changed by one test."""
    return Path(shutil.copytree(tiny_checkpoint, tmp_path / "copy"))


def edit(file: str, **changes: Any) -> Change:  # noqa: ANN401
    """Return a change of the entries of a JSON file. None removes an entry."""

    def change(folder: Path) -> None:
        path = folder / file
        content = json.loads(path.read_text()) | changes
        kept = {key: value for key, value in content.items() if value is not None}
        path.write_text(json.dumps(kept))

    return change


def write(file: str, text: str) -> Change:
    return lambda folder: (folder / file).write_text(text) and None


def remove(file: str) -> Change:
    return lambda folder: (folder / file).unlink()


def change_weights(change: Callable[[dict[str, mx.array]], object]) -> Change:
    """Return a change of the stored weights."""

    def rewrite(folder: Path) -> None:
        path = str(folder / "model.safetensors")
        weights = dict(mx.load(path))
        mx.eval(weights)
        change(weights)
        mx.save_safetensors(path, weights)

    return rewrite


def logits(folder: Path) -> mx.array:
    """Compute logits with the model of `mlx_lm`."""
    return load(str(folder)).model(TOKENS)


def test_weights_are_float32_where_mlx_computes_on_the_cpu(
    tiny_checkpoint: Path,
) -> None:
    """MLX emulates bfloat16 there; a GPU computes in the stored dtype."""
    weight = load(str(tiny_checkpoint)).model.model.norm.weight

    on_cpu = mx.default_device() == mx.cpu
    assert weight.dtype == (mx.float32 if on_cpu else mx.bfloat16)


@pytest.mark.parametrize("bits", [4, 8])
def test_a_solution_computes_with_quantised_weights(
    tiny_checkpoint: Path, solution: Path, tmp_path: Path, bits: int
) -> None:
    """Both the conversion and the expected logits are mlx_lm's."""
    from mlx_lm import convert

    path = str(tmp_path / "converted")
    convert(str(tiny_checkpoint), path, quantize=True, q_group_size=32, q_bits=bits)
    model_class = load_solution(str(solution)).get("qwen2_week1.Qwen2ModelWeek1")

    mlx_model = load(path).model

    assert mlx_model.model.layers[0].self_attn.q_proj.bits == bits
    assert mx.allclose(model_class(mlx_model)(TOKENS), mlx_model(TOKENS), atol=1e-4)


def test_weights_in_several_files_load(folder: Path) -> None:
    """Larger checkpoints come in parts, which mlx_lm and the hub number."""
    expected = logits(folder)
    weights = dict(mx.load(str(folder / "model.safetensors")))
    mx.eval(weights)
    names = sorted(weights)
    for part, chosen in enumerate([names[::2], names[1::2]], start=1):
        path = folder / f"model-{part:05}-of-00002.safetensors"
        mx.save_safetensors(str(path), {name: weights[name] for name in chosen})
    (folder / "model.safetensors").unlink()

    assert mx.array_equal(logits(folder), expected)


def test_the_base_of_the_rotations_is_found_where_transformers_5_writes_it(
    folder: Path,
) -> None:
    """mlx_lm would silently use its default, a million."""
    expected = logits(folder)
    rotations = {"rope_theta": 10000.0, "rope_type": "default"}
    edit("config.json", rope_theta=None, rope_parameters=rotations)(folder)

    assert mx.array_equal(logits(folder), expected)


def test_a_head_of_its_own_is_used_when_the_settings_do_not_say(folder: Path) -> None:
    """mlx_lm would take the embedding, transformers the head."""
    edit("config.json", tie_word_embeddings=None)(folder)
    change_weights(
        lambda weights: weights.update(
            {"lm_head.weight": mx.zeros_like(weights["model.embed_tokens.weight"])}
        )
    )(folder)

    assert not logits(folder).any()


def test_generation_ends_at_every_end_token_of_the_checkpoint(folder: Path) -> None:
    write("generation_config.json", '{"eos_token_id": [2, 0]}')(folder)

    assert load(str(folder)).tokenizer.eos_token_ids == {0, 2}


def test_sampling_is_what_the_makers_recommend(folder: Path) -> None:
    recommended = '{"do_sample": true, "temperature": 0.7, "top_p": 0.8, "top_k": 20}'
    write("generation_config.json", recommended)(folder)

    sampling = load(str(folder)).sampling
    assert (sampling.temp, sampling.top_p, sampling.top_k) == (0.7, 0.8, 20)


Q_PROJ = "model.layers.1.self_attn.q_proj"
BAD_CHECKPOINTS = {
    "no config": (remove("config.json"), "{folder}: no config.json"),
    "config is no JSON": (
        write("config.json", "hello"),
        "{folder}/config.json: expected JSON, got Expecting value: line 1 column 1 "
        "(char 0)",
    ),
    "config is no object": (
        write("config.json", "[1]"),
        "{folder}/config.json: expected a JSON object, got [1]",
    ),
    "another architecture": (
        edit("config.json", model_type="llama"),
        "{folder}/config.json: expected model_type to be 'qwen2', got 'llama'",
    ),
    "a count is missing": (
        edit("config.json", vocab_size=None),
        "{folder}/config.json: expected vocab_size to be a whole number from 1 to "
        "1048576, got None",
    ),
    "no base of the rotations": (
        edit("config.json", rope_theta=None),
        "{folder}/config.json: expected rope_theta to be a number from 1 to "
        "1000000000000, got None",
    ),
    "heads do not divide the hidden size": (
        edit("config.json", num_attention_heads=6),
        "{folder}/config.json: expected hidden_size to be a multiple of "
        "2 x num_attention_heads = 12, got 32",
    ),
    "key heads do not divide query heads": (
        edit("config.json", num_key_value_heads=3),
        "{folder}/config.json: expected num_attention_heads to be a multiple of "
        "num_key_value_heads = 3, got 4",
    ),
    "rotations are scaled": (
        edit("config.json", rope_scaling={"type": "yarn"}),
        "{folder}/config.json: expected rope_scaling to be None, "
        "got {{'type': 'yarn'}}",
    ),
    "quantised, but not by MLX": (
        edit("config.json", quantization_config={"quant_method": "gptq", "bits": 4}),
        "{folder}/config.json: expected quantization to be in the affine format of "
        "MLX, got {{'quant_method': 'gptq', 'bits': 4}}",
    ),
    "no weights": (
        remove("model.safetensors"),
        "{folder}: expected weights in model*.safetensors, got none",
    ),
    "a weight is missing": (
        change_weights(lambda weights: weights.pop(f"{Q_PROJ}.bias")),
        f"{{folder}}: {Q_PROJ}.bias: expected a weight of shape (32,), got none",
    ),
    "a weight of the wrong shape": (
        change_weights(lambda w: w.update({f"{Q_PROJ}.weight": mx.zeros((32, 31))})),
        f"{{folder}}: {Q_PROJ}.weight: expected shape (32, 32), got (32, 31)",
    ),
    "a weight of whole numbers": (
        change_weights(
            lambda w: w.update({f"{Q_PROJ}.bias": mx.zeros((32,), mx.uint8)})
        ),
        f"{{folder}}: {Q_PROJ}.bias: expected numbers like mlx.core.float32, "
        "got mlx.core.uint8",
    ),
    "a weight too many": (
        change_weights(lambda weights: weights.update({"extra": mx.zeros(1)})),
        "{folder}: expected the weights of a Qwen2, got another as well: 'extra'",
    ),
    "no tokenizer": (remove("tokenizer.json"), "{folder}: no tokenizer.json"),
    "a tokenizer of nonsense": (
        write("tokenizer.json", "{}"),
        "{folder}/tokenizer.json: expected a tokenizer, got KeyError('added_tokens')",
    ),
    "sampling of nonsense": (
        write("generation_config.json", '{"do_sample": true, "temperature": "hot"}'),
        "{folder}/generation_config.json: expected temperature to be a number from 0 "
        "to 100, got 'hot'",
    ),
    "a format that mlx_lm refuses": (
        write("hf_quant_config.json", '{"quant_method": "modelopt", "quant_algo": 8}'),
        "{folder}: mlx_lm: ValueError('Unsupported modelopt quant_algo: 8')",
    ),
    "no end token": (
        write("tokenizer_config.json", '{"eos_token": null}'),
        "{folder}/tokenizer_config.json: expected an eos_token, got none",
    ),
}


@pytest.mark.parametrize(
    ("change", "message"), BAD_CHECKPOINTS.values(), ids=BAD_CHECKPOINTS
)
def test_a_bad_checkpoint_is_told_in_one_line(
    folder: Path, change: Change, message: str
) -> None:
    change(folder)

    with pytest.raises(ValueError) as error:  # noqa: PT011 - the text is compared
        load(str(folder))

    assert str(error.value) == message.format(folder=folder)


def test_a_tokenizer_larger_than_the_model_is_refused(folder: Path) -> None:
    """MLX does not check an index into the embedding: it would read past its end."""
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    edit("config.json", vocab_size=size - 1)(folder)
    change_weights(
        lambda weights: weights.update(
            {"model.embed_tokens.weight": mx.zeros((size - 1, 32))}
        )
    )(folder)

    with pytest.raises(CheckpointError, match=f"vocab_size {size - 1}, got {size - 1}"):
        load(str(folder))


def test_names_that_are_no_model_suggest_one() -> None:
    with pytest.raises(CheckpointError, match=r"did you mean 'qwen2-0\.5b'\?$"):
        resolve("qwen2-0.5")


def test_the_embedded_model_needs_no_path() -> None:
    assert resolve("embedded") == EMBEDDED


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache for what comes from the hub."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Cut the network, and return the names that were looked up in vain."""
    names: list[str] = []

    def getaddrinfo(host: str, *_: object, **__: object) -> NoReturn:
        names.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return names


@pytest.mark.usefixtures("hub_cache")
def test_a_hub_name_without_network_is_told_in_one_line(lookups: list[str]) -> None:
    with pytest.raises(CheckpointError) as error:
        resolve("qwen2-7b")

    assert lookups
    assert str(error.value) == (
        "Qwen/Qwen2-7B-Instruct-MLX: expected a folder, or a model to download from "
        "the hub, got neither (LocalEntryNotFoundError); check the name and the network"
    )


def test_a_model_that_was_downloaded_before_needs_no_network(
    hub_cache: Path, lookups: list[str], tiny_checkpoint: Path
) -> None:
    repository = hub_cache / "models--Qwen--Qwen2-0.5B-Instruct-MLX"
    commit = "0" * 40
    shutil.copytree(tiny_checkpoint, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)

    assert load("qwen2-0.5b").config["hidden_size"] == 32
    assert not lookups


@pytest.mark.parametrize(
    ("file", "is_downloaded"),
    [
        ("config.json", True),
        ("model-00001-of-00002.safetensors", True),
        ("tokenizer.json", True),
        ("modeling_qwen2.py", False),
        ("pytorch_model.bin", False),
        ("model.pt", False),
    ],
)
def test_only_data_is_downloaded(file: str, is_downloaded: bool) -> None:
    wanted = filter_repo_objects([file], allow_patterns=list(DOWNLOADED))

    assert list(wanted) == ([file] if is_downloaded else [])
