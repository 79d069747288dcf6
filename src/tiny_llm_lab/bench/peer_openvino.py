"""OpenVINO GenAI, if it is installed: the same sizes, with random weights."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from tiny_llm_lab.bench.engines import MissingError, Step, Stored
from tiny_llm_lab.bench.models import config_of
from tiny_llm_lab.bench.tokens import draw
from tiny_llm_lab.bench.worker import NUM_IN_A_ROW

INSTALL = "pdm install -L pdm.peers.lock"
MODELS = Path("runs/bench/openvino")
MOST = 2048
"""The most tokens of a text."""

MOST_NEW = 64
"""Tokens that are written behind one prompt: the text grows, as nothing shortens it."""

CACHE_GB = 1
PRECISIONS = {"int4-float32": "f32", "int4-bfloat16": ""}
"""What it computes in. With float32 it rounds activations to bytes; left to itself, it
takes bfloat16 where the processor has it."""


def build(model: str, solution: str, option: str) -> "OpenVinoEngine":
    """Build the model with the arithmetic that `option` names.

    Raises:
        MissingError: OpenVINO GenAI is not installed, or there is no model for it.
    """
    del solution
    try:
        import openvino_genai  # noqa: F401 # pyright: ignore
    except ImportError as error:
        raise MissingError(f"not installed: `{INSTALL}` brings it") from error
    config = config_of(model)
    folder = MODELS / f"{config['hidden_size']}x{config['num_hidden_layers']}"
    if not folder.exists():
        raise MissingError(f"{folder} is missing: CONTRIBUTING.md says how to make it")
    return OpenVinoEngine(model, folder, option)


class OpenVinoEngine:
    """A model of OpenVINO GenAI, with its own cache, one text at a time.

    Args:
        model: The model whose sizes are used.
        folder: The model in its format.
        option: One of `PRECISIONS`.
    """

    def __init__(self, model: str, folder: Path, option: str) -> None:
        import openvino_genai as genai  # pyright: ignore

        threads = int(os.environ.get("OMP_NUM_THREADS", "2"))
        options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
        if PRECISIONS[option]:
            options["INFERENCE_PRECISION_HINT"] = PRECISIONS[option]
        self._genai: Any = genai
        # What its usual pipeline runs on, and can be stepped.
        self._pipeline: Any = genai.ContinuousBatchingPipeline(
            str(folder), _one_text_at_a_time(genai), "CPU", options, {}, {}
        )
        self._vocab_size: int = config_of(model)["vocab_size"]
        num_bytes = (folder / "openvino_model.bin").stat().st_size
        self.stored = Stored(option, "float32", weight_bytes=num_bytes)
        self._request: Any = None
        self._num_requests = self._context = self._num_new = 0

    def prefill(self, num_tokens: int) -> Step:
        """Prepare to read a prompt."""
        self._begin(num_tokens)
        return self._pipeline.step

    def generate(self, context: int) -> Step:
        """Prepare to run one token through the model, then the one after that."""
        if self._context != context or self._num_new >= MOST_NEW:
            self._begin(context - 1)
            self._context, self._num_new = context, 0
            self._pipeline.step()
        self._num_new += NUM_IN_A_ROW
        return self._pipeline.step

    def _begin(self, num_tokens: int) -> None:
        """Begin a text in place of the one before."""
        import openvino  # pyright: ignore

        self._context = 0
        if self._request is not None:
            self._request.cancel()
            while self._pipeline.has_non_finished_requests():
                self._pipeline.step()
        config = self._genai.GenerationConfig()
        config.max_new_tokens = MOST - num_tokens
        config.ignore_eos, config.do_sample = True, False
        ids = np.array([draw(num_tokens, self._vocab_size)], np.int64)
        self._num_requests += 1
        self._request = self._pipeline.add_request(
            self._num_requests, openvino.Tensor(ids), config
        )


def _one_text_at_a_time(genai: Any) -> Any:  # noqa: ANN401 - it has no types
    """Return a scheduler that reads a prompt at once, and remembers none."""
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = False
    scheduler.dynamic_split_fuse = False
    scheduler.max_num_batched_tokens = MOST
    scheduler.max_num_seqs = 1
    scheduler.cache_size = CACHE_GB
    return scheduler
