"""Counters and histograms, kept in state.db until somebody asks."""

from __future__ import annotations

from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.store.state import State

DECISIONS, INJECTED = (
    "subcog_hook_decisions_total",
    "subcog_memories_injected_total",
)  # they count beyond the decisions that are kept
POINTED, OPENED = (
    "subcog_memories_pointed_total",
    "subcog_memories_opened_total",
)  # memories that lines point at, and memories opened from lines
SECOND_LOOKS = "subcog_second_looks_total"
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0)  # seconds; .2 is the hook's budget
_INFINITE = float("inf")


@record
class Counter:
    """A count of events. labels: in Prometheus' notation, `status="success"`, or ""."""

    name: str
    labels: str
    value: float


class Histogram:
    """A histogram of durations. buckets: (upper bound in seconds, number of durations up to it); the last bound is infinite.

    count: the number of durations; sum: their total in seconds. labels: in Prometheus' notation.
    """

    __slots__ = ("buckets", "count", "labels", "name", "sum")

    def __init__(self, name: str, labels: str, buckets: tuple[tuple[float, int], ...], sum: float) -> None:
        self.name = name
        self.labels = labels
        self.buckets = buckets
        self.count = buckets[-1][1]
        self.sum = sum


def increase_counter(state: State, name: str, labels: str = "", by: float = 1.0) -> None:
    """Add to a counter. Raises StoreError."""
    state.run(
        "INSERT INTO counters VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value", (name, labels, by)
    )


def observe_duration(state: State, name: str, labels: str, seconds: float) -> None:
    """Add one duration to a histogram. Raises StoreError."""
    bound = next((bound for bound in BUCKETS if seconds <= bound), _INFINITE)
    state.run(
        "INSERT INTO histograms VALUES (?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET count = count + 1, sum = sum + excluded.sum",
        (name, labels, bound, seconds),
    )


def read_metrics(state: State) -> list[Counter | Histogram]:
    """Return all counters and histograms, by name and labels. Raises StoreError."""
    metrics: list[Counter | Histogram] = [
        Counter(str(name), str(labels), float(value or 0))
        for name, labels, value in state.run("SELECT name, labels, value FROM counters")
    ]
    buckets_by_series: dict[tuple[str, str], dict[float, tuple[int, float]]] = {}
    for name, labels, bound, number, total in state.run("SELECT name, labels, bound, count, sum FROM histograms"):
        buckets_by_series.setdefault((str(name), str(labels)), {})[float(bound or 0)] = (int(number or 0), float(total or 0))
    for (name, labels), rows in buckets_by_series.items():
        buckets, cumulative = [], 0
        for upper in sorted({*BUCKETS, *rows, _INFINITE}):
            cumulative += rows.get(upper, (0, 0.0))[0]
            buckets.append((upper, cumulative))
        metrics.append(Histogram(name, labels, tuple(buckets), sum(total for _, total in rows.values())))
    return sorted(metrics, key=lambda metric: (metric.name, metric.labels))
