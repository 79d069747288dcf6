"""MLX and PyTorch: are they here, and do they compute?

A broken installation (a driver, a system library) shows on import, so each library is
imported inside the function that checks it.
"""

from importlib import metadata

from tiny_llm_course.doctor.finding import Finding


def check_mlx() -> Finding:
    """Import MLX, and compute a sum on each device that it offers."""
    meaning = "every model of the course computes with MLX"
    try:
        import mlx.core as mx
    except ImportError as error:
        return Finding("MLX", "fail", f"does not load: {error}", meaning, cure(error))
    default = mx.default_device().type.name
    results = {name: try_device(name) for name in ("cpu", "gpu") if has_device(name)}
    if all(result == "works" for result in results.values()):
        state, remedy = "ok", ""
    else:
        state = "note" if results[default] == "works" else "fail"
        remedy = "check the driver of the device"
    found = "; ".join(f"{name} {result}" for name, result in results.items())
    return Finding(
        "MLX",
        state,
        f"{metadata.version('mlx')}: {found}",
        f"{meaning}, by default on the {default}",
        remedy,
    )


def cure(error: ImportError) -> str:
    """Say what to do when MLX does not load.

    Its backends for Linux contain the same file. Replacing one by the other in an
    environment can delete it, so only a new environment is sure to help.
    """
    if isinstance(error, ModuleNotFoundError):
        return pdm_install()
    if "libcuda" in str(error):
        return "install NVIDIA's driver, or for the CPU: rm -r .venv && pdm install"
    return f"rm -r .venv && {pdm_install()}"


def has_device(name: str) -> bool:
    """Tell whether MLX is built for the device "cpu" or "gpu", and there is one."""
    import mlx.core as mx

    return mx.is_available(getattr(mx, name))


def try_device(name: str) -> str:
    """Compute on the device "cpu" or "gpu"; return "works" or what went wrong."""
    import mlx.core as mx

    device = getattr(mx, name)
    try:
        total = mx.sum(mx.arange(4, stream=device), stream=device).item()
    except (RuntimeError, ValueError) as error:
        return f"fails: {error}"
    return "works" if total == 6 else f"computes 0 + 1 + 2 + 3 = {total}"


def check_pytorch() -> Finding:
    """Import PyTorch, and say which build it is."""
    meaning = "the tests compare your results with it; `pdm run main` does without"
    try:
        import torch
    except (ImportError, OSError) as error:
        found = f"does not load: {error}"
        return Finding("PyTorch", "fail", found, meaning, pdm_install())
    if torch.version.cuda:
        build = f"CUDA {torch.version.cuda}"
    else:
        build = "Metal" if torch.backends.mps.is_built() else "CPU"
    return Finding("PyTorch", "ok", f"{torch.__version__}, the {build} build", meaning)


def pdm_install() -> str:
    """Return the command that completes this environment from its own lock."""
    try:
        metadata.version("mlx-cuda-13")
    except metadata.PackageNotFoundError:
        return "pdm install"
    return "pdm install -L pdm.cuda.lock"
