"""Writes the block of memories that the model reads, and the JSON that carries it. Equal input gives equal bytes."""

from __future__ import annotations

import time

from subcog_hooks.core.light_json import quote
from subcog_hooks.redaction.leaks import mask
from subcog_hooks.store.memory import colleague_in
from subcog_hooks.text.sanitise import cut, disarm, neutralise, one_line, utf16_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _collections_abc import Sequence
    from collections.abc import Mapping

HARD_CAP_UNITS = 9_900  # Claude Code replaces a text of more than 10,000 UTF-16 units by a preview of 2 kB
MIN_TEXT_UNITS = 80  # less of a longer memory says nothing

MAX_GIST = 140  # UTF-16 units of a line that points at a memory, behind its id
LINES_SHARE = 4  # of the room at most one part in so many is kept for lines beside what is told
MAX_COMMAND = 200  # characters of the path that opens a memory
MAX_NAMED = 2  # colleagues in the first line; each line names its own

_OWN = "the user's own notes"
_END = "</subcog-memories>"
_LABEL = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_LONGEST_LABEL = 64
_SHORTEST_TEXT = 3  # a character and " …"
_LAST_SECOND = 32_503_679_999  # of the year 2999: the C library of Windows goes no further

_RAW_PER_UNIT = 4  # characters looked at for each unit of room: white space, escapes and secrets may shrink away
_RAW_MARGIN = 4_096  # and never shown where a text was bounded: a secret may be cut there, too short to be recognised


class Entry:
    """A memory as the block shows it: `date` is in milliseconds since the epoch, `content` is the stored text.

    noted: who noted it, in a few words, where that was not the user. relevance: to the prompt, None where nothing was asked.
    """

    __slots__ = ("content", "date", "id", "namespace", "noted", "relevance")

    def __init__(
        self, namespace: str, date: int, id: str, content: str, noted: str = "", relevance: float | None = None
    ) -> None:
        self.namespace = namespace
        self.date = date
        self.id = id
        self.content = content
        self.noted = noted
        self.relevance = relevance


class Pointer:
    """A line that points at a memory. gist: what the memory is about, as stored; noted: as in an entry."""

    __slots__ = ("gist", "id", "noted")

    def __init__(self, id: str, gist: str, noted: str = "") -> None:
        self.id = id
        self.gist = gist
        self.noted = noted


class Rendered:
    """The rendered memories: `text` is the block, "" when nothing fits.

    ids: of the memories that are told, in order; pointed: of those that lines point at.
    """

    __slots__ = ("ids", "pointed", "text")

    def __init__(self, text: str, ids: tuple[str, ...], pointed: tuple[str, ...] = ()) -> None:
        self.text = text
        self.ids = ids
        self.pointed = pointed


class _Line:
    """An entry that has a place in the block; `text` is harmless, and longer than what may be shown of it."""

    __slots__ = ("head", "id", "text", "units")

    def __init__(self, id: str, head: str, text: str, units: int) -> None:
        self.id = id
        self.head = head
        self.text = text
        self.units = units


def render_block(
    entries: Sequence[Entry],
    *,
    about: Mapping[str, str],
    max_units: int,
    is_brief: bool = False,
    pointers: Sequence[Pointer] = (),
    command: str = "",
    hard_cap: int = HARD_CAP_UNITS,
) -> Rendered:
    """Return the block of DESIGN section 8 with as many of `entries`, the best first, as fit into `max_units` UTF-16 units.

    about: attributes, whose values are cut to the alphabet of ids. An entry is whole if it fits its fair share of the room,
    otherwise cut with " …"; one that would be left with less than MIN_TEXT_UNITS is left out, unless it is the first.
    hard_cap: units that hold over `max_units`. is_brief: the block says how many there are, and that others come later.
    pointers: lines behind the entries, as many as have room; command: the words that open a memory by its id, named once a
    session, "" where they are known.
    """
    told = "".join(f' {name}="{_label(value)}"' for name, value in about.items())
    notes = [entry.noted for entry in entries]
    begin = _begin(len(entries) if is_brief else 0, told, _longest_source(notes))
    whole = min(max_units, hard_cap)
    lines = _lines(pointers, whole // LINES_SHARE) if entries else {}
    room = whole - utf16_units("\n".join((begin, *lines.values(), _END))) - utf16_units(_hint(command))
    placed, room = _place(entries, room)
    share = _fair_share([line.units for line in placed], room)
    spare = room - sum(min(line.units, share) for line in placed)
    rows, ids = [], []
    for line in placed:
        text = line.text
        if line.units > share:  # what others leave goes to the first that can use it
            text = _cut(text, min(line.units, share + spare))
            spare -= utf16_units(text) - share
        if text and text != "…":
            rows.append(line.head + text)
            ids.append(line.id)
    source = _source([entry.noted for entry in entries if entry.id in ids])
    head = _begin(len(ids) if is_brief else 0, told, source) if ids else "<subcog-memories>"
    hinted = f"{head[:-1]}{_hint(command)}>"
    lines = lines or _lines(pointers, whole - utf16_units("\n".join((hinted, *rows, _END))))
    if not ids and not lines:
        return Rendered("", ())
    text = "\n".join((hinted if lines else head, *rows, *lines.values(), _END))
    return Rendered(text, tuple(ids), tuple(lines))


def _hint(command: str) -> str:
    """Return the attribute that says what a line is, and how its memory is opened."""
    shown = _harmless(command, MAX_COMMAND).replace('"', "'")
    return f' maybe="one line of a note that may be related; `{shown} ID` prints it"' if command else ""


def _lines(pointers: Sequence[Pointer], room: int) -> dict[str, str]:
    """Return the lines that fit into so many UTF-16 units, by the ids of their memories."""
    lines: dict[str, str] = {}
    for pointer in pointers:
        noted = f"({pointer.noted}) " if pointer.noted else ""
        text = _cut(noted + _harmless(pointer.gist, 2 * _RAW_MARGIN), MAX_GIST)
        line = f"[maybe {_label(pointer.id)}] {text}"
        units = utf16_units(line) + 1
        if text and units <= room:
            lines[pointer.id] = line
            room -= units
    return lines


def frame_units(entries: int, notes: Sequence[str] = ()) -> int:
    """Return the UTF-16 units that a brief of so many entries has around them. notes: who noted them, as an entry has it."""
    return len(_begin(entries, "", _longest_source(notes))) + len(_END) + 1


def shown_units(content: str, most: int) -> int:
    """Return the UTF-16 units of a memory's text as the block shows it, at most `most`."""
    return min(most, utf16_units(_harmless(content, _RAW_PER_UNIT * most + _RAW_MARGIN)))


def head_units(entry: Entry) -> int:
    """Return the UTF-16 units of an entry's line without its text: what stands before it, and the line's end."""
    return len(_head(entry)) + 1


def _begin(entries: int, told: str, source: str) -> str:
    """Return the first line. entries: of a brief, 0 for what was asked for."""
    more = f"; {entries} now, others when they matter" if entries else ""
    return f'<subcog-memories source="{source}, recalled by subcog{more}"{told}>'


def _source(notes: Sequence[str]) -> str:
    """Return a phrase for the authors of a block's notes: the user, colleagues by name, or both. notes: who noted each.

    >>> _source(["", "noted by an agent"]), _source(["by ada, a colleague"])
    ("the user's own notes", 'notes by ada, a colleague')
    >>> _source(["", "by ada, a colleague", "by bob, a colleague"])
    "the user's own notes and notes by ada and bob, colleagues"
    """
    names = list(dict.fromkeys(filter(None, map(colleague_in, notes))))
    if not names:
        return _OWN
    by = f"{' and '.join(names)}, {'colleagues' if len(names) > 1 else 'a colleague'}"
    theirs = f"notes by {by if len(names) <= MAX_NAMED else f'{len(names)} colleagues'}"
    return theirs if all(map(colleague_in, notes)) else f"{_OWN} and {theirs}"


def _longest_source(notes: Sequence[str]) -> str:
    """Return the longest phrase that `_source` can give for some of these notes."""
    theirs = sorted(set(filter(colleague_in, notes)), key=len)[-MAX_NAMED:]
    return _source([*theirs, *(note for note in notes if not colleague_in(note))])


def to_hook_output(event: str, context: str) -> bytes:
    """Return the line of ASCII JSON that hands `context` to the model in answer to `event`; nothing for an empty context."""
    if not context:
        return b""
    inner = f'{{"hookEventName": {quote(event)}, "additionalContext": {quote(context)}}}'
    return f'{{"hookSpecificOutput": {inner}}}\n'.encode("ascii")


def _place(entries: Sequence[Entry], room: int) -> tuple[list[_Line], int]:
    """Return the entries that fit with the least each may be cut to, and the room that all their texts share."""
    placed: list[_Line] = []
    bound = _RAW_PER_UNIT * max(room, 0) // max(len(entries), 1) + _RAW_MARGIN
    needed = 0
    for entry in entries:
        head = _head(entry)
        left = room - needed - len(head) - 1
        if left < _SHORTEST_TEXT:
            continue
        text = _harmless(entry.content, bound)
        units = utf16_units(text)
        least = min(units, MIN_TEXT_UNITS)
        if text and (least <= left or not placed):
            placed.append(_Line(entry.id, head, text, units))
            room -= len(head) + 1
            needed += least
    return placed, room


def _head(entry: Entry) -> str:
    return f"[{_label(entry.namespace)} {_day(entry.date)} {_label(entry.id)}{_told(entry)}] "


def _told(entry: Entry) -> str:
    """Return what stands behind the id: how relevant the memory is, and who noted it where that was not the user."""
    relevance = "" if entry.relevance is None else f", relevance {_probability(entry.relevance):.2f}"
    return f"{relevance}, {entry.noted}" if entry.noted else relevance


def _harmless(content: str, bound: int) -> str:
    """Return `content` in one harmless line without secrets; of a longer one what its first `bound` characters come to."""
    raw = content[:bound]
    flat = " ".join(raw.split())  # a private key is masked to the end of its line
    masked = mask(flat)
    is_plain = masked is flat and flat.isascii() and flat.isprintable()  # as `one_line` has it: no need to split it again
    line = flat if is_plain else one_line(raw if masked == flat else masked)
    if line != masked:  # a secret may have been broken by what is gone now
        line = one_line(mask(line))
    if len(content) > bound:
        line = cut(line, len(line) - _RAW_MARGIN) if len(line) > _RAW_MARGIN else ""
    return neutralise(line)


def _cut(text: str, units: int) -> str:
    shown = cut(text, units)
    return shown if neutralise(shown) == shown else cut(disarm(text), units)  # <systems is no tag, <system … is


def _fair_share(needs: list[int], room: int) -> int:
    """Return the level to which all can be filled: those that need less are whole, the others get as much each."""
    share = room
    for taken, need in enumerate(sorted(needs)):
        share = room // (len(needs) - taken)
        if need > share:
            break
        room -= need
        share = need
    return share


def _label(text: str) -> str:
    """Return `text` as far as it is of the alphabet of ids: nothing in it can end an attribute or a header."""
    if len(text) <= _LONGEST_LABEL and _LABEL.issuperset(text):
        return text or "-"
    return "".join(filter(_LABEL.__contains__, text[:_LONGEST_LABEL])) or "-"


def _probability(number: float) -> float:
    return number if 0.0 <= number <= 1.0 else float(number > 1.0)


def _day(date: int) -> str:
    day = time.gmtime(max(0, min(date // 1000, _LAST_SECOND)))
    return f"{day.tm_year:04}-{day.tm_mon:02}-{day.tm_mday:02}"
