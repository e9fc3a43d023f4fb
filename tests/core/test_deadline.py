"""The deadline: the time left, and nearer deadlines made from it."""

import time

import pytest

from subcog_hooks.core.deadline import Deadline

Clock = list[float]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The seconds that the deadline reads; a test moves them."""
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_time_left_shrinks_to_zero(clock: Clock) -> None:
    of = Deadline(200.0)
    left = []
    for passed in (0.0, 0.15, 0.2, 7.0):
        clock[0] = 1_000.0 + passed
        left.append(of.left_ms())
    assert left == pytest.approx([200.0, 50.0, 0.0, 0.0])


def test_own_work_ends_by_processor_time_or_at_the_last_wall(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    worked = [7.0]
    monkeypatch.setattr(time, "process_time", lambda: worked[0])
    of = Deadline(200.0, work_ms=400.0, last_ms=3_000.0)
    clock[0] += 2.0  # a busy machine
    assert (of.left_ms(), of.work_left_ms(), of.sooner(100.0).work_left_ms()) == pytest.approx((0.0, 400.0, 300.0))
    worked[0] += 0.3
    assert (of.work_left_ms(), of.share(0.5).work_left_ms()) == pytest.approx((100.0, 50.0))
    assert of.sooner(200.0).work_left_ms() == 0.0
    clock[0] += 0.95
    assert of.work_left_ms() == pytest.approx(50.0)
    assert Deadline(200.0).work_left_ms() == pytest.approx(200.0)


def test_spent_time_counts_from_the_start_and_past_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [50.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    of = Deadline(200.0, spent_ms=12.0)
    assert of.spent_ms() == pytest.approx(12.0)
    now[0] += 0.3
    assert of.spent_ms() == pytest.approx(312.0)
