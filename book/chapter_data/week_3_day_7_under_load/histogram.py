"""Five values in the buckets of our histogram, and which are in which."""

from collections.abc import Sequence

from tiny_llm_ref.metrics import Family, Metrics

VALUES = (0.05, 0.5, 0.75, 1, 20)
BOUNDS = (0.1, 1, 10)
TOOK = Family("answer_seconds", "histogram", "How long answers take.", BOUNDS)


def counts() -> list[int]:
    """Let our metrics count, and read the buckets from what they write."""
    metrics = Metrics([TOOK])
    for value in VALUES:
        metrics.observe(TOOK.name, value)
    lines = [line for line in metrics.render().splitlines() if "_bucket" in line]
    return [int(line.rpartition(" ")[2]) for line in lines]


def table() -> Sequence[Sequence[str]]:
    """Return a row for each bucket: its bound, the values in it, and its count."""
    found = list[list[str]]()
    for bound, count in zip((*BOUNDS, float("inf")), counts(), strict=True):
        inside = [str(value) for value in VALUES if value <= bound]
        assert len(inside) == count
        name = "+Inf" if bound == float("inf") else str(bound)
        found.append([name, ", ".join(inside), str(count)])
    return found


def worked() -> dict[str, str]:
    """Return the values and the bounds, for the text."""
    return {
        "values": ", ".join(map(str, VALUES)),
        "bounds": ", ".join(map(str, BOUNDS)),
    }
