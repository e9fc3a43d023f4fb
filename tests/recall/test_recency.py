"""The effect of age on a score: S2's half-life, the floor, the switch, future dates."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.recall.fusion import DAY_MS, recency_factor

times = st.integers(0, 40_000 * DAY_MS)
decays = st.floats(0.0, 1.0)
floors = st.floats(0.0, 1.0)


def test_seventy_days_halve_what_the_floor_leaves_free() -> None:
    assert recency_factor(0, 70 * DAY_MS, 0.01, 0.0) == pytest.approx(0.5, abs=0.01)
    assert recency_factor(0, 70 * DAY_MS, 0.01, 0.7) == pytest.approx(0.7 + 0.3 * exp(-0.7))


@given(times, times, decays, floors)
def test_each_whole_day_fades_what_the_floor_leaves_free(created_at: int, now: int, decay: float, floor: float) -> None:
    days = max(0, (now - created_at) // DAY_MS)
    assert recency_factor(created_at, now, decay, floor) == pytest.approx(floor + (1.0 - floor) * exp(-decay * days))
    assert recency_factor(created_at, now, 0.0, floor) == recency_factor(now + 1, now, decay, floor) == 1.0


def test_a_factor_stays_the_same_all_day_long() -> None:
    morning, evening, next_day = (recency_factor(0, now, 0.01, 0.5) for now in (9 * DAY_MS, 10 * DAY_MS - 1, 10 * DAY_MS))
    assert morning == evening != next_day
