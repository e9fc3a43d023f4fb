"""`subcog report --past`: the hook's decisions for the prompts that you typed so far, in a terminal, as JSON and as a page."""

import os
from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from subcog_hooks.cli.claude_code import claude_notes
from subcog_hooks.cli.decisions.decision_view import GONE
from subcog_hooks.cli.proposals import auditing
from subcog_hooks.cli.proposals import learning_runs as sessions
from subcog_hooks.cli.proposals.auditing import Audit, GrowingStore, NoteOrigins, Replayed, ReplayStore
from subcog_hooks.cli.support import author, context, progress
from subcog_hooks.cli.support.output import ACCENT, DIM, day, nothing_found, owner_label, pluralize, redact_line, safe, terminal
from subcog_hooks.cli.support.page import Cell, Column, Page, fit_time_line, write_page
from subcog_hooks.cli.support.results import figures_table
from subcog_hooks.core.errors import NoMemory
from subcog_hooks.learn import learning, transcript, transcript_files
from subcog_hooks.learn.repetition import RepeatedMeaning
from subcog_hooks.learn.signs import TypedTurn
from subcog_hooks.learn.transcript_files import SessionFolders, TranscriptFile
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store_reader import Filter, audiences_of
from subcog_hooks.text.sanitise import cut

AGAINST_STORE, AGAINST_PROPOSALS = "store", "learned"

MAX_LISTED = 5  # rows of each kind in a terminal
MAX_TERMINAL_CHARS = 100  # characters of a prompt or memory in a terminal
MAX_PROMPT_CHARS = 500  # characters of a prompt in JSON; a page and a terminal show fewer


def report_past(
    transcripts: str | None, since: str | None, html: str | None, *, learned: bool, as_json: bool, as_user: bool
) -> None:
    """Replay the past prompts, and show the memories that the hook would have added. No record is kept.

    transcripts: a folder instead of all known ones; since: an age; learned: against the proposals that `learn` would have made
    by then, not against the store. The prompt that a memory comes from does not count.

    Raises NoMemory, UsageError, and typer.Exit where there are no prompts.
    """
    author.require_person("it reads what the person typed in all sessions", as_user=as_user)
    since_ms = sessions.time_of_age(since, now_ms())
    left_out = sessions.excluded_names()
    if not learned and not context.has_store(context.home()):
        raise NoMemory("there are no memories to replay against", "--learned replays against what `learn` would propose")
    all_files = sessions.find_all_transcripts(transcripts)
    recent_files = [file for file in all_files if file.latest >= since_ms]
    wants_history = transcripts is None and sessions.CLAUDE not in sessions.excluded_clients()
    history_file = os.path.join(claude_notes.config_folder(), transcript_files.HISTORY) if wants_history else ""
    _announce_sources(all_files if learned else recent_files, transcripts or sessions.clients_folder(), history_file)
    turns, damaged = _read_typed_turns(recent_files, history_file, since_ms)
    if not turns:
        raise nothing_found("nothing was typed in these sessions")
    result = _replay_against_proposals(turns, all_files, left_out) if learned else _replay_against_store(turns, left_out)
    if damaged:
        terminal.say(f"{pluralize(damaged, 'row')} cannot be read, and were skipped")
    if result.left_out:
        terminal.say(f"left out {pluralize(result.left_out, 'prompt')}, by {sessions.LEFT_OUT}")
    if html is not None:
        about = "What you typed so far, replayed against " + (
            "what `subcog learn` would have proposed by then, had you kept all of it." if learned else "the memories of today."
        )
        write_page(page_of(result, about), html)
    if as_json:
        terminal.json(audit_fields(result, AGAINST_PROPOSALS if learned else AGAINST_STORE), indent=1)
    elif html is None:
        terminal.page(audit_view(result))


def _announce_sources(files: Sequence[TranscriptFile], folder: str, history_file: str) -> None:
    sessions.print_reading(files, 0, folder)
    if history_file and os.path.isfile(history_file):
        terminal.say(
            f"{'and' if files else 'reading'} the list of your prompts, {safe(history_file)}, "
            f"{os.path.getsize(history_file) / 1e6:,.1f} MB"
        )


def _read_typed_turns(files: Sequence[TranscriptFile], history_file: str, since_ms: int) -> tuple[list[TypedTurn], int]:
    """Return the turns typed at `since_ms` or later, the oldest first, each once for all forks; and the number of bad rows."""
    turns: dict[tuple[object, str], TypedTurn] = {}
    damaged = 0
    with progress.track_items("reading", sum(file.size for file in files)) as advance:
        for file in files:
            offset, has_more = 0, True
            while has_more:
                try:
                    reading = transcript.read_transcript(file.path, offset)
                except OSError as error:
                    terminal.say(f"{safe(file.path)} cannot be read: {error.strerror}")
                    break
                except Exception as error:  # noqa: BLE001 - one file must not cost the others; it is named
                    terminal.say(f"{safe(file.path)} cannot be read: an internal error: {type(error).__name__}: {error}")
                    break
                damaged += reading.damaged
                for turn in reading.turns:
                    turns.setdefault((turn.at_ms or turn.uuid or (file.path, turn.offset), turn.text), turn)
                offset, has_more = reading.end, reading.has_more
            advance(file.size)
    typed = list(turns.values())
    if history_file and os.path.isfile(history_file):
        try:
            rows, damaged_rows = transcript_files.read_history(history_file)
        except OSError as error:
            terminal.say(f"{safe(history_file)} cannot be read: {error.strerror}")
        else:
            typed += transcript_files.drop_read_prompts(rows, typed)
            damaged += damaged_rows
    recent = [turn for turn in typed if turn.at_ms >= since_ms]
    return sorted(recent, key=lambda turn: (turn.at_ms, turn.offset)), damaged


def _replay_against_store(turns: Sequence[TypedTurn], left_out: Sequence[str]) -> Audit:
    places = SessionFolders(left_out)
    with context.reading() as store:
        if store is not None:
            context.index_of(store)  # a hook without an index is silent
            names = {name for turn in turns if (project := places.included_project_of(turn.folder)) for name in project.names}
            memories = {memory.id: memory for memory in store.select(Filter(audiences=audiences_of(*sorted(names))))}
    return _replay_turns(turns, ReplayStore(context.home()), memories, places)


def _replay_against_proposals(turns: Sequence[TypedTurn], files: Sequence[TranscriptFile], left_out: Sequence[str]) -> Audit:
    places = SessionFolders(left_out)
    options = sessions.options_of_settings(None, dry_run=True)
    with progress.track_items("learning", sum(file.size for file in files)) as advance:
        proposed = learning.learn(files, None, None, options, advance).proposed
    with auditing.scratch_home() as home:
        shelf = GrowingStore(home, proposed, places)
        memories = {
            proposal.id: proposal.row(places.root_of(proposal.turn.folder), proposal.turn.at_ms).memory for proposal in proposed
        }
        return _replay_turns(turns, shelf, memories, places)


def _replay_turns(turns: Sequence[TypedTurn], shelf: ReplayStore, memories: dict[str, Memory], places: SessionFolders) -> Audit:
    submitted = [turn for turn in turns if turn.kind in auditing.SUBMITTED]
    with auditing.scratch_home() as scratch, progress.track_items("replaying", len(submitted)) as advance:
        origins = NoteOrigins(memories.values())
        prompts, left_out = auditing.replay_all(submitted, shelf, origins, scratch, places, advance)
    return Audit(
        prompts, memories, auditing.find_repeated_questions(prompts), auditing.find_repeated_statements(turns, places), left_out
    )


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
    most_often = []
    for id_, count in list(audit.times_given().items())[:MAX_LISTED]:
        memory = audit.memories.get(id_)
        most_often.append(_table_line(f"{count:>5}  ", id_, memory.content if memory else GONE))
    never = [_table_line("", memory.id, memory.content) for memory in audit.never_given()[:MAX_LISTED]]
    return Group(
        figures_table(figures(audit)),
        *_section("would have come most often", most_often),
        *_section("corrections and rules said more than once", _group_lines([group for _, group in audit.said_again])),
        *_section("questions asked in more than one session", _group_lines(audit.asked_again)),
        *_section("would have spoken last", _latest_lines(audit)),
        *_section("never came, the oldest", never),
    )


def _section(title: str, lines: Sequence[Text]) -> list[RenderableType]:
    return ["", Text(title, style=DIM), *lines] if lines else []


def _group_lines(groups: Sequence[RepeatedMeaning]) -> list[Text]:
    shown = groups[:MAX_LISTED]
    return [_table_line(f"{group.sessions:>5}  ", f"since {day(group.since)}", group.utterances[0].text) for group in shown]


def _latest_lines(audit: Audit) -> list[Text]:
    lines = []
    for replayed in reversed(audit.spoken[-MAX_LISTED:]):
        lines.append(_table_line("", _day_of(replayed), _prompt_of(replayed)))
        memories = [audit.memories[id_] for id_ in replayed.decision.injected if id_ in audit.memories]
        texts = [cut(redact_line(memory.content), MAX_TERMINAL_CHARS) for memory in memories]
        lines += [Text.assemble("      ", (text, DIM)) for text in texts]
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
    given = [(times, memory) for id_, times in audit.times_given().items() if (memory := audit.memories.get(id_))]
    _add_memories(page, Column("times", is_number=True), given)
    page.add_heading("Said more than once", "Corrections first: what several sessions said in the same meaning.")
    page.add_table([Column("kind"), *_REPEATED_COLUMNS], [(kind, *_repeated_row(group)) for kind, group in audit.said_again])
    page.add_heading("Asked more than once", "Questions that several sessions asked in the same meaning.")
    page.add_table(_REPEATED_COLUMNS, [_repeated_row(group) for group in audit.asked_again])
    note = "To none of these prompts. Files, commands and a session's start bring others."
    page.add_heading("Memories that never came", note)
    _add_memories(page, Column("noted"), [(day(memory.created_at), memory) for memory in audit.never_given()])
    page.add_heading("Why it would have been silent, and how often")
    page.add_table(
        [Column("outcome"), Column("prompts", is_number=True)],
        Counter(replayed.decision.outcome for replayed in audit.prompts).most_common(),
    )
    return page


def _add_memories(page: Page, first: Column, rows: Sequence[tuple[Cell, Memory]]) -> None:
    cells = [(value, memory.id, memory.namespace, owner_label(memory), memory.content) for value, memory in rows]
    page.add_table([first, Column("id"), Column("namespace"), Column("project"), Column("memory")], cells)


_REPEATED_COLUMNS = [Column("sessions", is_number=True), Column("since"), Column("project"), Column("in words")]


def _repeated_row(group: RepeatedMeaning) -> tuple[int, str, str, str]:
    words = " · ".join(dict.fromkeys(utterance.text for utterance in group.utterances))
    return group.sessions, day(group.since), group.utterances[0].audience, words


def _times_of(prompts: Sequence[Replayed]) -> list[int]:
    return [replayed.turn.at_ms for replayed in prompts if replayed.turn.at_ms]
