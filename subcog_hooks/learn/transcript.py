"""Read a transcript row by row into the turns that the person typed.

A rewound prompt, after which the client continues from an earlier row, stays in the file. Rows form a tree by `parentUuid`;
only the rows between the last one and the root count. A prompt without a parent rewinds its own session alone.
"""

import json
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import BinaryIO, NamedTuple

from subcog_hooks.capture.jsonl import replace_surrogates
from subcog_hooks.core.deadline import FULL_PACE, Pace
from subcog_hooks.learn import transcript_rows
from subcog_hooks.learn.transcript_files import find_folder, name_session, open_session, parse_time_ms
from subcog_hooks.learn.transcript_rows import Row, object_field, text_field
from subcog_hooks.learn.turn_scores import ANSWER, CALL_FAILED, CALL_REFUSED, QUEUED, Before, MadeCall, TypedTurn
from subcog_hooks.redaction.redact import redact
from subcog_hooks.text.typed_prompt import ends_of

MAX_ROW = 16 * 1024 * 1024  # bytes of a row; the largest hold a picture
MAX_TURNS, MAX_CHARACTERS = 2_000, 10_000_000  # limits of one reading; the next one continues
LOOK_BACK = 256 * 1024  # bytes before the start, for the context of the first new turn
MAX_BEGINNING = 4 * 1024 * 1024  # bytes; a session's first prompt lies within them
_MAX_CALLS = 50  # tool calls that wait for their results
_WRITING_TOOLS = ("edit", "write", "replace", "patch", "create_file")  # parts of the names of tools that change files
_PATH_FIELDS = ("file_path", "notebook_path", "path")
MAX_CLOSING = 8_000  # characters of an agent's last text
MAX_CALLS_OF_TURN = 500
MAX_REPLY = 600  # characters of an agent's closing words
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


class TranscriptReading(NamedTuple):
    """The turns of a reading. end: bytes up to the last whole row; damaged: invalid rows; has_more: a limit ended it."""

    turns: list[TypedTurn]
    end: int
    damaged: int
    has_more: bool


def read_transcript(path: str, start: int = 0, pace: Pace = FULL_PACE, *, with_work: bool = False) -> TranscriptReading:
    """Read the turns of rows from `start` on, in bytes. with_work: read also the agent's answers. Raises OSError."""
    reader = _read_from(path, max(0, start - LOOK_BACK), start, pace, with_work=with_work)
    if reader.misses_parent:  # the person went back further than the read part, so read the whole file
        reader = _read_from(path, 0, start, pace, with_work=with_work)
    return TranscriptReading(reader.final_turns(), max(reader.end, start), reader.damaged, reader.is_full)


def read_turns_at(path: str, row_offset: int, look_back: int = LOOK_BACK) -> list[TypedTurn]:
    """Read the turns of the row at an offset in bytes. Raises OSError. look_back: bytes before it for context; 0 for none."""
    return _read_from(path, max(0, row_offset - look_back), row_offset, FULL_PACE, reads_on=False).final_turns()


def _read_from(path: str, begin: int, start: int, pace: Pace, *, reads_on: bool = True, with_work: bool = False) -> "_Reader":
    """Read a transcript from `begin` on, in bytes. start: offset of the new rows; reads_on: the row there is not the last."""
    reader = _Reader(path, is_whole=not begin or not reads_on, with_work=with_work)
    with open_session(path) as file:
        reader.read_beginning(file, begin)
        file.seek(begin)
        if 0 < begin < start:
            begin += len(file.readline(MAX_ROW))
        for offset, end, line in _read_lines(file, begin):
            reader.end = end
            pace.pause()
            reader.read_row(line, offset, is_new=offset >= start)
            if reader.is_full or reader.misses_parent or (end > start and not reads_on):
                break
    return reader


def _read_lines(file: BinaryIO, offset: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the lines with offset and end, b"" for a too long one. The client still writes a last line that is no whole row."""
    while line := file.readline(MAX_ROW):
        rest, end = line, offset + len(line)
        while not rest.endswith(b"\n") and (rest := file.readline(MAX_ROW)):
            line, end = b"", end + len(rest)
        if not rest and parse_row(line) is None:
            return
        yield offset, end, line
        offset = end


def parse_row(line: bytes) -> Row | None:
    """Parse a line of JSON, None for anything but an object."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


class _Reader:
    """The state of reading one transcript. A stretch is a prompt with its rows up to the next prompt."""

    def __init__(self, path: str, *, is_whole: bool, with_work: bool = False) -> None:
        """Begin a reading. is_whole: it begins with the file, so that an unknown parent is an unreadable row."""
        self._with_work = with_work
        self.end = 0
        self.damaged = 0
        self.misses_parent = False  # a prompt's parent lies before the read part
        self._is_whole = is_whole
        self._name = name_session(path)
        self._turns: list[tuple[int, TypedTurn]] = []  # turns with their stretches
        self._noted_as_queued: list[tuple[int, TypedTurn]] = []  # noted by old clients, and by new ones twice
        self._stretch_before: list[int] = [-1]  # parent by stretch
        self._stretch_of: dict[int, int] = {}  # stretch by the hash of a row's id
        self._last = 0  # the stretch of the last row
        self._session = ""  # session of the last row that names one
        self._base = -1  # the stretch before this session; a prompt without a parent does not rewind it
        self._calls: deque[tuple[str, Before]] = deque(maxlen=_MAX_CALLS)
        self._made_calls: dict[str, MadeCall] = {}  # calls of the agent's work without a result, by their ids
        self._before = Before()
        self._count = 0
        self._characters = 0
        self._folder = find_folder(path)  # folder of the last row that names one
        self._single_copy = ("", "")  # kind and words of the last prompt's row, until its second copy or the agent's answer
        self._says_who_typed = False  # a new client notes who typed each row
        self._answered: TypedTurn | None = None  # the turn that the agent answers
        self._begun: dict[str, bool] = {}  # by session id: whether its first prompt, or an agent that began it, excludes it

    @property
    def is_full(self) -> bool:
        """Return whether the limits of one reading are reached."""
        return len(self._turns) + len(self._noted_as_queued) >= MAX_TURNS or self._characters >= MAX_CHARACTERS

    def read_beginning(self, file: BinaryIO, end: int) -> None:
        """Note the folder from the rows before `end`, up to the first prompt, and whether the person excludes the session."""
        last = min(end, MAX_BEGINNING)
        for _, _, line in takewhile(lambda row: row[1] <= last, _read_lines(file, 0) if end else ()):
            for row in transcript_rows.read_client_row(parse_row(line) or {}):
                if not row.get("isSidechain"):
                    self._says_who_typed = self._says_who_typed or transcript_rows.notes_author(row)
                    self._folder = text_field(row, "cwd") or self._folder
                    self._note_exclusion(row)
            if self._begun:
                return

    def _note_exclusion(self, row: Row) -> None:
        session = self._session_of(row)
        if session in self._begun:
            return
        is_off = bool(row.get(transcript_rows.AGENT_SESSION)) or transcript_rows.is_marked_off(row)
        if is_off is not None:
            self._begun[session] = is_off

    def _session_of(self, row: Row) -> str:
        return replace_surrogates(text_field(row, "sessionId") or self._name)

    def read_row(self, line: bytes, offset: int, *, is_new: bool) -> None:
        parsed = parse_row(line)
        if parsed is None:
            self.damaged += bool(line.strip()) or not line
            return
        for row in transcript_rows.read_client_row(parsed):
            if row.get("isSidechain") or self._is_second_copy(row):
                continue
            self._folder = text_field(row, "cwd") or self._folder
            self._says_who_typed = self._says_who_typed or transcript_rows.notes_author(row)
            self._note_exclusion(row)
            if transcript_rows.is_marked_off(row):
                self._answered = None  # nor is the answer to a turn before
            typed = transcript_rows.typed_texts(row)
            words = [(kind, text) for kind, text in typed if kind != ANSWER or self._may_hold_answer(row)]
            self._assign_stretch(row, begins=bool(words) and words[0][0] != ANSWER)
            if rewound := text_field(row, transcript_rows.REWOUND_TO):
                self._turns = list(takewhile(lambda noted: noted[1].uuid != rewound, self._turns))
            for kind, text in words:
                turn = self._answered = self._build_turn(row, kind, text, offset)
                if is_new:
                    turns = self._noted_as_queued if row.get("type") == "queue-operation" else self._turns
                    position = len(turns)
                    if message := row.get(transcript_rows.MESSAGE_ID):  # another row of the same message
                        position = next((number for number, (_, noted) in enumerate(turns) if noted.uuid == message), position)
                    turns[position : position + 1] = [(self._last, turn)]
                    self._characters += len(text)
            self._note_context(row, words)

    def _is_second_copy(self, row: Row) -> bool:
        """Return whether a row is the prompt before it as another kind of row, before the agent has answered."""
        kind = text_field(row, transcript_rows.TYPED_AS)
        if not kind and row.get("type") != "assistant":
            return False
        words = "".join(str(transcript_rows.content_of(row)).split()) if kind else ""
        is_copy = kind != self._single_copy[0] and words == self._single_copy[1] and bool(words)
        self._single_copy = ("", "") if is_copy else (kind, words)
        return is_copy

    def final_turns(self) -> list[TypedTurn]:
        """Return the turns that were not rewound, each once, without excluded sessions."""
        on_the_way = set()
        stretch = self._last
        while stretch >= 0:
            on_the_way.add(stretch)
            stretch = self._stretch_before[stretch]
        turns = [turn for stretch, turn in self._turns if stretch in on_the_way]
        texts = {turn.text for turn in turns}
        queued = [] if self._says_who_typed else self._noted_as_queued  # rows of the queue are redundant if rows say who typed
        turns += [turn for stretch, turn in queued if stretch in on_the_way and turn.text not in texts]
        return sorted((turn for turn in turns if not self._begun.get(turn.session)), key=lambda turn: turn.offset)

    def _assign_stretch(self, row: Row, *, begins: bool) -> None:
        identifier = row.get("uuid")
        if not isinstance(identifier, str):
            return
        parent = row.get("parentUuid")
        behind = row.get("logicalParentUuid") if parent is None else parent  # the row before a compaction
        session = text_field(row, "sessionId")
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
        if not row.get("isMeta") or begins:
            self._last = max(stretch, 0)

    def _build_turn(self, row: Row, kind: str, text: str, offset: int) -> TypedTurn:
        before = self._before
        if kind == ANSWER:
            results = [text_field(block, "tool_use_id") for block in _result_blocks(row)]
            call = next((call for result in results for identifier, call in self._calls if identifier == result), before)
            before = Before(call.tool, call.path, call.command, CALL_REFUSED, changed=before.changed)
        self._count += 1
        return TypedTurn(
            text,
            before,
            kind=kind,
            uuid=text_field(row, "uuid") or text_field(row, transcript_rows.MESSAGE_ID),
            session=self._session_of(row),
            at_ms=parse_time_ms(text_field(row, "timestamp")),
            folder=text_field(row, "cwd") or self._folder,
            position=self._count - 1,
            offset=offset,
        )

    def _may_hold_answer(self, row: Row) -> bool:
        """Return whether a row may hold the person's answer: tools can print a refusal, too."""
        if self._says_who_typed:
            return transcript_rows.is_refused_by_user(row)
        own = {identifier for identifier, call in self._calls if not call.tool.startswith("mcp__")}
        return own.issuperset(text_field(block, "tool_use_id") for block in _result_blocks(row))

    def _note_context(self, row: Row, words: list[tuple[str, str]]) -> None:
        before = self._before
        if words and words[0][0] not in (ANSWER, QUEUED):
            self._before = Before()
            self._calls.clear()
        elif transcript_rows.is_refusal(row, says_who_typed=self._says_who_typed):
            self._before = Before(before.tool, before.path, before.command, CALL_REFUSED, changed=before.changed)
        elif row.get("type") == "user":
            for block in _result_blocks(row):
                has_failed = bool(block.get("is_error"))
                before.outcome = CALL_FAILED if has_failed else ""
                if made := self._made_calls.pop(text_field(block, "tool_use_id"), None):
                    made.has_ended = True
                    if has_failed:
                        printed = transcript_rows.content_text(block.get("content"))
                        made.failure = ends_of(printed if len(printed) <= MAX_CLOSING else redact(printed).text) or CALL_FAILED
        elif row.get("type") == "assistant":
            for block in _message_blocks(row):
                self._note_agent_block(block, text_field(row, "uuid"))

    def _note_agent_block(self, block: Row, uuid: str) -> None:
        before = self._before
        if block.get("type") == "text":
            text = text_field(block, "text")
            before.asked = text.rstrip(" \n*_").endswith("?")
            if self._answered and (words := closing_words(text)):
                self._answered.reply, self._answered.reply_uuid = words, uuid
                if self._with_work:  # A long text is cut between paragraphs: half a secret would not look like one.
                    end = text if len(text) <= MAX_CLOSING else text[-MAX_CLOSING:].partition("\n\n")[2]
                    self._answered.work.closing, self._answered.work.row = replace_surrogates(end), uuid
        elif block.get("type") == "tool_use":
            fields, name = object_field(block, "input"), text_field(block, "name")
            is_changing = any(part in name.lower() for part in _WRITING_TOOLS) and "todo" not in name.lower()
            path = next((value for field in _PATH_FIELDS if (value := text_field(fields, field))), "")
            path = os.path.join(self._folder, path) if path else ""  # some clients name it from their folder
            self._before = Before(name, path, text_field(fields, "command"), changed=before.changed or is_changing)
            self._calls.append((text_field(block, "id"), self._before))
            if self._with_work and self._answered and len(self._answered.work.calls) < MAX_CALLS_OF_TURN:
                made = MadeCall(name, path, self._before.command, changed=is_changing)
                self._answered.work.calls.append(made)
                self._made_calls[text_field(block, "id")] = made


def closing_words(text: str) -> str:
    """Return the end of an agent's text with single blanks, at most MAX_REPLY characters, without code.

    >>> closing_words("I ran it:\\n```\\nmake\\n```\\nIt is  green.")
    'I ran it: [code] It is green.'
    """
    return replace_surrogates(" ".join(_CODE_BLOCK.sub("[code]", text).split())[-MAX_REPLY:])


def _message_blocks(row: Row) -> Iterable[Row]:
    content = transcript_rows.content_of(row)
    return [{"type": "text", "text": content}] if isinstance(content, str) else transcript_rows.list_blocks(content)


def _result_blocks(row: Row) -> list[Row]:
    return [block for block in _message_blocks(row) if block.get("type") == "tool_result"]
