"""How fast MLX multiplies matrices on the CPU, and with which BLAS."""

import os
import platform
import time

from tiny_llm_course.blas import copy_for_mlx, load_openblas
from tiny_llm_course.catalogue import say
from tiny_llm_course.doctor.finding import OPENBLAS, Finding, how_to_install
from tiny_llm_course.doctor.libraries import pdm_install


def check_blas() -> Finding:
    """Say which BLAS the CPU has, and measure a product with it."""
    if platform.system() == "Darwin":
        library, remedy = say("doctor.accelerate"), ""
    else:
        library = load_openblas()
        remedy = "" if library else openblas_remedy()
    return Finding(
        "BLAS",
        "note" if remedy else "ok",
        library or say("doctor.own_blas"),
        say("doctor.slow" if remedy else "doctor.speed", gflops=product_gflops()),
        remedy,
    )


def openblas_remedy() -> str:
    """Say how to switch OpenBLAS on, or what is missing and how to get it."""
    wanted = os.environ.get("TINY_LLM_BLAS")
    if wanted:
        return say("doctor.unset", value=wanted)
    of_the_system = how_to_install(OPENBLAS)
    try:
        copy_for_mlx()
    except OSError as error:
        names = {"error": error, "command": pdm_install(), "other": of_the_system}
        return say("doctor.either", **names)
    return of_the_system


def product_gflops(num_repeats: int = 3) -> float:
    """Time a float32 product on the CPU: the best of `num_repeats`.

    The sizes are those of Qwen2-0.5B: 128 tokens of width 896 into an MLP of 4864.
    """
    import mlx.core as mx

    x = mx.random.normal((128, 896), stream=mx.cpu)
    weight = mx.random.normal((896, 4864), stream=mx.cpu)
    mx.eval(x, weight)
    times_s: list[float] = []
    for _ in range(num_repeats):
        start_s = time.perf_counter()
        mx.eval(mx.matmul(x, weight, stream=mx.cpu))
        times_s.append(time.perf_counter() - start_s)
    return 2 * 128 * 896 * 4864 / min(times_s) / 1e9
