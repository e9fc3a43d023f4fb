"""Statistics of the recorded verdicts: outcomes, memories handed over, latency. Pure functions."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, timedelta
from math import ceil
from typing import NamedTuple

from subcog_hooks.hook.payload import START_EVENT
from subcog_hooks.hook.session import RESUME
from subcog_hooks.store.past_runs import SilentCall
from subcog_hooks.store.verdicts import GIVEN, INJECTED, POINTED, SPOKE, RecordedVerdict

DAYS = 14  # days of a sparkline, the last one today
QUANTILES = (0.5, 0.95, 0.99)


class Times(NamedTuple):
    """The latency of an event's hooks: number of runs, quantiles in ms, and p95 of each of the last days."""

    runs: int
    quantiles: tuple[float, ...]
    by_day: tuple[float | None, ...]


LINE_BANDS = (0.0, 0.05, 0.1, 0.2, 0.5)  # the lowest relevance of each band


class LineBand(NamedTuple):
    """The lines of a band of relevance. given: their number; opened: how many of their memories the agent opened."""

    lowest: float
    given: int
    opened: int


def lines_by_band(past_verdicts: Sequence[RecordedVerdict], openings: AbstractSet[tuple[str, str]]) -> list[LineBand]:
    """Return the bands of relevance that have lines. openings: (memory, verdict) of each opened line."""
    pointed = [
        (bisect_right(LINE_BANDS, candidate.relevance) - 1, (candidate.id, verdict.id) in openings)
        for verdict in past_verdicts
        for candidate in verdict.candidates
        if candidate.outcome == POINTED
    ]
    return [
        LineBand(lowest, len(flags), sum(flags))
        for number, lowest in enumerate(LINE_BANDS)
        if (flags := [is_opened for band, is_opened in pointed if band == number])
    ]


class Usage:
    """The statistics of verdicts.

    since: time of the first verdict, None without any; prompts: number submitted; outcomes: prompts by outcome, the most
    frequent first; injected, units: memories and UTF-16 units handed over with prompts; given_ids: of all memories handed over;
    times: by event.
    """

    def __init__(self, past_verdicts: Sequence[RecordedVerdict], today: date, event: str) -> None:
        """event: the name of the prompt event."""
        self.since = min((verdict.at_ms for verdict in past_verdicts), default=None)
        asked = [verdict for verdict in past_verdicts if verdict.event == event]
        self.prompts = len(asked)
        self.outcomes = dict(Counter(verdict.outcome for verdict in asked).most_common())
        self.injected = sum(len(verdict.injected) for verdict in asked)
        self.units = sum(verdict.units for verdict in asked)
        self.given_ids = {id_ for verdict in past_verdicts for id_ in verdict.injected}
        self._by_day = _group_by_day(asked, today)
        self.times = {
            name: _measure_times([verdict for verdict in past_verdicts if verdict.event == name], today)
            for name in dict.fromkeys(sorted(verdict.event for verdict in past_verdicts))
        }

    @property
    def spoke(self) -> int:
        return self.outcomes.get(SPOKE, 0)

    @property
    def fire_rate(self) -> float | None:
        """Return the share of prompts with an injected block; None without prompts."""
        return self.spoke / self.prompts if self.prompts else None

    @property
    def injected_per_spoken(self) -> float | None:
        return self.injected / self.spoke if self.spoke else None

    @property
    def units_per_spoken(self) -> float | None:
        return self.units / self.spoke if self.spoke else None

    def by_day(self, figure: Callable[[Sequence[RecordedVerdict]], float]) -> list[float | None]:
        """Return a figure of each day's prompts, the last day today; None for a day without prompts."""
        return [figure(past_verdicts) if past_verdicts else None for past_verdicts in self._by_day]


class ChannelShare(NamedTuple):
    """A channel's share of the memories handed over.

    given: memories that it found; used: memories that mattered later in their session; bad: memories marked as wrong.
    """

    channel: str
    given: int
    used: int
    bad: int


def channel_shares(
    past_verdicts: Sequence[RecordedVerdict], used: AbstractSet[tuple[str, str]], bad: AbstractSet[tuple[str, str]]
) -> list[ChannelShare]:
    """Return the shares of the channels, the largest first. A memory found by several channels counts for each.

    used, bad: pairs of verdict id and memory id, of memories handed over.
    """
    given, used_count, bad_count = Counter[str](), Counter[str](), Counter[str]()
    for verdict in past_verdicts:
        for candidate in verdict.candidates:
            if candidate.outcome == INJECTED:
                channels, pair = list(candidate.ranks), (verdict.id, candidate.id)
                given.update(channels)
                used_count.update(channels if pair in used else ())
                bad_count.update(channels if pair in bad else ())
    parts = [ChannelShare(channel, count, used_count[channel], bad_count[channel]) for channel, count in given.items()]
    return sorted(parts, key=lambda part: (-part.given, part.channel))


def find_used_later(past_verdicts: Sequence[RecordedVerdict], silent: Sequence[SilentCall]) -> set[tuple[str, str]]:
    """Return the pairs of a verdict and a memory handed over there that mattered later in the session.

    A later prompt or tool call would have brought the memory, had the session not had it.
    """
    given: dict[tuple[str, str], list[RecordedVerdict]] = {}  # by session and memory, the earliest first
    for verdict in sorted(past_verdicts, key=lambda verdict: verdict.at_ms):
        if (verdict.event, verdict.reason) == (START_EVENT, RESUME):
            continue  # A resumed session repeats earlier hand-overs.
        for id_ in verdict.injected if verdict.session else ():
            given.setdefault((verdict.session, id_), []).append(verdict)
    repeats = [
        (verdict.session, candidate.id, verdict.at_ms)
        for verdict in past_verdicts
        for candidate in verdict.candidates
        if candidate.outcome == GIVEN
    ]
    repeats += [(call.session, id_, call.at_ms) for call in silent for id_ in call.given]
    used: set[tuple[str, str]] = set()
    for session, id_, time_ms in repeats:
        if before := [verdict for verdict in given.get((session, id_), ()) if verdict.at_ms < time_ms]:
            used.add((before[-1].id, id_))
    return used


def rate_of(outcome: str) -> Callable[[Sequence[RecordedVerdict]], float]:
    """Return a function for the share of verdicts with this outcome."""
    return lambda past_verdicts: sum(verdict.outcome == outcome for verdict in past_verdicts) / len(past_verdicts)


def count_injected(past_verdicts: Sequence[RecordedVerdict]) -> float:
    return float(sum(len(verdict.injected) for verdict in past_verdicts))


def count_units(past_verdicts: Sequence[RecordedVerdict]) -> float:
    return float(sum(verdict.units for verdict in past_verdicts))


def quantile(values: Sequence[float], share: float) -> float:
    """Return the least value that `share` of the values do not exceed (nearest rank).

    >>> quantile([3.0, 1.0, 2.0, 4.0], 0.5), quantile([3.0, 1.0, 2.0, 4.0], 0.99)
    (2.0, 4.0)
    """
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def _measure_times(past_verdicts: Sequence[RecordedVerdict], today: date) -> Times:
    durations_ms = [verdict.micros / 1000.0 for verdict in past_verdicts]
    days = [[verdict.micros / 1000.0 for verdict in verdicts_of_day] for verdicts_of_day in _group_by_day(past_verdicts, today)]
    return Times(
        len(durations_ms),
        tuple(quantile(durations_ms, share) for share in QUANTILES),
        tuple(quantile(day, 0.95) if day else None for day in days),
    )


def _group_by_day(past_verdicts: Sequence[RecordedVerdict], today: date) -> list[list[RecordedVerdict]]:
    days: dict[date, list[RecordedVerdict]] = {today - timedelta(days=ago): [] for ago in range(DAYS - 1, -1, -1)}
    for verdict in past_verdicts:
        day = date(*time.localtime(verdict.at_ms // 1000)[:3])
        if day in days:
            days[day].append(verdict)
    return list(days.values())
