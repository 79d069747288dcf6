"""How fast small models train here: MLX against PyTorch, interleaved.

PyTorch runs in a process of its own, which runs this module: otherwise, an OpenBLAS of
the system would also multiply for PyTorch (see `blas.py`).
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import mlx.core as mx
import numpy as np

from tiny_llm_course.doctor.speed import check_blas
from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.small_model import (
    Design,
    SmallModel,
    Weights,
    new_weights,
)
from tiny_llm_lab.experiments.small_training import BATCH_SIZE, SIZE, next_token_loss
from tiny_llm_lab.records import Value

NUM_ROUNDS = 9
PAUSE_S = 0.2
"""OpenBLAS's threads spin for a while, which slows PyTorch's."""

SLOW = "without OpenBLAS MLX trains about six times more slowly on this CPU"
"""Measured on two cores, with `TINY_LLM_BLAS=off` and without."""

TOKENS_PER_STEP = BATCH_SIZE * SIZE.context


def training_speed(solution: Solution) -> dict[str, Value]:
    """Time loss and gradients of the small model in MLX, and of its PyTorch twin.

    Returns:
        The BLAS that MLX uses on the CPU, the speeds in tokens per second (medians of
        interleaved rounds, the first one left out), and their ratio.
    """
    mlx_step = _mlx_step(solution)
    times_s: dict[str, list[float]] = {"MLX": [], "PyTorch": []}
    command = [sys.executable, "-m", "tiny_llm_lab.experiments.training_speed"]
    with subprocess.Popen(
        command,
        env={**os.environ, "TINY_LLM_BLAS": "off"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(NUM_ROUNDS + 1):
            times_s["MLX"].append(_seconds(mlx_step))
            process.stdin.write("step\n")
            times_s["PyTorch"].append(float(process.stdout.readline()))
    speeds = {
        name: TOKENS_PER_STEP / median(times[1:]) for name, times in times_s.items()
    }
    return {
        **blas_here(),
        "mlx_tokens_per_s": round(speeds["MLX"]),
        "torch_tokens_per_s": round(speeds["PyTorch"]),
        "mlx_over_torch": round(speeds["MLX"] / speeds["PyTorch"], 2),
    }


def blas_here() -> dict[str, Value]:
    """Name the BLAS that MLX uses on the CPU, and warn of a slow one."""
    blas = check_blas()
    warning = {"warning": f"{SLOW}; {blas.remedy}"} if blas.remedy else {}
    return {**warning, "blas": blas.found}


def _mlx_step(solution: Solution) -> Callable[[], None]:
    """Return a function that computes loss and gradients of the baseline once."""
    design = Design()
    weights = new_weights(solution, design, SIZE, seed=0)
    batch = mx.array(_tokens())

    def loss_of(weights: Weights) -> mx.array:
        return next_token_loss(SmallModel(solution, design, SIZE, weights), batch)

    loss_and_gradients = mx.compile(mx.value_and_grad(loss_of))
    return lambda: mx.eval(loss_and_gradients(weights))


def _torch_step() -> Callable[[], None]:
    """Return such a function for the Qwen2 of `transformers`."""
    import torch
    from torch.nn import functional
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=SIZE.vocab_size,
        hidden_size=SIZE.dim,
        intermediate_size=8 * SIZE.dim // 3,
        num_hidden_layers=SIZE.num_layers,
        num_attention_heads=SIZE.num_heads,
        num_key_value_heads=SIZE.num_heads,
        max_position_embeddings=SIZE.context,
        tie_word_embeddings=True,
    )
    model = Qwen2ForCausalLM(config)
    batch = torch.from_numpy(_tokens()).long()

    def step() -> None:
        model.zero_grad(set_to_none=True)
        logits = model(input_ids=batch[:, :-1], use_cache=False).logits
        loss = functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()

    return step


def _tokens() -> np.ndarray:
    """Draw a batch of tokens."""
    shape = (BATCH_SIZE, SIZE.context + 1)
    return np.random.default_rng(0).integers(
        SIZE.vocab_size, size=shape, dtype=np.int32
    )


def _seconds(step: Callable[[], None]) -> float:
    """Time one step, after the threads of the last one have gone to sleep."""
    time.sleep(PAUSE_S)
    start_s = time.perf_counter()
    step()
    return time.perf_counter() - start_s


def _serve_torch() -> None:
    """Take a step for every line on stdin, and answer with its seconds."""
    step = _torch_step()
    for _ in sys.stdin:
        print(_seconds(step), flush=True)


if __name__ == "__main__":
    _serve_torch()
