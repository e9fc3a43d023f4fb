"""The transcripts that `subcog learn` reads, and what it says of them: how many, how old, and what was proposed."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from subcog_hooks.cli.claude_code import claude_notes
from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import counted, day, redact_line, safe, terminal
from subcog_hooks.core import log
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import ConfigError, StoreError, UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.learn import learning as sessions
from subcog_hooks.learn import transcript, transcript_files
from subcog_hooks.learn.fixes import TOOL_TRUST
from subcog_hooks.learn.proposals import is_from_session
from subcog_hooks.learn.storing import LearningOptions, LearningReport
from subcog_hooks.learn.transcript_files import TranscriptFile
from subcog_hooks.learn.turn_scores import SESSION_KINDS
from subcog_hooks.learn.turns import TypedTurn
from subcog_hooks.redaction.redact import describe
from subcog_hooks.settings.defaults import COUNTED_AT_REST, SESSIONS_SETTING
from subcog_hooks.settings.keys import names_no_place
from subcog_hooks.store import learned
from subcog_hooks.store.learned import Said
from subcog_hooks.store.memory import FROM_SESSION, Memory, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Store

LEFT_OUT, NEVER = "capture.sessions_except", "capture.sessions_never"
DAY_MS = 86_400_000
COUNTED_SINCE = "30d"  # what is older is swept by the client
MOST_COUNTED = 100_000_000  # bytes that are read to count what could be proposed: five seconds at rest
SHOWN_FAULTS = 10
SHOWN_CALL, SHOWN_TURN = 120, 500  # characters
STATE_BUSY_MS = 2_000.0
_AGES = {"h": DAY_MS // 24, "d": DAY_MS, "w": 7 * DAY_MS, "m": 30 * DAY_MS, "y": 365 * DAY_MS}


def found(folder: str | None, file: str | None) -> tuple[list[TranscriptFile], int]:
    """Return the transcripts to be read, and how many sessions are left for later since they are not over yet.

    folder: of transcripts, None for all of the client's; file: the only one, idle or not. Raises UsageError, ConfigError.
    """
    if file is not None:
        one = transcript_files.at_path(os.path.abspath(file))
        if one is None:
            raise UsageError(f"{file or 'an empty name'} is no file", "name a transcript: subcog learn --session FILE")
        return [one], 0
    every = found_all(folder)
    now = now_ms()
    idle = [
        one for one in every if abs(now - one.changed) >= transcript_files.IDLE_MS
    ]  # one that is to come had a clock that was ahead
    return idle, len(every) - len(idle)


def found_all(folder: str | None) -> list[TranscriptFile]:
    """Return all transcripts of a folder, None for all of the client's, also of sessions that go on.

    Raises UsageError, ConfigError.
    """
    if folder == "":
        raise UsageError("an empty name is no folder", "name the folder of the transcripts, as --transcripts DIR")
    at = os.path.abspath(folder) if folder is not None else clients_folder()
    if folder is None and not os.path.isdir(at):
        return []  # the client has not been used yet
    if not os.path.isdir(at):
        raise UsageError(f"{at} is no folder", "name the folder of the transcripts, as --transcripts DIR")
    return transcript_files.find(at, _tell_unread)


def clients_folder() -> str:
    """Return the folder of the client's own transcripts. Raises ConfigError."""
    return os.path.join(claude_notes.config_folder(), "projects")


def _tell_unread(error: OSError) -> None:
    terminal.complain(f"subcog: {safe(str(error.filename))} can not be read: {error.strerror}")


def age(text: str | None, now: int) -> int:
    """Return the moment so long ago, as milliseconds since the epoch; 0 for None. Raises UsageError.

    >>> age("2w", 14 * DAY_MS), age(None, 5)
    (0, 0)
    """
    if text is None:
        return 0
    number, unit = text[:-1], text[-1:].lower()
    if not number.isdecimal() or unit not in _AGES or len(number) > 4:
        raise UsageError(f"--since is {text!r}", "give an age, as 12h, 30d, 8w, 6m or 1y")
    return max(0, now - int(number) * _AGES[unit])


def options(since: str | None, *, dry_run: bool) -> LearningOptions:
    """Return what a run may read and write. Raises UsageError, ConfigError."""
    return LearningOptions(since=age(since, now_ms()), left_out=left_out(), never=_never(), dry_run=dry_run)


def left_out() -> list[str]:
    """Return the projects and folders to which nobody is to listen. Raises ConfigError."""
    for name in (names := _names_in(LEFT_OUT)):
        if names_no_place(name):
            raise ConfigError(
                f"{LEFT_OUT} has {safe(name)!r}", "give a folder's whole path, or a project as github.com/acme/shop"
            )
    return names


def _never() -> list[str]:
    """Return the kinds that are not to be proposed. Raises ConfigError."""
    for kind in (names := _names_in(NEVER)):
        if kind not in SESSION_KINDS:
            raise ConfigError(f"{NEVER} has {safe(kind)!r}", f"the kinds are {', '.join(SESSION_KINDS)}")
    return names


def _names_in(setting: str) -> list[str]:
    names = [name.strip() for name in str(context.settings()[setting]).split(",")]
    return [name for name in names if name]


@contextmanager
def opened(*, dry_run: bool) -> Iterator[tuple[Store | None, State | None]]:
    """Yield the store and the state: for reading where nothing is to be written, None for what there is none of yet."""
    home = context.home()
    if dry_run:
        state = State.open(home, STATE_BUSY_MS) if os.path.exists(home.state_db) else None
        try:
            with context.reading() as store:
                yield store, state
        finally:
            if state:
                state.close()
        return
    with context.writing() as store:
        state = State.open(home, STATE_BUSY_MS)
        try:
            yield store, state
        finally:
            state.close()


def at_rest(home: Home, breath: Pace) -> str:
    """Look at the sessions that are over, and return what came of it, "" where none has anything new. Raises SubcogError.

    Where the setting says no more than that it is to be asked, what could be proposed is counted.
    """
    if not os.path.isdir(clients_folder()):
        return ""
    only_counts = context.settings()[SESSIONS_SETTING] == COUNTED_AT_REST
    transcripts, _ = found(None, None)
    with opened(dry_run=only_counts) as (store, noted):
        asked = options(COUNTED_SINCE if only_counts else None, dry_run=only_counts)
        stamp = 0
        if only_counts:
            transcripts = _worth_counting(transcripts, asked.since)
            stamp = _stamp_of(transcripts)
            if noted and learned.find_counted(noted) == stamp:
                return ""  # what could be proposed is known, since nothing is read that was not then
        report = sessions.learn(transcripts, store, noted, asked, lambda _: None, breath)
        count = len(report.proposed) + len(report.fixes)
        if count and store and not only_counts:
            context.follow(store)
    for problem in report.problems[:SHOWN_FAULTS]:
        log.write(home, f"learning at rest: {problem}")
    if not report.is_cut_short:
        _note_learnable(home, count if only_counts else 0, stamp)
    if not report.read:
        return ""
    verb = "could be proposed" if only_counts else "proposed"
    return f"{count} {verb}, of {counted(report.turns, 'prompt')} in {counted(report.read, 'session')}"


def _note_learnable(home: Home, count: int, stamp: int) -> None:
    state = State.open(home, STATE_BUSY_MS)
    try:
        learned.note_learnable(state, count)
        learned.note_counted(state, stamp)
    finally:
        state.close()


def _worth_counting(transcripts: Sequence[TranscriptFile], since: int) -> list[TranscriptFile]:
    """Return the transcripts with something said since then: of a lot the latest, MOST_COUNTED bytes."""
    kept: list[TranscriptFile] = []
    size = 0
    for one in reversed(transcripts):
        size += one.size
        if one.changed < since or (kept and size > MOST_COUNTED):
            break
        kept.append(one)
    return kept[::-1]


def _stamp_of(transcripts: Sequence[TranscriptFile]) -> int:
    """Return a number that is another as soon as one of the transcripts is."""
    told = "\n".join(f"{one.path} {one.size}" for one in transcripts)
    return int.from_bytes(hashlib.blake2b(told.encode("utf-8", "surrogateescape"), digest_size=7).digest())


def how_said() -> dict[str, Said]:
    """Return how the proposals came about, by the ids of their memories; none where that is no longer known."""
    home = context.home()
    if not os.path.exists(home.state_db):
        return {}
    try:
        state = State.open(home, STATE_BUSY_MS)
    except StoreError:
        return {}
    try:
        return learned.find_proposed(state)
    finally:
        state.close()


class TurnAmongOthers(NamedTuple):
    """A turn, and those that the person typed before and after it in the session, None where there are none."""

    before: TypedTurn | None
    turn: TypedTurn
    after: TypedTurn | None


def turn_of(memory: Memory) -> TypedTurn | None:
    """Return the turn that a memory is out of, None where its transcript is gone."""
    found = turn_among_others(memory)
    return found.turn if found else None


def turn_among_others(memory: Memory) -> TurnAmongOthers | None:
    """Return the turn that a memory is out of with those around it, None where its transcript is gone."""
    path, _, row = memory.source.removeprefix(FROM_SESSION).rpartition(":")
    if not is_from_session(memory) or transcript_files.at_path(path) is None:  # another program's word is no path to be opened
        return None
    before: TypedTurn | None = None
    found: TypedTurn | None = None
    try:
        for turn in _turns_in(path):
            if found:
                return TurnAmongOthers(before, found, turn if turn.session == found.session else None)
            if row in (turn.uuid, str(turn.offset)):
                found = turn
                before = before if before and before.session == turn.session else None
            else:
                before = turn
    except OSError:
        return None
    return TurnAmongOthers(before, found, None) if found else None


def _turns_in(path: str) -> Iterator[TypedTurn]:
    """Yield the turns of a transcript, however many there are. Raises OSError."""
    at, has_more = 0, True
    while has_more:
        reading = transcript.read(path, at)
        yield from reading.turns
        at, has_more = reading.end, reading.has_more


def told_of(memory: Memory, said: Said | None) -> list[tuple[str, str]]:
    """Return what a person should know of a proposal, each by its name: how sure it is, the turn, what was around it."""
    lines = []
    if memory.trust == TOOL_TRUST:
        return [("shown", f"by {said.sessions} sessions since {day(said.since)}")] if said and said.since else []
    if said:
        often = f", said in {said.sessions} sessions since {day(said.since)}" if said.sessions > 1 and said.since else ""
        lines.append(("certainty", f"{said.certainty:.2f}{often}"))
    among = turn_among_others(memory)
    if among is None:
        return lines
    if among.before:
        lines.append(("before", _shown(among.before.text, SHOWN_CALL)))
    if call := _told_call(among.turn):
        lines.append(("behind", call))
    if " ".join(among.turn.text.split()) != memory.content:
        lines.append(("turn", _shown(among.turn.text, SHOWN_TURN)))
    if among.after and (call := _told_call(among.after)):
        lines.append(("then", call))
    if among.after:
        lines.append(("after", _shown(among.after.text, SHOWN_CALL)))
    return lines


def _told_call(turn: TypedTurn) -> str:
    """Return the tool call that stands before a turn, "" for none."""
    before = turn.before
    call = " ".join(filter(None, (before.tool, before.path or before.command)))
    became = f" ({before.outcome})" if before.outcome else ""
    return f"{_shown(call, SHOWN_CALL)}{became}" if call else ""


def _shown(text: str, most: int) -> str:
    """Return a text of a transcript as it may be shown: without secrets, in one line, `most` characters of it."""
    return redact_line(text)[:most]


def tell_what_is_read(transcripts: Sequence[TranscriptFile], waiting: int, folder: str) -> None:
    """Say, before anything is read, what will be: how many sessions of how many folders, how large, and since when.

    folder: where they were looked for.
    """
    if not transcripts and not waiting:
        terminal.say(f"{safe(folder)} has no session, or none of that time")
        return
    folders = {os.path.dirname(one.path) for one in transcripts}
    size = sum(one.size for one in transcripts)
    what = f"{counted(len(transcripts), 'session')} in {counted(len(folders), 'folder')}, {size / 1e6:,.1f} MB"
    since = f", from {day(transcripts[0].changed)} on" if transcripts else ""
    terminal.say(f"reading what you typed in {what}{since}")
    if waiting:
        terminal.say(f"left for later: {counted(waiting, 'session')}, not idle for three hours yet")


def tell_problems(problems: Sequence[str]) -> None:
    """Say what could not be read or stored; of a lot the first."""
    for problem in problems[:SHOWN_FAULTS]:
        terminal.complain(f"subcog: {safe(problem)}")
    if len(problems) > SHOWN_FAULTS:
        terminal.complain(f"subcog: and {len(problems) - SHOWN_FAULTS} more")


def tell(report: LearningReport, *, dry_run: bool) -> None:
    """Say what came of a run."""
    tell_problems(report.problems)
    if report.damaged:
        terminal.say(f"{counted(report.damaged, 'row')} can not be read, and were skipped")
    if report.left_out:
        terminal.say(f"left out {counted(report.left_out, 'prompt')}, by {LEFT_OUT}")
    if report.removed:
        terminal.say(describe(report.removed))
    read = f"read {counted(report.turns, 'prompt')} of {counted(report.read, 'session')}"
    unchanged = f", {report.unchanged} unchanged" if report.unchanged else ""
    kinds = Counter([*(one.kind for one in report.proposed), *(one.kind for one in report.fixes)])
    shown = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    verb = "would propose" if dry_run else "proposed"
    terminal.say(f"{read}{unchanged}; {verb} {kinds.total()}{f' ({shown})' if shown else ''}")
