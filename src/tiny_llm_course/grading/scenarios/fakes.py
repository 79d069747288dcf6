"""A model and a tokenizer without weights, with scripted answers."""

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import mlx.core as mx
import numpy as np

from tiny_llm_course.catalogue import say
from tiny_llm_course.grading.judgement.verdict import StepLimitError

END_TOKEN = 256
END_OF_DOCUMENT = 257
"""Several tokens may end a text, as in Qwen2."""

SPELT = {END_TOKEN: "<end>", END_OF_DOCUMENT: "<end of document>"}
"""How they are written in a text."""

VOCAB_SIZE = 258

_CACHED = "week_2_day_1.complaints"


class ByteDetokenizer:
    """Turn bytes into text as they come, holding back half a character.

    Works like the streaming detokenizers of `mlx_lm`.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all tokens."""
        self.tokens: list[int] = []
        self.text = self._final = ""
        self._open: list[int] = []  # the tokens since `finalize`
        self._num_shown = 0

    @property
    def last_segment(self) -> str:
        """The text since the last access."""
        segment = self.text[self._num_shown :]
        self._num_shown = len(self.text)
        return segment

    def add_token(self, token: int) -> None:
        """Take one more byte, and add the characters that are now complete."""
        self.tokens.append(int(token))
        self._open.append(int(token))
        self.text = self._final + spelt_out(self._open, errors="ignore")

    def finalize(self) -> None:
        """Add what is left, complete or not. No later byte completes it."""
        self.text = self._final = self._final + spelt_out(self._open)
        self._open.clear()


class ByteTokenizer:
    """One token per byte, and two more that end the text, also if it spells them out.

    It has the methods of `mlx_lm`'s and `transformers`' tokenizers that solutions use.
    """

    vocab_size = VOCAB_SIZE
    eos_token = SPELT[END_TOKEN]
    eos_token_id = END_TOKEN
    eos_token_ids = frozenset({END_TOKEN, END_OF_DOCUMENT})
    bos_token = None

    @property
    def detokenizer(self) -> ByteDetokenizer:
        """A new detokenizer each time, as in `mlx_lm`."""
        return ByteDetokenizer()

    def __getattr__(self, name: str) -> NoReturn:
        """Raise an error that names what to use instead, such as of `_tokenizer`."""
        has = sorted(one for one in dir(type(self)) if not one.startswith("_"))
        names = {"name": name, "has": ", ".join(has)}
        raise AttributeError(say("interface.no_attribute", **names))

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """Return the ids of `text`. There are no special tokens to add."""
        del add_special_tokens
        return ids_of(text)

    def decode(
        self,
        token_ids: Sequence[int] | int,
        skip_special_tokens: bool = False,
    ) -> str:
        """Return the text of some bytes, end tokens spelt out."""
        ids = [token_ids] if isinstance(token_ids, int) else list(map(int, token_ids))
        return spelt_out(
            [one for one in ids if not skip_special_tokens or one < END_TOKEN]
        )


def ids_of(text: str) -> list[int]:
    """Return the bytes of a text, and one id for each end token in it."""
    ids = {name: one for one, name in SPELT.items()}
    parts = re.split(f"({'|'.join(ids)})", text)
    tokens = [[ids[part]] if part in ids else part.encode() for part in parts]
    return [one for token in tokens for one in token]


def spelt_out(ids: Sequence[int], errors: str = "replace") -> str:
    """Return the text of some bytes, with a name for each id that is not a byte.

    Args:
        ids: Token ids.
        errors: How incomplete characters are decoded, as in `bytes.decode`.
    """
    parts = [
        bytes([one]) if one < END_TOKEN else SPELT.get(one, f"<{one}>").encode()
        for one in ids
    ]
    return b"".join(parts).decode(errors=errors)


def as_bytes(text: str | bytes) -> bytes:
    """Return the bytes of a text; bytes are returned unchanged."""
    return text.encode() if isinstance(text, str) else text


def _check_ids(inputs: mx.array) -> None:
    """Raise the error of an embedding look-up if ids are not integers."""
    if not mx.issubdtype(inputs.dtype, mx.integer):
        dtype = str(inputs.dtype).removeprefix("mlx.core.")
        raise ValueError(say("week_1_day_6.complaints.no_ids", dtype=dtype))


class ScriptedModel:
    """A model that says a given text, byte by byte, if it is called correctly.

    Only the last position predicts the next byte, and only if the model is shown the
    whole text so far; otherwise it says "?". The second likeliest tokens spell another
    text.

    Args:
        prompt: What the text must begin with.
        likeliest: The text of the likeliest tokens. As bytes, it may end anywhere.
        second: The text of the second likeliest tokens.
        end: The token that ends the text.
    """

    def __init__(
        self,
        prompt: str,
        likeliest: str | bytes,
        second: str = "",
        end: int = END_TOKEN,
    ) -> None:
        self.prompt = ids_of(prompt)
        self.scripts = [[*as_bytes(text), end] for text in (likeliest, second)]
        self.num_calls = 0

    def __call__(self, inputs: mx.array) -> mx.array:
        """Return logits B x L x V for token ids B x L."""
        _check_ids(inputs)
        if inputs.ndim != 2:
            raise ValueError(
                say("week_1_day_6.complaints.no_batch", shape=inputs.shape)
            )
        seen = np.array(inputs[0]).tolist()
        self._count_call(seen)
        logits = mx.zeros((*inputs.shape, VOCAB_SIZE))
        logits[:, :-1, ord("#")] = 30.0  # more than any of the last position
        logits[:, -1, ord("#")] = 9.0
        for rank, script in enumerate(self.scripts):
            logits[:, -1, self._next(seen, script)] = 20.0 - rank
        return logits

    def _count_call(self, seen: list[int]) -> None:
        """Raise when the model is called much more often than its text has tokens."""
        self.num_calls += 1
        if self.num_calls > 4 * max(map(len, self.scripts)):
            message = say(
                "week_1_day_6.complaints.no_end",
                num_calls=self.num_calls,
                num_tokens=len(self.scripts[0]),
                shown=spelt_out(seen)[:40],
            )
            raise StepLimitError(message)

    def _next(self, seen: list[int], script: list[int]) -> int:
        """Return the token of `script` that follows the text `seen`."""
        said = seen[len(self.prompt) :]
        knows_text = seen[: len(self.prompt)] == self.prompt and said in [
            one[: len(said)] for one in self.scripts
        ]
        return script[len(said)] if knows_text and len(said) < len(script) else ord("?")


class ScriptedCachedModel:
    """A model that says a given text, byte by byte, if its caches are kept correctly.

    It stores the bytes it is shown in the caches and nowhere else. It says "?" after
    anything but the text so far, and only the last position predicts the next byte.

    Args:
        prompt: What the text must begin with.
        answer: The text that it says. As bytes, it may end anywhere.
        end: The token that ends the text.
    """

    num_hidden_layers = 3

    def __init__(self, prompt: str, answer: str | bytes, end: int = END_TOKEN) -> None:
        self.prompt = ids_of(prompt)
        self.script = [*as_bytes(answer), end]
        self.num_calls = 0
        self.num_positions = 0

    def __call__(self, inputs: mx.array, offset: int, cache: Sequence[Any]) -> mx.array:
        """Return logits B x L x V for the new token ids B x L."""
        _check_ids(inputs)
        if inputs.ndim != 2:
            raise ValueError(say(f"{_CACHED}.no_batch", shape=inputs.shape))
        if len(cache) != self.num_hidden_layers:
            names = {"number": len(cache), "layers": self.num_hidden_layers}
            raise ValueError(say(f"{_CACHED}.number_of_caches", **names))
        seen = remembered(cache, inputs)
        num_new = inputs.shape[1]
        self._count_call(num_new, seen[0])
        if seen[-1] != seen[0]:
            shown = {"first": spelt_out(seen[0])[-30:], "last": spelt_out(seen[-1])}
            raise ValueError(say(f"{_CACHED}.layers_differ", **shown))
        if offset != len(seen[0]) - num_new:
            num_cached = len(seen[0]) - num_new
            names = {"offset": offset, "num_cached": num_cached, "num_new": num_new}
            raise ValueError(say(f"{_CACHED}.wrong_offset", **names))
        logits = mx.zeros((*inputs.shape, VOCAB_SIZE))
        logits[..., ord("#")] = 9.0
        logits[:, -1, self._next(seen[0])] = 20.0
        return logits

    def _count_call(self, num_new: int, seen: list[int]) -> None:
        """Raise when the model is called much more often than its text has tokens."""
        self.num_calls += 1
        self.num_positions += num_new
        num_tokens = len(self.prompt) + len(self.script)
        if self.num_calls > 4 * num_tokens:
            names = {"num_calls": self.num_calls, "num_tokens": len(self.script)}
            shown = spelt_out(seen)[:40]
            raise StepLimitError(
                say("week_1_day_6.complaints.no_end", **names, shown=shown)
            )

    def _next(self, seen: list[int]) -> int:
        """Return the token that follows the text `seen`."""
        said = seen[len(self.prompt) :]
        knows_text = seen == [*self.prompt, *self.script[: len(said)]]
        return (
            self.script[len(said)] if knows_text and said != self.script else ord("?")
        )


def remembered(caches: Sequence[Any], inputs: mx.array) -> list[list[int]]:
    """Put the new ids 1 x L into the caches of a text, and return all ids in each."""
    new = inputs.astype(mx.float32)[:, None, :, None]
    keys = [one.update_and_fetch(new, new)[0][0, 0, :, 0] for one in caches]
    mx.eval(keys)  # at once: to wait for each takes longer than to compute it
    return [np.array(one).astype(int).tolist() for one in keys]
