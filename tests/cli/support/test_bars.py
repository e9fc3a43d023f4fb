"""Bars and sparklines."""

from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.cli.verdicts import decision_view

SHARES = st.floats(-2.0, 2.0)


@given(SHARES, st.integers(1, 60))
def test_a_bar_always_has_its_width(share: float, width: int) -> None:
    assert len(decision_view.filled_bar(share, width)) == width


@given(SHARES, SHARES, st.integers(1, 60))
def test_a_larger_share_is_never_shorter(first: float, second: float, width: int) -> None:
    low, high = (decision_view.filled_bar(share, width).rstrip() for share in sorted((first, second)))
    assert len(low) <= len(high)


@given(st.lists(st.one_of(st.none(), st.floats(0.0, 1e6)), max_size=30))
def test_the_largest_value_of_a_sparkline_is_the_highest(values: list[float | None]) -> None:
    line = decision_view.sparkline(values)
    numbers = [value for value in values if value is not None]
    assert len(line) == (len(values) if numbers else 0)
    if numbers and max(numbers) > 0:
        assert line[values.index(max(numbers))] == "█"


def test_a_bar_marks_the_threshold() -> None:
    assert decision_view.draw_bar(0.5, 4, mark=0.5).plain == "██┃ "
    assert decision_view.draw_bar(0.0, 4, mark=1.0).plain == "   ┃"
