"""Time lines whose bars fit their span: days, weeks, months or years."""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import NamedTuple

from subcog_hooks.cli.support.output import day
from subcog_hooks.store.memory import UNDATED

MAX_BARS = 60
DAY_MS = 86_400_000
_MONDAY = 4  # days from the epoch, a Thursday, to its first Monday


class Moment(NamedTuple):
    """A bar of a time line. whole: its count; marked: how many of them are marked."""

    name: str
    whole: int
    marked: int = 0


class TimeLine(NamedTuple):
    """The bars of a time line, the oldest first. unit: the span of a bar, such as "week"."""

    unit: str
    moments: list[Moment]


def _month_of(time_ms: int) -> int:
    moment = time.gmtime(time_ms // 1000)
    return moment.tm_year * 12 + moment.tm_mon - 1


# Each unit numbers its bars, and names a bar by its number.
_UNITS: dict[str, tuple[Callable[[int], int], Callable[[int], str]]] = {
    "day": (lambda time_ms: time_ms // DAY_MS, lambda number: day(number * DAY_MS)),
    "week": (lambda time_ms: (time_ms // DAY_MS - _MONDAY) // 7, lambda number: day((number * 7 + _MONDAY) * DAY_MS)),
    "month": (_month_of, lambda number: f"{number // 12}-{number % 12 + 1:02}"),
    "year": (lambda time_ms: _month_of(time_ms) // 12, str),
}


def fit_time_line(times: Iterable[int], marked: Iterable[int], until_ms: int = 0, *, is_growth: bool = False) -> TimeLine:
    """Return the last MAX_BARS bars of the shortest unit that shows all times, without gaps. Undated times have no bar.

    times, marked, until_ms: milliseconds since the epoch; is_growth: a bar counts all times up to its end.

    >>> fit_time_line([1772445600000, 1772445700000, 1772645600000], [1772445600000])
    TimeLine(unit='day', moments=[Moment(name='2026-03-02', whole=2, marked=1), Moment(name='2026-03-03', whole=0, marked=0), \
Moment(name='2026-03-04', whole=1, marked=0)])
    >>> fit_time_line([1672445600000, 1772645600000], [], is_growth=True).moments[-1]
    Moment(name='2026-03', whole=2, marked=0)
    """
    all_times = sorted(times)
    dated = all_times[bisect_left(all_times, UNDATED + 1) :]
    if not dated:
        return TimeLine("day", [])
    first_ms, last_ms = dated[0], max(dated[-1], until_ms)
    unit = next(
        (unit for unit, (number_of, _) in _UNITS.items() if number_of(last_ms) - number_of(first_ms) < MAX_BARS), "year"
    )
    number_of, name_of = _UNITS[unit]
    counts, counts_marked = Counter(map(number_of, dated)), Counter(map(number_of, marked))
    last = number_of(last_ms)
    numbers = range(max(number_of(first_ms), last - MAX_BARS + 1), last + 1)
    whole = [counts[number] for number in numbers]
    if is_growth:
        whole = list(accumulate(whole, initial=len(all_times) - sum(whole)))[1:]
    return TimeLine(
        unit, [Moment(name_of(number), count, counts_marked[number]) for number, count in zip(numbers, whole, strict=True)]
    )
