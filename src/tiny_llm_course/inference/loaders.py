"""The variants of the course that can talk, and which of them is the fastest here."""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
from jaxtyping import Float
from mlx import nn

from tiny_llm_course.catalogue import say
from tiny_llm_course.editing.lookup import is_stub_in
from tiny_llm_course.errors import CourseError
from tiny_llm_course.inference.flash import has_flash
from tiny_llm_course.inference.mixture import Mixture
from tiny_llm_course.places import REFERENCE
from tiny_llm_course.solution import BrokenFileError, Solution
from tiny_llm_course.unsolved import Unsolved

BITS, GROUP_SIZE = 8, 64
"""How the loader with kernels quantises. 4 bits are too few for a small model."""


@dataclass(frozen=True)
class Loader:
    """One way to generate text with a solution.

    Attributes:
        model: The symbol of the model.
        generate: The symbol of the loop.
        has_caches: Whether the model is also called with caches. Then its loop takes no
            sampler.
        packs: Whether dense weights have to be quantised for it.
        is_in_metal: Whether its kernels are for a GPU of Apple's, or a simulator.
    """

    model: str
    generate: str
    has_caches: bool = True
    packs: bool = False
    is_in_metal: bool = False


ON_KERNELS = "quantize.quantized_linear"

WITH_CACHE = ("qwen2_week2.Qwen2ModelWeek2", "generate.simple_generate_with_kv_cache")

LOADERS = {
    "week1": Loader(
        "qwen2_week1.Qwen2ModelWeek1", "generate.simple_generate", has_caches=False
    ),
    "week2": Loader(*WITH_CACHE),
    "kernels": Loader(*WITH_CACHE, packs=True),
    "week2-gpu": Loader(
        "qwen2_week2_gpu.Qwen2ModelWeek2Gpu",
        WITH_CACHE[1],
        packs=True,
        is_in_metal=True,
    ),
}
"""From the slowest to the fastest, and one that is chosen by name only."""


def fastest(solution: Solution, network: Any) -> str:  # noqa: ANN401 - of mlx_lm
    """Return the fastest loader for which a solution has all parts.

    In a mixture all parts exist. Week 1's loader is chosen while the learner has
    finished parts of it and none of Week 2's, so that they are used.
    """
    if isinstance(solution, Mixture):
        is_of_week_1 = _has_part(solution, "week1") and not _has_part(solution, "week2")
    else:
        is_of_week_1 = any(is_stub_in(solution.folder, one) for one in WITH_CACHE)
    if is_of_week_1:
        return "week1"
    runs_kernels = has_kernels(solution) and has_flash(solution)
    return "kernels" if runs_kernels and can_be_packed(network) else "week2"


def _has_part(mixture: Mixture, loader: str) -> bool:
    """Tell whether the learner has a part that only one loader uses."""
    files = {"week1": "qwen2_week1.", "week2": ("qwen2_week2.", "kv_cache.")}[loader]
    loop = LOADERS[loader].generate
    return any(one.startswith(files) or one == loop for one in mixture.yours)


def has_kernels(solution: Solution) -> bool:
    """Tell whether the kernels of a solution are built, and used on this machine.

    In a mixture, the learner's linear layer uses the learner's kernels.
    """
    if isinstance(solution, Mixture) and ON_KERNELS not in solution.yours:
        return False
    try:
        return solution.get("kernels.are_on")()
    except (Unsolved, BrokenFileError):
        return False


def can_be_packed(network: Any) -> bool:  # noqa: ANN401 - mlx_lm has no types
    """Tell whether all weights are quantised, or have rows of whole groups."""
    return all(one.weight.shape[-1] % GROUP_SIZE == 0 for one in _dense(network))


def check(loader: str, solution: Solution, network: Any) -> None:  # noqa: ANN401
    """Check that a loader can be used.

    Raises:
        CourseError: The kernels are not built, or the weights cannot be packed.
    """
    if not LOADERS[loader].packs:
        return
    is_in_cpp = mx.default_device() == mx.cpu and not LOADERS[loader].is_in_metal
    if is_in_cpp and not has_kernels(solution):
        command = "build-ext-ref" if solution.folder == REFERENCE else "build-ext"
        raise CourseError(say("commands.talking.not_built", command=command))
    if not can_be_packed(network):
        sizes = {"loader": loader, "size": GROUP_SIZE}
        raise CourseError(say("commands.talking.not_packed", **sizes))


def prepare(loader: str, network: Any) -> None:  # noqa: ANN401 - mlx_lm has no types
    """Convert the weights of a model to the form in which a loader is fastest."""
    if LOADERS[loader].packs:
        nn.quantize(network, GROUP_SIZE, BITS)
    elif mx.default_device() == mx.cpu:
        for one in _dense(network):
            one.weight = by_columns(one.weight)
    mx.eval(network.parameters())


def _dense(network: Any) -> list[Any]:  # noqa: ANN401 - mlx_lm has no types
    """Return the layers of a model whose weights are not quantised."""
    kinds = nn.Linear | nn.Embedding
    return [one for one in network.modules() if isinstance(one, kinds)]


def is_simulated(loader: str) -> bool:
    """Tell whether a loader's kernels run in the simulator of a GPU."""
    return LOADERS[loader].is_in_metal and not mx.metal.is_available()


def simulate() -> None:
    """Let the simulator run kernels in Metal from now on, and not look for mistakes."""
    from tiny_llm_course.metal.variants import running_kernel

    mx.fast.metal_kernel = running_kernel


def by_columns(w: Float[mx.array, "O I"]) -> Float[mx.array, "O I"]:
    """Store a matrix in column-major order, with unchanged shape and values.

    The product x w^T reads w by its columns. With the BLAS in the wheel of MLX it takes
    half as long if they lie in one piece: 31 instead of 58 us for 256 x 256, on two
    x86 cores, in float32.
    """
    return mx.contiguous(w.T).T
