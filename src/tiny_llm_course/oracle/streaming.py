"""What a stream of tokens has to show, and when: by definition, tried out in full."""

from collections.abc import Sequence


def shown(tokens: Sequence[bytes], stop: Sequence[str]) -> list[str]:
    """Return the text that is new after each token, and what comes at the end.

    After each token, all is shown that is sure to be part of the result, whatever comes
    next. The tokens hold no bytes that can never become a character.
    """
    seen = [b"".join(tokens[:length]) for length in range(1, len(tokens) + 1)]
    texts = [_certain(one.decode(errors="ignore"), stop) for one in seen]
    texts.append(result(tokens, stop)[0])
    return [
        new.removeprefix(old) for old, new in zip(["", *texts], texts, strict=False)
    ]


def result(tokens: Sequence[bytes], stop: Sequence[str]) -> tuple[str, bool]:
    """Return the whole text up to a stop text, and whether there is one."""
    text = b"".join(tokens).decode(errors="replace")
    start = _start(text, stop)
    return text[:start], start is not None


def _start(text: str, stop: Sequence[str]) -> int | None:
    """Return where the longest stop text begins that ends first."""
    for end in range(len(text) + 1):
        for start in range(end):
            if text[start:end] in stop:
                return start
    return None


def _certain(text: str, stop: Sequence[str]) -> str:
    """Return the beginning of a text that no continuation turns into a stop text."""
    start = _start(text, stop)
    if start is not None:
        return text[:start]
    for place in range(len(text)):
        if any(one.startswith(text[place:]) for one in stop):
            return text[:place]
    return text
