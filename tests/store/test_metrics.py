"""Counters and durations in state.db add up, and come back by name."""

import pytest

from subcog_hooks.core.paths import Home
from subcog_hooks.store import metrics
from subcog_hooks.store.metrics import BUCKETS, Counter, Histogram
from subcog_hooks.store.state import State


def test_a_counter_adds_up_by_its_labels(state: State) -> None:
    metrics.increase_counter(state, "asked")
    metrics.increase_counter(state, "asked", by=2)
    metrics.increase_counter(state, "answered", 'status="success"')
    metrics.increase_counter(state, "answered", 'status="error"')
    metrics.increase_counter(state, "answered", 'status="success"')
    counted = [
        (metric.name, metric.labels, metric.value) for metric in metrics.read_metrics(state) if isinstance(metric, Counter)
    ]
    assert counted == [("answered", 'status="error"', 1), ("answered", 'status="success"', 2), ("asked", "", 3)]


def test_a_histogram_tells_how_many_took_at_most_so_long(state: State) -> None:
    for seconds in (0.0, 0.0005, 0.0006, 0.2, 0.21, 99.0):
        metrics.observe_duration(state, "took", 'source="keyword"', seconds)
    (took,) = metrics.read_metrics(state)
    assert isinstance(took, Histogram)
    assert (took.name, took.labels, took.count) == ("took", 'source="keyword"', 6)
    assert took.sum == pytest.approx(99.4111)
    at_most = dict(took.buckets)
    assert tuple(at_most) == (*BUCKETS, float("inf"))
    assert [at_most[bound] for bound in (0.0005, 0.001, 0.1, 0.2, 0.5, 5.0, float("inf"))] == [2, 3, 3, 4, 5, 5, 6]


def test_metrics_belong_to_the_transaction_that_counts_them(state: State, home: Home) -> None:
    state.begin()
    metrics.increase_counter(state, "asked")
    metrics.observe_duration(state, "took", "", 0.1)
    assert metrics.read_metrics(State.open(home, 100)) == []
    state.commit()
    assert [metric.name for metric in metrics.read_metrics(State.open(home, 100))] == ["asked", "took"]
