"""`pdm run speed`: time kernels beside ours and beside what the machine gives."""

from collections.abc import Sequence
from itertools import takewhile

import click

from tiny_llm_course.catalogue import say
from tiny_llm_course.commands.learning import task_options, with_skipped
from tiny_llm_course.commands.terminal import CourseCommand
from tiny_llm_course.errors import CourseError
from tiny_llm_course.extension.preparing import prepare
from tiny_llm_course.grading.report.standing import DONE, TaskReport
from tiny_llm_course.places import STARTER
from tiny_llm_course.solution import load_solution
from tiny_llm_course.speed.races import races_of
from tiny_llm_course.syllabus import select_days, select_tasks


@click.command(name="speed", cls=CourseCommand)
@task_options
@click.option("--model", is_flag=True)
@click.option(
    "--solution",
    default=STARTER.name,
    show_default=True,
    metavar="PACKAGE_OR_FOLDER",
)
def command(
    week: int | None, day: int | None, task: int | None, *, model: bool, solution: str
) -> int:
    """Time the kernels of some tasks, or the model with more and more of them."""
    from tiny_llm_course.speed.judging import judge  # slow, see `tell_speeds`
    from tiny_llm_course.speed.words import busy, table

    chosen = select_tasks(week, day, task)
    if model:
        time_model(solution, day)
        return 0
    races = races_of(chosen)
    if not races:
        raise CourseError(say("speed.no_kernels"))
    folder = load_solution(solution).folder
    verdicts = judge(races, folder, _note)
    found = {one.task: one for one in verdicts}
    blocks = [
        "\n".join(table(found[one]))
        if one in found
        else say(
            "speed.not_written", address=one.address.named, command=one.test_command
        )
        for one in races
    ]
    click.echo("\n\n".join([*blocks, *busy(verdicts)]))
    return 0


def time_model(solution: str, day: int | None) -> None:
    """Print how fast the embedded model is as one kernel after the other joins.

    Args:
        solution: Whose kernels.
        day: The last day of the week whose kernels join. None is all.
    """
    import mlx.core as mx

    from tiny_llm_course.checkpoint import load
    from tiny_llm_course.inference.engine import without_torch
    from tiny_llm_course.speed import in_the_model

    mx.set_default_device(mx.cpu)
    prepare(select_days(in_the_model.WEEK, None), solution)
    own = load_solution(solution)
    with without_torch():
        network = load("embedded").model
    joined = in_the_model.stages(own, network)
    found = list(takewhile(lambda one: day is None or one.day <= day, joined))
    click.echo("\n".join(in_the_model.in_words(in_the_model.timed(found))))


def tell_speeds(reports: Sequence[TaskReport], solution: str) -> None:
    """Print how fast the kernels of the tasks are that are done, if there are any.

    What keeps them from being timed is printed, too, and is no failure.
    """
    own = with_skipped(reports) if solution == STARTER.name else reports
    races = races_of(one.task for one in own if one.status == DONE)
    if not races:
        return
    # 10 ms: a verdict without kernels need not wait for them.
    from tiny_llm_course.speed.judging import judge
    from tiny_llm_course.speed.words import busy, short

    try:
        verdicts = judge(races, load_solution(solution).folder, _note)
    except CourseError as error:
        _note(say("speed.not_timed", reason=error))
        return
    if not verdicts:
        return
    at = next(iter(races)).address
    whose = "" if solution == STARTER.name else f" --solution {solution}"
    command = f"pdm run speed --week {at.week} --day {at.day}{whose}"
    lines = [line for one in verdicts for line in short(one)]
    heading = say("speed.heading", command=command)
    click.echo("\n".join(["", heading, *lines, *busy(verdicts), ""]))


def _note(text: str) -> None:
    """Print what is not part of the answer."""
    click.echo(text, err=True)
