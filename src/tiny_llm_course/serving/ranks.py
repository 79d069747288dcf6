"""Processes that compute a model together with this one, which starts and ends them.

MLX's ring connects them, and adds up. What to compute they are told through a pipe: a
process that waits for a message of the ring keeps a core busy, and one that waits for a
pipe sleeps. It also notices at once if nobody is at the other end any more.
"""

import contextlib
import faulthandler
import functools
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import click
import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.inference.blame import SolutionError
from tiny_llm_course.serving.starting import Settings
from tiny_llm_course.solution import Solution

FOLLOW = (sys.executable, "-m", "tiny_llm_course.serving.following")
READY = "ready"
READY_S, JOIN_S, END_S = 120.0, 30, 5.0
"""How long the others may take to load a model, all to meet, and the others to end."""

Run = Callable[..., mx.array]


class RankError(SolutionError):
    """A process has ended, or has not begun in time. The message says which."""


class Ranks:
    """The processes from rank 1 on. This one has rank 0, and tells them what to do.

    Args:
        settings: What is served, and by how many processes.
        command: What each of the others runs.
        ready_s: How long they may take to load the model.
    """

    def __init__(
        self,
        settings: Settings,
        command: Sequence[str] = FOLLOW,
        ready_s: float = READY_S,
    ) -> None:
        self._size, self._ready_s = settings.processes, ready_s
        self._is_over = threading.Event()
        self._ending = threading.Lock()
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump([[f"127.0.0.1:{one}"] for one in free_ports(self._size)], file)
        self._hosts = file.name
        self._others = {
            rank: subprocess.Popen(
                command,
                env={**os.environ, **self._in_ring(rank)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C is for this process, which ends them
            )
            for rank in range(1, self._size)
        }
        device = "gpu" if mx.default_device() == mx.gpu else "cpu"
        self._tell({"device": device, "settings": asdict(settings)})
        silence_ring()

    def split(self, solution: Solution, model: Any, run: Run) -> Run:  # noqa: ANN401
        """Leave of a model what this process computes, and let the others do the same.

        Args:
            solution: Whose model it is.
            model: The model, which has all of its layers.
            run: Computes a step with it.

        Returns:
            What computes a step together with the others.

        Raises:
            RankError: One of them has ended, or does not come.
        """
        self._wait_until_ready()
        self._tell({})
        os.environ.update(self._in_ring(0))
        solution.get("distributed.split_model")(model, *joined())
        for rank in self._others:
            threading.Thread(target=self._watch, args=(rank,), daemon=True).start()
        return functools.partial(self._run, run)

    def close(self) -> None:
        """End the others."""
        self._is_over.set()
        with contextlib.suppress(OSError):
            self._tell(None)
        Path(self._hosts).unlink()
        for one in self._others.values():
            try:
                one.wait(END_S)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()

    def _in_ring(self, rank: int) -> dict[str, str]:
        """Return what MLX reads in its environment, as `mlx.launch` sets it."""
        return {"MLX_RANK": str(rank), "MLX_HOSTFILE": self._hosts}

    def _tell(self, order: object) -> None:
        """Tell all others what to do."""
        for one in self._others.values():
            assert one.stdin is not None
            one.stdin.write(json.dumps(order) + "\n")
            one.stdin.flush()

    def _wait_until_ready(self) -> None:
        until_s = time.monotonic() + self._ready_s
        for rank, one in self._others.items():
            assert one.stdout is not None
            left_s = max(0.0, until_s - time.monotonic())
            if not select.select([one.stdout], [], [], left_s)[0]:
                raise RankError(
                    say("serve.rank_late", rank=rank, seconds=self._ready_s)
                )
            said = one.stdout.readline().strip()
            if said != READY:
                raise RankError(self._end_of(rank, said))

    def _run(
        self,
        run: Run,
        model: Any,  # noqa: ANN401 - of a solution
        pieces: Sequence[Sequence[int]],
        caches: Sequence[Sequence[Any]],
        logits_to_keep: Sequence[int],
    ) -> mx.array:
        """Compute a step, together with the others."""
        order = {
            "pieces": [list(one) for one in pieces],
            "tables": [own[0].block_table for own in caches],
            "offsets": [own[0].offset for own in caches],
            "logits_to_keep": list(logits_to_keep),
        }
        try:
            self._tell(order)
            return run(model, pieces, caches, logits_to_keep)
        except Exception as error:  # noqa: BLE001 - they are no longer in step
            time.sleep(1)  # whoever has ended before it tells the reason
            self._give_up(say("serve.rank_ended", rank=0, reason=told(error)))

    def _watch(self, rank: int) -> None:
        """Wait for the end of another process, which ends this one as well."""
        stdout = self._others[rank].stdout
        assert stdout is not None
        said = stdout.read().strip()
        if not self._is_over.is_set():
            self._give_up(self._end_of(rank, said))

    def _end_of(self, rank: int, said: str) -> str:
        """Say how another process has ended."""
        status = self._others[rank].wait()
        reason = said or say("serve.rank_status", status=status)
        return say("serve.rank_ended", rank=rank, reason=reason)

    def _give_up(self, line: str) -> NoReturn:
        """End all processes at once: without one of them, none can go on."""
        with self._ending:
            click.echo(f"serve: {line}", err=True)
            for one in self._others.values():
                one.kill()
            os._exit(1)


def joined() -> tuple[int, int, Callable[[mx.array], mx.array]]:
    """Join the ring of the environment.

    Returns:
        The rank of this process, how many there are, and what adds up.
    """
    # Not a thread of ours: MLX lets none of them run until it has found all others.
    faulthandler.dump_traceback_later(JOIN_S, exit=True)
    group = mx.distributed.init(strict=True, backend="ring")
    faulthandler.cancel_dump_traceback_later()
    all_sum = functools.partial(mx.distributed.all_sum, group=group)
    return group.rank(), group.size(), all_sum


def silence_ring() -> None:
    """Keep what the ring itself writes when a connection ends off the terminal.

    It is a dozen lines in C++. What Python writes to stderr still arrives.
    """
    sys.stderr = sys.__stderr__ = os.fdopen(os.dup(2), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def told(error: BaseException) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def free_ports(number: int) -> list[int]:
    """Return ports on which nobody listens."""
    with contextlib.ExitStack() as taken:
        found = [
            taken.enter_context(socket.create_server(("127.0.0.1", 0)))
            for _ in range(number)
        ]
        return [one.getsockname()[1] for one in found]
