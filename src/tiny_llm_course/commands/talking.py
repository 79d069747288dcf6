"""The options that `main` and `chat` share."""

import click
import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.terminal import SEEDS, FiniteRange, with_options
from tiny_llm_course.doctor.finding import program
from tiny_llm_course.doctor.libraries import pdm_install
from tiny_llm_course.doctor.system import find_compiler
from tiny_llm_course.editing.lookup import is_untouched
from tiny_llm_course.errors import CourseError
from tiny_llm_course.inference.engine import Engine
from tiny_llm_course.inference.loaders import LOADERS, has_kernels, is_simulated
from tiny_llm_course.inference.mixture import Mixture
from tiny_llm_course.inference.reply import Reply
from tiny_llm_course.inference.shares import shares
from tiny_llm_course.places import REFERENCE, here
from tiny_llm_course.syllabus import name_of


def _compute_on(
    context: click.Context, option: click.Parameter, device: str | None
) -> None:
    """Let MLX compute on a device: on a CPU, with the solution's kernels in C++."""
    del context, option
    if device is None:
        return
    chosen = mx.Device(mx.DeviceType.cpu if device == "cpu" else mx.DeviceType.gpu)
    if not mx.is_available(chosen):
        raise CourseError(say("commands.talking.no_device", device=device))
    mx.set_default_device(chosen)


device_option = click.option(
    "--device",
    type=click.Choice(["cpu", "gpu"]),
    callback=_compute_on,
    expose_value=False,
)

talking_options = with_options(
    click.option(
        "--solution",
        metavar="NAME",
    ),
    click.option(
        "--try",
        "attempts",
        is_flag=True,
    ),
    click.option(
        "--only-mine",
        is_flag=True,
    ),
    click.option(
        "--loader",
        type=click.Choice(list(LOADERS)),
    ),
    device_option,
    click.option(
        "--model",
        default="embedded",
        metavar="NAME",
    ),
    click.option(
        "--max-tokens",
        metavar="N",
        type=click.IntRange(1, 2**20),
        default=256,
        show_default=True,
    ),
    click.option(
        "--temp",
        metavar="T",
        type=FiniteRange(0, 100),
    ),
    click.option(
        "--top-p",
        metavar="P",
        type=FiniteRange(0, 1),
    ),
    click.option(
        "--top-k",
        metavar="K",
        type=click.IntRange(0, 2**20),
    ),
    click.option(
        "--seed",
        type=SEEDS,
        metavar="S",
    ),
)
"""Gives a command the options that make up an `inference.engine.Settings`."""


def echo_whose(engine: Engine) -> None:
    """Print which parts are the learner's and which are ours, if both are used.

    And if kernels for a GPU run without one, that this takes its time.
    """
    if is_simulated(engine.loader):
        note(say("commands.talking.simulated"))
    if not isinstance(engine.solution, Mixture):
        return
    yours, ours = shares(engine)
    few, key = (yours, "yours") if len(yours) <= len(ours) else (ours, "ours")
    key = key if few else f"no_{key}"
    note(say(f"commands.talking.{key}", names=", ".join(map(name_of, few))))
    begun = [name_of(one) for one in ours if not is_untouched(here(), one)]
    if begun:
        note(say("commands.talking.begun", names=", ".join(begun)))


def echo_loader(engine: Engine) -> None:
    """Print what would be faster, then which loader was used and how to choose one."""
    is_ours = engine.solution.folder == REFERENCE and mx.default_device() == mx.cpu
    if is_ours and not has_kernels(engine.solution) and find_compiler():
        steps = [] if program("cmake") else [pdm_install()]
        command = " && ".join([*steps, "pdm run build-ext-ref"])
        note(say("commands.talking.compiler", command=command))
    note(say(f"commands.talking.{engine.loader}"))


def ending(answer: Reply) -> str:
    """Say what has ended an answer."""
    what = say(f"commands.talking.ended_by.{answer.ended_by}")
    return say("commands.talking.ended", what=what)


def note(text: str) -> None:
    """Print a note to stderr, since it is not part of the answer."""
    click.secho(text, dim=True, err=True)
