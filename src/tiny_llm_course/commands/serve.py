"""`pdm run serve`: a model for clients of OpenAI, with a page to talk to it."""

import contextlib
import logging
import socket
from typing import Any

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.talking import device_option, note
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.errors import CourseError
from tiny_llm_course.inference.blame import SolutionError
from tiny_llm_course.serving.front import Front
from tiny_llm_course.serving.ranks import Ranks
from tiny_llm_course.serving.running import address_of, bound, is_loopback, run
from tiny_llm_course.serving.starting import Served, Settings, Split, start


@click.command(name="serve", cls=CourseCommand)
@click.option("--solution", metavar="NAME")
@click.option("--try", "attempts", is_flag=True)
@click.option("--only-mine", is_flag=True)
@device_option
@click.option("--model", default="embedded", metavar="NAME")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option("--api-key", metavar="KEY", envvar="TINY_LLM_API_KEY")
@click.option(
    "--max-num-seqs", type=click.IntRange(1, 256), default=8, show_default=True
)
@click.option(
    "--max-queue", type=click.IntRange(0, 2**16), default=64, show_default=True
)
@click.option("--max-num-batched-tokens", type=click.IntRange(1, 2**16))
@click.option(
    "--num-pages", type=click.IntRange(2, 2**20), default=512, show_default=True
)
@click.option("--processes", type=click.IntRange(1, 64), default=1, show_default=True)
def command(host: str, port: int, **options: Any) -> int:  # noqa: ANN401
    """Serve a Qwen2 model to many at once."""
    settings = Settings(**options)
    if settings.api_key == "":
        raise CourseError(say("serve.empty_key"))
    if settings.max_num_seqs > settings.budget:
        told = {"rows": settings.max_num_seqs, "tokens": settings.budget}
        raise CourseError(say("serve.small_budget", **told))
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    listening = bound(host, port)
    try:
        if settings.processes == 1:
            return _serve(listening, settings, None)
        with contextlib.closing(Ranks(settings)) as ranks:
            return _serve(listening, settings, ranks.split)
    except SolutionError as error:
        click.echo(f"serve: {error}", err=True)
        return 1


def _serve(listening: socket.socket, settings: Settings, split: Split | None) -> int:
    """Serve until a signal."""
    served = start(settings, split)
    _tell(listening, served, settings)
    app = Front(served.app, served.engine, served.model_name, settings.api_key)

    async def drain() -> None:
        note(say("serve.ending"))
        await served.drain()

    run(app, listening, served.limits, drain)
    return 0


def _tell(listening: socket.socket, served: Served, settings: Settings) -> None:
    """Print where the server is, and who can reach it."""
    url = address_of(listening)
    click.echo(say("serve.ready", url=url))
    key = "..." if settings.api_key else "-"
    note(say("serve.clients", url=url, api_key=key, model=served.model_name))
    if not is_loopback(listening.getsockname()[0]):
        note(say("serve.open" if settings.api_key else "serve.open_to_all"))
