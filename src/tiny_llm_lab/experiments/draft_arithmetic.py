"""When a draft pays: by how often it is right, and what it and a longer step cost.

Costs are in steps of the large model over one token, without a draft.

Source: Leviathan et al. 2023 (arXiv:2211.17192), section 3. There a step over several
tokens costs as much as one; here it is measured.
"""

from collections.abc import Sequence


def kept(share: float, length: int) -> float:
    """Return how many tokens a step of the large model gives, on average.

    Args:
        share: How often a proposal is right, as if each had the same chance.
        length: How many are proposed.
    """
    return sum(share**number for number in range(length + 1))


def kept_in(hits: Sequence[bool], length: int) -> float:
    """Count the tokens that a step gives, on average over a text.

    Args:
        hits: Of each token of the text, whether the draft would have proposed it.
        length: How many are proposed.
    """
    steps, place = 0, 0
    while place < len(hits):
        window = [*hits[place : place + length], False]
        place += window.index(False) + 1
        steps += 1
    return len(hits) / steps


def speed(tokens: float, length: int, cost: float, longer: float) -> float:
    """Return how many times as fast a text is with a draft as without.

    Args:
        tokens: How many tokens a step of the large model gives.
        length: How many are proposed.
        cost: What each proposal costs.
        longer: What a step over all proposals, and the token before them, costs.
    """
    return tokens / (length * cost + longer)


def break_even(length: int, cost: float, longer: float) -> float | None:
    """Return how often a draft has to be right to cost nothing; None if none can.

    Arguments are those of `speed`.
    """
    low, high = 0.0, 1.0
    if speed(kept(high, length), length, cost, longer) < 1:
        return None
    while high - low > 1e-6:
        share = (low + high) / 2
        pays = speed(kept(share, length), length, cost, longer) >= 1
        low, high = (low, share) if pays else (share, high)
    return high
