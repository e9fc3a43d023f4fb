"""An audit as it is told: in a terminal, as JSON, and as a page."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from subcog_hooks.cli.decisions.decision_view import GONE
from subcog_hooks.cli.proposals.auditing import Audit, Replayed
from subcog_hooks.cli.support.output import ACCENT, DIM, counted, day, redact_line, safe
from subcog_hooks.cli.support.page import Column, Moment, Page
from subcog_hooks.cli.support.views import plain_table
from subcog_hooks.learn.repetition import Repeated
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.memory import Memory
from subcog_hooks.text.sanitise import cut

MOST_LISTED = 5  # of each kind, in a terminal
MOST_WEEKS = 60  # of a time line
SHOWN_OF_PROMPT = 100  # characters of a prompt or memory in a terminal
PROMPT_SHOWN = 500  # characters of a prompt, of which a page and a terminal show fewer
WEEK_MS = 7 * 86_400_000
_MONDAY_MS = 4 * 86_400_000  # the first one after the epoch, a Thursday


def described(audit: Audit, against: str) -> dict[str, object]:
    """Return an audit as JSON. against: what prompts were replayed against."""
    spoken = audit.spoken
    units = sum(one.decision.units for one in spoken)
    return {
        "against": against,
        "prompts": len(audit.prompts),
        "sessions": len({one.turn.session for one in audit.prompts}),
        "left_out": audit.left_out,
        "spoke": len(spoken),
        "fire_rate": round(len(spoken) / len(audit.prompts), 4) if audit.prompts else None,
        "outcomes": dict(Counter(one.decision.outcome for one in audit.prompts).most_common()),
        "injected": sum(len(one.decision.injected) for one in spoken),
        "characters": units,
        "characters_per_spoken": round(units / len(spoken), 1) if spoken else None,
        "noted_later": audit.noted_later(),
        "memories": [
            {"id": id_, "times": times, "content": _content_of(audit.memories.get(id_))}
            for id_, times in audit.times_given().items()
        ],
        "never": [memory.id for memory in audit.never_given()],
        "asked_again": [_repeated(group) for group in audit.asked_again],
        "said_again": [{"kind": kind, **_repeated(group)} for kind, group in audit.said_again],
        "spoken": [
            {
                "at": one.turn.at,
                "session": one.turn.session,
                "project": one.owner,
                "prompt": _prompt_of(one),
                "characters": one.decision.units,
                "memories": list(one.decision.injected),
            }
            for one in spoken
        ],
    }


def _repeated(group: Repeated) -> dict[str, object]:
    return {
        "text": redact(group.said[0].text).text,
        "sessions": group.sessions,
        "since": group.since,
        "times": len(group.said),
        "project": group.said[0].audience,
        "said": [redact(one.text).text for one in group.said],
    }


def _prompt_of(one: Replayed) -> str:
    """Return a prompt as it may be shown, in one line: a transcript has it as it was typed, with its secrets."""
    return redact_line(one.turn.text)[:PROMPT_SHOWN]


def _day_of(one: Replayed) -> str:
    return day(one.turn.at) if one.turn.at else "undated"


def _content_of(memory: Memory | None) -> str:
    return redact(memory.content).text if memory else ""


# ---- for people -----------------------------------------------------------------------------------------------------------


def figures(audit: Audit) -> list[tuple[str, str]]:
    """Return the figures of an audit, each behind its name."""
    spoken = audit.spoken
    share = f" ({len(spoken) / len(audit.prompts):.0%})" if audit.prompts else ""
    units = sum(one.decision.units for one in spoken)
    each = f" ({units / len(spoken):,.0f} each time)" if spoken else ""
    never = audit.never_given()
    found = [
        ("prompts", f"{len(audit.prompts):,} of {counted(len({one.turn.session for one in audit.prompts}), 'session')}"),
        ("it would have spoken", f"{len(spoken):,}{share}"),
        ("memories handed over", f"{sum(len(one.decision.injected) for one in spoken):,}"),
        ("characters", f"{units:,}{each}"),
        ("memories that never came", f"{len(never):,} of {len(audit.memories):,}"),
        ("questions asked again", f"{len(audit.asked_again):,}"),
        ("said more than once", f"{len(audit.said_again):,}"),
    ]
    if later := audit.noted_later():
        found.insert(3, ("of these noted after the prompt", f"{later:,}"))
    return found


def view(audit: Audit) -> RenderableType:
    """Return an audit for a terminal."""
    table = plain_table()
    table.add_column("", no_wrap=True)
    table.add_column("")
    for name, value in figures(audit):
        table.add_row(name, value)
    parts: list[RenderableType] = [table]
    parts += _memories(audit)
    parts += _groups("corrections and rules said more than once", [group for _, group in audit.said_again])
    parts += _groups("questions asked in more than one session", audit.asked_again)
    parts += _latest(audit)
    never = audit.never_given()
    if never:
        parts += ["", Text("never came, the oldest", style=DIM)]
        parts += [_line("", one.id, one.content) for one in never[:MOST_LISTED]]
    return Group(*parts)


def _memories(audit: Audit) -> list[RenderableType]:
    times = audit.times_given()
    if not times:
        return []
    lines: list[RenderableType] = ["", Text("would have come most often", style=DIM)]
    for id_, count in list(times.items())[:MOST_LISTED]:
        memory = audit.memories.get(id_)
        lines.append(_line(f"{count:>5}  ", id_, memory.content if memory else GONE))
    return lines


def _groups(title: str, groups: Sequence[Repeated]) -> list[RenderableType]:
    if not groups:
        return []
    lines: list[RenderableType] = ["", Text(title, style=DIM)]
    lines += [
        _line(f"{group.sessions:>5}  ", f"since {day(group.since)}", group.said[0].text) for group in groups[:MOST_LISTED]
    ]
    return lines


def _latest(audit: Audit) -> list[RenderableType]:
    spoken = audit.spoken[-MOST_LISTED:]
    if not spoken:
        return []
    lines: list[RenderableType] = ["", Text("would have spoken last", style=DIM)]
    for one in reversed(spoken):
        lines.append(_line("", _day_of(one), _prompt_of(one)))
        lines += [
            Text.assemble("      ", (cut(redact_line(audit.memories[id_].content), SHOWN_OF_PROMPT), DIM))
            for id_ in one.decision.injected
            if id_ in audit.memories
        ]
    return lines


def _line(head: str, name: str, text: str) -> Text:
    return Text.assemble(head, (safe(name), ACCENT), "  ", cut(redact_line(text), SHOWN_OF_PROMPT))


# ---- as a page ------------------------------------------------------------------------------------------------------------


def page_of(audit: Audit, about: str) -> Page:
    """Return an audit as a page. about: a sentence on what was replayed against what."""
    page = Page("subcog audit", about)
    page.add_figures(figures(audit))
    page.add_heading("By week", "All prompts, and dark those to which memories would have been added.")
    page.add_time_line(by_week(audit.prompts))
    page.add_heading("What it would have said")
    page.add_table(
        [Column("when"), Column("project"), Column("prompt"), Column("memories"), Column("characters", is_number=True)],
        [
            (
                _day_of(one),
                one.owner,
                _prompt_of(one),
                " · ".join(_content_of(audit.memories.get(id_)) for id_ in one.decision.injected),
                one.decision.units,
            )
            for one in reversed(audit.spoken)
        ],
    )
    page.add_heading("Memories that would have come")
    page.add_table(
        [Column("times", is_number=True), Column("id"), Column("namespace"), Column("project"), Column("memory")],
        [
            (times, id_, memory.namespace, memory.project or memory.scope, memory.content)
            for id_, times in audit.times_given().items()
            if (memory := audit.memories.get(id_))
        ],
    )
    page.add_heading("Said more than once", "Corrections first: what several sessions said in the same meaning.")
    page.add_table([Column("kind"), *_REPEATED_COLUMNS], [(kind, *_repeated_row(group)) for kind, group in audit.said_again])
    page.add_heading("Asked more than once", "Questions that several sessions asked in the same meaning.")
    page.add_table(_REPEATED_COLUMNS, [_repeated_row(group) for group in audit.asked_again])
    page.add_heading(
        "Memories that never came", "To none of these prompts. Files, commands and a session's start bring others."
    )
    page.add_table(
        [Column("noted"), Column("id"), Column("namespace"), Column("project"), Column("memory")],
        [(day(one.created_at), one.id, one.namespace, one.project or one.scope, one.content) for one in audit.never_given()],
    )
    page.add_heading("Why it would have been silent, and how often")
    page.add_table(
        [Column("outcome"), Column("prompts", is_number=True)],
        Counter(one.decision.outcome for one in audit.prompts).most_common(),
    )
    return page


_REPEATED_COLUMNS = [Column("sessions", is_number=True), Column("since"), Column("project"), Column("in words")]


def _repeated_row(group: Repeated) -> tuple[int, str, str, str]:
    return group.sessions, day(group.since), group.said[0].audience, " · ".join(dict.fromkeys(one.text for one in group.said))


def by_week(prompts: Sequence[Replayed]) -> list[Moment]:
    """Return the prompts by week and those that would have been answered, of the last MOST_WEEKS."""
    timed = [one for one in prompts if one.turn.at]
    if not timed:
        return []
    whole = Counter(_week_of(one) for one in timed)
    marked = Counter(_week_of(one) for one in timed if one.speaks)
    last = max(whole)
    first = max(min(whole), last - MOST_WEEKS + 1)
    return [Moment(day(week * WEEK_MS + _MONDAY_MS), whole[week], marked[week]) for week in range(first, last + 1)]


def _week_of(one: Replayed) -> int:
    return (one.turn.at - _MONDAY_MS) // WEEK_MS
