"""The norms in PyTorch, on the CPU: its own, and written by hand."""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiny_llm_lab.experiments.norm_speed.contest import (
    BOTH,
    BUILT_IN,
    BY_HAND,
    COPY,
    DIVIDED,
    EPS,
    FORWARD,
    LAYER,
    LAYER_BUILT_IN,
    LAYER_BY_VAR,
    ONE_OVER_ROOT,
    PARTIAL,
    RMS,
    RSQRT,
    SEED,
    TORCH,
    Case,
    Contest,
    Entrant,
    moved_bytes,
    num_learned,
)
from tiny_llm_lab.timing import Step

if TYPE_CHECKING:
    from torch import Tensor

Norm = Callable[..., "Tensor"]
PARTIAL_SHARE = 16
"""One channel in this many is measured, as in the paper (6.25 %)."""


def contest(case: Case) -> Contest:
    """Build the variants of a case, and a copy of as many bytes."""
    norms = roots() if case.part == "root" else FORMS[case.form]()
    entrants = {name: _entrant(case, name, norm) for name, norm in norms.items()}
    return Contest({**entrants, COPY: _copy(case)}, peak_bytes)


def peak_bytes(step: Step) -> int:
    """Run a step, and return the peak memory of its tensors.

    PyTorch does not count memory on the CPU, but its profiler reports allocations.
    """
    totals = [
        (event["args"]["Total Allocated"], event["args"]["Bytes"])
        for event in sorted(_profile(step), key=lambda event: event.get("ts", 0))
        if event["name"] == "[memory]"
    ]
    before = totals[0][0] - totals[0][1]
    return max(total for total, _ in totals) - before


def about() -> dict[str, str]:
    """Return PyTorch's number of threads, and which norms are single kernels."""
    import torch

    norms = built_in()
    case = Case("norm", TORCH, BUILT_IN[TORCH], "float32", 8, FORWARD)
    rms, layer = (
        _made_of(_entrant(case, name, norms[name]).step) for name in (RMS, LAYER)
    )
    return {
        "pytorch": f"{torch.__version__} on the CPU, {torch.get_num_threads()} threads",
        "functional here": f"{RMS} is {rms}, {LAYER} is {layer}",
    }


def _made_of(step: Step) -> str:
    """Tell a kernel from a chain of operations, in which the root is one of its own."""
    is_chain = any(event["name"] == "aten::rsqrt" for event in _profile(step))
    return "several operations" if is_chain else "one kernel"


def _profile(step: Step) -> list[dict[str, Any]]:
    """Run a step, and return the profiler's events."""
    from torch.profiler import ProfilerActivity, profile

    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # it would write to the terminal
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        return json.loads(file.read_text(encoding="utf-8"))["traceEvents"]


def built_in() -> dict[str, Norm]:
    """Return the norms of `torch.nn.functional`."""
    from torch.nn import functional

    return {
        RMS: lambda x, weight: functional.rms_norm(x, weight.shape, weight, EPS),
        LAYER: lambda x, weight, bias: functional.layer_norm(
            x, weight.shape, weight, bias, EPS
        ),
    }


def by_hand() -> dict[str, Norm]:
    """Return norms of plain operations, and those that a fair comparison would call."""
    return {
        RMS: _rms_norm,
        LAYER: _layer_norm,
        LAYER_BY_VAR: _layer_norm_by_var,
        LAYER_BUILT_IN: built_in()[LAYER],
        PARTIAL: _partial_rms_norm,
    }


FORMS = {BUILT_IN[TORCH]: built_in, BY_HAND: by_hand}


def _rms_norm(x: "Tensor", weight: "Tensor") -> "Tensor":
    """Compute RMSNorm as the solution does, in float32."""
    wide = x.float()
    root = _mean_square(wide).rsqrt()
    return (wide * root * weight.float()).to(x.dtype)


def _partial_rms_norm(x: "Tensor", weight: "Tensor") -> "Tensor":
    """Compute RMSNorm with the mean square of only the first channels."""
    wide = x.float()
    num_measured = -(-x.shape[-1] // PARTIAL_SHARE)
    root = _mean_square(wide[..., :num_measured]).rsqrt()
    return (wide * root * weight.float()).to(x.dtype)


def _layer_norm(x: "Tensor", weight: "Tensor", bias: "Tensor") -> "Tensor":
    """Compute LayerNorm as the solution does: subtract the mean first."""
    wide = x.float()
    centred = wide - wide.mean(-1, keepdim=True)
    unit = centred * _mean_square(centred).rsqrt()
    return (unit * weight.float() + bias.float()).to(x.dtype)


def _layer_norm_by_var(x: "Tensor", weight: "Tensor", bias: "Tensor") -> "Tensor":
    """Compute LayerNorm with PyTorch's mean and variance, as learners' notes do."""
    wide = x.float()
    mean = wide.mean(-1, keepdim=True)
    variance = wide.var(-1, keepdim=True, unbiased=False)
    unit = (wide - mean) / (variance + EPS).sqrt()
    return (unit * weight.float() + bias.float()).to(x.dtype)


def roots() -> dict[str, Norm]:
    """Return RMSNorm with three ways to divide by a root."""
    return {
        RSQRT: lambda x, weight: x * _mean_square(x).rsqrt() * weight,
        ONE_OVER_ROOT: lambda x, weight: x * (1 / _mean_square(x).sqrt()) * weight,
        DIVIDED: lambda x, weight: x / _mean_square(x).sqrt() * weight,
    }


def _mean_square(x: "Tensor") -> "Tensor":
    """Average the squares of each vector, and add eps."""
    return (x * x).mean(-1, keepdim=True) + EPS


def _entrant(case: Case, name: str, norm: Norm) -> Entrant:
    """Build a variant: a norm with its inputs."""
    import torch

    dtype = getattr(torch, case.dtype)
    generator = torch.Generator().manual_seed(SEED)
    x, gradient = (
        torch.randn(case.shape, generator=generator).to(dtype) for _ in range(2)
    )
    learned = [torch.ones(case.width, dtype=dtype) for _ in range(num_learned(name))]
    arguments = [x, *learned]
    held_bytes = sum(tensor.nbytes for tensor in arguments)
    moved = moved_bytes(case.direction, x.nbytes)
    if case.direction != BOTH:
        return Entrant(lambda: norm(*arguments), held_bytes, moved)
    for tensor in arguments:
        tensor.requires_grad_()
    return Entrant(
        lambda: torch.autograd.grad(norm(*arguments), arguments, gradient),
        held_bytes + gradient.nbytes,
        moved,
    )


def _copy(case: Case) -> Entrant:
    """Read and write as many bytes as a norm."""
    import torch

    rows, width = case.shape
    num_words = rows * width * getattr(torch, case.dtype).itemsize // 4
    words = torch.randn(num_words, generator=torch.Generator().manual_seed(SEED))
    return Entrant(words.clone, words.nbytes, 2 * words.nbytes)
