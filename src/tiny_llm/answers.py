"""What the answers of the server look like in JSON. This file is given.

An answer is made of pieces, one for each output of the engine. A stream sends a chunk
for each of them; without streaming they are joined into one.
"""

import itertools
import math
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .protocol import Asked
from .request import FinishReason, Output, TokenLogprob

Json = dict[str, Any]


@dataclass(frozen=True)
class Piece:
    """What one output of the engine adds to an answer.

    Attributes:
        index: Which prompt it belongs to.
        text: What is new.
        tokens: The tokens that are new, each with how likely it was, if that is asked
            for. Nothing predicts the first one of a prompt: None.
        is_first: Whether none of this prompt came before.
        finish_reason: Why the answer to this prompt ends here. None if it goes on.
    """

    index: int
    text: str
    tokens: tuple[tuple[int, TokenLogprob | None], ...] = ()
    is_first: bool = False
    finish_reason: FinishReason | None = None

    @property
    def is_empty(self) -> bool:
        """Whether a client would learn nothing from it."""
        return not (self.text or self.tokens or self.finish_reason)


@dataclass
class Answer:
    """One answer: a name and a time for all its chunks, and the tokens it has taken.

    Args:
        asked: What is answered.
        kind: What the client talks to.
        tokenizer: Makes text of single tokens.
    """

    asked: Asked
    kind: Literal["chat", "completion"]
    tokenizer: Any
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))
    _newest: dict[int, Output] = field(default_factory=dict[int, Output])

    def piece(self, index: int, output: Output) -> Piece:
        """Return what an output adds to the answer. Call it once for each.

        With `echo`, the first piece begins with the prompt.

        Args:
            index: Which prompt it belongs to.
            output: What the engine gave.
        """
        is_first = index not in self._newest
        self._newest[index] = output
        text, tokens = output.text, []
        if self.asked.echo and is_first:
            prompt = self.asked.prompts[index]
            text = self.tokenizer.decode(prompt) + text
            tokens += zip(prompt, output.prompt_logprobs or (), strict=False)
        if output.logprob is not None:
            tokens.append((output.logprob.token, output.logprob))
        return Piece(index, text, tuple(tokens), is_first, output.finish_reason)

    def whole(self, pieces: Iterable[Piece]) -> Json:
        """Return the answer without streaming: all of its pieces, in whatever order."""
        texts = [self._joined(pieces_of) for pieces_of in self._by_index(pieces)]
        kind = "chat.completion" if self.kind == "chat" else "text_completion"
        choices = [self._choice(one, "message") for one in texts]
        return {**self._head(kind), "choices": choices, "usage": self.usage()}

    def chunk(self, piece: Piece) -> Json:
        """Return a piece as a stream sends it."""
        return {**self._chunk_head(), "choices": [self._choice(piece, "delta")]}

    def usage_chunk(self) -> Json:
        """Return what ends a stream for a client that wants the numbers of tokens."""
        return {**self._chunk_head(), "choices": [], "usage": self.usage()}

    def usage(self) -> Json:
        """Return how many tokens the answer has taken so far."""
        newest = self._newest.values()
        num_prompt = sum(one.num_prompt_tokens for one in newest)
        num_output = sum(one.num_output_tokens for one in newest)
        num_cached = sum(one.num_cached_tokens for one in newest)
        return {
            "prompt_tokens": num_prompt,
            "completion_tokens": num_output,
            "total_tokens": num_prompt + num_output,
            "prompt_tokens_details": {"cached_tokens": num_cached},
        }

    def _chunk_head(self) -> Json:
        is_chat = self.kind == "chat"
        return self._head("chat.completion.chunk" if is_chat else "text_completion")

    def _head(self, kind: str) -> Json:
        name = f"{'chatcmpl' if self.kind == 'chat' else 'cmpl'}-{self.id}"
        own = {"created": self.created, "model": self.asked.model}
        return {"id": name, "object": kind, **own}

    def _by_index(self, pieces: Iterable[Piece]) -> list[list[Piece]]:
        found: list[list[Piece]] = [[] for _ in self.asked.prompts]
        for piece in pieces:
            found[piece.index].append(piece)
        return found

    def _joined(self, pieces: Sequence[Piece]) -> Piece:
        text = "".join(one.text for one in pieces)
        tokens = tuple(token for one in pieces for token in one.tokens)
        last = pieces[-1]
        return Piece(last.index, text, tokens, True, last.finish_reason)

    def _choice(self, piece: Piece, name: str) -> Json:
        """Return a piece as one of the choices of an answer or a chunk."""
        ending = {"finish_reason": piece.finish_reason}
        asks = self.asked.params.logprobs is not None
        if self.kind == "completion":
            listed = self._completion_logprobs(piece) if asks else None
            own = {"index": piece.index, "text": piece.text, "logprobs": listed}
            return {**own, **ending}
        role = {"role": "assistant"} if piece.is_first else {}
        said = {**role, "content": piece.text}
        content = [self._token(*one) for one in piece.tokens]
        listed = {"content": content, "refusal": None} if asks else None
        return {"index": piece.index, name: said, "logprobs": listed, **ending}

    def _token(self, token: int, found: TokenLogprob | None) -> Json:
        """Return a token of a chat with the likeliest ones in its place."""
        assert found is not None  # a chat does not echo its prompt
        top = [self._likely(*one) for one in found.top]
        return {**self._likely(token, found.logprob), "top_logprobs": top}

    def _likely(self, token: int, logprob: float) -> Json:
        text = self._text(token)
        whole = None if "\ufffd" in text else list(text.encode())
        return {"token": text, "logprob": _written(logprob), "bytes": whole}

    def _completion_logprobs(self, piece: Piece) -> Json:
        """Return the tokens of a piece in lists, as the older API has them."""
        texts = [self._text(token) for token, _ in piece.tokens]
        return {
            "tokens": texts,
            "token_logprobs": [
                one and _written(one.logprob) for _, one in piece.tokens
            ],
            "top_logprobs": [one and self._top(one) for _, one in piece.tokens],
            "text_offset": [0, *itertools.accumulate(map(len, texts))][: len(texts)],
        }

    def _top(self, found: TokenLogprob) -> dict[str, float]:
        """Return the likeliest tokens by their texts, and the token itself.

        Parts of characters share one text: the likeliest of them stays.
        """
        top = (*found.top, (found.token, found.logprob))
        ascending = sorted(top, key=lambda pair: pair[1])
        return {self._text(token): _written(logprob) for token, logprob in ascending}

    def _text(self, token: int) -> str:
        return self.tokenizer.decode([token])


def _written(logprob: float) -> float:
    """Return a number that JSON has: for a probability of 0, one that is very small."""
    return logprob if math.isfinite(logprob) else -9999.0
