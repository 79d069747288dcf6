"""When files were changed that other processes may remove at any moment."""

from pathlib import Path


def changed_at(path: Path) -> float:
    """Return when a file was changed, in seconds since 1970; 0 if it is gone."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def least_recent(paths: list[Path], num_kept: int) -> list[Path]:
    """Return all paths but those that were changed last.

    Args:
        paths: In any order.
        num_kept: How many are left out.
    """
    return sorted(paths, key=changed_at, reverse=True)[num_kept:]
