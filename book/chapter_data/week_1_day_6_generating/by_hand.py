"""Three logits, and a text in pieces."""

from typing import Any

import mlx.core as mx

from tiny_llm_course.book.embedded import checkpoint

from .loop import log_probabilities


def three() -> dict[str, Any]:
    """Work out log-probabilities of three logits."""
    logits = mx.array([2.0, 1.0, 0.0])
    exps, logs = mx.exp(logits), log_probabilities(logits)
    return {
        "exp": exps.tolist(),
        "sum": exps.sum().item(),
        "lse": mx.logsumexp(logits).item(),
        "log": logs.tolist(),
        "p": mx.exp(logs).tolist(),
    }


def pieces(text: str) -> list[dict[str, Any]]:
    """Show how a text leaves the detokenizer, token by token."""
    tokenizer = checkpoint().tokenizer
    detokenizer = tokenizer.detokenizer
    rows, num_bytes = [], 0
    encoded = text.encode()
    for one in tokenizer.encode(text):
        detokenizer.add_token(one)
        alone = tokenizer.decode([one])
        size = 1 if alone == "�" else len(alone.encode())
        rows.append(
            {
                "id": one,
                "bytes": encoded[num_bytes : num_bytes + size].hex(" ").upper(),
                "alone": alone.replace(" ", "·"),
                "new": detokenizer.last_segment.replace(" ", "·"),
            }
        )
        num_bytes += size
    return rows
