"""`subcog report`: the activity of the hook and the contents of the store, on the terminal, as JSON or as an HTML page."""

from collections.abc import Sequence
from typing import Annotated

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text
from typer import Option

from subcog_hooks.cli.decisions import activity, decision_view
from subcog_hooks.cli.decisions.activity import Activity
from subcog_hooks.cli.support import author, context, inventory, llm_use
from subcog_hooks.cli.support.inventory import Group, Inventory
from subcog_hooks.cli.support.output import ACCENT, DIM, day, pluralize, redact_line, safe, terminal
from subcog_hooks.cli.support.page import Column, Moment, Page, write_page
from subcog_hooks.cli.support.results import figures_table, plain_table
from subcog_hooks.core.errors import NoMemory, UsageError
from subcog_hooks.store.memory import STATUSES, Memory, now_ms
from subcog_hooks.text.sanitise import cut

MAX_SECTION_LINES = 5  # memories or groups in each section of the terminal's report
LINE_CHARACTERS = 55  # of a memory on the terminal, where an id stands before it
UNDELETED = tuple(status for status in STATUSES if status != "deleted")


def report(
    details: Annotated[
        bool, Option("--details", help="Show more figures: outcomes, how memories were found, times, lines.")
    ] = False,
    past: Annotated[
        bool, Option("--past", help="Replay your past prompts: what the hook would have given with today's memories.")
    ] = False,
    transcripts: Annotated[
        str | None, Option("--transcripts", metavar="DIR", help="With --past: read the transcripts in this folder alone.")
    ] = None,
    since: Annotated[
        str | None, Option("--since", metavar="AGE", help="With --past: only prompts of the last 30d, 8w, 6m or 1y.")
    ] = None,
    learned: Annotated[
        bool, Option("--learned", help="With --past: against what `learn` would have proposed by then, not your memories.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
    prometheus: Annotated[bool, Option("--prometheus", help="Print the counters in Prometheus' text format.")] = False,
    html: Annotated[str | None, Option("--html", metavar="FILE", help="Write it as a page that needs nothing else.")] = None,
    as_user: Annotated[bool, Option("--as-user", help=author.AS_USER_HELP)] = False,
) -> None:
    """Show what happened and what is there.

    That is: prompts with memories and their time, projects, growth, stale and waiting memories.

    With --past it reads your coding agents' sessions and Claude Code's list of prompts on this machine, and keeps no record of
    them. The exit code is 1 when there is nothing to report.

    Example: subcog report --html report.html
    """
    if sum((details, past, prometheus)) > 1 or (as_json and (details or prometheus)):
        raise UsageError("--details, --past and --prometheus exclude each other", "give one of them; --json goes with --past")
    if past:
        from subcog_hooks.cli.proposals import past_prompts  # it loads what learns from sessions

        past_prompts.report_past(transcripts, since, html, learned=learned, as_json=as_json, as_user=as_user)
        return
    if transcripts or since or learned:
        raise UsageError("--transcripts, --since and --learned are about past prompts", "give --past with them")
    with context.reading() as store:
        happened = activity.read_activity(context.home(), store)
        if prometheus:
            terminal.raw(activity.metrics_text(happened))
            return
        contents = Inventory(list(store.all(UNDELETED)) if store else [], inventory.load_use(), now_ms())
    if as_json:
        terminal.json({**activity.activity_record(happened), **_report_record(contents)}, indent=1)
    elif store is None and not details and (html is not None or not happened.used.prompts):
        raise NoMemory("there are no memories", "`subcog remember` makes the first")
    if html is not None:
        write_page(_build_page(contents), html)
    elif not as_json:
        terminal.page(Lines(*activity.detail_view(happened)) if details else _report_view(happened, contents))
        _say_remarks(happened)


def _say_remarks(happened: Activity) -> None:
    for line in llm_use.describe_calls(context.home()):
        terminal.say(f"the model at rest was asked today: {line}")
    if happened.cut_off:
        runs = pluralize(happened.cut_off, "run")
        terminal.say(f"{runs} cut off: this machine was busy; `subcog why --list` shows when")


def _report_record(contents: Inventory) -> dict[str, object]:
    sessions = {memory.id: count for memory in contents.live if (count := contents.sessions_of(memory))}
    return {
        "memories": len(contents.memories),
        "active": len(contents.live),
        "handed_over_since": contents.use.since,
        "projects": [group._asdict() for group in contents.by_project()],
        "namespaces": [group._asdict() for group in contents.by_namespace()],
        "growth": [month._asdict() for month in contents.growth()],
        "handed_over": dict(sorted(sessions.items(), key=lambda row: (-row[1], row[0]))),
        "never": [memory.id for memory in contents.live if not contents.sessions_of(memory)],
        "stale": [{"id": memory.id, "why": why} for why, memory in contents.stale()],
        "waiting": [memory.id for memory in contents.waiting],
    }


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


def _since_text(contents: Inventory) -> str:
    since = contents.use.since
    return "Nothing was handed over yet." if since is None else f"Handed over counts sessions since {day(since)}."


def _report_view(happened: Activity, contents: Inventory) -> RenderableType:
    since = happened.used.since
    parts: list[RenderableType] = [
        Text(f"What happened since {day(since)}" if since is not None else "No prompt has come to the hook yet", style="bold"),
        figures_table(activity.figure_rows(happened)),
        "",
        Text("What is there", style="bold"),
    ]
    table = figures_table(_figure_rows(contents))
    if growth := contents.growth():
        table.add_row(
            "by month", f"{decision_view.sparkline([month.stored for month in growth])} {growth[0].name} to {growth[-1].name}"
        )
    parts += [table, "", _group_table("project", contents.by_project())]
    given = sorted(filter(contents.sessions_of, contents.live), key=contents.sessions_of, reverse=True)
    parts += _memory_lines("in most sessions", [(f"{contents.sessions_of(memory):>5}  ", memory) for memory in given])
    parts += _memory_lines(
        "stale: `subcog doctor --memories` names a command for each", [(f"{why}  ", memory) for why, memory in contents.stale()]
    )
    parts += _memory_lines("waiting for `subcog review`", [("", memory) for memory in contents.waiting])
    return Lines(*parts)


def _group_table(title: str, groups: Sequence[Group]) -> RenderableType:
    table = plain_table()
    for name in (title, "active", "handed over", "waiting"):
        table.add_column(name, no_wrap=name != title, justify="left" if name == title else "right")
    for group in groups[:MAX_SECTION_LINES]:
        table.add_row(safe(group.name), f"{group.active:,}", f"{group.given:,}", f"{group.waiting:,}")
    if len(groups) > MAX_SECTION_LINES:
        table.add_row(f"and {pluralize(len(groups) - MAX_SECTION_LINES, 'other')}", "", "", "")
    return table


def _memory_lines(title: str, rows: Sequence[tuple[str, Memory]]) -> list[RenderableType]:
    if not rows:
        return []
    lines: list[RenderableType] = ["", Text(f"{title} ({len(rows):,})", style=DIM)]
    for head, memory in rows[:MAX_SECTION_LINES]:
        lines.append(Text.assemble(head, (safe(memory.id), ACCENT), "  ", cut(redact_line(memory.content), LINE_CHARACTERS)))
    return lines


def _build_page(contents: Inventory) -> Page:
    page = Page("subcog report", f"The memories of {context.home().root} on {day(contents.now)}. {_since_text(contents)}")
    page.add_figures(_figure_rows(contents))
    page.add_heading("Growth", "Memories at the end of each month, and dark those that were new in it.")
    page.add_time_line([Moment(month.name, month.stored, month.new) for month in contents.growth()])
    for title, groups in (("project", contents.by_project()), ("namespace", contents.by_namespace())):
        page.add_heading(f"By {title}")
        columns = [Column(title), *(Column(name, is_number=True) for name in ("active", "handed over", "waiting"))]
        page.add_table(columns, [(group.name, group.active, group.given, group.waiting) for group in groups])
    if waiting := contents.waiting:
        page.add_heading("Waiting for review", "`subcog review` asks about each; until then none is given to the agent.")
        page.add_table(_COLUMNS, [_memory_row(memory, contents) for memory in waiting])
    if stale := contents.stale():
        page.add_heading(
            "Stale",
            "What was replaced or archived stays as it is. For the rest, and more, `subcog doctor --memories` names a command.",
        )
        page.add_table([Column("why"), *_COLUMNS], [(why, *_memory_row(memory, contents)) for why, memory in stale])
    page.add_heading("All memories", "Handed over: to how many sessions, and when to the last one.")
    page.add_table(_COLUMNS, [_memory_row(memory, contents) for memory in contents.memories])
    return page


_COLUMNS = [
    *(Column("noted"), Column("project"), Column("namespace"), Column("status")),
    *(Column("handed over", is_number=True), Column("last"), Column("id"), Column("memory")),
]


def _memory_row(memory: Memory, contents: Inventory) -> tuple[str, str, str, str, int, str, str, str]:
    use = contents.use.by_id.get(memory.id)
    last = day(use.last_at) if use else ""
    about = day(memory.created_at), memory.project or memory.scope, memory.namespace, memory.status
    return *about, contents.sessions_of(memory), last, memory.id, memory.content
