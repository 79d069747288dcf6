"""Fixtures for tests of the machinery: a checkpoint, a solution, a checkout."""

import importlib
import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from click.testing import CliRunner
from click.testing import Result as Ran
from mlx.utils import tree_flatten
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tiny_llm_course import language, progress
from tiny_llm_course.editing.starter import changes
from tiny_llm_course.grading.judgement.grader import Grader
from tiny_llm_course.grading.report.standing import TaskReport
from tiny_llm_course.grading.results import PASSED, Result
from tiny_llm_course.places import TESTS, Checkout, here
from tiny_llm_course.solution import load_solution
from tiny_llm_course.syllabus import task_at
from tiny_llm_course.units import units

# What the tests compare is English, whatever the system of their author speaks.
os.environ["TINY_LLM_LANG"] = "en"

SPECIAL_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
}


def write_json(path: Path, content: Any) -> None:  # noqa: ANN401
    path.write_text(json.dumps(content), encoding="utf-8")


def write_tokenizer(folder: Path) -> int:
    """Write a byte-level BPE, and return the size of its vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=SPECIAL_TOKENS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the fox and the owl tell a story"] * 9, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "chat_template": CHAT_TEMPLATE,
    }
    write_json(folder / "tokenizer_config.json", settings)
    return tokenizer.get_vocab_size()


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a checkpoint in the layout of the hub, with weights in bfloat16."""
    from mlx_lm.models.qwen2 import Model, ModelArgs

    folder = tmp_path_factory.mktemp("tiny-qwen2")
    config = CONFIG | {"vocab_size": write_tokenizer(folder)}
    write_json(folder / "config.json", config)
    mx.random.seed(0)
    model = Model(ModelArgs.from_dict(config))
    weights = {
        name: (0.3 * mx.random.normal(weight.shape)).astype(mx.bfloat16)
        for name, weight in tree_flatten(model.parameters())
    }
    mx.save_safetensors(str(folder / "model.safetensors"), weights)
    return folder


CODE = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}|`[^`]*`|\\.|pdm run[^:;,\"]*|--[\w-]+")
"""What stays as it is in a second language: fields, code, escapes, commands."""


def wide(text: str) -> str:
    """Write the letters of a text in full width, as each takes two cells."""
    words, done = "", 0
    for code in (*CODE.finditer(text), None):
        plain = text[done : code.start() if code else None]
        words += "".join(
            chr(ord(one) + 0xFEE0) if one.isascii() and one.isalpha() else one
            for one in plain
        )
        words += code[0] if code else ""
        done = code.end() if code else done
    return words


def written(table: Any, said: Callable[[str], str]) -> str:  # noqa: ANN401 - of TOML
    """Write a value of TOML, with other texts."""
    if isinstance(table, str):
        return json.dumps(said(table))
    if isinstance(table, list):
        return f"[{', '.join(written(one, said) for one in table)}]"
    entries = (
        f"{json.dumps(key)} = {written(one, said)}" for key, one in table.items()
    )
    return f"{{{', '.join(entries)}}}"


@pytest.fixture(scope="session")
def languages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a second language, qps: English in letters of full width.

    Nobody reads it. What it leaves in narrow letters has not come from the catalogue.
    """
    folder = tmp_path_factory.mktemp("languages")
    (folder / "qps" / "stubs").mkdir(parents=True)
    for path in language.folder_of("en").glob("*.toml"):
        entries = tomllib.loads(path.read_text(encoding="utf-8")).items()
        lines = [
            f"{json.dumps(key)} = {written(one, str if key == 'patterns' else wide)}\n"
            for key, one in entries
        ]
        (folder / "qps" / path.name).write_text("".join(lines), encoding="utf-8")
    said = units("en").items()
    stubs = {key.partition("/")[2]: text for key, text in said if "stubs/" in key}
    lines = [
        f"{json.dumps(key)} = {json.dumps(wide(one))}\n" for key, one in stubs.items()
    ]
    (folder / "qps" / "stubs" / "all.toml").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file to remember a language in."""
    return tmp_path_factory.mktemp("memory") / language.REMEMBERED


@pytest.fixture(autouse=True)
def _nothing_is_remembered(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the language alone that this checkout remembers."""
    memory.unlink(missing_ok=True)
    monkeypatch.setattr(language, "memory", lambda: memory)


@pytest.fixture
def second_language(languages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be a language besides English, which nobody has chosen yet."""
    monkeypatch.setenv(language.FURTHER, str(languages))
    for name in (language.SETTING, *language.LOCALE):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def entitle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that names days and tasks which the course does not have.

    It is a language that has nothing but these titles, and English for the rest.
    """

    def write(**titles: str) -> None:
        folder = tmp_path / "languages" / "more"
        folder.mkdir(parents=True)
        (folder / "grading.toml").touch()
        lines = [
            f"titles.{key} = {json.dumps(title)}\n" for key, title in titles.items()
        ]
        (folder / "syllabus.toml").write_text("".join(lines), encoding="utf-8")
        monkeypatch.setenv(language.FURTHER, str(folder.parent))
        monkeypatch.setenv(language.SETTING, folder.name)

    return write


@pytest.fixture
def uncompiled() -> Iterator[None]:
    """Have `mx.compile` compile nothing: the first call takes 0.4 s for each kernel."""
    mx.disable_compile()
    yield
    mx.enable_compile()


REFERENCE = Path(__file__).parents[2] / "src" / "tiny_llm_ref"


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    """Return a folder with our own solution, to be changed by one test."""
    return shutil.copytree(REFERENCE, tmp_path / "some-solution")


@pytest.fixture
def with_files(tmp_path: Path) -> Callable[..., Grader]:
    """Return a function that writes the files of a solution, and makes its grader."""

    def write(**files: str) -> Grader:
        (tmp_path / "theirs").mkdir()
        for name, code in files.items():
            text = f"import mlx.core as mx\nimport numpy as np\n{code}\n"
            (tmp_path / "theirs" / f"{name}.py").write_text(text, encoding="utf-8")
        return Grader(load_solution(str(tmp_path / "theirs")))

    return write


SCRIPTED_MODEL = """
import time

import mlx.core as mx

SCRIPT = {script}


class Qwen2ModelWeek1:
    def __init__(self, mlx_model):
        self.vocab_size = mlx_model.args.vocab_size
        self.length = 0

    def __call__(self, inputs):
        if inputs.shape[1] != self.length + 1:
            self.script = iter(SCRIPT)
        self.length = inputs.shape[1]
        time.sleep({pause_s})
        scores = mx.arange(self.vocab_size) == next(self.script)
        return mx.broadcast_to(20.0 * scores, (*inputs.shape, self.vocab_size))
"""


@pytest.fixture
def scripted(tiny_checkpoint: Path, solution: Path) -> Callable[..., Path]:
    """Return a function that makes the solution's model say a given text."""

    def write(answer: str, pause_s: float = 0.0) -> Path:
        tokenizer = Tokenizer.from_file(str(tiny_checkpoint / "tokenizer.json"))
        script = [*tokenizer.encode(answer).ids, tokenizer.token_to_id("<|im_end|>")]
        code = SCRIPTED_MODEL.format(script=script, pause_s=pause_s)
        (solution / "qwen2_week1.py").write_text(code)
        return solution

    return write


@pytest.fixture
def main(tiny_checkpoint: Path, solution: Path) -> Callable[..., Ran]:
    """Return a function that runs `pdm run main`, on the tiny checkpoint and Week 1."""
    from tiny_llm_course.commands.main import command

    def run(*arguments: object) -> Ran:
        words = ["--model", tiny_checkpoint, "--solution", solution]
        words += ["--loader", "week1", *arguments]
        return CliRunner().invoke(command, [str(word) for word in words])

    return run


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """Yield the template of a checkout of a learner who has not begun.

    It has the solutions and the stubs, without compiled modules, and the tests.
    """
    made = Checkout(tmp_path_factory.mktemp("template"))
    python = shutil.ignore_patterns("_kernels.*", "__pycache__")
    shutil.copytree(REFERENCE, made.reference, ignore=python)
    kernels, build = here().reference_kernels, shutil.ignore_patterns("build")
    shutil.copytree(kernels, made.reference_kernels, ignore=build)
    shutil.copytree(here().shared_kernels, made.shared_kernels)
    for change in changes(made):
        change.path.parent.mkdir(parents=True, exist_ok=True)
        change.path.write_text(change.text, encoding="utf-8")
    made.tests.mkdir()
    for path in TESTS.glob("test_week_*.py"):
        shutil.copy(path, made.tests)
    before = contents(made.root)
    yield made
    assert contents(made.root) == before, "what is given is replaced, not written to"


def contents(folder: Path) -> dict[Path, bytes]:
    """Return what is in each file of a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def checkout(template: Checkout, tmp_path: Path) -> Checkout:
    """Return a checkout of a learner who has not begun.

    The learner's files are copies. The others are links, which take less time.
    """
    own = tuple(f"{one}{os.sep}" for one in (template.starter, template.kernels))

    def take(source: str, target: str) -> None:
        (shutil.copy2 if source.startswith(own) else os.link)(source, target)

    root = tmp_path / "checkout"
    return Checkout(shutil.copytree(template.root, root, copy_function=take))


@pytest.fixture(scope="module")
def learner(template: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a checkout that the tests of a file share, so that it is compiled once."""
    root = tmp_path_factory.mktemp("learner") / "checkout"
    return Checkout(shutil.copytree(template.root, root))


@pytest.fixture
def pdm_run(checkout: Checkout) -> Callable[[str], Ran]:
    """Return a function that runs a command in that checkout, as `pdm run` does."""

    def run(line: str) -> Ran:
        name, *arguments = line.split()
        module = importlib.import_module(f"tiny_llm_course.commands.{name}")
        home = {"TINY_LLM_HOME": str(checkout.root), "TINY_LLM_SPEED": "0"}
        return CliRunner().invoke(module.command, arguments, env=home)

    return run


@pytest.fixture
def graded(checkout: Checkout) -> Callable[..., None]:
    """Return a function that records the results of a run without running it."""

    def record(*addresses: str, status: str = PASSED, **more: Any) -> None:  # noqa: ANN401
        tasks = [task_at(address) for address in addresses]
        reports = [
            TaskReport(task, (Result(str(task.address), "a test", status),))
            for task in tasks
        ]
        more.setdefault("graded", progress.before(checkout, tasks))
        progress.record(checkout, reports, **more)

    return record
