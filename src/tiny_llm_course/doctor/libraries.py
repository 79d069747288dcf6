"""MLX and PyTorch: are they here, and do they compute?

A broken installation (a driver, a system library) shows on import, so each library is
imported inside the function that checks it.
"""

from tiny_llm_course.catalogue import say
from tiny_llm_course.doctor.finding import Finding


def check_mlx() -> Finding:
    """Import MLX, and compute a sum on each device that it offers."""
    meaning = say("doctor.mlx")
    try:
        import mlx.core as mx
    except ImportError as error:
        return Finding(
            "MLX", "fail", say("doctor.not_loaded", error=error), meaning, cure(error)
        )
    default = mx.default_device().type.name
    results = {name: try_device(name) for name in ("cpu", "gpu") if has_device(name)}
    if not any(results.values()):
        state, remedy = "ok", ""
    else:
        state = "fail" if results[default] else "note"
        remedy = say("doctor.driver")
    works = say("doctor.works")
    each = [f"{name} {wrong or works}" for name, wrong in results.items()]
    found = say("commands.semicolon").join(each)
    return Finding(
        "MLX",
        state,
        f"{version_of('mlx')}: {found}",
        say("doctor.default", meaning=meaning, device=default),
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
        return say("doctor.nvidia")
    return f"rm -r .venv && {pdm_install()}"


def has_device(name: str) -> bool:
    """Tell whether MLX is built for the device "cpu" or "gpu", and there is one."""
    import mlx.core as mx

    return mx.is_available(getattr(mx, name))


def try_device(name: str) -> str:
    """Compute on the device "cpu" or "gpu"; return what went wrong, if it did."""
    import mlx.core as mx

    device = getattr(mx, name)
    try:
        total = mx.sum(mx.arange(4, stream=device), stream=device).item()
    except (RuntimeError, ValueError) as error:
        return say("doctor.fails", error=error)
    return "" if total == 6 else say("doctor.miscounts", total=total)


def check_pytorch() -> Finding:
    """Import PyTorch, and say which build it is."""
    meaning = say("doctor.pytorch")
    try:
        import torch
    except (ImportError, OSError) as error:
        found = say("doctor.not_loaded", error=error)
        return Finding("PyTorch", "fail", found, meaning, pdm_install())
    if torch.version.cuda:
        build = f"CUDA {torch.version.cuda}"
    else:
        build = "Metal" if torch.backends.mps.is_built() else "CPU"
    found = say("doctor.build", version=torch.__version__, build=build)
    return Finding("PyTorch", "ok", found, meaning)


def pdm_install() -> str:
    """Return the command that completes this environment from its own lock."""
    has_cuda = version_of("mlx-cuda-13") is not None
    return "pdm install -L pdm.cuda.lock" if has_cuda else "pdm install"


def version_of(package: str) -> str | None:
    """Return which version of a package is installed, or None if there is none."""
    from importlib import metadata  # 10 ms: a module that reads mail comes with it

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
