"""A checkpoint is data: whatever its files ask for, nothing in it runs.

Every trap here would write a file. Each is shown to work on the library that it is
made for, then to do nothing when this course loads the folder.
"""

import contextlib
import json
import pickle
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import jinja2
import pytest

from tiny_llm_course.checkpoint import CheckpointError, load


class Trap:
    """An object whose unpickling writes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (self.marker,)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Return the file that a trap writes when it has run."""
    return tmp_path / "it-ran"


@pytest.fixture
def folder(tiny_checkpoint: Path, tmp_path: Path, marker: Path) -> Path:
    """Return a copy of the tiny checkpoint that also holds a module and a pickle."""
    copy = Path(shutil.copytree(tiny_checkpoint, tmp_path / "copy"))
    code = f"from pathlib import Path\nPath({str(marker)!r}).touch()\n"
    (copy / "trap.py").write_text(code)
    (copy / "pytorch_model.bin").write_bytes(pickle.dumps(Trap(marker)))
    return copy


def ask(folder: Path, file: str, **entries: object) -> None:
    """Add entries to a JSON file of the checkpoint."""
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


REQUESTS = {
    "a model": ("config.json", "model_file", "trap.py"),
    "a configuration": ("config.json", "auto_map", {"AutoConfig": "trap.Trap"}),
    "a tokenizer": (
        "tokenizer_config.json",
        "auto_map",
        {"AutoTokenizer": ["trap.Trap", None]},
    ),
    "a template": ("tokenizer_config.json", "chat_template_type", "deepseek_v32"),
}


@pytest.mark.parametrize(("file", "key", "value"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_to_run_code_is_refused(
    folder: Path, marker: Path, file: str, key: str, value: object
) -> None:
    ask(folder, file, **{key: value})

    with pytest.raises(CheckpointError) as error:
        load(str(folder))

    assert not marker.exists()
    assert str(error.value) == (
        f"{folder / file}: expected data only, got {key!r}, which asks to run code"
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [("tokenizer_class", "AutoModelForCausalLM"), ("tool_parser_type", "pythonic")],
)
def test_only_what_qwen2_needs_can_be_chosen_by_name(
    folder: Path, key: str, value: str
) -> None:
    """The libraries would look the name up among all their classes."""
    ask(folder, "tokenizer_config.json", **{key: value})

    with pytest.raises(CheckpointError, match=f"{key} .* got {value!r}"):
        load(str(folder))


def test_a_pickle_is_not_opened(folder: Path, marker: Path) -> None:
    (folder / "model.safetensors").unlink()

    with pytest.raises(CheckpointError) as error:
        load(str(folder))

    assert not marker.exists()
    assert str(error.value) == (
        f"{folder}: expected weights in model*.safetensors, got pytorch_model.bin"
    )


def test_a_pickle_beside_the_weights_is_left_alone(folder: Path, marker: Path) -> None:
    load(str(folder))

    assert not marker.exists()


def test_a_pickle_in_the_name_of_safetensors_is_refused(
    folder: Path, marker: Path
) -> None:
    shutil.move(folder / "pytorch_model.bin", folder / "model.safetensors")

    with pytest.raises(CheckpointError, match="expected safetensors, got a header"):
        load(str(folder))

    assert not marker.exists()


def escape(marker: Path) -> str:
    """Return a chat template that writes a file unless it is sandboxed."""
    return f"{{{{ cycler.__init__.__globals__['os'].mknod({str(marker)!r}) }}}}"


def test_a_chat_template_cannot_leave_its_sandbox(folder: Path, marker: Path) -> None:
    ask(folder, "tokenizer_config.json", chat_template=escape(marker))
    checkpoint = load(str(folder))

    with pytest.raises(CheckpointError, match="unsafe"):
        checkpoint.chat_prompt([{"role": "user", "content": "hello"}])

    assert not marker.exists()


def run_module(folder: Path, _: Path) -> None:
    from mlx_lm.utils import load_model

    ask(folder, "config.json", model_file="trap.py")
    load_model(folder, trust_remote_code=True)


def run_remote_code(folder: Path, _: Path) -> None:
    from transformers import AutoTokenizer, dynamic_module_utils

    ask(folder, "config.json", auto_map={"AutoConfig": "trap.Trap"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(folder / "modules"))
        patch.setattr(sys, "path", [*sys.path])
        AutoTokenizer.from_pretrained(folder, trust_remote_code=True)


def run_pickle(folder: Path, _: Path) -> None:
    pickle.loads((folder / "pytorch_model.bin").read_bytes())  # noqa: S301 - the trap


def run_template(_: Path, marker: Path) -> None:
    jinja2.Environment(autoescape=True).from_string(escape(marker)).render()


@pytest.mark.parametrize("run", [run_module, run_remote_code, run_pickle, run_template])
def test_the_traps_work(
    folder: Path, marker: Path, run: Callable[[Path, Path], None]
) -> None:
    """A trap that could not run would prove nothing above."""
    # The trap runs first; the error that there is no model comes after it.
    with contextlib.suppress(AttributeError):
        run(folder, marker)

    assert marker.exists()
