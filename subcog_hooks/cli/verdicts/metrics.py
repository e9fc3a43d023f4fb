"""The activity of the hook for `subcog report`: its verdicts, counters and times, for people, scripts and Prometheus."""

from collections import Counter as Counts
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import terminal
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.payload import PROMPT_EVENT, START_EVENT
from subcog_hooks.hook.session import RESUME
from subcog_hooks.intent import detector
from subcog_hooks.intent.keywords import HYBRID, KEYWORD, LLM
from subcog_hooks.llm.ask import DISCONNECTED, ERROR, SUCCESS, TIMEOUT
from subcog_hooks.store import past_runs
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.past_runs import LOOK_OUTCOMES, Counter, Histogram, SilentCall
from subcog_hooks.store.state import BUCKETS
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import (
    GIVEN,
    INJECTED_TOTAL,
    MAX_VERDICTS,
    OPENED_TOTAL,
    OUTCOMES,
    POINTED_TOTAL,
    SECOND_LOOKS_TOTAL,
    SPOKE,
    VERDICTS_TOTAL,
    RecordedVerdict,
)

COUNTER, HISTOGRAM = "counter", "histogram"


class Family(NamedTuple):
    """A metric. label: "" for none; values: the label's values that are shown from the start."""

    name: str
    kind: str
    help: str
    label: str = ""
    values: tuple[str, ...] = ("",)


FAMILIES = (
    Family(detector.STARTED, COUNTER, "Calls of an LLM that were started."),
    Family(
        detector.COMPLETED, COUNTER, "Calls of an LLM by how they ended.", "status", (SUCCESS, ERROR, TIMEOUT, DISCONNECTED)
    ),
    Family(
        detector.TIMEOUTS,
        COUNTER,
        "Calls of an LLM that took too long, by what ended the wait.",
        "reason",
        (detector.BY_DEADLINE, detector.BY_SETTING),
    ),
    Family(
        detector.DURATION,
        HISTOGRAM,
        "How long it took to tell what a prompt asks for, by who told it.",
        "source",
        (KEYWORD, LLM, HYBRID),
    ),
    Family(VERDICTS_TOTAL, COUNTER, "Runs of the hook by what became of them.", "outcome", OUTCOMES),
    Family(INJECTED_TOTAL, COUNTER, "Memories that were handed over."),
    Family(POINTED_TOTAL, COUNTER, "Lines that pointed the agent at a memory."),
    Family(OPENED_TOTAL, COUNTER, "Memories that the agent opened from a line."),
    Family(SECOND_LOOKS_TOTAL, COUNTER, "Second looks by what became of them.", "outcome", LOOK_OUTCOMES),
)
MAX_SILENT_CALLS = 1_000  # more than the log keeps

QUANTILES = (0.5, 0.95, 0.99)


class Times(NamedTuple):
    """The latency of an event's hooks: number of runs, and quantiles in ms."""

    runs: int
    quantiles: tuple[float, ...]


class Usage:
    """The statistics of verdicts.

    since: time of the first verdict, None without any; prompts: number submitted; outcomes: prompts by outcome, the most
    frequent first; with_lines: prompts that got a line; injected, units: memories and UTF-16 units handed over with prompts;
    given_ids: of all memories handed over; times: by event.
    """

    def __init__(self, past_verdicts: Sequence[RecordedVerdict]) -> None:
        self.since = min((verdict.at_ms for verdict in past_verdicts), default=None)
        asked = [verdict for verdict in past_verdicts if verdict.event == PROMPT_EVENT]
        self.prompts = len(asked)
        self.outcomes = dict(Counts(verdict.outcome for verdict in asked).most_common())
        self.with_lines = sum(bool(verdict.pointed) for verdict in asked)
        self.injected = sum(len(verdict.injected) for verdict in asked)
        self.units = sum(verdict.units for verdict in asked)
        self.given_ids = {id_ for verdict in past_verdicts for id_ in verdict.injected}
        self.times = {
            event: _measure_times([verdict.micros / 1000.0 for verdict in past_verdicts if verdict.event == event])
            for event in sorted({verdict.event for verdict in past_verdicts})
        }
        self.spoke = self.outcomes.get(SPOKE, 0)
        self.fire_rate = self.spoke / self.prompts if self.prompts else None  # share of prompts with an injected block
        self.injected_per_spoken = self.injected / self.spoke if self.spoke else None
        self.units_per_spoken = self.units / self.spoke if self.spoke else None


def _find_used_later(past_verdicts: Sequence[RecordedVerdict], silent: Sequence[SilentCall]) -> set[tuple[str, str]]:
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


def quantile(values: Sequence[float], share: float) -> float:
    """Return the least value that `share` of the values do not exceed (nearest rank).

    >>> quantile([3.0, 1.0, 2.0, 4.0], 0.5), quantile([3.0, 1.0, 2.0, 4.0], 0.99)
    (2.0, 4.0)
    """
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def _measure_times(durations_ms: Sequence[float]) -> Times:
    return Times(len(durations_ms), tuple(quantile(durations_ms, share) for share in QUANTILES))


Values = dict[str, Counter | Histogram]  # a family's metrics by label value


class Activity(NamedTuple):
    """The activity of the hook.

    by_family: the metrics; used: statistics of the verdicts; used_later, bad: numbers of memories given that were of use later,
    or marked as wrong; cut_off: number of runs cut off.
    """

    by_family: dict[str, Values]
    used: Usage
    used_later: int
    bad: int
    cut_off: int


def read_activity(home: Home, store: Store | None) -> Activity:
    """Read the activity of the hook from the state and the marks of the store. Raises StoreError."""
    by_family: dict[str, Values] = {
        family.name: {value: _zero_metric(family, value) for value in family.values} for family in FAMILIES
    }
    past_verdicts: list[RecordedVerdict] = []
    with context.existing_state(home, tell=terminal.say) as state:
        if state:
            for metric in past_runs.read_metrics(state):
                if metric.name in by_family:
                    by_family[metric.name][metric.labels.partition('="')[2][:-1]] = metric
            past_verdicts = past_runs.find_latest(state, MAX_VERDICTS)
    used = Usage(past_verdicts)
    marks = store.marks(store.seqs_of(sorted(used.given_ids))) if store else []
    bad = {(mark.verdict, mark.seq) for mark in marks}
    later = _find_used_later(past_verdicts, past_runs.find_latest_silent_calls(home, MAX_SILENT_CALLS))
    cut_offs = past_runs.read_cut_offs(home, now_ms())
    return Activity(by_family, used, len(later), len(bad), len(cut_offs))


def _zero_metric(family: Family, value: str) -> Counter | Histogram:
    labels = f'{family.label}="{value}"' if family.label else ""
    if family.kind == COUNTER:
        return Counter(family.name, labels, 0.0)
    return Histogram(family.name, labels, tuple((bound, 0) for bound in (*BUCKETS, float("inf"))), 0.0)


def activity_record(activity: Activity) -> dict[str, object]:
    """Return the activity as an object for scripts, its metrics by their names."""
    by_family = activity.by_family
    record: dict[str, object] = {}
    for family in FAMILIES:
        records = {value: _metric_record(metric) for value, metric in by_family[family.name].items()}
        record[family.name] = records if family.label else records[""]
    used = activity.used
    return {
        **record,
        "since": used.since,
        "prompts": used.prompts,
        "fire_rate": used.fire_rate,
        "outcomes": used.outcomes,
        "injected": used.injected,
        "injected_per_spoken": used.injected_per_spoken,
        "characters": used.units,
        "characters_per_spoken": used.units_per_spoken,
        "used_later": activity.used_later,
        "bad": activity.bad,
        "latency_ms": {
            event: {"count": times.runs, **dict(zip(("p50", "p95", "p99"), times.quantiles, strict=True))}
            for event, times in used.times.items()
        },
        "cut_off": activity.cut_off,
    }


def metrics_text(activity: Activity) -> str:
    """Return the metrics in Prometheus' text format."""
    by_family = activity.by_family
    return "".join(_prometheus_text(family, by_family[family.name]) for family in FAMILIES)


def figure_rows(activity: Activity) -> list[tuple[str, str]]:
    """Return the few figures of the activity that a person wants to know, each behind its name."""
    used = activity.used
    share = f" ({used.fire_rate:.0%})" if used.fire_rate is not None else ""
    spoken = f"{used.spoke:,}{share}"
    each = "" if used.injected_per_spoken is None else f", {used.injected_per_spoken:.1f} each time"
    rows = [("prompts", f"{used.prompts:,}"), ("prompts with memories", spoken), ("memories given", f"{used.injected:,}{each}")]
    if used.with_lines:
        rows.insert(2, ("prompts with lines", f"{used.with_lines:,} ({used.with_lines / used.prompts:.0%})"))
    lines, opened = (_count(activity.by_family[name][""]) for name in (POINTED_TOTAL, OPENED_TOTAL))
    if lines:
        rows.append(("lines opened", f"{opened:,.0f} of {lines:,.0f} ({opened / lines:.0%})"))
    if activity.used_later:
        rows.append(("of use later, too", f"{activity.used_later:,}"))
    if activity.bad:
        rows.append(("called wrong", f"{activity.bad:,}"))
    if times := used.times.get(PROMPT_EVENT):
        typical, slow, _ = (_duration_text(ms / 1000) for ms in times.quantiles)
        rows.append(("time at a prompt", f"{typical}; 95 of 100 took {slow} at most"))
    return rows


def _prometheus_text(family: Family, values: Values) -> str:
    name = family.name
    lines = [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
    for metric in values.values():
        braced = f"{{{metric.labels}}}" if metric.labels else ""
        if isinstance(metric, Counter):
            lines.append(f"{name}{braced} {_prometheus_number(metric.value)}")
        else:
            lines += [f'{name}_bucket{{{metric.labels},le="{_prometheus_number(bound)}"}} {n}' for bound, n in metric.buckets]
            lines += [f"{name}_sum{braced} {_prometheus_number(metric.sum)}", f"{name}_count{braced} {metric.count}"]
    return "".join(f"{line}\n" for line in lines)


def _prometheus_number(value: float) -> str:
    """Return a number as Prometheus writes it.

    >>> _prometheus_number(3.0), _prometheus_number(0.0005), _prometheus_number(float("inf"))
    ('3', '0.0005', '+Inf')
    """
    return "+Inf" if value == float("inf") else f"{value:.0f}" if value.is_integer() else repr(value)


def _metric_record(metric: Counter | Histogram) -> object:
    if isinstance(metric, Counter):
        return int(metric.value) if metric.value.is_integer() else metric.value
    return {
        "count": metric.count,
        "sum": metric.sum,
        "mean": metric.sum / metric.count if metric.count else None,
        "buckets": {_prometheus_number(bound): cumulative for bound, cumulative in metric.buckets},
    }


def _count(metric: Counter | Histogram) -> float:
    return metric.value if isinstance(metric, Counter) else float(metric.count)


def _duration_text(seconds: float) -> str:
    """Return a duration in a suitable unit.

    >>> _duration_text(0.0004), _duration_text(0.1234), _duration_text(9.0)
    ('0.40 ms', '123 ms', '9 s')
    """
    if seconds >= 1.0:
        return f"{seconds:.3g} s"
    return f"{seconds * 1000:.3g} ms" if seconds >= 0.001 else f"{seconds * 1000:.2f} ms"
