"""Texts that share a batch of a solution, and what comes out for each of them."""

from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import numpy as np
from numpy.typing import NDArray

from tiny_llm_course.grading.judgement.call import Call
from tiny_llm_course.grading.judgement.memory import peak_bytes
from tiny_llm_course.grading.scenarios.batches import Batch
from tiny_llm_course.grading.scenarios.caching import CACHE
from tiny_llm_course.solution import Solution

BATCHING_CACHE = "kv_cache.BatchingKvCache"


@dataclass(frozen=True)
class InSlots(Call):
    """Texts that go through a part of a model in slots of a `BatchingKvCache`.

    Attributes:
        args: The texts, 1 x S x ..., and no more.
        batch: Who is in which slot.
        keep: How many positions of each step are asked for. None asks for all, without
            the argument.
        most: How many tokens the caches are told that a text may have, if they are.
        of_idle: Whether what comes out of idle slots is returned, and nothing else.
    """

    batch: Batch = field(default_factory=lambda: Batch(0, (), ()))
    keep: int | None = None
    most: tuple[int, ...] = ()
    of_idle: bool = False

    def run(self, solution: Solution) -> Any:  # noqa: ANN401 - what a solution returns
        """Return what comes out for all new tokens, one text after the other."""
        target = self._target(solution)
        num_slots, outputs = self.batch.num_slots, dict[int, list[mx.array]]()
        caches = [
            solution.get(BATCHING_CACHE)(num_slots, *self.most)
            for _ in range(self._num_caches)
        ]
        for step, num_new in enumerate(self.batch.steps):
            self._change(step, target, caches, solution)
            active = dict(self.batch.active(step))
            got = self._step(target, caches, step, num_new)
            kept = min(num_new, self.keep or num_new)
            if not isinstance(got, mx.array) or got.shape[:2] != (num_slots, kept):
                return got
            mx.eval(got)
            taken = {row.slot: number for number, row in active.items()}
            for slot in range(num_slots):
                number = taken.get(slot, -1)
                outputs.setdefault(number, []).append(got[slot])
        idle = outputs.pop(-1, [])
        texts = [mx.concatenate(outputs[number]) for number in sorted(outputs)]
        return mx.concatenate(idle if self.of_idle else texts)

    @property
    def _num_caches(self) -> int:
        return 1

    def _target(self, solution: Solution) -> Any:  # noqa: ANN401 - of a solution
        """Return what is shown the tokens."""
        return self.target(solution)

    def _change(
        self,
        step: int,
        target: Any,  # noqa: ANN401 - of a solution
        caches: list[Any],
        solution: Solution,
    ) -> None:
        """Take texts out that leave before a step, and put those in that join."""
        for row in self.batch.rows:
            if row.leaves == step:
                for cache in caches:
                    cache.remove_request(row.slot)
        for number, row in enumerate(self.batch.rows):
            if row.joins == step:
                own = [solution.get(CACHE)() for _ in caches]
                self._show(target, self.args[number][:, : row.num_read], 0, own)
                for cache, prefilled in zip(caches, own, strict=True):
                    cache.add_request(prefilled, row.slot)

    def _step(
        self,
        target: Any,  # noqa: ANN401 - of a solution
        caches: list[Any],
        step: int,
        num_new: int,
    ) -> Any:  # noqa: ANN401
        """Show every slot its new tokens. An idle one gets the first tokens of all."""
        pieces = [self.args[0][:, :num_new]] * self.batch.num_slots
        offsets = [0] * self.batch.num_slots
        for number, row in self.batch.active(step):
            start = self.batch.num_before(row, step)
            pieces[row.slot] = self.args[number][:, start : start + num_new]
            offsets[row.slot] = start
        return self._show(target, mx.concatenate(pieces), offsets, caches)

    def _show(
        self,
        target: Any,  # noqa: ANN401 - of a solution
        piece: mx.array,
        offset: int | list[int],
        caches: list[Any],
    ) -> Any:  # noqa: ANN401
        """Show tokens to the part, B x L x ..."""
        return target(piece, offset, caches[0], mask="causal")

    def __str__(self) -> str:
        """Write who is where instead of the texts."""
        name = self.symbol.split(".")[1]
        return f"{name}: {self.batch}"


@dataclass(frozen=True)
class Collected(InSlots):
    """What attention collects from the keys and values of a cache with slots.

    Whether rows are aligned on one side or the other is the cache's business: what it
    hands out has to fit together.

    Attributes:
        args: Queries, keys and values of each text, 1 x S x 3 x H x D.
        mask: What the cache is called with.
    """

    mask: str | None = "causal"

    def _target(self, solution: Solution) -> Any:  # noqa: ANN401
        """Return nothing: the caches are all that is called."""
        del solution

    def _show(
        self,
        target: Any,  # noqa: ANN401 - none
        piece: mx.array,
        offset: int | list[int],
        caches: list[Any],
    ) -> Any:  # noqa: ANN401
        """Return what each query collects, B x L x H x D."""
        del target
        query, key, value = (piece[:, :, i].swapaxes(1, 2) for i in range(3))
        num_new = piece.shape[1]
        keys, values, _, mask = caches[0].update_and_fetch(
            key, value, mask_length=num_new, mask=self.mask
        )
        if isinstance(offset, int):
            return None
        return _collected(query, keys, values, mask)


@dataclass(frozen=True)
class Counted(Collected):
    """How many tokens the longest row has, as a cache with slots says in each step."""

    def run(self, solution: Solution) -> list[Any]:
        """Return the numbers, step by step."""
        caches = [solution.get(BATCHING_CACHE)(self.batch.num_slots)]
        found = list[Any]()
        for step, num_new in enumerate(self.batch.steps):
            self._change(step, None, caches, solution)
            found.append(self._step(None, caches, step, num_new))
        return found

    def _show(
        self,
        target: Any,  # noqa: ANN401 - none
        piece: mx.array,
        offset: int | list[int],
        caches: list[Any],
    ) -> Any:  # noqa: ANN401
        """Return the number that comes back beside keys, values and mask."""
        del target, offset
        _, key, value = (piece[:, :, i].swapaxes(1, 2) for i in range(3))
        return caches[0].update_and_fetch(
            key, value, mask_length=piece.shape[1], mask=self.mask
        )[2]


@dataclass(frozen=True)
class Scored(InSlots):
    """The logits of a model for texts in slots. Each is read into caches of its own."""

    @property
    def _num_caches(self) -> int:
        assert self.build
        return self.build[0].args.num_hidden_layers

    def _show(
        self,
        target: Any,  # noqa: ANN401 - of a solution
        piece: mx.array,
        offset: int | list[int],
        caches: list[Any],
    ) -> Any:  # noqa: ANN401
        if self.keep is None:
            return target(piece, offset, caches)
        return target(piece, offset, caches, logits_to_keep=self.keep)


@dataclass(frozen=True)
class PeakOfScored(Scored):
    """The peak memory of that, beyond what was held before."""

    def run(self, solution: Solution) -> int:
        """Return the peak number of bytes that MLX held."""
        return peak_bytes(lambda: super(PeakOfScored, self).run(solution))


@dataclass(frozen=True)
class NewCaches(Call):
    """How many caches a model makes, and how many of them are new and empty ones."""

    def run(self, solution: Solution) -> list[int]:
        """Return the length of the list, and how many of it each layer can have."""
        model = solution.get(self.symbol)(*(self.build or ()))
        made, kind = model.create_kv_cache(), solution.get(CACHE)
        others = {id(one) for one in model.create_kv_cache()}
        caches = [one for one in made if isinstance(one, kind) and one.offset == 0]
        own = {id(one) for one in caches}
        return [len(made), len(own), len(own - others)]

    def __str__(self) -> str:
        """Write it as code."""
        return f"{super().__str__().removesuffix('()')}.create_kv_cache()"


def _collected(query: mx.array, keys: Any, values: Any, mask: Any) -> Any:  # noqa: ANN401
    """Attend in float64, and return B x L x H x D, or what has no such shape."""
    rows, heads, num_new, width = query.shape
    for one in (keys, values):
        shape = one.shape if isinstance(one, mx.array) else ()
        if len(shape) != 4 or (shape[:2], shape[3]) != ((rows, heads), width):
            return one
    scores = _double(query) @ _double(keys).swapaxes(-1, -2) / width**0.5
    hidden = _as_numbers(mask, num_new, keys.shape[2])
    if not _broadcasts(hidden.shape, scores.shape):
        return mask
    scores = scores + hidden
    with np.errstate(invalid="ignore"):  # a row of -inf gives NaN, as in MLX
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        found = weights @ _double(values)
    return mx.array(found.swapaxes(1, 2).astype(np.float32))


def _as_numbers(mask: Any, num_new: int, num_all: int) -> NDArray[np.float64]:  # noqa: ANN401
    """Return what a mask adds to the scores."""
    if isinstance(mask, mx.array):
        return _double(mask)
    hidden = np.zeros((num_new, num_all))
    if mask is not None:
        hidden[np.triu_indices(num_new, num_all - num_new + 1, num_all)] = -np.inf
    return hidden


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Tell whether an array of a shape can be added to a larger one."""
    pairs = zip(shape[::-1], target[::-1], strict=False)
    return len(shape) <= len(target) and all(one in {1, whole} for one, whole in pairs)


def _double(x: mx.array) -> NDArray[np.float64]:
    return np.array(x.astype(mx.float32)).astype(np.float64)
