"""The effect of a memory's age on its score: bounded, so that an old memory which fits is not lost (DESIGN 7.4). Pure."""

from math import exp

DAY_MS = 86_400_000


def factor(created_at: int, now: int, decay: float, floor: float) -> float:
    """Return `floor + (1 - floor) * exp(-decay * days)`, of whole days; 1.0 with decay 0, and for the future.

    created_at, now: milliseconds since 1970. Whole days, so that a query has the same answer all day long.

    >>> factor(0, 70 * DAY_MS, 0.01, 0.7), factor(5, 0, 0.01, 0.7)
    (0.848975591137, 1.0)
    """
    days = max(0, (now - created_at) // DAY_MS)
    return round(floor + (1.0 - floor) * exp(-decay * days), 12) if decay and days else 1.0
