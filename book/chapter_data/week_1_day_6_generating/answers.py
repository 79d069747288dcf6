"""What the model chose, and how likely it thought that."""

from typing import Any, cast

import mlx.core as mx

from tiny_llm_course.book.embedded import checkpoint, token_ids

from .loop import STORY, Run, candidates, chat, log_probabilities, model, piece, run

SUM = "What is 2 + 3?"
BETTER = "That is too hard for me. I only know short stories and this course."


def steps_of(done: Run) -> list[dict[str, Any]]:
    """Return every step of a run: how much was shown, and the two likeliest."""
    return [
        {"n": len(done.prompt) + number, "top": candidates(logits, 2)}
        for number, logits in enumerate(done.logits)
    ]


def fork(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the step at which the second likeliest token came closest."""
    closest = max(range(len(steps)), key=lambda i: steps[i]["top"][1]["p"])
    return {"step": closest + 1, "top": steps[closest]["top"]}


def rows() -> list[dict[str, Any]]:
    """Return what each position of a text makes of what it sees."""
    ids = token_ids(STORY)
    logits = model()(mx.array([ids]))[0]
    return [
        {
            "token": piece(one),
            "sees": number + 1,
            "next": candidates(logits[number], 1)[0],
            "given": piece(ids[number + 1]) if number + 1 < len(ids) else "",
        }
        for number, one in enumerate(ids)
    ]


def greedy_and_better() -> dict[str, Any]:
    """Compare the greedy answer to `SUM` with one that the model thinks likelier."""
    greedy = run(chat(SUM))
    answer = [*token_ids(BETTER), greedy.chosen[-1]]
    logs = [sum(chosen_logs(greedy)), _score(greedy.prompt, answer)]
    begin = candidates(greedy.logits[0], 2)
    assert begin[1]["token"] == piece(answer[0])
    assert logs[0] < logs[1], "the greedy answer is the likelier one by now"
    p = [mx.exp(mx.array(one)).item() for one in logs]
    return {
        "answer": [greedy.answer, BETTER],
        "begin": begin,
        "p": p,
        "rest": [one / start["p"] for one, start in zip(p, begin, strict=True)],
    }


def _score(prompt: list[int], answer: list[int]) -> float:
    """Return the log-probability of an answer: one pass gives that of every token."""
    logits = model()(mx.array([prompt + answer]))[0, len(prompt) - 1 : -1]
    logs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    chosen = mx.take_along_axis(logs, mx.array(answer)[:, None], axis=-1)
    return cast("float", chosen.sum().item())


def chosen_logs(done: Run) -> list[float]:
    """Return the log-probability of every token that was chosen."""
    return [
        cast("float", log_probabilities(logits)[token].item())
        for token, logits in zip(done.chosen, done.logits, strict=True)
    ]


def unstopped(done: Run) -> str:
    """Go on after the end token, to the end of the next turn."""
    tokenizer = checkpoint().tokenizer
    ids = [*done.prompt, *done.chosen]
    said: list[int] = []
    while tokenizer.eos_token_id not in said:
        likeliest = mx.argmax(model()(mx.array([ids + said]))[0, -1])
        said.append(cast("int", likeliest.item()))
    return tokenizer.decode(done.chosen + said)
