"""Dates as people write them."""

import pytest

from subcog_hooks.capture.written_dates import parse_date_ms

JUNE_2, MARCH_12 = 1_717_286_400_000, 1_741_737_600_000


@pytest.mark.parametrize(
    "text",
    [
        *("2024-06-02", "{ 2024-06-02 }", "[2024-06-02]", "2024-6-2", "2024/06/02", "accepted (2024-06-02)"),
        *("2024-06-02T00:00:00Z", "June 2, 2024", "Jun 2nd 2024", "2 June 2024", "2nd of June 2024", "Sunday, 2 June 2024"),
        *("2 juin 2024", "2. Juni 2024", "2 de junio de 2024", "2.6.2024", "[0.0.4] - 2024-06-02"),
    ],
)
def test_a_date_is_read_in_each_form(text: str) -> None:
    assert parse_date_ms(text) == JUNE_2


def test_the_order_of_numbers_is_never_guessed() -> None:
    assert parse_date_ms("12/03/2025") is None
    assert parse_date_ms("12/03/2025", is_day_first=True) == MARCH_12
    assert parse_date_ms("03/12/2025", is_day_first=False) == MARCH_12
    assert parse_date_ms("13/03/2025", is_day_first=False) == MARCH_12 + 86_400_000


@pytest.mark.parametrize(
    "text",
    [
        *("", "next spring", "2024", "1.2.3", "0.0.4", "10.20.30.2024", "2024-13-40", "1970-01-01", "May we go"),
        "version 2024-06-021",
    ],
)
def test_other_texts_are_no_date(text: str) -> None:
    assert parse_date_ms(text) is None
