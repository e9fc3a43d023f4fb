"""`subcog stats`: what has been counted and timed, for people, for scripts and for Prometheus."""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Annotated, NamedTuple

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from subcog_hooks.cli.decisions import arithmetic, usage
from subcog_hooks.cli.decisions.decision_view import GONE
from subcog_hooks.cli.decisions.lookup import WORDS, moment
from subcog_hooks.cli.decisions.usage import FoundBy, Usage
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import ACCENT, DIM, counted, safe, terminal
from subcog_hooks.cli.support.views import plain_table
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.intent import detector
from subcog_hooks.intent.kinds import HYBRID, KEYWORD, LLM
from subcog_hooks.llm.race import DISCONNECTED, ERROR, SUCCESS, TIMEOUT
from subcog_hooks.settings import loading
from subcog_hooks.settings.defaults import NO_LLM
from subcog_hooks.store import decision_log, hook_traces, metrics
from subcog_hooks.store.decision import OUTCOMES, SPOKE, Decision
from subcog_hooks.store.decision_log import MAX_DECISIONS
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.metrics import BUCKETS, DECISIONS, INJECTED, OPENED, POINTED, SECOND_LOOKS, Counter, Histogram
from subcog_hooks.store.second_looks import OF_LOOKS
from subcog_hooks.store.state import State
from subcog_hooks.text.sanitise import cut

WAIT_MS = 2_000
COUNTER, HISTOGRAM = "counter", "histogram"


class Family(NamedTuple):
    """A metric: its kind, what it says, its label ("" for none), and the values of that which are shown from the start."""

    name: str
    kind: str
    help: str
    label: str = ""
    values: tuple[str, ...] = ("",)


STARTED = Family(detector.STARTED, COUNTER, "Calls of an LLM that were started.")
COMPLETED = Family(
    detector.COMPLETED,
    COUNTER,
    "Calls of an LLM by how they ended.",
    "status",
    (SUCCESS, ERROR, TIMEOUT, DISCONNECTED),
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
LOOKS = Family(SECOND_LOOKS, COUNTER, "Second looks by what became of them.", "outcome", OF_LOOKS)
FAMILIES = (
    STARTED,
    COMPLETED,
    TIMEOUTS,
    DURATION,
    SPOKEN,
    HANDED_OVER,
    LINES_GIVEN,
    LINES_OPENED,
    LOOKS,
)  # the first four are S0's
OF_LLM = {family.name: family.values for family in (STARTED, COMPLETED, TIMEOUTS)} | {DURATION.name: (LLM, HYBRID)}
MAX_NAMED_MEMORIES = 5  # memories that are named
MOST_SILENT = 1_000  # calls of tools that are looked at: more than are kept
MIN_SPARKLINE_COLUMNS = 70  # columns from which a table has room for sparklines

Values = dict[str, Counter | Histogram]  # of one family, by the value of its label


def register(app: typer.Typer) -> None:
    app.command()(stats)


def stats(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object by the names of the metrics.")] = False,
    prometheus: Annotated[bool, typer.Option("--prometheus", help="Print the metrics in Prometheus' text format.")] = False,
) -> None:
    """Show how often the hook gave memories, which ones, and how long it took.

    Example: subcog stats
    """
    if as_json and prometheus:
        raise UsageError("--json and --prometheus exclude each other", "give one of them")
    found, kept = _found(context.home())
    if prometheus:
        terminal.raw("".join(_exposition(family, found[family.name]) for family in FAMILIES if found[family.name]))
        return
    cut_off = hook_traces.read_cut_offs(context.home(), now_ms())
    used = Usage(kept, date.today(), PROMPT_EVENT)  # noqa: DTZ011 - the days of the person who looks
    shelf = _shelf(used)
    later = usage.used_later(kept, hook_traces.latest_silent_calls(context.home(), MOST_SILENT))
    channels = usage.by_channel(kept, later, shelf.bad)
    if as_json:
        known = {family.name: _described(family, found[family.name]) for family in FAMILIES if found[family.name]}
        terminal.json({**known, **_usage(used, shelf, channels), "cut_off": len(cut_off)}, indent=1)
    else:
        calls: list[RenderableType] = [_calls(found), ""] if found[STARTED.name] else []
        terminal.draw(
            Group(
                *_used(used, shelf, channels),
                *_lines(found),
                *_looks(found[LOOKS.name]),
                *calls,
                _durations(found[DURATION.name]),
            )
        )
        if cut_off:
            terminal.say(counted(len(cut_off), "run") + " cut off: this machine was busy; `subcog why --list` shows when")


def _found(home: Home) -> tuple[dict[str, Values], list[Decision]]:
    """Return what has been counted, by family, with a zero for each value that is known; and the decisions.

    What an LLM would have counted is left out where none is configured and none has ever been asked. Raises StoreError.
    """
    found: dict[str, Values] = {family.name: {value: _nothing(family, value) for value in family.values} for family in FAMILIES}
    kept: list[Decision] = []
    if os.path.exists(home.state_db):
        state = State.open(home, WAIT_MS, terminal.say)
        try:
            for metric in metrics.read(state):
                if metric.name in found:
                    found[metric.name][metric.labels.partition('="')[2][:-1]] = metric
            kept = decision_log.latest(state, MAX_DECISIONS)
        finally:
            state.close()
    of_llm = [found[name][value] for name, values in OF_LLM.items() for value in values]
    has_llm = loading.load(home)["llm.provider"] != NO_LLM
    if not has_llm and not any(metric.value if isinstance(metric, Counter) else metric.count for metric in of_llm):
        for name, values in OF_LLM.items():
            for value in values:
                del found[name][value]
    return found, kept


class Shelf(NamedTuple):
    """The store's part in the figures.

    memories: those that are named, by id; never: how many were never handed over; oldest: the oldest of these; bad: pairs of a
    decision and a memory that was called bad there, by their ids.
    """

    memories: dict[str, Memory]
    never: int
    oldest: list[Memory]
    bad: frozenset[tuple[str, str]]


def _shelf(used: Usage) -> Shelf:
    ids = [id_ for id_, _ in used.memories]
    with context.reading() as store:
        if store is None:
            return Shelf({}, 0, [], frozenset())
        marks = store.marks(store.seqs_of(ids))
        id_of = {seq: id_ for seq, (_, id_) in store.ages([mark.seq for mark in marks]).items()}
        bad = frozenset((mark.decision, id_of[mark.seq]) for mark in marks)
        return Shelf(store.by_ids(ids[:MAX_NAMED_MEMORIES]), *store.never(ids, MAX_NAMED_MEMORIES), bad)


def _nothing(family: Family, value: str) -> Counter | Histogram:
    labels = f'{family.label}="{value}"' if family.label else ""
    if family.kind == COUNTER:
        return Counter(family.name, labels, 0.0)
    return Histogram(family.name, labels, tuple((bound, 0) for bound in (*BUCKETS, float("inf"))), 0.0)


def quantile(histogram: Histogram, share: float) -> float | None:
    """Return the seconds that `share` of the observations stayed under, as far as buckets tell; None without any.

    Estimated as Prometheus does: evenly spread within their bucket; the last finite bound for those beyond it.

    >>> quantile(Histogram("x", "", ((1.0, 1), (2.0, 3), (float("inf"), 4)), 7.0), 0.5)
    1.5
    """
    rank, lower, before = share * histogram.count, 0.0, 0
    for bound, so_far in histogram.buckets:
        if histogram.count and so_far >= rank and so_far > before:
            return lower if bound == float("inf") else lower + (bound - lower) * (rank - before) / (so_far - before)
        lower, before = bound, so_far
    return None


# ---- Prometheus -----------------------------------------------------------------------------------------------------------


def _exposition(family: Family, values: Values) -> str:
    """Return a family in Prometheus' text format 0.0.4."""
    lines = [f"# HELP {family.name} {family.help}", f"# TYPE {family.name} {family.kind}"]
    for metric in values.values():
        braced = f"{{{metric.labels}}}" if metric.labels else ""
        if isinstance(metric, Counter):
            lines.append(f"{family.name}{braced} {_number(metric.value)}")
        else:
            lines += [f'{family.name}_bucket{{{metric.labels},le="{_number(bound)}"}} {n}' for bound, n in metric.buckets]
            lines += [f"{family.name}_sum{braced} {_number(metric.sum)}", f"{family.name}_count{braced} {metric.count}"]
    return "".join(f"{line}\n" for line in lines)


def _number(value: float) -> str:
    """Return a number as Prometheus writes it.

    >>> _number(3.0), _number(0.0005), _number(float("inf"))
    ('3', '0.0005', '+Inf')
    """
    return "+Inf" if value == float("inf") else f"{value:.0f}" if value.is_integer() else repr(value)


# ---- JSON -----------------------------------------------------------------------------------------------------------------


def _described(family: Family, values: Values) -> object:
    by_value = {value: _described_one(metric) for value, metric in values.items()}
    return by_value if family.label else by_value[""]


def _described_one(metric: Counter | Histogram) -> object:
    if isinstance(metric, Counter):
        return int(metric.value) if metric.value.is_integer() else metric.value
    return {
        "count": metric.count,
        "sum": metric.sum,
        "mean": _mean(metric),
        "p50_estimate": quantile(metric, 0.5),
        "p95_estimate": quantile(metric, 0.95),
        "buckets": {_number(bound): so_far for bound, so_far in metric.buckets},
    }


def _mean(metric: Histogram) -> float | None:
    return metric.sum / metric.count if metric.count else None


def _usage(used: Usage, shelf: Shelf, channels: Sequence[FoundBy]) -> dict[str, object]:
    """Return the figures that the decisions add up to, of the time for which they are kept."""
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
        "top_memories": [{"id": id_, "injected": times} for id_, times in used.memories[:MAX_NAMED_MEMORIES]],
        "never_injected": {"count": shelf.never, "oldest": [memory.id for memory in shelf.oldest]},
    }


# ---- for people -----------------------------------------------------------------------------------------------------------


def _used(used: Usage, shelf: Shelf, channels: Sequence[FoundBy]) -> Iterator[RenderableType]:
    """Yield the figures that the decisions add up to, each with how it was in the last days."""
    since = "" if used.since is None else f" since {moment(used.since)[:10]}"
    days = () if terminal.out.is_terminal and terminal.out.width < MIN_SPARKLINE_COLUMNS else (f"last {usage.DAYS} days",)
    table = _table(f"prompts{since}", "", "share", *days)
    rows: list[tuple[str, int, str, Callable[[Sequence[Decision]], float]]] = [("all", used.prompts, "", len)]
    for outcome in dict.fromkeys((SPOKE, *used.outcomes)):
        count = used.outcomes.get(outcome, 0)
        share = f"{count / used.prompts:.0%}" if used.prompts else "-"
        rows.append((safe(outcome), count, share, usage.rate_of(outcome)))
    for name, count, share, figure in rows:
        _add(table, name, str(count), share, _line(used.by_day(figure)))
    yield table
    yield ""
    table = _table("handed over", "", "each time it spoke", *days)
    _add(table, "memories", str(used.injected), _mean_of(used.injected_per_spoken), _line(used.by_day(usage.injected)))
    _add(table, "characters", str(used.units), _mean_of(used.units_per_spoken), _line(used.by_day(usage.units)))
    yield table
    yield ""
    if channels:
        table = _table("found by", "handed over", "of use later", "", "called bad", "")
        for part in channels:
            shares = f"{part.used / part.given:.0%}", f"{part.bad / part.given:.0%}"
            _add(table, safe(part.channel), str(part.given), str(part.used), shares[0], str(part.bad), shares[1])
        yield table
        yield ""
    table = _table("time taken", "count", "p50", "p95", "p99", *(f"p95, {head}" for head in days))
    for event, times in used.times.items():
        _add(table, safe(event), str(times.runs), *(_time(ms / 1000) for ms in times.quantiles), _line(times.by_day))
    if used.times:
        yield table
        yield ""
    if used.memories:
        yield Text("handed over most often", style=DIM)
        for id_, count in used.memories[:MAX_NAMED_MEMORIES]:
            yield _describe_memory(f"{count:>5}", id_, shelf.memories.get(id_))
    if shelf.never:
        yield Text(f"{shelf.never} never handed over{since or ' yet'}, the oldest", style=DIM)
        for memory in shelf.oldest:
            yield _describe_memory(" " * 5, memory.id, memory)
    if used.memories or shelf.never:
        yield ""


def _describe_memory(head: str, id_: str, memory: Memory | None) -> Text:
    words = GONE if memory is None or memory.status == "deleted" else cut(safe(memory.content), WORDS)
    return Text.assemble(head, "  ", (safe(id_), ACCENT), "  ", words)


def _line(values: Sequence[float | None]) -> str:
    return arithmetic.sparkline(values) if any(value is not None for value in values) else ""


def _mean_of(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _lines(found: dict[str, Values]) -> Iterator[RenderableType]:
    """Yield how many lines pointed the agent at memories, and how many of these it opened."""
    given, opened = (found[family.name][""] for family in (LINES_GIVEN, LINES_OPENED))
    assert isinstance(given, Counter)
    assert isinstance(opened, Counter)
    if given.value:
        table = _table("lines", "", "share")
        _add(table, "given", f"{given.value:.0f}", "")
        _add(table, "opened", f"{opened.value:.0f}", f"{opened.value / given.value:.0%}")
        yield table
        yield ""


def _calls(found: dict[str, Values]) -> Table:
    table = _table("LLM calls", "")
    for word, family in (("started", STARTED), ("completed:", COMPLETED), ("timeout:", TIMEOUTS)):
        for value, metric in found[family.name].items():
            assert isinstance(metric, Counter)
            table.add_row(f"{word} {value}".strip(), f"{metric.value:.0f}")
    return table


def _looks(values: Values) -> Iterator[RenderableType]:
    """Yield a table of the second looks, where there were any."""
    counts = {outcome: metric.value for outcome, metric in values.items() if isinstance(metric, Counter) and metric.value}
    if not counts:
        return
    table = _table("second looks", "", "share")
    for outcome, count in counts.items():
        table.add_row(safe(outcome), f"{count:.0f}", f"{count / sum(counts.values()):.0%}")
    yield table
    yield ""


def _durations(values: Values) -> Table:
    table = _table("intents told by", "count", "mean", "p50, estimated", "p95, estimated")
    for source, metric in values.items():
        assert isinstance(metric, Histogram)
        times = (_mean(metric), quantile(metric, 0.5), quantile(metric, 0.95))
        table.add_row(source, str(metric.count), *map(_time, times))
    return table


def _table(*columns: str) -> Table:
    table = plain_table()
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", style=None if number else ACCENT, overflow="fold")
    return table


def _add(table: Table, *cells: str) -> None:
    """Add a row, without the last cells that the table has no columns for."""
    table.add_row(*cells[: len(table.columns)])


def _time(seconds: float | None) -> str:
    """Return a duration in the unit that suits it, `-` for none.

    >>> _time(0.0004), _time(0.1234), _time(9.0), _time(None)
    ('0.40 ms', '123 ms', '9 s', '-')
    """
    if seconds is None:
        return "-"
    if seconds >= 1.0:
        return f"{seconds:.3g} s"
    return f"{seconds * 1000:.3g} ms" if seconds >= 0.001 else f"{seconds * 1000:.2f} ms"
