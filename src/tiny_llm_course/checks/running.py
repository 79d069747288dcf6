"""Running the steps: side by side, each with its own list of what it reads."""

import multiprocessing
import os
import runpy
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from tiny_llm_course.book.building import BUILT, NUMBERS
from tiny_llm_course.checks.cache import Kept
from tiny_llm_course.checks.steps import Outcome, Step
from tiny_llm_course.checks.tracing.sitecustomize import NOTED_IN

SETTINGS = {
    "BOOK": str(BUILT),  # built already
    "BOOK_NUMBERS": str(NUMBERS),
    "OMP_NUM_THREADS": "1",  # steps that run side by side do not fight for cores
    "OPENBLAS_NUM_THREADS": "1",
    "TINY_LLM_LANG": "en",  # whatever the author's
    "PYTHONUNBUFFERED": "1",  # keeps stdout and stderr in their order
    "PYTHONDONTWRITEBYTECODE": "",  # but see BYTECODE
}

BYTECODE = ".cache/bytecode"
"""Where modules are kept compiled, even by an author who wants none beside sources.

Hundreds of processes import the same ones. Compiling took half of an empty step, and
more of one that imports PyTorch or transformers in processes of its own.
"""

COMPILED = ".cache/mlx"
"""Where MLX keeps the loops that `mx.compile` has had a C++ compiler make: it looks in
the folder for temporary files, and each step has its own."""

TRACING = "src/tiny_llm_course/checks/tracing"

SERVER = multiprocessing.get_context("forkserver")
"""Makes the process of a step: a copy of one that has imported what takes most of them
seconds. Nothing of the course is among it, as each step notes what it reads."""

SPAWNED = multiprocessing.get_context("spawn")
"""Makes the process of a step that imports little, while the server still starts."""

PRELOADED = (
    *("asyncio", "click.testing", "numpy", "pytest", "rich.console", "torch"),
    *("matplotlib.figure", "playwright.sync_api", "sphinx.builders.html"),
    "transformers.models.auto.tokenization_auto",  # as mlx_lm does
    "transformers.models.qwen2.modeling_qwen2",  # the truth of most days
)

SERVER.set_forkserver_preload(list(PRELOADED))


class Runner:
    """Run steps in parallel: one more than there are cores, as some of them wait.

    Args:
        kept: The cache of steps that have passed.
        anew: Whether to run cached steps again.
    """

    def __init__(self, kept: Kept, *, anew: bool = False) -> None:
        self._kept = kept
        self._anew = anew
        self._children = set[BaseProcess]()
        self._one_at_a_time = threading.Lock()  # processes know nothing of threads

    def run(self, steps: Sequence[Step]) -> Iterator[tuple[Step, Outcome]]:
        """Run steps and yield each result, stopping after the first failure.

        The steps that took longest last time start first, to keep all cores busy.
        """
        _start_server(self._kept.root)
        in_turn = sorted(steps, key=self._kept.duration_s, reverse=True)
        threads = ThreadPoolExecutor((os.cpu_count() or 1) + 1)
        waiting = {threads.submit(self._outcome, step): step for step in in_turn}
        try:
            for done in as_completed(waiting):
                yield waiting[done], done.result()
                if not done.result().succeeded:
                    return
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for child in list(self._children):
                child.terminate()

    def _outcome(self, step: Step) -> Outcome:
        """Return the cached result of a step, or run it and cache the result."""
        known = self._kept.outcome(step)
        if known and step.may_be_kept and not self._anew:
            return known
        with tempfile.TemporaryDirectory(
            dir=_memory(), ignore_cleanup_errors=True
        ) as folder:
            noted = Path(folder) / "noted"
            noted.touch()
            loops = self._kept.root / COMPILED
            loops.mkdir(parents=True, exist_ok=True)
            noted.with_name("mlx").symlink_to(loops)
            start_s = time.perf_counter()
            code, output = self._run(step, noted)
            outcome = Outcome(code == 0, output, time.perf_counter() - start_s)
            self._kept.keep(step, outcome, noted.read_text().splitlines())
            compiled = self._kept.root / BYTECODE / Path(folder).relative_to("/")
            shutil.rmtree(compiled, ignore_errors=True)  # nobody finds it again
        return outcome

    def _run(self, step: Step, noted: Path) -> tuple[int, str]:
        """Run a step in the root of the repository; return exit code and output.

        Args:
            step: The step.
            noted: Gets a line for each file that it reads, in a folder that the step
                may use for files of its own.
        """
        tracing = self._kept.root / TRACING
        output = noted.with_name("output")
        its = {
            "arguments": list(step.arguments),
            "root": str(self._kept.root),
            "output": str(output),
            "environment": {
                **os.environ,
                **SETTINGS,
                **_traced(self._kept.root),
                **_bytecode(self._kept.root),
                "TMPDIR": str(noted.parent),
                NOTED_IN: str(noted),
            },
        }
        child = (SPAWNED if step.is_light else SERVER).Process(
            target=runpy.run_path, args=(str(tracing / "step.py"), {"STEP": its})
        )
        with self._one_at_a_time:
            child.start()
            self._children.add(child)
        wait([child.sentinel])
        with self._one_at_a_time:
            child.join()
            self._children.discard(child)
        return child.exitcode or 0, output.read_text(encoding="utf-8")


def _memory() -> str | None:
    """Return a folder in memory, if there is one with room that programs run from.

    Checkouts come and go by the hundred, which a disk's file system is slow at.
    """
    folder = "/dev/shm"  # noqa: S108 - a folder of its own is made in it
    if not Path(folder).exists():
        return None
    about = os.statvfs(folder)
    num_free_bytes = about.f_bavail * about.f_frsize
    is_fit = num_free_bytes > 2 << 30 and not about.f_flag & os.ST_NOEXEC
    return folder if is_fit else None


def _bytecode(root: Path) -> dict[str, str]:
    """Return the setting that has Python keep what it compiles, see `BYTECODE`."""
    return {"PYTHONPYCACHEPREFIX": str(root / BYTECODE)}


def _traced(root: Path) -> dict[str, str]:
    """Return the setting that has Python import `sitecustomize.py` of ours."""
    path = filter(None, (str(root / TRACING), os.environ.get("PYTHONPATH")))
    return {"PYTHONPATH": os.pathsep.join(path)}


def _start_server(root: Path) -> None:
    """Start the server, unless it runs: its libraries count cores when imported."""
    usual = dict(os.environ)
    os.environ.update({**SETTINGS, **_bytecode(root), **_traced(root)})
    try:
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(usual)
