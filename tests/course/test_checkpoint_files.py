"""Any content of a checkpoint's files gives a model or an error of one line."""

import json
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from tiny_llm_course.checkpoint import (
    EMBEDDED,
    CheckpointError,
    LoadedCheckpoint,
    load,
    templates,
)
from tiny_llm_course.places import ROOT

set_hypothesis_home_dir(ROOT / ".cache" / "hypothesis")

Json = Any
Change = Callable[[Path], object]

JSON_FILES = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "tokenizer.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "hf_quant_config.json",
)
OTHER_FILES = (
    "model.safetensors",
    "merges.txt",
    "chat_template.jinja",
    "additional_chat_templates/tool_use.jinja",
)
ENTRIES = {
    "config.json": (
        *("hidden_size", "num_hidden_layers", "intermediate_size", "vocab_size"),
        *("num_attention_heads", "num_key_value_heads", "max_position_embeddings"),
        *("rms_norm_eps", "rope_theta", "rope_parameters", "rope_scaling"),
        *("rope_traditional", "tie_word_embeddings", "hidden_act", "model_type"),
        *("quantization", "quantization_config", "text_config", "eos_token_id"),
        *("architectures", "dtype", "torch_dtype", "bos_token_id", "unknown"),
    ),
    "generation_config.json": (
        *("do_sample", "temperature", "top_p", "top_k", "eos_token_id"),
    ),
    "tokenizer_config.json": (
        *("tokenizer_class", "eos_token", "pad_token", "chat_template"),
        *("model_max_length", "added_tokens_decoder", "extra_special_tokens"),
        *("additional_special_tokens", "tool_parser_type", "clean_up"),
    ),
}

LONGEST_LINE = 400

NUMBERS = (
    st.integers()
    | st.floats()
    | st.sampled_from([10**12, 2**31, 2**63, 2**64, 10**400, 1e12, 1e308, -3, 9])
)
ATOMS = st.none() | st.booleans() | NUMBERS | st.text(max_size=8)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["bits", "group_size", "mode", "__float__", "default"])
            | st.text(max_size=4),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
drawn = settings(
    max_examples=40,
    derandomize=True,
    database=None,
    deadline=timedelta(seconds=5),
)


@pytest.fixture
def folder(tiny_checkpoint: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny checkpoint, to be changed by one test."""
    return Path(shutil.copytree(tiny_checkpoint, tmp_path / "copy"))


@pytest.mark.timeout(30, func_only=True)
@pytest.mark.parametrize("file", JSON_FILES)
@pytest.mark.parametrize("unit", ["[", '{"a":'])
def test_json_nested_without_end_is_refused(folder: Path, file: str, unit: str) -> None:
    """Python's reader would raise a RecursionError."""
    (folder / file).write_text(unit * 200_000)

    with pytest.raises(CheckpointError, match=r"deep|depth"):
        load(str(folder))


@pytest.mark.timeout(30, func_only=True)
@pytest.mark.parametrize("file", [*JSON_FILES, *OTHER_FILES])
def test_a_pipe_is_not_waited_for(folder: Path, file: str) -> None:
    (folder / file).unlink(missing_ok=True)
    (folder / file).parent.mkdir(exist_ok=True)
    os.mkfifo(folder / file)

    with pytest.raises(CheckpointError) as error:
        load(str(folder))

    assert str(error.value) == (
        f"{folder / file}: expected a file, got a pipe or a device"
    )


@pytest.mark.parametrize("file", JSON_FILES)
def test_a_file_larger_than_the_memory_is_not_read(folder: Path, file: str) -> None:
    """The file is sparse, so it takes no space on the disk."""
    with (folder / file).open("wb") as opened:
        opened.truncate(10**11)

    with pytest.raises(CheckpointError) as error:
        load(str(folder))

    assert str(error.value) == (
        f"{folder / file}: expected at most 16777216 bytes, got 100000000000"
    )


CONFIG_ENTRIES = [
    ("rope_parameters", "x", "an object, got 'x'"),
    ("quantization", [1], "in the affine format of MLX, got [1]"),
    (
        "quantization",
        {"bits": "x", "group_size": 64},
        "in the affine format of MLX, got {'bits': 'x', 'group_size': 64}",
    ),
    (
        "vocab_size",
        1e12,
        "a whole number from 1 to 1048576, got 1000000000000.0",
    ),
    (
        "vocab_size",
        10**12,
        "a whole number from 1 to 1048576, got 1000000000000",
    ),
    ("num_hidden_layers", 100_000, "a whole number from 1 to 1000, got 100000"),
    ("rms_norm_eps", True, "a number from 1e-12 to 1, got True"),
    ("tie_word_embeddings", "no", "true or false, got 'no'"),
    ("rope_traditional", True, "False, got True"),
]


@pytest.mark.timeout(30, func_only=True)
@pytest.mark.parametrize(("name", "value", "expected"), CONFIG_ENTRIES)
def test_settings_that_nobody_could_mean_are_named(
    folder: Path, name: str, value: Json, expected: str
) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))

    with pytest.raises(CheckpointError) as error:
        load(str(folder))

    assert str(error.value) == f"{path}: expected {name} to be {expected}"


SAMPLING = [
    ('"temperature": -3', "temperature to be a number from 0 to 100, got -3"),
    ('"top_p": 9', "top_p to be a number from 0 to 1, got 9"),
    ('"top_k": 1e999', "top_k to be a whole number from 0 to 1048576, got inf"),
    ('"top_k": Infinity', "JSON, got Infinity"),
    ('"top_p": NaN', "JSON, got NaN"),
    ('"do_sample": "no"', "do_sample to be true or false, got 'no'"),
]


@pytest.mark.parametrize(("entry", "expected"), SAMPLING)
def test_sampling_that_means_nothing_is_named(
    folder: Path, entry: str, expected: str
) -> None:
    path = folder / "generation_config.json"
    path.write_text(f'{{"do_sample": true, {entry}}}')

    with pytest.raises(CheckpointError) as error:
        load(str(folder))

    assert str(error.value) == f"{path}: expected {expected}"


@pytest.mark.parametrize("ends", ["x", [1e3], -1, 280, True])
def test_an_end_token_is_a_token_of_the_model(folder: Path, ends: Json) -> None:
    path = folder / "generation_config.json"
    path.write_text(json.dumps({"eos_token_id": ends}))

    with pytest.raises(CheckpointError, match="eos_token_id to be a whole number"):
        load(str(folder))


QUESTION = [{"role": "user", "content": "hello"}]
TEMPLATES = {
    "10 GB": ("{{ 'a' * 10 ** 10 }}", "a text, got: takes too much memory"),
    "5 MB": ("{{ 'a' * 5 * 2 ** 20 }}", "a text, got: 5242880 characters are"),
    "an error": (
        "{{ raise_exception('\x1b[2J\n') }}",
        r"a text, got: \\x1b\[2J\\n",
    ),
    "syntax": ("{{", "a text, got: unexpected 'end of template'"),
    "no text": ("{{ '\ud800' }}", "a text, got: 'utf-8' codec"),
    "an inner name": ("{{ namespace(__class__=1) }}", "a text, got: .*unsafe"),
}


def with_template(folder: Path, template: str) -> LoadedCheckpoint:
    """Load a checkpoint after giving it another chat template."""
    path = folder / "tokenizer_config.json"
    content = json.loads(path.read_text()) | {"chat_template": template}
    path.write_text(json.dumps(content))
    return load(str(folder))


@pytest.mark.timeout(30, func_only=True)
@pytest.mark.parametrize(("template", "expected"), TEMPLATES.values(), ids=TEMPLATES)
def test_a_template_that_comes_to_nothing_is_told(
    folder: Path, template: str, expected: str
) -> None:
    checkpoint = with_template(folder, template)

    with pytest.raises(CheckpointError, match=f"chat template: expected {expected}"):
        checkpoint.chat_prompt(QUESTION)


def test_a_template_that_does_not_end_is_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(templates, "TIME_LIMIT_S", 1)
    inner = "{% for i in range(99999) %}{% endfor %}"
    checkpoint = with_template(folder, inner.replace("}{", f"}}{inner}{{", 1))

    with pytest.raises(CheckpointError) as error:
        checkpoint.chat_prompt(QUESTION)

    assert str(error.value) == (
        "chat template: expected a text within 1 seconds, got none"
    )


CHAT_TEMPLATE = json.loads((EMBEDDED / "tokenizer_config.json").read_text())[
    "chat_template"
]
OTHERS_TEMPLATE = """
{%- set seen = namespace(count=0) -%}
{%- for message in messages %}
{%- if loop.index > 9 %}{% break %}{% endif %}
{%- set seen.count = seen.count + 1 %}
{{- '<|im_start|>' + message.role }}: {{ message.content | tojson }}
{%- generation %}{{ seen.count }}{% endgeneration %}
{%- endfor %}
{{ eos_token }} {{ strftime_now('%Y') }} {{ tools is none }} {{ enable_thinking }}
{%- if add_generation_prompt %}<|im_start|>assistant{% endif %}
"""


@pytest.mark.parametrize("template", [CHAT_TEMPLATE, OTHERS_TEMPLATE])
def test_a_template_apart_renders_what_transformers_does(
    folder: Path, template: str
) -> None:
    checkpoint = with_template(folder, template)
    messages = [*QUESTION, {"role": "assistant", "content": "<b> & 'c' ü\n"}]

    assert checkpoint.chat_prompt(messages) == (
        checkpoint.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
    )


@pytest.fixture(scope="module")
def shared(tiny_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkpoint that the examples of a property share. Each restores it."""
    folder = tmp_path_factory.mktemp("shared") / "copy"
    shutil.copytree(tiny_checkpoint, folder)
    load(str(folder))
    return folder


def assert_answered(folder: Path, file: str, content: bytes) -> None:
    """Check that a checkpoint with another file is loaded, or refused in one line."""
    path = folder / file
    before = path.read_bytes() if path.exists() else None
    path.write_bytes(content)
    refusal = ""
    try:
        load(str(folder)).check_length("a fox")
    except CheckpointError as error:
        refusal = str(error)
    finally:
        path.unlink() if before is None else path.write_bytes(before)
    assert refusal.isprintable()
    assert len(refusal) < LONGEST_LINE


def replaced(content: Json, at: int, value: Json) -> Json:
    """Return JSON with one of its values replaced, the one at index `at`."""
    places: list[tuple[Json, Any]] = []
    waiting = [content]
    while waiting:
        outer = waiting.pop()
        keys = outer if isinstance(outer, dict) else range(len(outer))
        places += [(outer, key) for key in keys]
        waiting += [outer[key] for key in keys if isinstance(outer[key], dict | list)]
    outer, key = places[at % len(places)]
    outer[key] = value
    return content


@pytest.mark.parametrize("file", ENTRIES)
@drawn
@given(data=st.data(), value=VALUES)
def test_any_value_of_an_entry_is_answered(
    shared: Path, file: str, data: st.DataObject, value: Json
) -> None:
    path = shared / file
    content = json.loads(path.read_text()) if path.exists() else {"do_sample": True}
    name = data.draw(st.sampled_from(ENTRIES[file]))

    assert_answered(shared, file, json.dumps(content | {name: value}).encode())


@drawn
@given(at=st.integers(0, 2000), value=VALUES)
def test_any_value_in_a_tokenizer_is_answered(
    shared: Path, at: int, value: Json
) -> None:
    content = json.loads((shared / "tokenizer.json").read_text())

    changed = json.dumps(replaced(content, at, value))

    assert_answered(shared, "tokenizer.json", changed.encode())


@drawn
@given(file=st.sampled_from([*JSON_FILES, "model.safetensors"]), data=st.binary())
def test_any_bytes_are_answered(shared: Path, file: str, data: bytes) -> None:
    assert_answered(shared, file, data)


@drawn
@given(
    longer=st.integers(-70, 70) | st.sampled_from([2**20, 2**31, 2**62]),
    at=st.integers(0, 300),
    value=VALUES | st.lists(st.integers(-1, 2**40), min_size=2, max_size=2),
    kept=st.floats(0, 1),
)
def test_any_header_of_weights_is_answered(
    shared: Path, longer: int, at: int, value: Json, kept: float
) -> None:
    """Wrong lengths, types, shapes and places; and a file that ends too early."""
    stored = (shared / "model.safetensors").read_bytes()
    size = int.from_bytes(stored[:8], "little")
    header = json.dumps(replaced(json.loads(stored[8 : 8 + size]), at, value)).encode()
    length = max(0, len(header) + longer).to_bytes(8, "little")
    numbers = stored[8 + size :]

    content = length + header + numbers[: int(kept * len(numbers))]

    assert_answered(shared, "model.safetensors", content)
