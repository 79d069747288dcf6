"""A model that says a given text, for the examples of known mistakes."""

import contextlib
import io
from typing import Any

import mlx.core as mx

from tiny_llm_course.grading.scenarios.fakes import ByteTokenizer, ScriptedModel

PROMPT = "cat"


def answer(generate: Any, text: str | bytes = " sat", **options: Any) -> Any:  # noqa: ANN401
    """Return what the loop returns where the model says `text`, a byte a token.

    Args:
        generate: The loop.
        text: What the likeliest tokens spell.
        **options: `prompt`, `sampler`, or what `ScriptedModel` takes.
    """
    sampler = options.pop("sampler", None)
    prompt = options.pop("prompt", PROMPT)
    model = ScriptedModel(prompt, text, **options)
    return generate(model, ByteTokenizer(), prompt, sampler)


def screen(generate: Any, text: str = " sat") -> str:  # noqa: ANN401
    """Return what the loop prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        answer(generate, text)
    return printed.getvalue()


def handed(generate: Any) -> mx.array:  # noqa: ANN401
    """Return what the loop hands to its sampler first."""
    given: list[mx.array] = []

    def sampler(scores: mx.array) -> mx.array:
        given.append(scores)
        return mx.argmax(scores.reshape(-1, scores.shape[-1])[-1:], axis=-1)

    answer(generate, sampler=sampler)
    return given[0]


def examples() -> dict[str, Any]:
    """Return what the examples may call."""
    return {"answer": answer, "screen": screen, "handed": handed}
