"""Presents an audit: in a terminal, as JSON and as an HTML page."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from subcog_hooks.cli.decisions.decision_view import GONE
from subcog_hooks.cli.proposals.auditing import Audit, Replayed
from subcog_hooks.cli.support.output import ACCENT, DIM, day, pluralize, redact_line, safe
from subcog_hooks.cli.support.page import Column, Page
from subcog_hooks.cli.support.results import figures_table
from subcog_hooks.cli.support.time_line import fit_time_line
from subcog_hooks.learn.repetition import RepeatedMeaning
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.memory import Memory
from subcog_hooks.text.sanitise import cut

MAX_LISTED = 5  # rows of each kind in a terminal
MAX_TERMINAL_CHARS = 100  # characters of a prompt or memory in a terminal
MAX_PROMPT_CHARS = 500  # characters of a prompt in JSON; a page and a terminal show fewer


def audit_fields(audit: Audit, against: str) -> dict[str, object]:
    """Return an audit as an object for JSON. against: the name of the replayed store."""
    spoken = audit.spoken
    units = sum(replayed.decision.units for replayed in spoken)
    return {
        "against": against,
        "prompts": len(audit.prompts),
        "sessions": len({replayed.turn.session for replayed in audit.prompts}),
        "left_out": audit.left_out,
        "spoke": len(spoken),
        "fire_rate": round(len(spoken) / len(audit.prompts), 4) if audit.prompts else None,
        "outcomes": dict(Counter(replayed.decision.outcome for replayed in audit.prompts).most_common()),
        "injected": sum(len(replayed.decision.injected) for replayed in spoken),
        "characters": units,
        "characters_per_spoken": round(units / len(spoken), 1) if spoken else None,
        "noted_later": audit.noted_later(),
        "memories": [
            {"id": id_, "times": times, "content": _content_of(audit.memories.get(id_))}
            for id_, times in audit.times_given().items()
        ],
        "never": [memory.id for memory in audit.never_given()],
        "asked_again": [_repeated_fields(group) for group in audit.asked_again],
        "said_again": [{"kind": kind, **_repeated_fields(group)} for kind, group in audit.said_again],
        "spoken": [
            {
                "at": replayed.turn.at_ms,
                "session": replayed.turn.session,
                "project": replayed.owner,
                "prompt": _prompt_of(replayed),
                "characters": replayed.decision.units,
                "memories": list(replayed.decision.injected),
            }
            for replayed in spoken
        ],
    }


def _repeated_fields(group: RepeatedMeaning) -> dict[str, object]:
    return {
        "text": redact(group.utterances[0].text).text,
        "sessions": group.sessions,
        "since": group.since,
        "times": len(group.utterances),
        "project": group.utterances[0].audience,
        "said": [redact(utterance.text).text for utterance in group.utterances],
    }


def _prompt_of(replayed: Replayed) -> str:
    """Return a prompt in one line, without the secrets that a transcript still holds."""
    return redact_line(replayed.turn.text)[:MAX_PROMPT_CHARS]


def _day_of(replayed: Replayed) -> str:
    return day(replayed.turn.at_ms) if replayed.turn.at_ms else "undated"


def _content_of(memory: Memory | None) -> str:
    return redact(memory.content).text if memory else ""


def figures(audit: Audit) -> list[tuple[str, str]]:
    """Return the figures of an audit, each with its name."""
    spoken = audit.spoken
    share = f" ({len(spoken) / len(audit.prompts):.0%})" if audit.prompts else ""
    units = sum(replayed.decision.units for replayed in spoken)
    each = f" ({units / len(spoken):,.0f} each time)" if spoken else ""
    never = audit.never_given()
    sessions = pluralize(len({replayed.turn.session for replayed in audit.prompts}), "session")
    rows = [
        ("prompts", f"{len(audit.prompts):,} of {sessions}"),
        ("it would have spoken", f"{len(spoken):,}{share}"),
        ("memories handed over", f"{sum(len(replayed.decision.injected) for replayed in spoken):,}"),
        ("characters", f"{units:,}{each}"),
        ("memories that never came", f"{len(never):,} of {len(audit.memories):,}"),
        ("questions asked again", f"{len(audit.asked_again):,}"),
        ("said more than once", f"{len(audit.said_again):,}"),
    ]
    if later := audit.noted_later():
        rows.insert(3, ("of these noted after the prompt", f"{later:,}"))
    return rows


def audit_view(audit: Audit) -> RenderableType:
    """Draw an audit for a terminal."""
    parts: list[RenderableType] = [figures_table(figures(audit))]
    parts += _memory_lines(audit)
    parts += _group_lines("corrections and rules said more than once", [group for _, group in audit.said_again])
    parts += _group_lines("questions asked in more than one session", audit.asked_again)
    parts += _latest_lines(audit)
    never = audit.never_given()
    if never:
        parts += ["", Text("never came, the oldest", style=DIM)]
        parts += [_table_line("", memory.id, memory.content) for memory in never[:MAX_LISTED]]
    return Group(*parts)


def _memory_lines(audit: Audit) -> list[RenderableType]:
    times = audit.times_given()
    if not times:
        return []
    lines: list[RenderableType] = ["", Text("would have come most often", style=DIM)]
    for id_, count in list(times.items())[:MAX_LISTED]:
        memory = audit.memories.get(id_)
        lines.append(_table_line(f"{count:>5}  ", id_, memory.content if memory else GONE))
    return lines


def _group_lines(title: str, groups: Sequence[RepeatedMeaning]) -> list[RenderableType]:
    if not groups:
        return []
    lines: list[RenderableType] = ["", Text(title, style=DIM)]
    lines += [
        _table_line(f"{group.sessions:>5}  ", f"since {day(group.since)}", group.utterances[0].text)
        for group in groups[:MAX_LISTED]
    ]
    return lines


def _latest_lines(audit: Audit) -> list[RenderableType]:
    spoken = audit.spoken[-MAX_LISTED:]
    if not spoken:
        return []
    lines: list[RenderableType] = ["", Text("would have spoken last", style=DIM)]
    for replayed in reversed(spoken):
        lines.append(_table_line("", _day_of(replayed), _prompt_of(replayed)))
        lines += [
            Text.assemble("      ", (cut(redact_line(audit.memories[id_].content), MAX_TERMINAL_CHARS), DIM))
            for id_ in replayed.decision.injected
            if id_ in audit.memories
        ]
    return lines


def _table_line(head: str, name: str, text: str) -> Text:
    return Text.assemble(head, (safe(name), ACCENT), "  ", cut(redact_line(text), MAX_TERMINAL_CHARS))


def page_of(audit: Audit, about: str) -> Page:
    """Return an audit as a page. about: a sentence about the prompts and the store."""
    page = Page("subcog report --past", about)
    page.add_figures(figures(audit))
    line = fit_time_line(_times_of(audit.prompts), _times_of(audit.spoken))
    page.add_heading(f"By {line.unit}")
    page.add_time_line(line.moments, "prompts", "with memories")
    page.add_heading("What it would have said")
    page.add_table(
        [Column("when"), Column("project"), Column("prompt"), Column("memories"), Column("characters", is_number=True)],
        [
            (
                _day_of(replayed),
                replayed.owner,
                _prompt_of(replayed),
                " · ".join(_content_of(audit.memories.get(id_)) for id_ in replayed.decision.injected),
                replayed.decision.units,
            )
            for replayed in reversed(audit.spoken)
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
        [
            (day(memory.created_at), memory.id, memory.namespace, memory.project or memory.scope, memory.content)
            for memory in audit.never_given()
        ],
    )
    page.add_heading("Why it would have been silent, and how often")
    page.add_table(
        [Column("outcome"), Column("prompts", is_number=True)],
        Counter(replayed.decision.outcome for replayed in audit.prompts).most_common(),
    )
    return page


_REPEATED_COLUMNS = [Column("sessions", is_number=True), Column("since"), Column("project"), Column("in words")]


def _repeated_row(group: RepeatedMeaning) -> tuple[int, str, str, str]:
    words = " · ".join(dict.fromkeys(utterance.text for utterance in group.utterances))
    return group.sessions, day(group.since), group.utterances[0].audience, words


def _times_of(prompts: Sequence[Replayed]) -> list[int]:
    return [replayed.turn.at_ms for replayed in prompts if replayed.turn.at_ms]
