"""Render the block of memories and lines that the model reads, and the JSON that carries it. Equal input gives equal bytes."""

from __future__ import annotations

import os
import sys
import time

from subcog_hooks.core.light_json import dumps, loads, quote
from subcog_hooks.core.records import record
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.store.memory import BACKGROUND, EPISODE_PREFIX, UNDATED, colleague_in
from subcog_hooks.text.sanitise import cut, disarm, neutralise, one_line, utf16_units
from subcog_hooks.text.typed_prompt import split_sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from subcog_hooks.core.light_json import Json

PROGRAM, SHOW = "subcog", "show"
HARD_CAP_UNITS = 9_900  # Claude Code replaces a text of more than 10,000 UTF-16 units by a preview of 2 kB.
MIN_TEXT_UNITS = 80  # A shorter part of a longer memory says nothing.

MAX_GIST = 140  # UTF-16 units of a line that points at a memory, behind its id
LINES_SHARE = 4  # Lines beside memories take at most a quarter of the room.
MAX_COMMAND = 200  # characters of the path that opens a memory

_LAST_LINE = "</subcog-memories>"
_LABEL = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_LONGEST_LABEL = 64
_SHORTEST_TEXT = 3  # a character and " …"
_LAST_SECOND = 32_503_679_999  # The year 2999 ends there: the C library of Windows goes no further.

_RAW_PER_UNIT = 4  # raw characters read for each unit of room, since white space, escapes and secrets may shrink
_RAW_MARGIN = 4_096  # These last characters of a cut text are never shown: a secret may be cut there, and not be recognised.


@record
class Entry:
    """A memory in the block. date: milliseconds since the epoch, UNDATED for none; content: the stored text.

    noted: the author in a few words, "" for the user; relevance: to the prompt, None where nothing was asked.
    """

    namespace: str
    date: int
    id: str
    content: str
    noted: str = ""
    relevance: float | None = None


@record
class Pointer:
    """A line that points at a memory. gist: the memory's gist, as stored; noted: its author, as in an entry."""

    id: str
    gist: str
    noted: str = ""


@record
class RenderedBlock:
    """The rendered memories. text: the block, "" when nothing fits.

    ids: of the entries, in order; pointed: ids of the lines that point at memories; cut: ids of the entries that are cut.
    """

    text: str
    ids: tuple[str, ...] = ()
    pointed: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()

    @property
    def units(self) -> int:
        """The UTF-16 units of the block."""
        return utf16_units(self.text)


NOTHING_RENDERED = RenderedBlock("")


def render_block(
    entries: Sequence[Entry],
    *,
    attributes: Mapping[str, str],
    max_units: int,
    is_brief: bool = False,
    pointers: Sequence[Pointer] = (),
    command: str = "",
    whole_command: str = "",
    hard_cap: int = HARD_CAP_UNITS,
) -> RenderedBlock:
    """Return the block with the first of `entries` that fit into `max_units` UTF-16 units.

    attributes: of the block; their values are cut to the alphabet of ids. An entry is whole if it fits its fair share of the
    room, otherwise cut with " …". An entry with less than MIN_TEXT_UNITS is left out, unless it is the first. hard_cap: units
    that hold over `max_units`. is_brief: the block says that other memories come later. pointers: lines behind the entries, as
    many as have room; command: the words that open a memory, "" where the session has had them; whole_command: the same words,
    shown where an entry is cut.
    """
    extra = "".join(f' {name}="{_label(value)}"' for name, value in attributes.items())
    notes = [entry.noted for entry in entries]
    begin = _first_line(len(entries) if is_brief else 0, extra, notes)
    whole = min(max_units, hard_cap)
    lines = _pointer_lines(pointers, whole // LINES_SHARE) if entries else {}
    hint = ""
    if command:
        has_episodes = any(line.id.startswith(EPISODE_PREFIX) for line in pointers)
        source = "a note, or of a past session's record (no order)," if has_episodes else "a note"
        hint = f' maybe="one line of {source} that may be related; {_prints_note(command)} it"'
    hints = utf16_units(hint) + utf16_units(_whole_attribute(whole_command))
    room = whole - utf16_units("\n".join((begin, *lines.values(), _LAST_LINE))) - hints
    placed, room = _fit_entries(entries, room)
    share = _fair_share([units for *_, units in placed], room)
    spare = room - sum(min(units, share) for *_, units in placed)
    rows, ids, cut_ids = [], [], []
    for id_, row_head, line, units in placed:
        text = line
        if units > share:  # The first long entry takes the room that short ones leave.
            text = _cut_harmless(line, min(units, share + spare))
            spare -= utf16_units(text) - share
        if text and text != "…":
            rows.append(row_head + text)
            ids.append(id_)
            if text != line:
                cut_ids.append(id_)
    extra += _whole_attribute(whole_command) if cut_ids else ""
    head = _first_line(len(ids) if is_brief else 0, extra, notes) if ids else "<subcog-memories>"
    hinted = f"{head[:-1]}{hint}>"
    lines = lines or _pointer_lines(pointers, whole - utf16_units("\n".join((hinted, *rows, _LAST_LINE))))
    if not ids and not lines:
        return NOTHING_RENDERED
    text = "\n".join((hinted if lines else head, *rows, *lines.values(), _LAST_LINE))
    return RenderedBlock(text, tuple(ids), tuple(lines), tuple(cut_ids))


def _whole_attribute(command: str) -> str:
    """Return the attribute with the command that opens a cut entry's memory."""
    return f' cut="{_prints_note(command)} the whole of a note that ends in …"' if command else ""


def _prints_note(command: str) -> str:
    shown = _harmless_line(command, MAX_COMMAND).replace('"', "'")
    return f"`{shown} ID` prints"


def _pointer_lines(pointers: Sequence[Pointer], room: int) -> dict[str, str]:
    """Return the lines that fit into this room, in UTF-16 units, by the ids of their memories."""
    lines: dict[str, str] = {}
    for pointer in pointers:
        noted = f"({pointer.noted}) " if pointer.noted else ""
        text = _cut_harmless(noted + _harmless_line(pointer.gist, 2 * _RAW_MARGIN), MAX_GIST)
        line = f"[maybe {_label(pointer.id)}] {text}"
        units = utf16_units(line) + 1
        if text and units <= room:
            lines[pointer.id] = line
            room -= units
    return lines


def frame_units(entries: int, notes: Sequence[str] = ()) -> int:
    """Return the UTF-16 units around the entries of a brief. notes: the entries' authors."""
    return len(_first_line(entries, "", notes)) + len(_LAST_LINE) + 1


def content_units(content: str, max_units: int) -> int:
    """Return the UTF-16 units of a memory's text in the block, at most `max_units`."""
    return min(max_units, utf16_units(_harmless_line(content, _RAW_PER_UNIT * max_units + _RAW_MARGIN)))


def head_units(entry: Entry) -> int:
    """Return the UTF-16 units of an entry's line without its text: its head and the line's end."""
    return len(_entry_head(entry)) + 1


def _first_line(entries: int, extra: str, notes: Sequence[str]) -> str:
    """Return the first line. entries: number in a brief, 0 for no brief; extra: rendered attributes; notes: the authors."""
    source = "notes of the user and colleagues" if any(map(colleague_in, notes)) else "the user's own notes"
    more = f"; {entries} now, others when they matter" if entries else ""
    return f'<subcog-memories source="{source}, recalled by subcog{more}"{extra}>'


def to_hook_output(event: str, context: str) -> bytes:
    """Return the line of ASCII JSON that hands `context` to the model in answer to `event`; b"" for an empty context."""
    if not context:
        return b""
    inner = f'{{"hookEventName": {quote(event)}, "additionalContext": {quote(context)}}}'
    return f'{{"hookSpecificOutput": {inner}}}\n'.encode("ascii")


def add_message(output: bytes, message: str) -> bytes:
    """Return an output of the hook with a message that the client shows to the person."""
    fields = loads(output.decode())
    whole: Json = {"systemMessage": message, **(fields if isinstance(fields, dict) else {})}
    return dumps(whole).encode() + b"\n"


def answer_with_message(
    answer: Callable[[Callable[[bytes], None]], None], write: Callable[[bytes], None], message: str
) -> None:
    """Let `answer` write its output with a message for the person; write the message alone where it writes nothing."""
    outputs: list[bytes] = []

    def write_both(output: bytes) -> None:
        outputs.append(output)
        write(add_message(output, message))

    answer(write_both)
    if not outputs:
        write(add_message(b"{}", message))


def _fit_entries(entries: Sequence[Entry], room: int) -> tuple[list[tuple[str, str, str, int]], int]:
    """Return the entries that fit when cut to their minimum (id, head, harmless text, its units), and the room of the texts."""
    placed: list[tuple[str, str, str, int]] = []
    bound = _RAW_PER_UNIT * max(room, 0) // max(len(entries), 1) + _RAW_MARGIN
    needed = 0
    for entry in entries:
        head = _entry_head(entry)
        left = room - needed - len(head) - 1
        if left < _SHORTEST_TEXT:
            continue
        text = _harmless_line(entry.content, bound)
        units = utf16_units(text)
        min_units = min(units, MIN_TEXT_UNITS)
        if text and (min_units <= left or not placed):
            placed.append((entry.id, head, text, units))
            room -= len(head) + 1
            needed += min_units
    return placed, room


def _entry_head(entry: Entry) -> str:
    """Return the text before an entry's own: its kind, day, id and relevance, and its author unless the user noted it."""
    day = "undated"
    if entry.date != UNDATED:
        time_of = time.gmtime(max(0, min(entry.date // 1000, _LAST_SECOND)))
        day = f"{time_of.tm_year:04}-{time_of.tm_mon:02}-{time_of.tm_mday:02}"
    relevance = "" if entry.relevance is None else f", relevance {min(1.0, max(0.0, entry.relevance)):.2f}"
    noted = f", {entry.noted}" if entry.noted else ""
    return f"[{_label(entry.namespace)} {day} {_label(entry.id)}{relevance}{noted}] "


def _harmless_line(content: str, bound: int) -> str:
    """Return `content` as one harmless line without secrets; of a longer content, its first `bound` characters."""
    raw = content[:bound]
    flat = " ".join(raw.split())  # `mask` hides a private key up to the end of its line.
    masked = mask_secrets(flat)
    is_plain = masked is flat and flat.isascii() and flat.isprintable()  # `one_line` would not change it.
    line = flat if is_plain else one_line(raw if masked == flat else masked)
    if line != masked:  # The removed characters may have split a secret.
        line = one_line(mask_secrets(line))
    if len(content) > bound:
        line = cut(line, len(line) - _RAW_MARGIN) if len(line) > _RAW_MARGIN else ""
    return neutralise(line)


def _cut_harmless(text: str, units: int) -> str:
    shown = cut(text, units)
    return shown if neutralise(shown) == shown else cut(disarm(text), units)  # `<systems` is no tag, `<system …` is one.


def _fair_share(needs: list[int], room: int) -> int:
    """Return the level to which all needs can be filled: smaller needs are met whole, the others get this much each."""
    share = room
    for taken, need in enumerate(sorted(needs)):
        share = room // (len(needs) - taken)
        if need > share:
            break
        room -= need
        share = need
    return share


def _label(text: str) -> str:
    """Return the characters of `text` in the alphabet of ids: none of them can end an attribute or a header."""
    return "".join(filter(_LABEL.__contains__, text[:_LONGEST_LABEL])) or "-"


MAX_SCANNED = 8_000  # characters of a memory
MAX_TITLE_WORDS = 12  # A longer first line is a sentence.
MAX_TITLE = 60  # characters; the sentence needs the rest of the line.
_HEADING_SEPARATOR = " > "  # between the headings above a section
_EDGES = ".,;:!?()[]{}<>\"'`*_#|"
_STEM_LENGTH = 5  # compared characters of a word: "retries" is near "retry".


def gist_of(content: str, prompt: str) -> str:
    """Return a memory's title and its sentence with the rarest words of the prompt; a short memory as a whole.

    Text behind a line of dashes is left out: in a record, it led to the decision. The result may be longer than MAX_GIST.

    >>> gist_of("Queues\\nCelery stays. It retries three times.", "how many retries has the queue?")
    'Queues Celery stays. It retries three times.'
    >>> long = "Celery was chosen after arq had failed under load, for it has no limits of its own, and nobody could add them."
    >>> gist_of(f"Tools > Queues\\n{long} It retries three times.", "how many retries has the queue?")
    'Queues: It retries three times.'
    """
    content = content[:MAX_SCANNED].partition(BACKGROUND)[0]
    whole = " ".join(content.split())
    if utf16_units(whole) <= MAX_GIST:
        return whole
    first, _, rest = content.partition("\n")
    title = first.rpartition(_HEADING_SEPARATOR)[2].strip(" #*").rstrip(":") if rest.strip() else ""
    if len(title.split()) > MAX_TITLE_WORDS:
        title = ""
    title = title[:MAX_TITLE].rstrip()
    parts = split_sentences(rest if title else content)
    nearest = parts[_nearest_position(parts, _stems(prompt))] if parts else ""
    return f"{title}: {nearest}" if title and nearest else title or nearest


def _nearest_position(parts: Sequence[str], prompt_stems: frozenset[str]) -> int:
    """Return the position of the sentence that shares the rarest words with the prompt, the first of equals."""
    stems = [_stems(part) for part in parts]
    counts: dict[str, int] = {}
    for part_stems in stems:
        for stem in part_stems & prompt_stems:
            counts[stem] = counts.get(stem, 0) + 1
    scores = [sum([1.0 / counts[stem] for stem in sorted(part_stems & prompt_stems)]) for part_stems in stems]
    return scores.index(max(scores))


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words of a text, without short words."""
    words = [word.strip(_EDGES).lower() for word in text.split()]
    return frozenset([word[:_STEM_LENGTH] for word in words if len(word) > 3 or any(map(str.isdigit, word))])


def command_of_agent() -> str:
    """Return the command that opens a memory in the agent's shell: the bare name where PATH leads to this installation."""
    own = own_script()
    if not own or resolves_to_own(PROGRAM, own):
        return f"{PROGRAM} {SHOW}"
    return f"{own} {SHOW}" if " " not in own else f"'{own}' {SHOW}"


def own_script() -> str:
    """Return the full path of this installation's console script, "" where it has none."""
    named = getattr(sys.modules.get("__main__"), "script", "") or sys.argv[0]  # An isolated interpreter has `script`.
    name = f"{PROGRAM}.exe" if os.name == "nt" else PROGRAM
    for path in (named, os.path.join(os.path.dirname(sys.executable), name)):
        if isinstance(path, str) and os.path.isabs(path) and os.path.basename(path) == name and os.path.isfile(path):
            return path
    return ""


def resolves_to_own(program: str, own: str) -> bool:
    """Return whether the first program of this name on PATH is our own. A PATH with relative folders never counts."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if not os.path.isabs(folder):
            return False
        path = os.path.join(folder, os.path.basename(own) if os.name == "nt" else program)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.realpath(path) == os.path.realpath(own)
    return False
