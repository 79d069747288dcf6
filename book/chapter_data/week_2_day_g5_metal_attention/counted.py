"""What each kernel costs, counted in the simulator: bytes, lines, banks, barriers.

They are the kernels of the reference, with other numbers of SIMD groups and of queries,
without padding, and without leaving out a tile.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import mlx.core as mx

from tiny_llm_course.grading.judgement.inputs import normal
from tiny_llm_course.kernel_costs.counted import counted as counting
from tiny_llm_course.metal.costs import Costs
from tiny_llm_course.records.replacing import Replacement
from tiny_llm_ref import metal_attention

LANES, WIDTH = 32, 64
"""Of a SIMD group, and of a head as in Qwen2."""

OWN_GROUPS = 8
"""SIMD groups that share the keys, where there is one query."""

OWN_QUERIES, PROMPT_GROUPS, TILE = 16, 4, 32
"""Queries of a threadgroup that reads a prompt, its SIMD groups, and keys of a tile."""

CONTEXT, LENGTH = 256, 128
"""Keys of the one token, and tokens of the prompt."""

QUERIES = "num_queries = 16, num_keys = 32, own = 4;"
END = "min(first_query + num_queries, length) + context - length;"
STRIDE = "stride = D + 1;"


@dataclass(frozen=True)
class Variant:
    """A kernel, and what is changed in it.

    Attributes:
        name: In the text of the chapter.
        label: In the table.
        groups: SIMD groups of a threadgroup, for one token.
        queries: Of a threadgroup, for a prompt.
        changes: Of its source.
    """

    name: str
    label: str
    groups: int = OWN_GROUPS
    queries: int = OWN_QUERIES
    changes: Sequence[Replacement] = ()

    @property
    def is_prompt(self) -> bool:
        """Whether it reads a prompt."""
        return self.name.startswith("prompt")


@cache
def costs() -> dict[str, dict[str, float]]:
    """Return what each variant costs, for a query and a key that it sees."""
    return {one.name: _for_each_pair(one) for one in _variants()}


def table() -> list[list[str]]:
    """Return the rows of the table: names, and what each costs."""
    return [
        [
            one.label,
            f"{costs()[one.name]['bytes']:.0f}",
            f"{costs()[one.name]['lines']:.1f}",
            f"{costs()[one.name]['turns']:.1f}",
            f"{costs()[one.name]['lost']:.1f}",
            f"{costs()[one.name]['operations']:.0f}",
            f"{costs()[one.name]['barriers']:.3f}",
        ]
        for one in _variants()
    ]


def with_queries(number: int) -> tuple[Replacement, ...]:
    """Return the change that gives a threadgroup so many queries of a prompt."""
    own = number // PROMPT_GROUPS
    changed = f"num_queries = {number}, num_keys = {TILE}, own = {own};"
    return () if number == OWN_QUERIES else (Replacement(QUERIES, changed),)


def prompt_grid(length: int, queries: int, heads: int = 1) -> tuple[int, int, int]:
    """Return the threads of a prompt."""
    return LANES * PROMPT_GROUPS * -(-length // queries), heads, 1


def _variants() -> list[Variant]:
    own = f"prompt_{OWN_QUERIES}"
    return [
        *(
            Variant(f"one_{n}", f"one token, {n} SIMD groups", groups=n)
            for n in (4, 8, 16, 32)
        ),
        *(
            Variant(
                f"prompt_{n}",
                f"prompt, {n} queries",
                queries=n,
                changes=with_queries(n),
            )
            for n in (4, 8, 16, 32)
        ),
        Variant(
            f"{own}_unpadded",
            "prompt, no padding",
            changes=(Replacement(STRIDE, "stride = D;"),),
        ),
        Variant(
            f"{own}_all_tiles",
            "prompt, no tile left out",
            changes=(Replacement(END, "context;"),),
        ),
    ]


def _for_each_pair(variant: Variant) -> dict[str, float]:
    one = _run(variant)
    pairs = LENGTH * (LENGTH + 1) // 2 if variant.is_prompt else CONTEXT
    return {
        "bytes": one.bytes_read / pairs,
        "lines": one.lines / pairs,
        "turns": one.threadgroup_turns / pairs,
        "lost": one.bank_conflicts / pairs,
        "operations": (one.adds + one.multiplies + one.other_operations) / pairs,
        "barriers": one.barriers / pairs,
    }


def _run(variant: Variant) -> Costs:
    """Attend once, in float16 as a model on a GPU has it, and count."""
    length, context = (LENGTH, LENGTH) if variant.is_prompt else (1, CONTEXT)
    query = normal(1, 1, length, WIDTH, dtype=mx.float16, name="query")
    keys, values = (
        normal(1, 1, context, WIDTH, dtype=mx.float16, name=one)
        for one in ("keys", "values")
    )
    if variant.is_prompt:
        grid = prompt_grid(length, variant.queries)
        with counting(variant.changes, grid=grid) as found:
            metal_attention.attention_prompt(query, keys, values)
    else:
        threads = (LANES * variant.groups, 1, 1)
        template = {"GROUPS": variant.groups}
        with counting((), template, grid=threads, threadgroup=threads) as found:
            metal_attention.attention_one_token(query, keys, values)
    (only,) = found.costs
    return only
