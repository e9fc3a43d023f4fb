"""`subcog report`: the activity of the hook and the contents of the store, on the terminal, as JSON or as an HTML page."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text
from typer import Option

from subcog_hooks.cli import doctor_memories
from subcog_hooks.cli.doctor_memories import Inventory
from subcog_hooks.cli.jobs import background_jobs
from subcog_hooks.cli.page.report_page import Page, make_cards, write_page
from subcog_hooks.cli.results import figures_table, plain_table
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import ACCENT, DIM, day, pluralize, redact_line, safe, terminal
from subcog_hooks.cli.verdicts import metrics
from subcog_hooks.cli.verdicts.metrics import Activity
from subcog_hooks.core.errors import NoMemory
from subcog_hooks.store.memory import Memory
from subcog_hooks.text.sanitise import cut

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
    """Show the activity of the hook and the stored memories.

    That is: prompts with memories and their time, projects, stale and waiting memories.

    The exit code is 1 when there is nothing to report; --json and --prometheus then show zeros.

    Example: subcog report --html report.html
    """
    kinds = {"--prometheus": prometheus, "--serve": serve}
    forms = {"--json": as_json, "--html": html is not None} if prometheus or serve else {}
    inputs.refuse_several(kinds | forms)
    if serve:
        from subcog_hooks.cli.page import page_server  # it loads http.server

        page_server.serve(partial(_build_page, is_served=True), _figure_rows)
        return
    with context.reading() as store:
        happened = metrics.read_activity(context.home(), store)
        if prometheus:
            terminal.raw(metrics.metrics_text(happened))
            return
        contents = doctor_memories.inventory_of(store)
    if as_json:
        terminal.json({**metrics.activity_record(happened), **_report_record(contents)}, indent=1)
    elif store is None and (html is not None or not happened.used.prompts):
        raise NoMemory("there are no memories", "`subcog remember` makes the first")
    if html is not None:
        write_page(_build_page(contents), html)
    elif not as_json:
        terminal.page(_report_view(happened, contents))
        for line in background_jobs.describe_calls(context.home()):
            terminal.say(f"the model at rest was asked today: {line}")
        if happened.cut_off:
            runs = pluralize(happened.cut_off, "run")
            terminal.say(f"{runs} cut off: this machine was busy; `subcog why list` shows when")


def _report_record(contents: Inventory) -> dict[str, object]:
    sessions = {memory.id: count for memory in contents.live if (count := contents.sessions_of(memory))}
    return {
        "memories": len(contents.memories),
        "active": len(contents.live),
        "handed_over_since": contents.use.since,
        "projects": [group._asdict() for group in contents.by_project()],
        "namespaces": [group._asdict() for group in contents.group_by(lambda memory: memory.namespace)],
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


def _report_view(happened: Activity, contents: Inventory) -> RenderableType:
    since, groups = happened.used.since, contents.by_project()
    projects = plain_table()
    for name in ("project", "active", "handed over", "waiting"):
        projects.add_column(name, no_wrap=name != "project", justify="left" if name == "project" else "right")
    for group in groups[:MAX_SECTION_LINES]:
        projects.add_row(safe(group.name), f"{group.active:,}", f"{group.given:,}", f"{group.waiting:,}")
    if len(groups) > MAX_SECTION_LINES:
        projects.add_row(f"and {pluralize(len(groups) - MAX_SECTION_LINES, 'other')}", "", "", "")
    parts: list[RenderableType] = [
        Text(f"What happened since {day(since)}" if since is not None else "No prompt has come to the hook yet", style="bold"),
        figures_table(metrics.figure_rows(happened)),
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


def _build_page(contents: Inventory, *, is_served: bool = False) -> Page:
    since = contents.use.since
    given = "Nothing was handed over yet" if since is None else f"Handed over counts sessions since {day(since)}"
    about = f"The memories of {context.home().root} on {day(contents.now)}. {given}."
    cards = make_cards(contents.memories, contents)
    return Page(about, _figure_rows(contents), cards, is_served=is_served)
