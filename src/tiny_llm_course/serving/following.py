"""A process that computes its part of a model whenever it is told to: not rank 0."""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import click
import mlx.core as mx

from tiny_llm_course.catalogue import say
from tiny_llm_course.serving.ranks import READY, joined, silence_ring, told
from tiny_llm_course.serving.starting import PAGE_SIZE, Settings, chosen, model_of


class LeftError(Exception):
    """The process that tells this one what to do has ended."""


def main() -> int:
    """Follow the process that has started this one, until it says that it is over."""
    silence_ring()
    try:
        _follow(_orders())
    except Exception as error:  # noqa: BLE001 - rank 0 tells it, if it is there
        try:
            os.write(sys.stdout.fileno(), told(error).encode())
        except BrokenPipeError:
            _tell_that_nobody_is_there()
        return 1
    return 0


def _tell_that_nobody_is_there() -> None:
    """Tell of the end of rank 0: one of the others does."""
    if os.environ["MLX_RANK"] == "1":
        line = say("serve.rank_ended", rank=0, reason=say("serve.rank_left"))
        click.echo(f"serve: {line}", err=True)


def _orders() -> Iterator[Any]:
    """Yield what this process is told, until it is told that it is over."""
    for line in sys.stdin:
        order = json.loads(line)
        if order is None:
            return
        yield order
    raise LeftError


def _follow(orders: Iterator[Any]) -> None:
    """Compute the steps that this process is told of."""
    begin = next(orders)
    mx.set_default_device(getattr(mx, begin["device"]))
    settings = Settings(**begin["settings"])
    solution, checkpoint = chosen(settings)
    model, run = model_of(solution, checkpoint)
    del checkpoint  # of the whole weights, the part is all that stays
    print(READY, flush=True)
    if next(orders, None) is None:
        return
    solution.get("distributed.split_model")(model, *joined())
    pool = solution.get("paged_kv_cache.TinyKvPagedPool")
    cache = solution.get("paged_kv_cache.TinyKvPagedCache")
    layers = range(model.num_hidden_layers)
    pools = [pool(PAGE_SIZE, settings.num_pages) for _ in layers]
    for order in orders:
        places = zip(order["tables"], order["offsets"], strict=True)
        caches = [[cache(one, *place) for one in pools] for place in places]
        run(model, order["pieces"], caches, order["logits_to_keep"])


if __name__ == "__main__":
    sys.exit(main())
