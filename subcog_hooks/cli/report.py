"""`subcog report`: the activity of the hook and the contents of the store, on the terminal, as JSON, HTML or for Prometheus."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import Annotated, NamedTuple

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text
from typer import Option

from subcog_hooks.cli import background_jobs, doctor_memories, page
from subcog_hooks.cli.doctor_memories import Inventory
from subcog_hooks.cli.results import figures_table, plain_table
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import ACCENT, DIM, day, pluralize, redact_line, safe, terminal
from subcog_hooks.core.errors import NoMemory
from subcog_hooks.core.paths import Home
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.intent import classifier, detector
from subcog_hooks.store import past_runs, verdicts
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.past_runs import Counter, Histogram
from subcog_hooks.store.store import Store
from subcog_hooks.text.sanitise import cut


class Family(NamedTuple):
    """A metric. label: "" for none."""

    name: str
    help: str
    label: str = ""
    kind: str = "counter"


FAMILIES = (
    Family(classifier.STARTED, "Calls of an LLM that were started."),
    Family(classifier.COMPLETED, "Calls of an LLM by how they ended.", "status"),
    Family(classifier.TIMEOUTS, "Calls of an LLM that took too long, by what ended the wait.", "reason"),
    Family(detector.DURATION, "How long it took to tell what a prompt asks for, by who told it.", "source", "histogram"),
    Family(verdicts.VERDICTS_TOTAL, "Runs of the hook by what became of them.", "outcome"),
    Family(verdicts.INJECTED_TOTAL, "Memories that were handed over."),
    Family(verdicts.POINTED_TOTAL, "Lines that pointed the agent at a memory."),
    Family(verdicts.OPENED_TOTAL, "Memories that the agent opened from a line."),
    Family(verdicts.SECOND_LOOKS_TOTAL, "Second looks by what became of them.", "outcome"),
)


class Activity:
    """The activity of the hook, from the state and the marks of a store.

    by_family: a family's metrics by label value, those counted so far; since: time of the first verdict, None without any;
    prompts: number submitted; outcomes: prompts by outcome, the most frequent first; with_lines: prompts that got a line;
    injected, units: memories and UTF-16 units handed over with prompts; bad: memories marked as wrong; latency_ms: by event,
    the number of runs and three percentiles; cut_off: runs cut off.
    """

    def __init__(self, home: Home, store: Store | None) -> None:
        """Read the activity. Raises StoreError."""
        self.by_family: dict[str, dict[str, Counter | Histogram]] = {family.name: {} for family in FAMILIES}
        recorded: list[verdicts.RecordedVerdict] = []
        with context.existing_state(home, tell=terminal.say) as state:
            for metric in past_runs.read_metrics(state) if state else ():
                if metric.name in self.by_family:
                    self.by_family[metric.name][metric.labels.partition('="')[2][:-1]] = metric
            if state:
                recorded = past_runs.find_latest(state, verdicts.MAX_VERDICTS)
        self.since = min((verdict.at_ms for verdict in recorded), default=None)
        asked = [verdict for verdict in recorded if verdict.event == PROMPT_EVENT]
        self.prompts = len(asked)
        self.outcomes = dict(Counts(verdict.outcome for verdict in asked).most_common())
        self.spoke = self.outcomes.get(verdicts.SPOKE, 0)
        self.with_lines = sum(bool(verdict.pointed) for verdict in asked)
        self.injected = sum(len(verdict.injected) for verdict in asked)
        self.units = sum(verdict.units for verdict in asked)
        given_ids = {id_ for verdict in recorded for id_ in verdict.injected}
        marks = store.marks(store.seqs_of(sorted(given_ids))) if store else []
        self.bad = len({(mark.verdict, mark.seq) for mark in marks})
        self.latency_ms: dict[str, dict[str, float]] = {}
        for event in sorted({verdict.event for verdict in recorded}):
            times_ms = sorted(verdict.micros / 1000.0 for verdict in recorded if verdict.event == event)
            percentiles = {f"p{percent}": times_ms[ceil(percent / 100 * len(times_ms)) - 1] for percent in (50, 95, 99)}
            self.latency_ms[event] = {"count": len(times_ms), **percentiles}
        self.cut_off = len(past_runs.read_cut_offs(home, now_ms()))


def _make_record(activity: Activity, contents: Inventory) -> dict[str, object]:
    """Return the report as an object for scripts, its metrics by their names."""
    record: dict[str, object] = {}
    for family in FAMILIES:
        values: dict[str, object] = {}
        for value, metric in activity.by_family[family.name].items():
            if isinstance(metric, Counter):
                values[value] = int(metric.value) if metric.value.is_integer() else metric.value
            else:
                buckets = {_prometheus_number(bound): cumulative for bound, cumulative in metric.buckets}
                values[value] = {"count": metric.count, "sum": metric.sum, "buckets": buckets}
        record[family.name] = values if family.label else values.get("", 0)
    sessions = {memory.id: count for memory in contents.live if (count := contents.sessions_of(memory))}
    return {
        **record,
        "since": activity.since,
        "prompts": activity.prompts,
        "outcomes": activity.outcomes,
        "injected": activity.injected,
        "characters": activity.units,
        "bad": activity.bad,
        "latency_ms": activity.latency_ms,
        "cut_off": activity.cut_off,
        "memories": len(contents.memories),
        "active": len(contents.live),
        "handed_over_since": contents.use.since,
        "projects": [group._asdict() for group in contents.by_project()],
        "namespaces": [group._asdict() for group in contents.group_by(lambda memory: memory.namespace)],
        "handed_over": dict(sorted(sessions.items(), key=lambda row: (-row[1], row[0]))),
        "never": [memory.id for memory in contents.live if memory.id not in sessions],
        "stale": [{"id": memory.id, "why": why} for why, memory in contents.stale()],
        "waiting": [memory.id for memory in contents.waiting],
    }


def metrics_text(activity: Activity) -> str:
    """Return the metrics in Prometheus' text format."""
    lines = []
    for family in FAMILIES:
        name = family.name
        lines += [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
        for metric in activity.by_family[name].values():
            braced = f"{{{metric.labels}}}" if metric.labels else ""
            if isinstance(metric, Counter):
                lines.append(f"{name}{braced} {_prometheus_number(metric.value)}")
            else:
                lines += [f'{name}_bucket{{{metric.labels},le="{_prometheus_number(le)}"}} {n}' for le, n in metric.buckets]
                lines += [f"{name}_sum{braced} {_prometheus_number(metric.sum)}", f"{name}_count{braced} {metric.count}"]
    return "".join(f"{line}\n" for line in lines)


def figure_rows(activity: Activity) -> list[tuple[str, str]]:
    """Return the few figures of the activity that a person wants to know, each behind its name."""
    spoken = f"{activity.spoke:,} ({activity.spoke / activity.prompts:.0%})" if activity.prompts else "0"
    each = f", {activity.injected / activity.spoke:.1f} each time" if activity.spoke else ""
    rows = [("prompts", f"{activity.prompts:,}"), ("prompts with memories", spoken)]
    if activity.with_lines:
        rows.append(("prompts with lines", f"{activity.with_lines:,} ({activity.with_lines / activity.prompts:.0%})"))
    rows.append(("memories given", f"{activity.injected:,}{each}"))
    lines, opened = (
        sum(metric.value for metric in activity.by_family[name].values() if isinstance(metric, Counter))
        for name in (verdicts.POINTED_TOTAL, verdicts.OPENED_TOTAL)
    )
    if lines:
        rows.append(("lines opened", f"{opened:,.0f} of {lines:,.0f} ({opened / lines:.0%})"))
    if activity.bad:
        rows.append(("called wrong", f"{activity.bad:,}"))
    if latency_ms := activity.latency_ms.get(PROMPT_EVENT):
        rows.append(("time at a prompt", f"{latency_ms['p50']:.0f} ms; 95 of 100 took {latency_ms['p95']:.0f} ms at most"))
    return rows


def _prometheus_number(value: float) -> str:
    """Return a number as Prometheus writes it.

    >>> _prometheus_number(3.0), _prometheus_number(0.0005), _prometheus_number(float("inf"))
    ('3', '0.0005', '+Inf')
    """
    return "+Inf" if value == float("inf") else f"{value:.0f}" if value.is_integer() else repr(value)


MAX_SECTION_LINES = 5  # memories or groups in each section of the terminal's report
LINE_CHARACTERS = 55  # of a memory on the terminal, where an id stands before it


def report(
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
    prometheus: Annotated[bool, Option("--prometheus", help="Print the counters in Prometheus' text format.")] = False,
    html: Annotated[str | None, Option("--html", metavar="FILE", help="Write it as a page that needs nothing else.")] = None,
    serve: Annotated[
        bool, Option("--serve", help="Serve the page on this machine, to review, forget and bring back memories in a browser.")
    ] = False,
) -> None:
    """Show the activity of the hook and the stored memories. It has times, projects, stale and waiting memories.

    The exit code is 1 when there is nothing to report, except with --json and --prometheus.

    Example: subcog report --html report.html
    """
    kinds = {"--prometheus": prometheus, "--serve": serve}
    forms = {"--json": as_json, "--html": html is not None} if prometheus or serve else {}
    inputs.refuse_several(kinds | forms)
    if serve:
        page.serve(partial(_build_page, is_served=True), _figure_rows)
        return
    with context.reading() as store:
        happened = Activity(context.home(), store)
        if prometheus:
            terminal.raw(metrics_text(happened))
            return
        contents = doctor_memories.inventory_of(store)
    if as_json:
        terminal.json(_make_record(happened, contents), indent=1)
    elif store is None and (html is not None or not happened.prompts):
        raise NoMemory("there are no memories", "`subcog remember` makes the first")
    if html is not None:
        page.write_page(_build_page(contents), html)
    elif not as_json:
        terminal.page(_report_view(happened, contents))
        for line in background_jobs.describe_calls(context.home()):
            terminal.say(f"the model at rest was asked today: {line}")
        if happened.cut_off:
            runs = pluralize(happened.cut_off, "run")
            terminal.say(f"{runs} cut off: this machine was busy; `subcog why list` shows when")


def _figure_rows(contents: Inventory) -> list[tuple[str, str]]:
    live = contents.live
    given_count = sum(contents.sessions_of(memory) > 0 for memory in live)
    return [
        ("active memories", f"{len(live):,}"),
        ("projects", f"{len({memory.project for memory in live if memory.project}):,}"),
        ("handed over", f"{given_count:,} of {len(live):,}"),
        ("stale", f"{len(contents.stale()):,}"),
        ("waiting for review", f"{len(contents.waiting):,}"),
    ]


def _report_view(happened: Activity, contents: Inventory) -> RenderableType:
    since, groups = happened.since, contents.by_project()
    projects = plain_table()
    for name in ("project", "active", "handed over", "waiting"):
        projects.add_column(name, no_wrap=name != "project", justify="left" if name == "project" else "right")
    for group in groups[:MAX_SECTION_LINES]:
        projects.add_row(safe(group.name), f"{group.active:,}", f"{group.given:,}", f"{group.waiting:,}")
    if len(groups) > MAX_SECTION_LINES:
        projects.add_row(f"and {pluralize(len(groups) - MAX_SECTION_LINES, 'other')}", "", "", "")
    parts: list[RenderableType] = [
        Text(f"What happened since {day(since)}" if since is not None else "No prompt has come to the hook yet", style="bold"),
        figures_table(figure_rows(happened)),
        "",
        Text("What is there", style="bold"),
        figures_table(_figure_rows(contents)),
        "",
        projects,
    ]
    given = sorted(filter(contents.sessions_of, contents.live), key=contents.sessions_of, reverse=True)
    parts += _memory_lines("in most sessions", [(f"{contents.sessions_of(memory):>5}  ", memory) for memory in given])
    parts += _memory_lines(
        "stale: `subcog doctor --memories` names a command for each", [(f"{why}  ", memory) for why, memory in contents.stale()]
    )
    parts += _memory_lines("waiting for `subcog review`", [("", memory) for memory in contents.waiting])
    return Lines(*parts)


def _memory_lines(title: str, rows: Sequence[tuple[str, Memory]]) -> list[RenderableType]:
    if not rows:
        return []
    lines: list[RenderableType] = ["", Text(f"{title} ({len(rows):,})", style=DIM)]
    for head, memory in rows[:MAX_SECTION_LINES]:
        lines.append(Text.assemble(head, (safe(memory.id), ACCENT), "  ", cut(redact_line(memory.content), LINE_CHARACTERS)))
    return lines


def _build_page(contents: Inventory, *, is_served: bool = False) -> page.Page:
    since = contents.use.since
    given = "Nothing was handed over yet" if since is None else f"Handed over counts sessions since {day(since)}"
    about = f"The memories of {context.home().root} on {day(contents.now)}. {given}."
    cards = page.make_cards(contents.memories, contents)
    return page.Page(about, _figure_rows(contents), cards, is_served=is_served)
