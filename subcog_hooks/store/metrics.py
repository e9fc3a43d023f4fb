"""Counts and times, kept in state.db until somebody asks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.store.state import State

DECISIONS, INJECTED = "subcog_hook_decisions_total", "subcog_memories_injected_total"  # of more than are still kept
POINTED, OPENED = "subcog_memories_pointed_total", "subcog_memories_opened_total"  # at, by lines; and from them
SECOND_LOOKS = "subcog_second_looks_total"
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0)  # seconds; .2 is the hook's budget
_INFINITE = float("inf")


class Counter:
    """A count of how often something has happened. labels: as Prometheus writes them, `status="success"`, or ""."""

    __slots__ = ("labels", "name", "value")

    def __init__(self, name: str, labels: str, value: float) -> None:
        self.name = name
        self.labels = labels
        self.value = value


class Histogram:
    """The times that something took. buckets: (upper bound in seconds, how many took at most so long), the last bound infinite.

    count: how many there are; sum: their seconds together. labels: as Prometheus writes them.
    """

    __slots__ = ("buckets", "count", "labels", "name", "sum")

    def __init__(self, name: str, labels: str, buckets: tuple[tuple[float, int], ...], sum: float) -> None:
        self.name = name
        self.labels = labels
        self.buckets = buckets
        self.count = buckets[-1][1]
        self.sum = sum


def count(state: State, name: str, labels: str = "", by: float = 1.0) -> None:
    """Add to a counter. Raises StoreError."""
    state.run(
        "INSERT INTO counters VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
        (name, labels, by),
    )


def observe(state: State, name: str, labels: str, seconds: float) -> None:
    """Add one duration to a histogram. Raises StoreError."""
    bound = next((bound for bound in BUCKETS if seconds <= bound), _INFINITE)
    state.run(
        "INSERT INTO histograms VALUES (?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET count = count + 1, sum = sum + excluded.sum",
        (name, labels, bound, seconds),
    )


def read(state: State) -> list[Counter | Histogram]:
    """Return all that has been counted and observed, by name and labels. Raises StoreError."""
    found: list[Counter | Histogram] = [
        Counter(str(name), str(labels), float(value or 0))
        for name, labels, value in state.run("SELECT name, labels, value FROM counters")
    ]
    filled: dict[tuple[str, str], dict[float, tuple[int, float]]] = {}
    for name, labels, bound, number, total in state.run("SELECT name, labels, bound, count, sum FROM histograms"):
        filled.setdefault((str(name), str(labels)), {})[float(bound or 0)] = (int(number or 0), float(total or 0))
    for (name, labels), rows in filled.items():
        buckets, so_far = [], 0
        for upper in sorted({*BUCKETS, *rows, _INFINITE}):
            so_far += rows.get(upper, (0, 0.0))[0]
            buckets.append((upper, so_far))
        found.append(Histogram(name, labels, tuple(buckets), sum(total for _, total in rows.values())))
    return sorted(found, key=lambda metric: (metric.name, metric.labels))
