"""`subcog report`: the store as a whole, on the terminal, as JSON or as a page."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from subcog_hooks.cli.decisions import arithmetic
from subcog_hooks.cli.support import context, inventory
from subcog_hooks.cli.support.inventory import Group, Inventory
from subcog_hooks.cli.support.output import ACCENT, DIM, counted, day, redact_line, safe, terminal
from subcog_hooks.cli.support.page import Column, Moment, Page, write_page
from subcog_hooks.cli.support.views import plain_table
from subcog_hooks.core.errors import NoMemory
from subcog_hooks.store.memory import STATUSES, Memory, now_ms
from subcog_hooks.text.sanitise import cut

MOST_LINES = 10  # of each kind, in a terminal
SHOWN_LINE = 100  # characters of a memory in a terminal
KEPT = tuple(status for status in STATUSES if status != "deleted")


def register(app: typer.Typer) -> None:
    app.command()(report)


def report(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Write it as a page that needs nothing else.")
    ] = None,
) -> None:
    """Show the store: memories by project and namespace, its growth, and used, stale and waiting memories.

    Handed over counts sessions, as far back as they are known.

    Example: subcog report --html report.html
    """
    with context.reading() as store:
        if store is None:
            raise NoMemory("there are no memories", "`subcog remember` makes the first")
        found = Inventory(list(store.all(KEPT)), inventory.use_so_far(), now_ms())
    if html is not None:
        write_page(_page_of(found), html)
    if as_json:
        terminal.json(_described(found), indent=1)
    elif html is None:
        terminal.page(_view(found))


def _described(found: Inventory) -> dict[str, object]:
    given = {one.id: count for one in found.live if (count := found.sessions_of(one))}
    return {
        "memories": len(found.memories),
        "active": len(found.live),
        "handed_over_since": found.use.since,
        "projects": [group._asdict() for group in found.by_project()],
        "namespaces": [group._asdict() for group in found.by_namespace()],
        "growth": [month._asdict() for month in found.growth()],
        "handed_over": dict(sorted(given.items(), key=lambda row: (-row[1], row[0]))),
        "never": [one.id for one in found.live if not found.sessions_of(one)],
        "stale": [{"id": one.id, "why": why} for why, one in found.stale()],
        "waiting": [one.id for one in found.waiting],
    }


def _figures(found: Inventory) -> list[tuple[str, str]]:
    live = found.live
    given = sum(found.sessions_of(one) > 0 for one in live)
    return [
        ("active memories", f"{len(live):,}"),
        ("projects", f"{len({one.project for one in live if one.project}):,}"),
        ("handed over", f"{given:,} of {len(live):,}"),
        ("stale", f"{len(found.stale()):,}"),
        ("waiting for review", f"{len(found.waiting):,}"),
    ]


def _since(found: Inventory) -> str:
    since = found.use.since
    return "Nothing was handed over yet." if since is None else f"Handed over counts sessions since {day(since)}."


# ---- for people -----------------------------------------------------------------------------------------------------------


def _view(found: Inventory) -> RenderableType:
    table = plain_table()
    table.add_column("", no_wrap=True)
    table.add_column("")
    for name, value in _figures(found):
        table.add_row(name, value)
    if growth := found.growth():
        table.add_row(
            "by month", f"{arithmetic.sparkline([month.stored for month in growth])} {growth[0].name} to {growth[-1].name}"
        )
    parts: list[RenderableType] = [table, "", _groups("project", found.by_project()), ""]
    parts.append(_groups("namespace", found.by_namespace()))
    given = sorted((one for one in found.live if found.sessions_of(one)), key=lambda one: -found.sessions_of(one))
    parts += _some("handed over, the most often", [(f"{found.sessions_of(one):>5}  ", one) for one in given])
    parts += _some(
        "stale; what was replaced or archived stays so, for the rest `subcog doctor --memories` names a command",
        [(f"{why}  ", one) for why, one in found.stale()],
    )
    parts += _some("wait for `subcog review`", [("", one) for one in found.waiting])
    parts += ["", Text(_since(found), style=DIM)]
    return Lines(*parts)


def _groups(title: str, groups: Sequence[Group]) -> RenderableType:
    table = plain_table()
    for name in (title, "active", "handed over", "waiting"):
        table.add_column(name, no_wrap=name != title, justify="left" if name == title else "right")
    for group in groups[:MOST_LINES]:
        table.add_row(safe(group.name), f"{group.active:,}", f"{group.given:,}", f"{group.waiting:,}")
    if len(groups) > MOST_LINES:
        table.add_row(f"and {counted(len(groups) - MOST_LINES, 'other')}", "", "", "")
    return table


def _some(title: str, rows: Sequence[tuple[str, Memory]]) -> list[RenderableType]:
    if not rows:
        return []
    lines: list[RenderableType] = ["", Text(f"{len(rows):,} {title}", style=DIM)]
    for head, one in rows[:MOST_LINES]:
        lines.append(Text.assemble(head, (safe(one.id), ACCENT), "  ", cut(redact_line(one.content), SHOWN_LINE)))
    return lines


# ---- as a page ------------------------------------------------------------------------------------------------------------


def _page_of(found: Inventory) -> Page:
    page = Page("subcog report", f"The memories of {context.home().root} on {day(found.now)}. {_since(found)}")
    page.add_figures(_figures(found))
    page.add_heading("Growth", "Memories at the end of each month, and dark those that were new in it.")
    page.add_time_line([Moment(month.name, month.stored, month.new) for month in found.growth()])
    for title, groups in (("project", found.by_project()), ("namespace", found.by_namespace())):
        page.add_heading(f"By {title}")
        columns = [Column(title), *(Column(name, is_number=True) for name in ("active", "handed over", "waiting"))]
        page.add_table(columns, [(group.name, group.active, group.given, group.waiting) for group in groups])
    if waiting := found.waiting:
        page.add_heading("Waiting for review", "`subcog review` asks about each; until then none is given to the agent.")
        page.add_table(_COLUMNS, [_row(one, found) for one in waiting])
    if stale := found.stale():
        page.add_heading(
            "Stale",
            "What was replaced or archived stays as it is. For the rest, and more, `subcog doctor --memories` names a command.",
        )
        page.add_table([Column("why"), *_COLUMNS], [(why, *_row(one, found)) for why, one in stale])
    page.add_heading("All memories", "Handed over: to how many sessions, and when to the last one.")
    page.add_table(_COLUMNS, [_row(one, found) for one in found.memories])
    return page


_COLUMNS = [
    *(Column("noted"), Column("project"), Column("namespace"), Column("status")),
    *(Column("handed over", is_number=True), Column("last"), Column("id"), Column("memory")),
]


def _row(one: Memory, found: Inventory) -> tuple[str, str, str, str, int, str, str, str]:
    known = found.use.by_id.get(one.id)
    last = day(known.last_at) if known else ""
    of = one.project or one.scope
    return day(one.created_at), of, one.namespace, one.status, found.sessions_of(one), last, one.id, one.content
