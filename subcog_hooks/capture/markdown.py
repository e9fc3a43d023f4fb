"""Markdown files as memories: sections, front matter and the status of decision records."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from subcog_hooks.store.memory import DEFAULT_NAMESPACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

HOLDING = ("accepted", "approved", "proposed", "draft", "implemented", "active")
ENDED = ("superseded", "deprecated", "rejected", "obsolete")

LONGEST = 300  # characters of a line that may be a status
_SPELT = {"superceded": "superseded"}  # as adr-tools writes it
_STRUCK_OUT = re.compile(r"~~[^~]*~~")
_LINK = re.compile(r"\[\[[^\[\]]*\]\]|\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])?")
_BESIDE = frozenset("and by with in favor favour of on since replaced adr mdr rfc decision record no number".split())
_REFERENCE = re.compile(r"(?:adr|mdr|rfc|decision)?[-_]?\d[\w-]*(?:\.(?:md|markdown|mdx|adoc|rst))?")  # dates, too
_EDGES = "*_`\"'.,;:()#&→>-"
_LABELLED = re.compile(  # with the lines that go on with it
    r"^[ \t]*(?:[-*][ \t]+)?(?:\*\*Status:\*\*|\*\*Status\*\*:|Status:)[ \t]*"
    r"(\S.*(?:\n(?=[ \t]*[^\s*#>-])(?![ \t]*[A-Z][a-z]+:).*)*)",
    re.MULTILINE | re.IGNORECASE,
)
_SECTION = re.compile(r"^#{1,4}[ \t]*Status[ \t]*#*[ \t]*\n((?:(?!#{1,6}[ \t]).*\n?)*?)(?=^#|\Z)", re.MULTILINE | re.IGNORECASE)


def read_status(value: str) -> str:
    """Return the status that a text is, "" where it says anything else, too.

    >>> read_status("Superseded by [0007](0007-queues.md)"), read_status("**Deprecated** (2024-03-01).")
    ('superseded', 'deprecated')
    >>> read_status("superseded by ADR-7 for the driver app; still holds for the web client")
    ''
    """
    if len(value) > LONGEST:
        return ""
    text = _LINK.sub(" 0 ", _STRUCK_OUT.sub(" ", value))
    words = [word for word in (word.strip(_EDGES).lower() for word in text.split()) if any(map(str.isalnum, word))]
    told = [_SPELT.get(word, word) for word in words]
    if not told or told[0] not in HOLDING + ENDED:
        return ""
    for word in told:
        if word not in HOLDING + ENDED and word not in _BESIDE and not _REFERENCE.fullmatch(word):
            return ""
    return next((word for word in told if word in ENDED), told[0])


def stated(text: str) -> str:
    """Return the status in a record's only `Status:` line or section of that name; "" where there is none, or are several."""
    labelled = [found[1] for found in _LABELLED.finditer(text)]
    sections = [found[1] for found in _SECTION.finditer(text)]
    if len(labelled) + len(sections) != 1:
        return ""
    return read_status(labelled[0]) if labelled else _read_section(sections[0])


def _read_section(body: str) -> str:
    """Return the status of a section from paragraphs that are nothing but statuses: one that has ended it, else the first."""
    told: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", body.strip()):
        lines = [read_status(line.lstrip("-*+ \t")) for line in paragraph.strip().split("\n")]
        told += lines if all(lines) else filter(None, [read_status(paragraph)])
    return next((word for word in told if word in ENDED), told[0] if told else "")


MAX_SECTION = 2_000  # characters, with its heading line: what one injection holds; longer ones are cut at paragraphs
TINY_SECTION = 80  # characters; `Status: Accepted` alone says nothing
DECISIONS = "decisions"

_LEAST_BODY = 500  # characters of text in a piece, however long its headings are
_LONGEST_HEADING = 200  # characters; headings are repeated in every piece of their section
_LONGEST_TAG = 100


class Section(NamedTuple):
    """One memory: its headings from the title down, its text (their line first), and the line of the document it begins at."""

    heading_path: tuple[str, ...]
    content: str
    line: int


class Document(NamedTuple):
    """A document as memories, with what its front matter says about all of them. date: milliseconds since the epoch."""

    sections: list[Section]
    namespace: str
    tags: tuple[str, ...]
    date: int | None
    status: str


def read(text: str, *, title: str) -> Document:
    """Return the sections of a document, the namespace that suits it, its tags, date and status.

    They come from its front matter; a decision record's date and status also from lines of their own.

    title: its name where it has no single top heading, usually the file's name without the suffix.
    """
    lines = _lines(text)
    fields = _fields(lines[: _front_matter(lines)])
    tags = (_simple(tag).lstrip("#") for tag in fields.get("tags", []))
    namespace = suggest_namespace(title, text) or DEFAULT_NAMESPACE
    is_record = namespace == DECISIONS
    return Document(
        split(text, title=title),
        namespace,
        tuple(dict.fromkeys(tag for tag in tags if tag and len(tag) <= _LONGEST_TAG)),
        milliseconds_since_epoch(_first(fields, "date", "created") or (_dated(text) if is_record else "")),
        read_status(_first(fields, "status")) or (stated(text) if is_record else ""),
    )


def front_matter(text: str) -> tuple[dict[str, list[str]], str]:
    """Return the fields of a document's front matter, their names in small letters, and the text behind it.

    It is read leniently, line by line; the entries of a nested block stand beside the others.

    >>> front_matter("---\\nglobs: **/*.ts\\nmetadata:\\n  type: feedback\\n---\\nNo default exports.")
    ({'globs': ['**/*.ts'], 'metadata': [], 'type': ['feedback']}, 'No default exports.')
    """
    lines = _lines(text)
    end = _front_matter(lines)
    fields = _fields(line.lstrip() for line in lines[1 : end - 1]) if end else {}
    return {name: [_simple(value) for value in values] for name, values in fields.items()}, "\n".join(lines[end:])


def split(text: str, *, title: str) -> list[Section]:
    """Return the sections of a document in their order; none if it says nothing.

    >>> [section.heading_path for section in split("# Cache\\n\\n" + "It is cold at first. " * 9, title="notes")]
    [('Cache',)]
    """
    parts = _split_at_headings(_lines(text), title)
    _merge_tiny(parts)
    return [section for part in parts if part.blocks for section in _sections(part)]


def suggest_namespace(title: str, text: str) -> str | None:
    """Return `decisions` for an architecture decision record, known by its name or its headings; None for all else."""
    start = text[:_START].removeprefix("\ufeff")
    top = _TOP_HEADING.search(start)
    if _RECORD_NAME.match(title) or (top and _RECORD_NAME.match(top[1])):
        return DECISIONS
    headings = {found[1].lower() for found in _RECORD_HEADING.finditer(start)}
    return DECISIONS if "decision" in headings and len(headings) >= 3 else None


_START = 20_000  # characters: a record shows what it is within them
_RECORD_NAME = re.compile(r"(?:adr|mdr|decision)[-_ #]*\d|0\d{2,4}[-_]\w", re.IGNORECASE)
_TOP_HEADING = re.compile(r"^#[ \t]+(.+)", re.MULTILINE)
_RECORD_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?:\d+[.)]?[ \t]+)?(status|context|decision|consequences)\b", re.IGNORECASE | re.MULTILINE
)


# ---- front matter ----------------------------------------------------------------------------------------------------

_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.+)$")
_LONGEST_FRONT_MATTER = 200  # lines


def _front_matter(lines: list[str]) -> int:
    """Return how many lines at the start are a YAML block between `---` lines, those included; 0 without one."""
    if lines[0].rstrip() != "---":
        return 0
    for index, line in enumerate(lines[1:_LONGEST_FRONT_MATTER], 1):
        if line.rstrip() in ("---", "..."):
            return index + 1 if _fields(lines[1:index]) else 0
    return 0


def _fields(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return the plain entries: `key: value`, `key: [a, b]`, `tags: a, b`, and `- a` on the lines below a key."""
    fields: dict[str, list[str]] = {}
    key = ""
    for line in lines:
        if key and (item := _ITEM.match(line)):
            fields[key].append(item[1])
        elif field := _FIELD.match(line):
            key, value = field[1].lower(), (field[2] or "").strip()
            is_list = key == "tags" or value.startswith("[")
            fields[key] = (value.strip("[]").split(",") if is_list else [value]) if value else []
    return fields


def _first(fields: dict[str, list[str]], *names: str) -> str:
    return next((_simple(fields[name][0]) for name in names if fields.get(name)), "")


def _simple(value: str) -> str:
    """Return a YAML scalar without its quotes and its comment."""
    value = value.strip()
    if value[:1] in ("'", '"'):
        return value[1:].partition(value[0])[0].strip()
    return value.partition(" #")[0].strip()


def milliseconds_since_epoch(date: str) -> int | None:
    """Return a date as ISO 8601 writes it in milliseconds, UTC where it names no zone; None where it is none."""
    try:
        moment = datetime.fromisoformat(date)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _dated(text: str) -> str:
    """Return the date of a decision record without front matter: a line `Date: 2026-03-02` near its top, else ""."""
    found = _DATE_LINE.search(text[:_PREAMBLE])
    return found[1] if found else ""


_PREAMBLE = 2_000  # characters in which a record is dated
_DATE_LINE = re.compile(r"^[ \t]*(?:[-*][ \t]+)?\**Date:?\**:?[ \t]*(\d{4}-\d{2}-\d{2})[ \t]*$", re.MULTILINE | re.IGNORECASE)


# ---- blocks and headings ---------------------------------------------------------------------------------------------


@cache
def _parser(*left_out: str) -> MarkdownIt:
    """Return a parser of all but some parts of Markdown."""
    from markdown_it import MarkdownIt  # 40 ms, which a memory that is typed does not need

    return MarkdownIt("commonmark").disable(list(left_out))


class _Block(NamedTuple):
    line: int
    text: str


class _Part:
    """The text under one heading, in blocks. The first part of a document is the root: the text before all headings."""

    __slots__ = ("blocks", "heading", "level", "line", "parent")

    def __init__(self, heading: str, level: int, line: int, parent: _Part | None) -> None:
        self.heading = heading
        self.level = level
        self.line = line
        self.parent = parent
        self.blocks: list[_Block] = []

    def path(self) -> tuple[str, ...]:
        above = self.parent.path() if self.parent else ()
        return (*above, self.heading) if self.heading else above

    def is_tiny(self) -> bool:
        return len(self.blocks) < TINY_SECTION and sum(len(block.text) for block in self.blocks) < TINY_SECTION


def _lines(text: str) -> list[str]:
    """Return the lines without byte order mark and NUL (its replacement is CommonMark's)."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text.split("\n")


def _split_at_headings(lines: list[str], title: str) -> list[_Part]:
    skipped = _front_matter(lines)
    lines = lines[skipped:]
    # blocks alone: the inline rules would take ten times as long, and only headings need them
    blocks = _parser("inline", "text_join").parse("\n".join(lines))
    tokens = [token for token in blocks if token.level == 0 and token.map and token.nesting >= 0]
    root = part = _Part(title.strip()[:_LONGEST_HEADING], 0, skipped + 1, None)
    parts = [root]
    sole_top = _sole_top_heading(tokens)
    start = 0
    for token in tokens:
        first, last = token.map or (0, 0)
        # link definitions are no block: they stay with what stands before them
        _add(part, lines, start, first, skipped)
        start = last
        if token.type != "heading_open":
            if token.type != "hr":
                _add(part, lines, first, last, skipped, may_comment=token.type in ("html_block", "paragraph_open"))
        elif token is sole_top:
            root.heading = _heading(token, lines) or root.heading
        else:
            level = int(token.tag[1:])
            while part.level >= level and part.parent:
                part = part.parent
            part = _Part(_heading(token, lines), level, skipped + first + 1, part)
            parts.append(part)
    _add(part, lines, start, len(lines), skipped)
    return parts


def _sole_top_heading(tokens: list[Token]) -> Token | None:
    """Return the heading that is the document's title: of the first level, the only one of it, and before all others."""
    headings = [token for token in tokens if token.type == "heading_open"]
    tops = [token for token in headings if token.tag == "h1"]
    return tops[0] if len(tops) == 1 and tops[0] is headings[0] else None


def _add(part: _Part, lines: list[str], first: int, last: int, skipped: int, *, may_comment: bool = False) -> None:
    text = "\n".join(lines[first:last])
    if may_comment:
        text = without_comments(text)
    if text.strip():
        part.blocks.append(_Block(first + skipped + 1, text.strip("\n").rstrip()))


def _heading(token: Token, lines: list[str]) -> str:
    """Return the text of a heading without its markup, in one line."""
    first, last = token.map or (0, 0)
    if token.markup.startswith("#"):
        source = re.sub(r"(?:^|[ \t])#+$", "", lines[first].strip().lstrip("#").strip())
    else:
        source = " ".join(line.strip() for line in lines[first : last - 1])
    inline = _parser().parseInline(source[:_LONGEST_HEADING])[0].children or []
    return " ".join("".join(child.content for child in inline if child.type != "html_inline").split())


def without_comments(text: str) -> str:
    """Return `text` without its HTML comments; one that is never closed ends it."""
    kept = []
    position = 0
    while (start := text.find("<!--", position)) >= 0:
        kept.append(text[position:start])
        end = text.find("-->", start)
        if end < 0:
            return "".join(kept)
        position = end + 3
    return "".join([*kept, text[position:]])


# ---- merging and cutting ---------------------------------------------------------------------------------------------


def _merge_tiny(parts: list[_Part]) -> None:
    """Move each part that is too short to stand alone, with its heading, to the one above it, from the deepest up.

    What is left at the top goes to the first part below it.
    """
    root = parts[0]
    for part in sorted(parts[1:], key=lambda part: -part.level):
        if part.blocks and part.is_tiny() and part.parent:
            part.parent.blocks += _with_heading(part)
            part.blocks = []
    first = next((part for part in parts[1:] if part.blocks), None)
    if first and root.is_tiny():
        first.blocks += root.blocks
        root.blocks = []


def _with_heading(part: _Part) -> list[_Block]:
    if not part.heading:
        return part.blocks
    first, *others = part.blocks
    return [_Block(part.line, f"{part.heading}\n{first.text}"), *others]


def _sections(part: _Part) -> Iterator[Section]:
    """Yield the part as one section, or as several of at most MAX_SECTION characters."""
    path = part.path()
    head = " > ".join(path)
    room = max(MAX_SECTION - len(head) - 2, _LEAST_BODY)
    texts: list[str] = []
    size = 0
    line = part.line
    for block in part.blocks:
        for piece in _pieces(block, room):
            if texts and size + len(piece.text) + 2 > room:
                yield Section(path, "\n\n".join([head, *texts]), line)
                texts, size, line = [], 0, piece.line
            texts.append(piece.text)
            size += len(piece.text) + 2
    if texts:
        yield Section(path, "\n\n".join([head, *texts]), line)


def _pieces(block: _Block, room: int) -> Iterator[_Block]:
    """Yield the block itself if it fits; else its pieces.

    Each is cut as late as it can be: at an empty line, a line, a space or anywhere.
    """
    text = block.text
    start, line = 0, block.line
    while len(text) - start > room:
        end = start + room
        for boundary in ("\n\n", "\n", " "):
            cut = text.rfind(boundary, start + room // 4, end)
            if cut >= 0:
                end = cut
                break
        if piece := text[start:end].strip("\n").rstrip():
            yield _Block(line, piece)
        line += text.count("\n", start, end)
        start = end
    if piece := text[start:].strip("\n").rstrip():
        yield _Block(line, piece)
