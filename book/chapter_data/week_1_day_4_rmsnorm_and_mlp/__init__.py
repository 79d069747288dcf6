"""Day 4: norms, float16, activations and the gated MLP."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from tiny_llm_course.book.drawing import Drawing
from tiny_llm_lab.experiments import ablate, norm_activations, norm_eps
from tiny_llm_lab.experiments.norm_speed import lab as norm_speed

from . import experiments
from .activations import draw_activations, tabulated_activations
from .breaking import told
from .examples import examples as examples
from .feed_forward_family import family_by_hand
from .float16 import half_precision
from .mlp import mlp_by_hand, widths
from .norm_family import remembered
from .norms import TOKEN_A, eps_by_hand, four_norms, moved, one_vector
from .pictures import draw_placement, draw_two_ways, draw_who_shares
from .stream import draw_growth, measured_stream, partial, trace


def numbers() -> Mapping[str, Any]:
    """Return all that the chapter quotes."""
    return {
        **one_vector(),
        **eps_by_hand(),
        **four_norms(),
        **moved(),
        **remembered(),
        **partial(),
        **half_precision(),
        **measured_stream(),
        **tabulated_activations(),
        **mlp_by_hand(),
        **widths(),
        **family_by_hand(),
        **experiments.eps_of_tiny(),
        **experiments.depth(),
        **experiments.speed(),
        **experiments.ablation(),
        "told": told(),
    }


def drawings() -> Mapping[str, Drawing]:
    """Return the static figures."""
    return {
        "growth": draw_growth,
        "who-shares": draw_who_shares,
        "where-the-norm-stands": draw_placement,
        "activations": draw_activations,
        "two-ways": draw_two_ways,
        "lab-eps": functools.partial(experiments.draw, norm_eps.LAB),
        "lab-depth": functools.partial(experiments.draw, norm_activations.LAB),
        "lab-speed": functools.partial(experiments.draw, norm_speed.LAB),
        "lab-ablation": functools.partial(experiments.draw, ablate.LAB),
    }


def tables() -> Mapping[str, Any]:
    """Return what the labs of the course have found."""
    return experiments.tables()


def data() -> Mapping[str, Any]:
    """Return what the interactive figures start from."""
    middle = trace().parts[2]
    pairs = np.stack([middle.gate.ravel(), middle.up.ravel()], axis=1)
    chosen = np.random.default_rng(4).choice(len(pairs), 240, replace=False)
    return {
        "rms-norm-and-layer-norm": {"x": TOKEN_A},
        "float16-overflow": {"channels": [1, 64, 896], "eps": 1e-6},
        "swiglu-surface": {"pairs": np.round(pairs[chosen], 3).tolist()},
    }
