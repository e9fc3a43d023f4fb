"""Bars and sparklines, in block characters or ASCII."""

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog_hooks.cli.decisions import decision_view
from subcog_hooks.cli.support.output import prefer_utf8, terminal
from tests.cli.conftest import MonkeyPatch

SHARES = st.floats(-2.0, 2.0)


@given(SHARES, st.integers(1, 60), st.booleans())
def test_a_bar_always_has_its_width(share: float, width: int, blocks: bool) -> None:
    assert len(decision_view.filled_bar(share, width, blocks=blocks)) == width


@given(SHARES, SHARES, st.integers(1, 60), st.booleans())
def test_a_larger_share_is_never_shorter(first: float, second: float, width: int, blocks: bool) -> None:
    low, high = sorted((first, second))
    assert len(decision_view.filled_bar(low, width, blocks=blocks).rstrip()) <= len(
        decision_view.filled_bar(high, width, blocks=blocks).rstrip()
    )


@given(st.lists(st.one_of(st.none(), st.floats(0.0, 1e6)), max_size=30))
def test_the_largest_value_of_a_sparkline_is_the_highest(values: list[float | None]) -> None:
    line = decision_view.height_characters(values)
    assert len(line) == len(values)
    numbers = [value for value in values if value is not None]
    if numbers and max(numbers) > 0:
        assert line[values.index(max(numbers))] == "█"


@pytest.mark.parametrize(("has_blocks", "drawn"), [(True, "██┃ "), (False, "##| ")])
def test_a_bar_marks_the_threshold(monkeypatch: MonkeyPatch, has_blocks: bool, drawn: str) -> None:
    monkeypatch.setattr(terminal, "has_blocks", has_blocks)
    assert decision_view.draw_bar(0.5, 4, mark=0.5).plain == drawn
    assert decision_view.draw_bar(0.0, 4, mark=1.0).plain == "   " + drawn[2]
    assert decision_view.sparkline([1.0, None]) == ("█ " if has_blocks else "# ")


@pytest.mark.parametrize(("encoding", "has_blocks"), [("utf-8", True), ("UTF8", True), ("latin-1", False), ("ascii", False)])
def test_the_encoding_decides_about_block_characters(monkeypatch: MonkeyPatch, encoding: str, has_blocks: bool) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    monkeypatch.setattr(terminal, "has_blocks", None)
    prefer_utf8()
    assert terminal.has_blocks is has_blocks
