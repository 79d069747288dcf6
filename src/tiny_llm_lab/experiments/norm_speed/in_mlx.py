"""The norms in MLX: its own, the solution's, and the solution's after `mx.compile`."""

import io
from collections.abc import Callable, Sequence
from importlib.metadata import version

import mlx.core as mx

from tiny_llm_course.solution import Solution
from tiny_llm_lab.experiments.norm_speed.contest import (
    BOTH,
    BUILT_IN,
    COMPILED,
    COPY,
    DIVIDED,
    EPS,
    LAYER,
    MLX,
    ONE_OVER_ROOT,
    PARTIAL,
    RMS,
    RSQRT,
    SEED,
    Case,
    Contest,
    Entrant,
    moved_bytes,
    num_learned,
)
from tiny_llm_lab.timing import Step

Norm = Callable[..., mx.array]


def contest(case: Case, solution: Solution) -> Contest:
    """Build the variants of a case, and a copy of as many bytes."""
    if case.part == "root":
        norms = roots()
    elif case.form == BUILT_IN[MLX]:
        norms = built_in()
    else:
        norms = of_solution(case.width, solution)
    entrants = {name: _entrant(case, name, norm) for name, norm in norms.items()}
    return Contest({**entrants, COPY: _copy(case)}, peak_bytes)


def peak_bytes(step: Step) -> int:
    """Run a step, and return MLX's peak memory for it."""
    mx.clear_cache()
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    step()
    return max(0, mx.get_peak_memory() - before)


def about() -> dict[str, str]:
    """Return where MLX computes, and whether its norms are single kernels there."""
    vectors, gain = mx.ones((4, 8)), mx.ones(8)
    norms = built_in()
    rms = _made_of(norms[RMS](vectors, gain))
    layer = _made_of(norms[LAYER](vectors, gain, gain))
    return {
        "mlx": f"{version('mlx')} on {mx.default_device()}",
        "mx.fast here": f"{RMS} is {rms}, {LAYER} is {layer}",
    }


def _made_of(result: mx.array) -> str:
    """Tell a kernel from a chain of operations, in which the root is one of its own."""
    graph = io.StringIO()
    mx.export_to_dot(graph, result)
    is_chain = "Rsqrt" in graph.getvalue()
    return "several operations" if is_chain else "one kernel"


def built_in() -> dict[str, Norm]:
    """Return the norms of `mx.fast`."""
    return {
        RMS: lambda x, weight: mx.fast.rms_norm(x, weight, EPS),
        LAYER: lambda x, weight, bias: mx.fast.layer_norm(x, weight, bias, EPS),
    }


def of_solution(width: int, solution: Solution) -> dict[str, Norm]:
    """Return the norms of the solution, with their learned vectors as arguments."""
    rms = solution.get("layer_norm.RMSNorm")
    layer = solution.get("norms.LayerNorm")
    partial = solution.get("norms.PartialRMSNorm")
    return {
        RMS: lambda x, weight: rms(width, weight, EPS)(x),
        LAYER: lambda x, weight, bias: layer(width, weight, bias, EPS)(x),
        PARTIAL: lambda x, weight: partial(width, weight, eps=EPS)(x),
    }


def roots() -> dict[str, Norm]:
    """Return RMSNorm with three ways to divide by a root."""
    return {
        RSQRT: lambda x, weight: x * mx.rsqrt(_mean_square(x)) * weight,
        ONE_OVER_ROOT: lambda x, weight: x * (1 / mx.sqrt(_mean_square(x))) * weight,
        DIVIDED: lambda x, weight: x / mx.sqrt(_mean_square(x)) * weight,
    }


def _mean_square(x: mx.array) -> mx.array:
    """Average the squares of each vector, and add eps."""
    return mx.mean(x * x, axis=-1, keepdims=True) + EPS


def _entrant(case: Case, name: str, norm: Norm) -> Entrant:
    """Build a variant: a norm with its inputs."""
    dtype = getattr(mx, case.dtype)
    keys = mx.random.split(mx.random.key(SEED), 2)
    x, gradient = (mx.random.normal(case.shape, dtype, key=key) for key in keys)
    gains = [mx.ones(case.width, dtype)] * num_learned(name)
    goes_back = case.direction == BOTH
    arguments = [x, *gains, gradient] if goes_back else [x, *gains]
    mx.eval(arguments)
    function = _with_gradients(norm) if goes_back else norm
    function = mx.compile(function) if case.form == COMPILED else function
    return Entrant(
        lambda: mx.eval(function(*arguments)),
        sum(array.nbytes for array in arguments),
        moved_bytes(case.direction, x.nbytes),
    )


def _with_gradients(norm: Norm) -> Callable[..., Sequence[Sequence[mx.array]]]:
    """Return a norm's gradients as a function that also gets the result's gradient."""

    def both(*arguments: mx.array) -> Sequence[Sequence[mx.array]]:
        *primals, gradient = arguments
        return mx.vjp(norm, primals, [gradient])

    return both


def _copy(case: Case) -> Entrant:
    """Read and write as many bytes as a norm, in words that every CPU handles fast.

    MLX optimises a plain copy away, so this one clears the sign.
    """
    rows, width = case.shape
    num_words = rows * width * getattr(mx, case.dtype).size // mx.float32.size
    words = mx.random.normal((num_words,), key=mx.random.key(SEED))
    mx.eval(words)
    return Entrant(lambda: mx.eval(mx.abs(words)), words.nbytes, 2 * words.nbytes)
