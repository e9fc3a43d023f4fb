"""The activity of the hook for `subcog report`: its decisions, counters and times, for people, scripts and Prometheus."""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from typing import NamedTuple

from rich.console import RenderableType
from rich.table import Table

from subcog_hooks.cli.results import plain_table
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import ACCENT, safe, terminal
from subcog_hooks.cli.verdicts import decision_view, lookup, usage
from subcog_hooks.cli.verdicts.lookup import local_time
from subcog_hooks.cli.verdicts.usage import ChannelShare, LineBand, Usage
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.intent import detector
from subcog_hooks.intent.keywords import HYBRID, KEYWORD, LLM
from subcog_hooks.llm.ask import DISCONNECTED, ERROR, SUCCESS, TIMEOUT
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import NO_LLM
from subcog_hooks.store import hook_traces, lessons, metrics, recorded_decisions
from subcog_hooks.store import verdicts as outcomes
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.metrics import BUCKETS, DECISIONS, INJECTED, OPENED, POINTED, SECOND_LOOKS, Counter, Histogram
from subcog_hooks.store.second_looks import LOOK_OUTCOMES
from subcog_hooks.store.store import Store
from subcog_hooks.store.verdicts import MAX_DECISIONS, OUTCOMES, SPOKE, Decision

COUNTER, HISTOGRAM = "counter", "histogram"


class Family(NamedTuple):
    """A metric. label: "" for none; values: the label's values that are shown from the start."""

    name: str
    kind: str
    help: str
    label: str = ""
    values: tuple[str, ...] = ("",)


STARTED = Family(detector.STARTED, COUNTER, "Calls of an LLM that were started.")
COMPLETED = Family(
    detector.COMPLETED, COUNTER, "Calls of an LLM by how they ended.", "status", (SUCCESS, ERROR, TIMEOUT, DISCONNECTED)
)
TIMEOUTS = Family(
    detector.TIMEOUTS,
    COUNTER,
    "Calls of an LLM that took too long, by what ended the wait.",
    "reason",
    (detector.BY_DEADLINE, detector.BY_SETTING),
)
DURATION = Family(
    detector.DURATION,
    HISTOGRAM,
    "How long it took to tell what a prompt asks for, by who told it.",
    "source",
    (KEYWORD, LLM, HYBRID),
)
SPOKEN = Family(DECISIONS, COUNTER, "Runs of the hook by what became of them.", "outcome", OUTCOMES)
HANDED_OVER = Family(INJECTED, COUNTER, "Memories that were handed over.")
LINES_GIVEN = Family(POINTED, COUNTER, "Lines that pointed the agent at a memory.")
LINES_OPENED = Family(OPENED, COUNTER, "Memories that the agent opened from a line.")
LOOKS = Family(SECOND_LOOKS, COUNTER, "Second looks by what became of them.", "outcome", LOOK_OUTCOMES)
FAMILIES = (STARTED, COMPLETED, TIMEOUTS, DURATION, SPOKEN, HANDED_OVER, LINES_GIVEN, LINES_OPENED, LOOKS)
OF_LLM = {family.name: family.values for family in (STARTED, COMPLETED, TIMEOUTS)} | {DURATION.name: (LLM, HYBRID)}
MAX_SILENT_CALLS = 1_000  # more than the log keeps
MIN_SPARKLINE_COLUMNS = 70  # a narrower table has no room for sparklines

OUTCOME_NAMES = {
    outcomes.SPOKE: "memories given",
    outcomes.LINES: "only pointed at memories",
    outcomes.PAUSED: "paused",
    outcomes.OFF: "switched off by a setting",
    outcomes.NOMEM: "[nomem] in the prompt",
    outcomes.NOT_TYPED: "sent by the client, not typed",
    outcomes.INTENT: "needs no memory",
    outcomes.BELOW: "nothing relevant enough",
    outcomes.NOTHING_FOUND: "no memory similar to it",
    outcomes.REPEATED: "given before in the session",
    outcomes.SPENT: "the session has had its share",
    outcomes.OUT_OF_TIME: "out of time",
    outcomes.FAILED: "failed",
    outcomes.HANDED_OVER: "given with the next call",
    outcomes.MOVED_ON: "the session has moved on",
}
EVENT_NAMES = {PROMPT_EVENT: "a prompt", **lookup.EVENT_NAMES}

Values = dict[str, Counter | Histogram]  # a family's metrics by label value


class Activity(NamedTuple):
    """The activity of the hook.

    by_family: the metrics; used: statistics of the decisions; channels: shares of the memories given; bands: of the lines.
    later, bad: (decision id, memory id) of memories of use later, or marked as wrong; cut_off: number of runs cut off.
    """

    by_family: dict[str, Values]
    used: Usage
    channels: list[ChannelShare]
    bands: list[LineBand]
    later: AbstractSet[tuple[str, str]]
    bad: AbstractSet[tuple[str, str]]
    cut_off: int


def read_activity(home: Home, store: Store | None) -> Activity:
    """Read the activity of the hook from the state and the marks of the store. Raises StoreError."""
    by_family, decisions, opened = _read_metrics(home)
    used = Usage(decisions, date.today(), PROMPT_EVENT)  # noqa: DTZ011 - the days of the person who looks
    bad = _find_bad_marks(used, store) if store else frozenset()
    later = usage.find_used_later(decisions, hook_traces.find_latest_silent_calls(home, MAX_SILENT_CALLS))
    channels = usage.channel_shares(decisions, later, bad)
    bands = usage.lines_by_band(decisions, opened)
    return Activity(by_family, used, channels, bands, later, bad, len(hook_traces.read_cut_offs(home, now_ms())))


def activity_record(activity: Activity) -> dict[str, object]:
    """Return the activity as an object for scripts, its metrics by their names."""
    by_family = activity.by_family
    record = {family.name: _family_record(family, by_family[family.name]) for family in FAMILIES if by_family[family.name]}
    bands = [band._asdict() for band in activity.bands]
    return {**record, **_usage_record(activity.used, activity.channels), "lines": bands, "cut_off": activity.cut_off}


def metrics_text(activity: Activity) -> str:
    """Return the metrics in Prometheus' text format."""
    by_family = activity.by_family
    return "".join(_prometheus_text(family, by_family[family.name]) for family in FAMILIES if by_family[family.name])


def figure_rows(activity: Activity) -> list[tuple[str, str]]:
    """Return the few figures of the activity that a person wants to know, each behind its name."""
    used = activity.used
    share = f" ({used.fire_rate:.0%})" if used.fire_rate is not None else ""
    spoken = f"{used.spoke:,}{share}  {decision_view.sparkline(used.by_day(usage.rate_of(SPOKE)))}".rstrip()
    each = "" if used.injected_per_spoken is None else f", {_mean_text(used.injected_per_spoken)} each time"
    rows = [("prompts", f"{used.prompts:,}"), ("prompts with memories", spoken), ("memories given", f"{used.injected:,}{each}")]
    if activity.later:
        rows.append(("of use later, too", f"{len(activity.later):,}"))
    if activity.bad:
        rows.append(("called wrong", f"{len(activity.bad):,}"))
    if times := used.times.get(PROMPT_EVENT):
        typical, slow, _ = (_duration_text(ms / 1000) for ms in times.quantiles)
        rows.append(("time at a prompt", f"{typical}; 95 of 100 took {slow} at most"))
    return rows


def detail_view(activity: Activity) -> Iterator[RenderableType]:
    """Yield the tables of outcomes, channels, times, lines and second looks, each before an empty line."""
    tables = [*_usage_tables(activity.used, activity.channels), *_pointer_table(activity.by_family, activity.bands)]
    for table in (*tables, *_second_look_table(activity.by_family[LOOKS.name])):
        yield table
        yield ""


def _read_metrics(home: Home) -> tuple[dict[str, Values], list[Decision], AbstractSet[tuple[str, str]]]:
    """Return the metrics by family, with a zero for each known label value, the decisions, and the openings. Raises StoreError.

    Metrics of an LLM are left out if none is configured and none was ever asked.
    """
    by_family: dict[str, Values] = {
        family.name: {value: _zero_metric(family, value) for value in family.values} for family in FAMILIES
    }
    decisions: list[Decision] = []
    opened: AbstractSet[tuple[str, str]] = frozenset()
    with context.existing_state(home, tell=terminal.say) as state:
        if state:
            for metric in metrics.read_metrics(state):
                if metric.name in by_family:
                    by_family[metric.name][metric.labels.partition('="')[2][:-1]] = metric
            decisions = recorded_decisions.find_latest(state, MAX_DECISIONS)
            opened = frozenset(lessons.find_openings(state))
    of_llm = [by_family[name][value] for name, values in OF_LLM.items() for value in values]
    has_llm = loading.load(home)["llm.provider"] != NO_LLM
    if not has_llm and not any(metric.value if isinstance(metric, Counter) else metric.count for metric in of_llm):
        for name, values in OF_LLM.items():
            for value in values:
                del by_family[name][value]
    return by_family, decisions, opened


def _find_bad_marks(used: Usage, store: Store) -> frozenset[tuple[str, str]]:
    marks = store.marks(store.seqs_of(sorted(used.given_ids)))
    id_of = {seq: id_ for seq, (_, id_) in store.ages([mark.seq for mark in marks]).items()}
    return frozenset((mark.decision, id_of[mark.seq]) for mark in marks)


def _zero_metric(family: Family, value: str) -> Counter | Histogram:
    labels = f'{family.label}="{value}"' if family.label else ""
    if family.kind == COUNTER:
        return Counter(family.name, labels, 0.0)
    return Histogram(family.name, labels, tuple((bound, 0) for bound in (*BUCKETS, float("inf"))), 0.0)


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


def _family_record(family: Family, values: Values) -> object:
    by_value = {value: _metric_record(metric) for value, metric in values.items()}
    return by_value if family.label else by_value[""]


def _metric_record(metric: Counter | Histogram) -> object:
    if isinstance(metric, Counter):
        return int(metric.value) if metric.value.is_integer() else metric.value
    return {
        "count": metric.count,
        "sum": metric.sum,
        "mean": metric.sum / metric.count if metric.count else None,
        "buckets": {_prometheus_number(bound): cumulative for bound, cumulative in metric.buckets},
    }


def _usage_record(used: Usage, channels: Sequence[ChannelShare]) -> dict[str, object]:
    return {
        "since": used.since,
        "prompts": used.prompts,
        "fire_rate": used.fire_rate,
        "outcomes": used.outcomes,
        "injected": used.injected,
        "injected_per_spoken": used.injected_per_spoken,
        "characters": used.units,
        "characters_per_spoken": used.units_per_spoken,
        "channels": {part.channel: {"injected": part.given, "used": part.used, "bad": part.bad} for part in channels},
        "latency_ms": {
            event: {"count": times.runs, **dict(zip(("p50", "p95", "p99"), times.quantiles, strict=True))}
            for event, times in used.times.items()
        },
    }


def _usage_tables(used: Usage, channels: Sequence[ChannelShare]) -> Iterator[RenderableType]:
    since = "" if used.since is None else f" since {local_time(used.since)[:10]}"
    days = () if terminal.out.is_terminal and terminal.out.width < MIN_SPARKLINE_COLUMNS else (f"last {usage.DAYS} days",)
    prompts = [("all", str(used.prompts), "", decision_view.sparkline(used.by_day(len)))]
    for outcome in dict.fromkeys((SPOKE, *used.outcomes)):
        count = used.outcomes.get(outcome, 0)
        share = f"{count / used.prompts:.0%}" if used.prompts else "-"
        rates = decision_view.sparkline(used.by_day(usage.rate_of(outcome)))
        prompts.append((_outcome_name(outcome), str(count), share, rates))
    yield _make_table((f"prompts{since}", "", "share", *days), prompts)
    memories, units = (decision_view.sparkline(used.by_day(figure)) for figure in (usage.count_injected, usage.count_units))
    given = [("memories", str(used.injected), _mean_text(used.injected_per_spoken), memories)]
    given += [("characters", str(used.units), _mean_text(used.units_per_spoken), units)]
    yield _make_table(("handed over", "", "each time it spoke", *days), given)
    by_channel = []
    for part in channels:
        used_share, bad_share = f"{part.used / part.given:.0%}", f"{part.bad / part.given:.0%}"
        counts = str(part.given), str(part.used), used_share, str(part.bad), bad_share
        by_channel.append((lookup.channel_name(part.channel), *counts))
    if by_channel:
        yield _make_table(("found by", "handed over", "of use later", "", "called bad", ""), by_channel)
    by_event = []
    for event, times in used.times.items():
        durations = [_duration_text(ms / 1000) for ms in times.quantiles]
        name = EVENT_NAMES.get(event, safe(event))
        by_event.append((name, str(times.runs), *durations, decision_view.sparkline(times.by_day)))
    if by_event:
        yield _make_table(("time taken", "count", "p50", "p95", "p99", *(f"p95, {head}" for head in days)), by_event)


def _outcome_name(outcome: str) -> str:
    return OUTCOME_NAMES.get(outcome, safe(outcome))


def _mean_text(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _pointer_table(by_family: dict[str, Values], bands: Sequence[LineBand]) -> Iterator[RenderableType]:
    given, opened = (by_family[family.name][""] for family in (LINES_GIVEN, LINES_OPENED))
    assert isinstance(given, Counter)
    assert isinstance(opened, Counter)
    if given.value:
        rows = [("given", f"{given.value:.0f}", ""), ("opened", f"{opened.value:.0f}", f"{opened.value / given.value:.0%}")]
        for band in bands:
            share = f"{band.opened / band.given:.0%}"
            rows.append((f"opened, from {band.lowest:.2f}", f"{band.opened} of {band.given}", share))
        yield _make_table(("lines", "", "share"), rows)


def _second_look_table(values: Values) -> Iterator[RenderableType]:
    counts = {outcome: metric.value for outcome, metric in values.items() if isinstance(metric, Counter) and metric.value}
    total = sum(counts.values())
    rows = [(_outcome_name(outcome), f"{count:.0f}", f"{count / total:.0%}") for outcome, count in counts.items()]
    if rows:
        yield _make_table(("second looks", "", "share"), rows)


def _make_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return a table of these rows, without the cells that have no head."""
    table = plain_table()
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left", style=None if number else ACCENT, overflow="fold")
    for row in rows:
        table.add_row(*row[: len(heads)])
    return table


def _duration_text(seconds: float) -> str:
    """Return a duration in a suitable unit.

    >>> _duration_text(0.0004), _duration_text(0.1234), _duration_text(9.0)
    ('0.40 ms', '123 ms', '9 s')
    """
    if seconds >= 1.0:
        return f"{seconds:.3g} s"
    return f"{seconds * 1000:.3g} ms" if seconds >= 0.001 else f"{seconds * 1000:.2f} ms"
