"""The parts of the model on its map, and on which days they are built.

A part is there on the days of its symbols in the syllabus. So a day that a symbol moves
to, or a kernel that takes over, changes the map by itself.
"""

import functools
from dataclasses import dataclass

from tiny_llm_course.syllabus import Day, Task, tasks_of, weeks

_PRODUCT = (
    "quantize.quantized_linear",
    "matvec.h:matvec_naive",
    "matmul.h:matmul_naive",
    "metal_model.linear",
)
_NORM = ("layer_norm.RMSNorm", "fused.h:rms_norm", "metal_model.norm")
_ADD = ("qwen2_week1.Qwen2TransformerBlock", "fused.h:add_rms_norm")
_MLP = ("qwen2_week1.Qwen2MLP", *_PRODUCT)


@dataclass(frozen=True)
class Part:
    """A part of the model.

    Attributes:
        name: Its key in the catalogue and in the data of the map.
        symbols: What is written for it, as in the syllabus.
    """

    name: str
    symbols: tuple[str, ...]

    @functools.cached_property
    def tasks(self) -> list[Task]:
        """The tasks in which it is built or built anew, in the order of the course."""
        found = {one.address: one for name in self.symbols for one in tasks_of(name)}
        return [found[address] for address in sorted(found)]

    @functools.cached_property
    def days(self) -> list[tuple[int, int]]:
        """Weeks and days of these tasks, each once."""
        places = [(one.address.week, one.address.day) for one in self.tasks]
        return list(dict.fromkeys(places))

    def task_for(self, today: Day | None) -> Task:
        """Return the task that a reader of a day means: today's, or the last before.

        For a part that is still to come, and on pages of no day, the first one.
        """
        if today is None:
            return self.tasks[0]
        now = (today.week, today.number)
        of_today = [one for one in self.tasks if place(one) == now]
        before = [one for one in self.tasks if place(one) < now]
        return [*of_today, *before[-1:], self.tasks[0]][0]


ATTENTION = (
    Part("norm_1", _NORM),
    Part("qkv", ("basics.linear", "qwen2_week1.Qwen2MultiHeadAttention", *_PRODUCT)),
    Part("rope", ("positional_encoding.RoPE", "fused.h:rope", "metal_model.rotate")),
    Part(
        "cache",
        (
            "kv_cache.TinyKvFullCache",
            "kv_cache.BatchingKvCache",
            "paged_kv_cache.TinyKvPagedCache",
        ),
    ),
    Part(
        "attention",
        (
            "attention.scaled_dot_product_attention_simple",
            "attention.scaled_dot_product_attention_grouped",
            "attention.flash_attention",
            "metal_model.attend",
            "attention.paged_attention",
        ),
    ),
    Part("output", ("basics.linear", *_PRODUCT)),
    Part("add_1", _ADD),
)
MLP = (
    Part("norm_2", _NORM),
    Part("gate_up", _MLP),
    Part("swiglu", ("basics.silu", "fused.h:swiglu", "metal_model.swiglu")),
    Part("down", _MLP),
    Part("add_2", _ADD),
)
BEGINNING = (Part("embedding", ("embedding.Embedding",)),)
END = (
    Part("norm_3", _NORM),
    Part("head", ("embedding.Embedding", *_PRODUCT)),
    Part("sampler", ("sampler.make_sampler",)),
    Part("speed", ("roofline.roofline",)),
    Part(
        "loop", ("generate.simple_generate", "generate.simple_generate_with_kv_cache")
    ),
)
SERVICE = (
    Part("rows", ("qwen2_week3.Qwen2ModelWeek3", "batch.batch_generate")),
    Part("scheduler", ("scheduler.Scheduler",)),
    Part("engine", ("engine.Engine",)),
    Part("server", ("server.create_app",)),
    Part("load", ("limits.Admission",)),
)
"""What stands between the model and those who ask, from the model outwards."""

PARTS = (*SERVICE, *BEGINNING, *ATTENTION, *MLP, *END)


def place(task: Task) -> tuple[int, int]:
    """Return the week and the day of a task."""
    return task.address.week, task.address.day


def state(part: Part, today: Day | None) -> str:
    """Tell whether a part is "lit" today, "yours" already, or comes "later".

    On a page of no day it is "any".
    """
    if today is None:
        return "any"
    now = (today.week, today.number)
    if now in part.days:
        return "lit"
    return "yours" if any(day < now for day in part.days) else "later"


def day_of(chapter: str) -> Day | None:
    """Return the day whose chapter this is."""
    days = [day for week in weeks() for day in week.days]
    return next((day for day in days if day.chapter == chapter), None)
