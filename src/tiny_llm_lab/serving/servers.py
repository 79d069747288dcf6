"""The servers that are measured, each in a process of its own."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import httpx

from tiny_llm_course.errors import CourseError
from tiny_llm_lab.bench.interleaved import NUM_THREADS

SLOTS = 8
"""How many streams run together."""

CONTEXT = 2048
"""How many tokens each of them may have."""

START_S = 120.0

OURS = "from tiny_llm_course.commands.serve import command; command()"

Name = Literal["ours", "mlx_lm", "llama.cpp"]


@dataclass(frozen=True)
class Server:
    """A server that runs.

    Attributes:
        name: Whose it is.
        url: Where it is reached.
        takes_ids: Whether a prompt may be token ids.
        model: What the model is called there.
    """

    name: Name
    url: str
    takes_ids: bool
    model: str


def command_of(name: Name, model: Path | str, port: int, solution: str) -> list[str]:
    """Return the command that starts a server.

    Args:
        name: Whose.
        model: Our server and that of mlx_lm take a folder or a name; llama.cpp's takes
            the file, after the program itself and a colon.
        port: Where it shall listen, on the loopback interface.
        solution: Whose code our server runs.
    """
    where = ["--host", "127.0.0.1", "--port", str(port)]
    if name == "ours":
        own = ["--solution", solution, "--max-num-seqs", str(SLOTS)]
        return [sys.executable, "-c", OURS, "--model", str(model), *own, *where]
    if name == "mlx_lm":
        quiet = ["--log-level", "ERROR"]
        program = [sys.executable, "-m", "mlx_lm", "server"]
        return [*program, "--model", str(model), *quiet, *where]
    program, _, file = str(model).partition(":")
    threads = ["-t", str(NUM_THREADS), "-tb", str(NUM_THREADS)]
    slots = ["-np", str(SLOTS), "-c", str(SLOTS * CONTEXT)]
    return [program, "-m", file, *threads, *slots, *where]


@contextlib.contextmanager
def started(name: Name, model: Path | str, solution: str = "ref") -> Generator[Server]:
    """Start a server, wait until it answers, and end it afterwards.

    Raises:
        CourseError: It ends at once, or does not answer in time.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    threads = dict.fromkeys(names, str(NUM_THREADS))
    with (
        tempfile.TemporaryFile() as log,  # a pipe that nobody reads gets full
        subprocess.Popen(
            command_of(name, model, port, solution),
            env={**os.environ, **threads},
            stdout=subprocess.DEVNULL,
            stderr=log,
        ) as process,
    ):
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(url, process, log)
            takes_ids = name != "mlx_lm"
            yield Server(
                name, url, takes_ids, _model_of(url) if takes_ids else str(model)
            )
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()


def wait_for(url: str, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    """Wait until a server that was started answers.

    Raises:
        CourseError: It ends, or does not answer in time.
    """
    began_s = time.monotonic()
    with httpx.Client(trust_env=False) as client:
        while time.monotonic() - began_s < START_S:
            if process.poll() is not None:
                log.seek(0)
                told = log.read().decode(errors="replace")
                raise CourseError(f"the server has ended: {told.strip()[-500:]}")
            with contextlib.suppress(httpx.TransportError):
                if client.get(f"{url}/health").status_code == 200:
                    return
            time.sleep(0.1)
    raise CourseError(f"the server does not answer within {START_S:g} s")


def _model_of(url: str) -> str:
    with httpx.Client(trust_env=False) as client:
        return client.get(f"{url}/v1/models").json()["data"][0]["id"]
