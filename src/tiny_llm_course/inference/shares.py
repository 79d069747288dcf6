"""Which parts of a running mixture are the learner's, and which are ours."""

from mlx import nn

from tiny_llm_course.inference.engine import Engine
from tiny_llm_course.inference.flash import FLASH
from tiny_llm_course.inference.loaders import LOADERS
from tiny_llm_course.inference.mixture import Mixture

SAMPLER = "sampler.make_sampler"


def shares(engine: Engine) -> tuple[list[str], list[str]]:
    """Return the symbols that are used: the learner's, and ours.

    Parts that the code mentions but does not reach, such as the products with quantised
    weights where none are quantised, are in neither.
    """
    mixture, loader = engine.solution, LOADERS[engine.loader]
    assert isinstance(mixture, Mixture)
    roots = [loader.model, loader.generate, *([SAMPLER] if engine.sampler else [])]
    layers = engine.checkpoint.model.modules()
    is_packed = any(isinstance(layer, nn.QuantizedLinear) for layer in layers)
    used = [
        symbol
        for symbol in mixture.used_by(*roots)
        if (is_packed or not symbol.startswith("quantize."))
        and (symbol in mixture.yours or symbol != FLASH)
    ]
    yours = [symbol for symbol in used if symbol in mixture.yours]
    return yours, [symbol for symbol in used if symbol not in mixture.yours]
