"""The scripted model of several texts tells solutions apart by what they show it."""

import mlx.core as mx
import numpy as np
import pytest

from tiny_llm_course.grading.judgement.verdict import StepLimitError
from tiny_llm_course.grading.scenarios.batched import ScriptedBatchModel
from tiny_llm_ref.kv_cache import TinyKvFullCache


def model() -> ScriptedBatchModel:
    """Return a model that answers one prompt."""
    return ScriptedBatchModel({"Once": " upon a time"}, TinyKvFullCache)


def said_after(text: str) -> int:
    """Return the token that the model says after a text."""
    ids, caches = mx.array([list(text.encode())]), model().create_kv_cache()
    return np.array(model()(ids, 0, caches)[0, -1]).argmax().item()


def test_other_texts_that_are_not_its_own_get_other_answers() -> None:
    """Else two mistakes that show it other things would look like one."""
    assert said_after("Onc") != said_after("Once?O")


def test_a_loop_that_does_not_stop_is_told_with_what_a_row_sees() -> None:
    def run_for_ever() -> None:
        scripted = model()
        caches = scripted.create_kv_cache()
        for place in range(1000):
            scripted(mx.array([[ord("O")]]), place, caches)

    with pytest.raises(StepLimitError, match="one row sees 'OOOOOOO"):
        run_for_ever()
