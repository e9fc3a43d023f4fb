"""Markdown files as memories: sections, front matter and the status of decision records."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from subcog_hooks.store.memory import DEFAULT_NAMESPACE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

CURRENT_STATUSES = ("accepted", "approved", "proposed", "draft", "implemented", "active")
ENDED_STATUSES = ("superseded", "deprecated", "rejected", "obsolete")

MAX_STATUS = 300  # characters of a line that may be a status
_SPELLINGS = {"superceded": "superseded"}  # adr-tools misspells it
_STRUCK_OUT = re.compile(r"~~[^~]*~~")
_LINK = re.compile(r"\[\[[^\[\]]*\]\]|\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])?")
_FILLER_WORDS = frozenset("and by with in favor favour of on since replaced adr mdr rfc decision record no number".split())
_REFERENCE = re.compile(r"(?:adr|mdr|rfc|decision)?[-_]?\d[\w-]*(?:\.(?:md|markdown|mdx|adoc|rst))?")  # dates, too
_EDGES = "*_`\"'.,;:()#&→>-"
_LABELLED = re.compile(  # with its continuation lines
    r"^[ \t]*(?:[-*][ \t]+)?(?:\*\*Status:\*\*|\*\*Status\*\*:|Status:)[ \t]*"
    r"(\S.*(?:\n(?=[ \t]*[^\s*#>-])(?![ \t]*[A-Z][a-z]+:).*)*)",
    re.MULTILINE | re.IGNORECASE,
)
_SECTION = re.compile(r"^#{1,4}[ \t]*Status[ \t]*#*[ \t]*\n((?:(?!#{1,6}[ \t]).*\n?)*?)(?=^#|\Z)", re.MULTILINE | re.IGNORECASE)

_FENCED = re.compile(r"(^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z))", re.MULTILINE | re.DOTALL)
_OBSIDIAN_COMMENT = re.compile(r"(?<!\S)%%(?!%).*?(?<!%)%%(?=[\s.,;:!?)]|\Z)", re.DOTALL)


def parse_status(value: str) -> str:
    """Return the status that a text names; "" if it says more than that.

    >>> parse_status("Superseded by [0007](0007-queues.md)"), parse_status("**Deprecated** (2024-03-01).")
    ('superseded', 'deprecated')
    >>> parse_status("superseded by ADR-7 for the driver app; still holds for the web client")
    ''
    """
    if len(value) > MAX_STATUS:
        return ""
    text = _LINK.sub(" 0 ", _STRUCK_OUT.sub(" ", value))
    words = [word for word in (word.strip(_EDGES).lower() for word in text.split()) if any(map(str.isalnum, word))]
    statuses = [_SPELLINGS.get(word, word) for word in words]
    if not statuses or statuses[0] not in CURRENT_STATUSES + ENDED_STATUSES:
        return ""
    for word in statuses:
        if word not in CURRENT_STATUSES + ENDED_STATUSES and word not in _FILLER_WORDS and not _REFERENCE.fullmatch(word):
            return ""
    return next((word for word in statuses if word in ENDED_STATUSES), statuses[0])


def find_status(text: str) -> str:
    """Return the status in a record's only `Status:` line or section; "" if there is none or several."""
    labelled = [match[1] for match in _LABELLED.finditer(text)]
    sections = [match[1] for match in _SECTION.finditer(text)]
    if len(labelled) + len(sections) != 1:
        return ""
    return parse_status(labelled[0]) if labelled else _parse_status_section(sections[0])


def _parse_status_section(body: str) -> str:
    statuses: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", body.strip()):
        lines = [parse_status(line.lstrip("-*+ \t")) for line in paragraph.strip().split("\n")]
        statuses += lines if all(lines) else filter(None, [parse_status(paragraph)])
    return next((word for word in statuses if word in ENDED_STATUSES), statuses[0] if statuses else "")


MAX_SECTION = 2_000  # characters with its heading line, the size of one injection; longer ones are cut
MIN_SECTION = 80  # characters; `Status: Accepted` alone says nothing
DECISIONS = "decisions"

_MIN_BODY = 500  # characters of text in a piece under long headings
_MAX_HEADING = 200  # characters; headings are repeated in every piece of their section
_MAX_TAG = 100


class Section(NamedTuple):
    """A memory: its headings from the title down, its text with a line of these, and its first line in the document."""

    heading_path: tuple[str, ...]
    content: str
    line: int


class Document(NamedTuple):
    """A document as memories, with the fields of its front matter. date: milliseconds since the epoch."""

    sections: list[Section]
    namespace: str
    tags: tuple[str, ...]
    date: int | None
    status: str


def read_document(text: str, *, title: str) -> Document:
    """Parse a document into sections, with its namespace, tags, date and status.

    The last three come from its front matter; a decision record's date and status also from their own lines.

    title: used if there is no single top heading, usually the file's name without the suffix.
    """
    lines = _split_lines(text)
    fields = _parse_fields(lines[: _count_front_matter(lines)])
    tags = (_plain_scalar(tag).lstrip("#") for tag in fields.get("tags", []))
    namespace = suggest_namespace(title, text) or DEFAULT_NAMESPACE
    is_record = namespace == DECISIONS
    return Document(
        split_sections(text, title=title),
        namespace,
        tuple(dict.fromkeys(tag for tag in tags if tag and len(tag) <= _MAX_TAG)),
        parse_date_ms(_first_value(fields, "date", "created") or (_find_date(text) if is_record else "")),
        parse_status(_first_value(fields, "status")) or (find_status(text) if is_record else ""),
    )


def parse_front_matter(text: str) -> tuple[dict[str, list[str]], str]:
    """Return the fields of a document's front matter, their names in lower case, and the text behind it.

    It is parsed leniently line by line; the entries of a nested block stand beside the others.

    >>> parse_front_matter("---\\nglobs: **/*.ts\\nmetadata:\\n  type: feedback\\n---\\nNo default exports.")
    ({'globs': ['**/*.ts'], 'metadata': [], 'type': ['feedback']}, 'No default exports.')
    """
    lines = _split_lines(text)
    end = _count_front_matter(lines)
    fields = _parse_fields(line.lstrip() for line in lines[1 : end - 1]) if end else {}
    return {name: [_plain_scalar(value) for value in values] for name, values in fields.items()}, "\n".join(lines[end:])


def split_sections(text: str, *, title: str) -> list[Section]:
    """Split a document into sections in their order; none if it has no text.

    >>> [section.heading_path for section in split_sections("# Cache\\n\\n" + "It is cold at first. " * 9, title="notes")]
    [('Cache',)]
    """
    parts = _split_at_headings(_split_lines(drop_obsidian_comments(text)), title)
    _merge_tiny(parts)
    return [section for part in parts if part.blocks for section in _cut_part(part)]


def suggest_namespace(title: str, text: str) -> str | None:
    """Return `decisions` for an architecture decision record, recognised by its name or headings; else None."""
    start = text[:_MAX_RECORD_START].removeprefix("\ufeff")
    top = _TOP_HEADING.search(start)
    if _RECORD_NAME.match(title) or (top and _RECORD_NAME.match(top[1])):
        return DECISIONS
    headings = {match[1].lower() for match in _RECORD_HEADING.finditer(start)}
    return DECISIONS if "decision" in headings and len(headings) >= 3 else None


_MAX_RECORD_START = 20_000  # characters; a decision record is recognised within them
_RECORD_NAME = re.compile(r"(?:adr|mdr|decision)[-_ #]*\d|0\d{2,4}[-_]\w", re.IGNORECASE)
_TOP_HEADING = re.compile(r"^#[ \t]+(.+)", re.MULTILINE)
_RECORD_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?:\d+[.)]?[ \t]+)?(status|context|decision|consequences)\b", re.IGNORECASE | re.MULTILINE
)


_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.+)$")
_MAX_FRONT_MATTER = 200  # lines


def _count_front_matter(lines: list[str]) -> int:
    """Return the number of lines of a leading YAML block with its two `---` lines; 0 without a block."""
    if lines[0].rstrip() != "---":
        return 0
    for index, line in enumerate(lines[1:_MAX_FRONT_MATTER], 1):
        if line.rstrip() in ("---", "..."):
            return index + 1 if _parse_fields(lines[1:index]) else 0
    return 0


def _parse_fields(lines: Iterable[str]) -> dict[str, list[str]]:
    """Parse the plain entries: `key: value`, `key: [a, b]`, `tags: a, b`, and `- a` on the lines below a key."""
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


def _first_value(fields: dict[str, list[str]], *names: str) -> str:
    return next((_plain_scalar(fields[name][0]) for name in names if fields.get(name)), "")


def _plain_scalar(value: str) -> str:
    value = value.strip()
    if value[:1] in ("'", '"'):
        return value[1:].partition(value[0])[0].strip()
    return value.partition(" #")[0].strip()


def parse_date_ms(date: str) -> int | None:
    """Parse an ISO 8601 date into milliseconds since the epoch, UTC without a zone; None if it is no date."""
    try:
        moment = datetime.fromisoformat(date)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _find_date(text: str) -> str:
    match = _DATE_LINE.search(text[:_MAX_PREAMBLE])
    return match[1] if match else ""


_MAX_PREAMBLE = 2_000  # characters; a record has its date within them
_DATE_LINE = re.compile(r"^[ \t]*(?:[-*][ \t]+)?\**Date:?\**:?[ \t]*(\d{4}-\d{2}-\d{2})[ \t]*$", re.MULTILINE | re.IGNORECASE)


@cache
def _parser(*left_out: str) -> MarkdownIt:
    from markdown_it import MarkdownIt  # takes 40 ms, which a typed memory does not need

    return MarkdownIt("commonmark").disable(list(left_out))


class _Block(NamedTuple):
    line: int
    text: str


@dataclass(slots=True, eq=False)
class _Part:
    """The text under one heading, in blocks. The root is the text before all headings."""

    heading: str
    level: int
    line: int
    parent: _Part | None
    blocks: list[_Block] = field(default_factory=list)

    def path(self) -> tuple[str, ...]:
        above = self.parent.path() if self.parent else ()
        return (*above, self.heading) if self.heading else above

    def is_tiny(self) -> bool:
        return len(self.blocks) < MIN_SECTION and sum(len(block.text) for block in self.blocks) < MIN_SECTION


def _split_lines(text: str) -> list[str]:
    """Return the lines without byte order mark, and with U+FFFD for NUL, as CommonMark has it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text.split("\n")


def _split_at_headings(lines: list[str], title: str) -> list[_Part]:
    offset = _count_front_matter(lines)
    lines = lines[offset:]
    # the inline rules take ten times as long, and only headings need them
    blocks = _parser("inline", "text_join").parse("\n".join(lines))
    tokens = [token for token in blocks if token.level == 0 and token.map and token.nesting >= 0]
    root = part = _Part(title.strip()[:_MAX_HEADING], 0, offset + 1, None)
    parts = [root]
    sole_top = _sole_top_heading(tokens)
    start = 0
    for token in tokens:
        first, last = token.map or (0, 0)
        # link definitions are no block: they stay with the text before them
        _add_block(part, lines, start, first, offset)
        start = last
        if token.type != "heading_open":
            if token.type != "hr":
                _add_block(part, lines, first, last, offset, may_comment=token.type in ("html_block", "paragraph_open"))
        elif token is sole_top:
            root.heading = _heading_text(token, lines) or root.heading
        else:
            level = int(token.tag[1:])
            while part.level >= level and part.parent:
                part = part.parent
            part = _Part(_heading_text(token, lines), level, offset + first + 1, part)
            parts.append(part)
    _add_block(part, lines, start, len(lines), offset)
    return parts


def _sole_top_heading(tokens: list[Token]) -> Token | None:
    headings = [token for token in tokens if token.type == "heading_open"]
    tops = [token for token in headings if token.tag == "h1"]
    return tops[0] if len(tops) == 1 and tops[0] is headings[0] else None


def _add_block(part: _Part, lines: list[str], first: int, last: int, skipped: int, *, may_comment: bool = False) -> None:
    text = "\n".join(lines[first:last])
    if may_comment:
        text = drop_comments(text)
    if text.strip():
        part.blocks.append(_Block(first + skipped + 1, text.strip("\n").rstrip()))


def _heading_text(token: Token, lines: list[str]) -> str:
    first, last = token.map or (0, 0)
    if token.markup.startswith("#"):
        source = re.sub(r"(?:^|[ \t])#+$", "", lines[first].strip().lstrip("#").strip())
    else:
        source = " ".join(line.strip() for line in lines[first : last - 1])
    inline = _parser().parseInline(source[:_MAX_HEADING])[0].children or []
    return " ".join("".join(child.content for child in inline if child.type != "html_inline").split())


def drop_comments(text: str) -> str:
    """Return `text` without its HTML comments; an unclosed comment ends it."""
    return drop_elements(text, "<!--", "-->")


def drop_obsidian_comments(text: str) -> str:
    """Return `text` without Obsidian's comments between `%%`, outside of fenced code. Its lines keep their numbers.

    >>> drop_obsidian_comments("Pay day is the 25th. %% Bob earns more %%")
    'Pay day is the 25th. '
    """
    if "%%" not in text:
        return text
    prose_and_code = _FENCED.split(text)
    prose_and_code[::2] = [
        _OBSIDIAN_COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), prose) for prose in prose_and_code[::2]
    ]
    return "".join(prose_and_code)


def drop_elements(text: str, begin: str, close: str) -> str:
    """Return `text` without its parts from `begin` to `close`; an unclosed part ends it."""
    parts = []
    position = 0
    while (start := text.find(begin, position)) >= 0:
        parts.append(text[position:start])
        end = text.find(close, start)
        if end < 0:
            return "".join(parts)
        position = end + len(close)
    return "".join([*parts, text[position:]])


# ---- merging and cutting ---------------------------------------------------------------------------------------------


def _merge_tiny(parts: list[_Part]) -> None:
    """Move each part that is too short into its parent, from the deepest up; a tiny root goes to the first part below."""
    root = parts[0]
    for part in sorted(parts[1:], key=lambda part: -part.level):
        if part.blocks and part.is_tiny() and part.parent:
            part.parent.blocks += _blocks_with_heading(part)
            part.blocks = []
    first = next((part for part in parts[1:] if part.blocks), None)
    if first and root.is_tiny():
        first.blocks += root.blocks
        root.blocks = []


def _blocks_with_heading(part: _Part) -> list[_Block]:
    if not part.heading:
        return part.blocks
    first, *others = part.blocks
    return [_Block(part.line, f"{part.heading}\n{first.text}"), *others]


def _cut_part(part: _Part) -> Iterator[Section]:
    path = part.path()
    head = " > ".join(path)
    room = max(MAX_SECTION - len(head) - 2, _MIN_BODY)
    texts: list[str] = []
    size = 0
    line = part.line
    for block in part.blocks:
        for piece in _cut_block(block, room):
            if texts and size + len(piece.text) + 2 > room:
                yield Section(path, "\n\n".join([head, *texts]), line)
                texts, size, line = [], 0, piece.line
            texts.append(piece.text)
            size += len(piece.text) + 2
    if texts:
        yield Section(path, "\n\n".join([head, *texts]), line)


def _cut_block(block: _Block, room: int) -> Iterator[_Block]:
    """Yield the pieces of a block, each cut as late as possible at an empty line, a line end or a space, else anywhere."""
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
