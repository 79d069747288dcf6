"""The performance targets of the kernels, computed from a run."""

import math

import numpy as np
import pytest

from tiny_llm_lab.bench.accuracy import NUM_POSITIONS, compared, token_ids
from tiny_llm_lab.bench.attending import cache_bytes
from tiny_llm_lab.bench.machine import Machine
from tiny_llm_lab.bench.models import EMBEDDED_MODEL, QWEN2_0_5B, args_of
from tiny_llm_lab.bench.results import Row
from tiny_llm_lab.bench.targets import Target, kept, promises
from tiny_llm_lab.bench.whole_run import Measured

MACHINE = Machine(25e9, 200e9, 25e9)
ACCURACY = {
    "positions": 64.0,
    "prefill_kl": 1e-4,
    "generate_kl": 2e-4,
    "prefill_same_argmax": 1.0,
    "generate_same_argmax": 63 / 64,
}
MEMORY = {
    "tokens": 1056.0,
    "weight_bytes": 270e6,
    "cache_bytes": 30e6,
    "mlx_peak_bytes": 330e6,
    "mlx_peak_bytes_when_loading": 600e6,
    "process_bytes_before": 100e6,
    "process_peak_bytes": 700e6,
}


def row(engine: str, work: str, tokens: int, speed: float, weights: str = "") -> Row:
    return {
        "engine": engine,
        "rung": "everything" if engine == "tiny_llm_ref" else "",
        "model": QWEN2_0_5B,
        "weights": weights,
        "work": work,
        "tokens": tokens,
        "tokens_per_s": speed,
        "share_of_bandwidth": 0.5,
    }


ROWS = [
    row("tiny_llm_ref", "generate", 32, 100.0),
    row("mlx_lm", "generate", 32, 3.0, "4-bit, float32"),
    row("mlx_lm", "generate", 32, 4.0, "float32"),
    row("llama.cpp", "generate", 32, 80.0, "q4_0"),
    row("tiny_llm_ref", "prefill", 256, 600.0),
    row("llama.cpp", "prefill", 256, 500.0, "q4_0"),
    row("transformers", "prefill", 256, 800.0, "bfloat16"),
    row("transformers", "prefill", 256, 900.0, "float32"),
    row("onnxruntime", "generate", 32, 75.0, "int4"),
    row("openvino", "generate", 32, 50.0, "int4-float32"),
    row("onnxruntime", "prefill", 256, 300.0, "int4"),
    row("openvino", "prefill", 256, 500.0, "int4-float32"),
    row("openvino", "prefill", 256, 600.0, "int4-bfloat16"),
]


def found(rows: list[Row] = ROWS) -> dict[str, Target]:
    """Return all promises, by their descriptions."""
    attention_s = {(QWEN2_0_5B, 4096): 2 * cache_bytes(QWEN2_0_5B, 4096) / 25e9}
    accuracy = {QWEN2_0_5B: ACCURACY}
    memory = {QWEN2_0_5B: MEMORY}
    measured = Measured(rows, MACHINE, attention_s)
    return {
        one.what: one for one in promises(measured, accuracy, memory, "tiny_llm_ref")
    }


@pytest.mark.parametrize(
    ("what", "reached", "holds"),
    [
        ("generation at 32, times the speed of mlx_lm", 25.0, True),
        ("generation at 32, times the speed of llama.cpp", 1.25, True),
        ("generation at 32, share of the bandwidth", 0.5, False),
        ("a prompt of 256, times the speed of the faster peer", 0.75, False),
        ("generation at 32, times the speed of onnxruntime and openvino", 4 / 3, True),
        ("a prompt of 256, times the speed of onnxruntime and openvino", 1.0, False),
        ("attention over 4096, times the time to read the cache", 2.0, False),
        (f"KL divergence, {QWEN2_0_5B}", 2e-4, True),
        (f"same likeliest token, {QWEN2_0_5B}", 63 / 64, True),
        ("peak of MLX's memory, times weights and cache", 1.1, True),
        ("peak of the process, times weights and cache", 2.0, False),
    ],
)
def test_a_promise_is_measured_against_its_bound(
    what: str, reached: float, holds: bool
) -> None:
    """The peers are mlx_lm in its fastest dtype, and PyTorch only in bfloat16."""
    promise = found()[what]

    assert promise.reached == pytest.approx(reached)
    assert promise.holds is holds


def test_a_prompt_counts_as_the_faster_of_the_last_variants_reads_it() -> None:
    """Week 3's model scores the last token alone, and Week 2's goes one token alone."""
    faster = row("tiny_llm_ref", "prefill", 256, 900.0) | {"rung": "week 3"}

    promise = found([*ROWS, faster])[
        "a prompt of 256, times the speed of the faster peer"
    ]

    assert promise.reached == pytest.approx(900 / 800)


def test_what_was_not_measured_is_neither_kept_nor_broken() -> None:
    without_llama = [one for one in ROWS if one["engine"] != "llama.cpp"]

    promise = found(without_llama)["generation at 32, times the speed of llama.cpp"]

    assert promise.reached is None
    assert promise.holds is None


def test_a_promise_is_kept_in_a_file_with_its_verdict() -> None:
    (first, *_) = kept(list(found().values()))

    assert first["bound"] == 20.0
    assert first["reached"] == 25.0
    assert first["holds"] is True


def test_a_cache_of_4096_tokens_does_not_fit_into_the_processor() -> None:
    """24 layers, keys and values, 2 heads of 64 numbers of 4 bytes."""
    assert cache_bytes(QWEN2_0_5B, 4096) == 4096 * 24 * 2 * 2 * 64 * 4


def test_accuracy_is_that_of_the_grader() -> None:
    truth, got = np.log([[0.5, 0.5]]), np.log([[0.25, 0.75]])

    figures = compared(truth, got)

    by_hand = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert figures == {"kl": pytest.approx(by_hand, rel=1e-5), "same_argmax": 0.0}


@pytest.mark.parametrize("model", [EMBEDDED_MODEL, QWEN2_0_5B])
def test_a_text_has_as_many_tokens_as_are_compared(model: str) -> None:
    ids = token_ids(model)

    assert len(ids) == NUM_POSITIONS
    assert max(ids) < args_of(model).vocab_size
