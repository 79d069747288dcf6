"""Which part of the corpus is held out of training, for evaluation."""

import hashlib


def is_held_out(key: str, one_in: int) -> bool:
    """Decide by a hash of `key`, so that every machine agrees."""
    digest = hashlib.sha256(key.encode()).digest()
    return int.from_bytes(digest[:4], "big") % one_in == 0
