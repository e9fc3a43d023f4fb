"""Reading a transcript of Claude Code: row by row, in bounded memory, into the turns that the person typed.

A prompt that was taken back (the client rewinds, and goes on from an earlier row) stands in the file like any other. Rows form
a tree by `parentUuid`; only what lies on the way from the last row to the beginning was said. A prompt without a parent takes
back all of its session that stands before it, and nothing of another session in the same file.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import takewhile
from typing import BinaryIO

from subcog_hooks.capture.compose import storable
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.learn import shell_commands, transcript_rows
from subcog_hooks.learn.turns import ANSWER, CALL_FAILED, CALL_REFUSED, QUEUED, Before, TypedTurn

MAX_ROW = 16 * 1024 * 1024  # bytes of a row; the client's largest hold a picture
LONG_ROW = 2 * 1024 * 1024  # bytes of a row whose texts are cut before it is parsed: one emoji makes four bytes of each letter
MOST_OF_TEXT = 500_000  # bytes of a text in such a row
_LONGEST_ESCAPE = 12  # bytes, of a pair of surrogates
_BACKSLASH = ord("\\")
MOST_ROWS = 300_000  # of a transcript whose parents are known at a time: 40 MB
MOST_TURNS, MOST_CHARACTERS = 2_000, 10_000_000  # that are read at a time; the next reading goes on behind them
_FOREIGN = "mcp__"  # begins the names of tools whose results other programs write
LOOK_BACK = 256 * 1024  # bytes before the place where reading goes on, for what stood before the first turn there
MOST_OF_BEGINNING = 4 * 1024 * 1024  # bytes in which a session's first prompt is looked for
_CALLS_KEPT = 50  # tool calls whose results are waited for
_CHANGING = ("edit", "write", "replace", "patch", "create_file")  # in the names of tools that change files
_NOT_CHANGING = "todo"
_PATHS = ("file_path", "notebook_path", "path")


class TranscriptReading:
    """The outcome of reading a transcript.

    fixes: commands that failed and then worked in another form; worked: the commands that worked, each with its folder; end:
    bytes up to the last whole row that was read; damaged: rows that are none; has_more: it was too much for one reading.
    """

    __slots__ = ("damaged", "end", "fixes", "has_more", "turns", "worked")

    def __init__(self, reader: _Reader) -> None:
        self.turns = reader.turns_said()
        self.fixes = reader.fixes()
        self.worked = reader.worked()
        self.end = reader.end
        self.damaged = reader.damaged
        self.has_more = reader.is_full


def read(path: str, start: int = 0, pace: Pace = FULL_PACE) -> TranscriptReading:
    """Return the turns of a transcript whose rows stand at `start` or behind it. Raises OSError.

    start: bytes, the end of a reading before; pace: asked for a pause before each row.
    """
    reader = _read_from(path, max(0, start - LOOK_BACK), start, pace)
    if reader.misses_parent:  # the person went back to what stands before that: only the whole tells what was taken back
        reader = _read_from(path, 0, start, pace)
    reader.end = max(reader.end, start)
    return TranscriptReading(reader)


def _read_from(path: str, at: int, start: int, pace: Pace) -> _Reader:
    """Return what has read a transcript from `at` on, bytes. start: of the rows that are new."""
    reader = _Reader(os.path.basename(path).removesuffix(".jsonl"), is_whole=not at)
    with open(path, "rb") as file:
        if at:
            last = min(at, MOST_OF_BEGINNING)
            reader.see_beginning(line for _, _, line in takewhile(lambda one: one[1] <= last, _lines(file, 0)))
        file.seek(at)
        if at:
            at += len(file.readline(MAX_ROW))
        for offset, end, line in _lines(file, at):
            reader.end = end
            pace.pause()
            reader.take(line, offset, is_new=offset >= start)
            if reader.is_full or reader.misses_parent:
                break
    return reader


def read_row(path: str, place: int, look_back: int = LOOK_BACK) -> list[TypedTurn]:
    """Return the turns of the row that stands at `place`, bytes. Raises OSError.

    look_back: bytes before it that are read, for what stood before the turns; 0 for none.
    """
    reader = _Reader(os.path.basename(path).removesuffix(".jsonl"))
    with open(path, "rb") as file:
        at = max(0, place - look_back)
        file.seek(at)
        if at and look_back:
            at += len(file.readline(MAX_ROW))
        for offset, end, line in _lines(file, at):
            reader.take(line, offset, is_new=offset >= place)
            if end > place:
                break
    return reader.turns_said()


def _lines(file: BinaryIO, at: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the whole lines, each behind its offset and its end; b"" in the place of a line that is too long.

    The last one, where it has no end, is left out unless it is a whole row: somebody is writing it.
    """
    while line := file.readline(MAX_ROW):
        length = len(line)
        if not line.endswith(b"\n"):
            while rest := file.readline(MAX_ROW):
                length += len(rest)
                if rest.endswith(b"\n"):
                    break
            else:
                if length == len(line) and _is_whole(line):
                    yield at, at + length, line
                return
            line = b""
        yield at, at + length, line
        at += length


def _is_whole(line: bytes) -> bool:
    """Return whether a line without an end is a row: half of one is no JSON."""
    try:
        return isinstance(_parsed(line), dict)
    except (ValueError, RecursionError):
        return False


def _parsed(line: bytes) -> object:
    """Return what a line says in JSON, of a long one with its texts cut. Raises ValueError, RecursionError."""
    return json.loads(line if len(line) <= LONG_ROW else _with_texts_cut(line))


def _with_texts_cut(line: bytes) -> bytes:
    """Return a line of JSON in which no text has more than MOST_OF_TEXT bytes."""
    parts = []
    at, begin = 0, line.find(b'"')
    while begin >= 0:
        end = line.find(b'"', begin + 1)
        while end >= 0 and _is_escaped(line, end):
            end = line.find(b'"', end + 1)
        if end < 0:
            break
        if end - begin > MOST_OF_TEXT:
            kept = line[begin : begin + MOST_OF_TEXT]
            escape = kept.rfind(b"\\", len(kept) - _LONGEST_ESCAPE)
            kept = kept if escape < 0 or _is_escaped(kept, escape) else kept[:escape]
            parts += [line[at:begin], kept.decode("utf-8", "ignore").encode()]
            at = end
        begin = line.find(b'"', end + 1)
    return b"".join([*parts, line[at:]])


def _is_escaped(line: bytes, place: int) -> bool:
    """Return whether an odd number of backslashes stands before a place."""
    first = place
    while first and line[first - 1] == _BACKSLASH:
        first -= 1
    return (place - first) % 2 == 1


class _Reader:
    """The state of reading one transcript. A stretch is a prompt with all that came of it, up to the next prompt."""

    def __init__(self, name: str, *, is_whole: bool = True) -> None:
        """is_whole: nothing stands before what is read, so that an unknown parent is one that can not be read."""
        self.end = 0
        self.damaged = 0
        self.misses_parent = False  # a prompt goes on from a row before what is read
        self._is_whole = is_whole
        self._name = name
        self._turns: list[tuple[int, TypedTurn]] = []  # each with its stretch
        self._noted_as_queued: list[tuple[int, TypedTurn]] = []  # by old clients, and by new ones once more
        self._stretch_before: list[int] = [-1]  # by stretch
        self._stretch_of: dict[int, int] = {}  # by the hash of a row's id
        self._last = 0  # the stretch of the last row
        self._session = ""  # of the last row that names one
        self._base = -1  # the stretch that stands before this session: what a prompt without a parent does not take back
        self._calls: deque[tuple[str, Before]] = deque(maxlen=_CALLS_KEPT)
        self._before = Before()
        self._attempts = shell_commands.Attempts()
        self._count = 0
        self._characters = 0
        self._folder = ""  # of the last row that names one
        self._says_who_typed = False  # the client is so new that its rows do
        self._begun: dict[str, bool] = {}  # whether its first prompt marks a session off, by the session's id

    @property
    def is_full(self) -> bool:
        """Return whether so much was read that the rest has to wait for another reading."""
        return len(self._turns) + len(self._noted_as_queued) >= MOST_TURNS or self._characters >= MOST_CHARACTERS

    def see_beginning(self, lines: Iterable[bytes]) -> None:
        """Note whether the person has marked a session off, by the rows with which its transcript begins."""
        for line in lines:
            try:
                row = _parsed(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict) and not row.get("isSidechain"):
                self._see_mark(row)
            if self._begun:
                return

    def _see_mark(self, row: Mapping[str, object]) -> None:
        session = self._session_of(row)
        if session not in self._begun and (is_off := transcript_rows.marks_off(row)) is not None:
            self._begun[session] = is_off

    def _session_of(self, row: Mapping[str, object]) -> str:
        return storable(_text(row, "sessionId") or self._name)

    def take(self, line: bytes, offset: int, *, is_new: bool) -> None:
        """Read one row."""
        try:
            row = _parsed(line)
        except (ValueError, RecursionError):
            self.damaged += bool(line.strip()) or not line
            return
        if not isinstance(row, dict):
            self.damaged += 1
            return
        if row.get("isSidechain"):
            return
        self._folder = _text(row, "cwd") or self._folder
        self._says_who_typed = self._says_who_typed or transcript_rows.says_who_typed(row)
        self._see_mark(row)
        words = [one for one in transcript_rows.words_in(row) if one[0] != ANSWER or self._is_answered(row)]
        self._place(row, begins=bool(words) and words[0][0] != ANSWER)
        for kind, text in words:
            turn = self._turn(row, kind, text, offset)
            if is_new:
                kept = self._noted_as_queued if row.get("type") == "queue-operation" else self._turns
                kept.append((self._last, turn))
                self._characters += len(text)
        self._note(row, words, offset, is_new=is_new)

    def fixes(self) -> list[shell_commands.Fix]:
        """Return the commands that failed and then worked in another form."""
        return [fix for fix in self._attempts.fixes() if not self._begun.get(fix.session)]

    def worked(self) -> Mapping[str, str]:
        """Return the commands that worked, each with the folder it first did so in."""
        return self._attempts.worked()

    def turns_said(self) -> list[TypedTurn]:
        """Return the turns that were not taken back, each once, of sessions that are not marked off."""
        on_the_way = set()
        stretch = self._last
        while stretch >= 0:
            on_the_way.add(stretch)
            stretch = self._stretch_before[stretch]
        said = [turn for stretch, turn in self._turns if stretch in on_the_way]
        known = {turn.text for turn in said}
        queued = [] if self._says_who_typed else self._noted_as_queued  # where rows say it, those of the queue say nothing more
        said += [turn for stretch, turn in queued if stretch in on_the_way and turn.text not in known]
        return sorted((turn for turn in said if not self._begun.get(turn.session)), key=lambda turn: turn.offset)

    def _place(self, row: Mapping[str, object], *, begins: bool) -> None:
        """Find the stretch that a row lies in. begins: with it a new one begins."""
        identifier = row.get("uuid")
        if not isinstance(identifier, str):
            return
        parent = row.get("parentUuid")
        behind = row.get("logicalParentUuid") if parent is None else parent  # of what a compaction left
        session = _text(row, "sessionId")
        if session and session != self._session:
            self._base = self._last if self._session else -1
            self._session = session
        if not isinstance(behind, str):
            stretch = self._base if begins or not self._stretch_of else self._last
        else:
            stretch = self._stretch_of.get(hash(behind), self._last)
            is_unknown = begins and bool(self._stretch_of) and hash(behind) not in self._stretch_of
            self.misses_parent = self.misses_parent or (is_unknown and not self._is_whole)
        if begins:
            self._stretch_before.append(stretch)
            stretch = len(self._stretch_before) - 1
        self._stretch_of[hash(identifier)] = max(stretch, 0)
        if len(self._stretch_of) > MOST_ROWS:
            del self._stretch_of[next(iter(self._stretch_of))]
        if not row.get("isMeta") or begins:
            self._last = max(stretch, 0)

    def _turn(self, row: Mapping[str, object], kind: str, text: str, offset: int) -> TypedTurn:
        before = self._before
        if kind == ANSWER:
            before = self._call_answered(row)
        turn = TypedTurn(
            text,
            before,
            kind=kind,
            uuid=_text(row, "uuid"),
            session=self._session_of(row),
            at=_milliseconds(_text(row, "timestamp")),
            folder=_text(row, "cwd") or self._folder,
            branch=_text(row, "gitBranch"),
            place=self._count,
            offset=offset,
        )
        self._count += 1
        return turn

    def _is_answered(self, row: Mapping[str, object]) -> bool:
        """Return whether a row may hold the person's answer: tools of other programs print, too, that they were refused."""
        if transcript_rows.says_who_refused(row):
            return True
        own = {identifier for identifier, call in self._calls if not call.tool.startswith(_FOREIGN)}
        return own >= {_text(block, "tool_use_id") for block in _blocks_of(row) if block.get("type") == "tool_result"}

    def _call_answered(self, row: Mapping[str, object]) -> Before:
        """Return the call that the person refused in this row."""
        for block in _blocks_of(row):
            if block.get("type") == "tool_result":
                for identifier, call in self._calls:
                    if identifier == block.get("tool_use_id"):
                        return Before(call.tool, call.path, call.command, CALL_REFUSED, changed=self._before.changed)
        return Before(self._before.tool, self._before.path, self._before.command, CALL_REFUSED, changed=self._before.changed)

    def _note(self, row: Mapping[str, object], words: list[tuple[str, str]], offset: int, *, is_new: bool) -> None:
        """Note what a row leaves behind it for the next turn, and for the next command."""
        before = self._before
        if words and words[0][0] not in (ANSWER, QUEUED):
            self._before = Before()
            self._calls.clear()
            self._attempts.disturb()  # the person may have done something in between
        elif transcript_rows.is_refusal(row):
            self._before = Before(before.tool, before.path, before.command, CALL_REFUSED, changed=before.changed)
        elif row.get("type") == "user":
            for block in _blocks_of(row):
                if block.get("type") == "tool_result":
                    before.outcome = CALL_FAILED if block.get("is_error") else ""
                    self._end_command(row, block, offset, is_new=is_new)
        elif row.get("type") == "assistant":
            for block in _blocks_of(row):
                self._note_block(block)

    def _end_command(self, row: Mapping[str, object], block: Mapping[str, object], offset: int, *, is_new: bool) -> None:
        told = row.get("toolUseResult")
        if isinstance(told, Mapping) and told.get("interrupted"):
            return
        session = self._session_of(row)[: shell_commands.MAX_ID]
        at, uuid = _milliseconds(_text(row, "timestamp")), storable(_text(row, "uuid"))
        ended = shell_commands.Ended(session, at, uuid, offset, is_new)
        printed = transcript_rows.text_of(block.get("content"))
        self._attempts.end(_text(block, "tool_use_id"), printed, ended, is_error=bool(block.get("is_error")))

    def _note_block(self, block: Mapping[str, object]) -> None:
        before = self._before
        if block.get("type") == "text":
            before.asked = _text(block, "text").rstrip(" \n*_").endswith("?")
        elif block.get("type") == "tool_use":
            given = block.get("input")
            fields = given if isinstance(given, Mapping) else {}
            name = _text(block, "name")
            is_changing = any(part in name.lower() for part in _CHANGING) and _NOT_CHANGING not in name.lower()
            path = next((found for field in _PATHS if (found := _text(fields, field))), "")
            self._before = Before(name, path, _text(fields, "command"), changed=before.changed or is_changing)
            self._calls.append((_text(block, "id"), self._before))
            if name == shell_commands.TOOL:
                self._attempts.begin(_text(block, "id"), fields, storable(self._folder))
            elif is_changing:
                self._attempts.disturb()


def _blocks_of(row: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    message = row.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, Mapping):
                yield block


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _milliseconds(written: str) -> int:
    """Return a time of a transcript as milliseconds since the epoch, 0 where there is none."""
    try:
        return int(datetime.fromisoformat(written).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return 0
