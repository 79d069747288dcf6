"""ONNX Runtime GenAI, if it is installed: the same sizes, with random weights."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tiny_llm_lab.bench.engines import MissingError, Step, Stored
from tiny_llm_lab.bench.models import GROUP_SIZE, config_of
from tiny_llm_lab.bench.random_model import folder_of
from tiny_llm_lab.bench.tokens import draw

INSTALL = "pdm install -L pdm.peers.lock"
MODELS = Path("runs/bench/onnxruntime")
MOST = 2048
"""The most tokens of a text."""


def build(model: str, solution: str, option: str) -> "OnnxRuntimeEngine":
    """Build the model with weights of the format that `option` names.

    Raises:
        MissingError: ONNX Runtime GenAI is not installed.
    """
    del solution
    try:
        import onnxruntime_genai  # noqa: F401 # pyright: ignore
    except ImportError as error:
        raise MissingError(f"not installed: `{INSTALL}` brings it") from error
    return OnnxRuntimeEngine(model, _converted(config_of(model), option), option)


class OnnxRuntimeEngine:
    """A model of ONNX Runtime GenAI, with its own cache.

    Args:
        model: The model whose sizes are used.
        folder: The model in its format.
        quantised: The format of the weights.
    """

    def __init__(self, model: str, folder: Path, quantised: str) -> None:
        import onnxruntime_genai as genai  # pyright: ignore

        threads = int(os.environ.get("OMP_NUM_THREADS", "2"))
        session = {"intra_op_num_threads": threads, "inter_op_num_threads": 1}
        options: Any = genai.Config(str(folder))
        options.overlay(
            json.dumps({"model": {"decoder": {"session_options": session}}})
        )
        self._genai: Any = genai
        self._model: Any = genai.Model(options)
        self._config = config_of(model)
        num_bytes = (folder / "model.onnx.data").stat().st_size
        self.stored = Stored(quantised, "float32", weight_bytes=num_bytes)
        self._generator: Any = None
        self._context = 0

    def prefill(self, num_tokens: int) -> Step:
        """Prepare to read a prompt."""
        ids, generator = draw(num_tokens, self._config["vocab_size"]), self._begin()

        def step() -> None:
            generator.append_tokens(ids)
            generator.generate_next_token()

        return step

    def generate(self, context: int) -> Step:
        """Prepare to run one token through the model, then the one after that.

        The first token that is generated costs nothing: the prompt has left its scores.
        """
        ids = draw(context - 1, self._config["vocab_size"])
        if self._context == context:
            self._generator.rewind_to(context - 2)
            self._generator.append_tokens(ids[-1:])
        else:
            self._begin().append_tokens(ids)
            self._context = context
        self._generator.generate_next_token()
        return self._generator.generate_next_token

    def _begin(self) -> Any:  # noqa: ANN401 - it has no types
        """Begin a text whose answer is the likeliest tokens, and never ends early."""
        self._generator, self._context = None, 0
        most = min(MOST, self._config["max_position_embeddings"])
        parameters = self._genai.GeneratorParams(self._model)
        parameters.set_search_options(max_length=most, min_length=most, do_sample=False)
        self._generator = self._genai.Generator(self._model, parameters)
        return self._generator


def _converted(config: dict[str, Any], option: str) -> Path:
    """Return the folder of the model in its format, making it if it does not exist."""
    folder = MODELS / f"{config['hidden_size']}x{config['num_hidden_layers']}-{option}"
    if folder.exists():
        return folder
    unfinished = folder.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    builder = [sys.executable, "-m", "onnxruntime_genai.models.builder"]
    where = ["-i", str(folder_of(config)), "-o", str(unfinished), "-c", str(MODELS)]
    # Products of bytes, as ours are, and groups as long as ours.
    form = ["accuracy_level=4", f"block_size={GROUP_SIZE}", "prune_lm_head=true"]
    how = ["-p", option, "-e", "cpu", "--extra_options", *form]
    subprocess.run([*builder, *where, *how], check=True)
    unfinished.rename(folder)
    return folder
