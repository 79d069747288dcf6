"""Imitates hasty typing: lower case, missing punctuation, typing errors."""

import random


def typed(question: str, rng: random.Random) -> str:
    """Rewrite `question` as if typed in a hurry."""
    if rng.random() < 0.25:
        question = question.lower()
    if rng.random() < 0.25:
        question = question.rstrip(".?!")
    if rng.random() < 0.12:
        question = with_slip(question, rng)
    return question


def with_slip(question: str, rng: random.Random) -> str:
    """Swap, drop or double one letter inside one longer word in lower case."""
    words = question.split(" ")
    long_enough = [
        index
        for index, word in enumerate(words)
        if len(word) > 4 and word.isalpha() and word.islower()
    ]
    if not long_enough:
        return question
    index = rng.choice(long_enough)
    word = words[index]
    at = rng.randrange(1, len(word) - 1)
    words[index] = rng.choice(
        (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
        )
    )
    return " ".join(words)
