"""`pdm run build-ext` and `pdm run build-ext-ref`: compile kernels."""

import time

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.extension.building import build, is_current, module_of
from tiny_llm_course.extension.sources import sources_of
from tiny_llm_course.places import here


def _command(name: str, solution: str) -> click.Command:
    """Make the command that compiles the kernels of one of our packages."""

    @click.command(name, cls=CourseCommand, texts="build-ext")
    def command() -> int:
        """Compile the kernels in C++, which Python calls from Week 2, Day 4, on."""
        folder = here().root / "src" / solution
        kernels = sources_of(folder)
        sources = here().link(kernels) if kernels else ""
        if is_current(folder):
            click.echo(say("extension.current", sources=sources))
            return 0
        start_s = time.perf_counter()
        click.echo(say("extension.compiling", sources=sources), err=True)
        built = build(folder, anew=True, tell=lambda step: click.echo(step, err=True))
        if built.problem:
            click.echo(say("extension.failed", sources=sources), err=True)
            click.echo(built.problem, err=True)
            return 1
        if built.warnings:
            click.echo(say("extension.warned", sources=sources), err=True)
            click.echo(built.warnings, err=True)
        seconds = time.perf_counter() - start_s
        module = here().link(module_of(folder))
        names = {"sources": sources, "module": module, "seconds": seconds}
        click.echo(say("extension.compiled", **names))
        return 0

    return command


command = _command("build-ext", "tiny_llm")
command_ref = _command("build-ext-ref", "tiny_llm_ref")
