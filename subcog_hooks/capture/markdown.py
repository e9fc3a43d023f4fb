"""Markdown: front matter, headings, sections; and sections of nothing but links and names, which say nothing themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from markdown_it import MarkdownIt
    from markdown_it.token import Token


MAX_NAME_WORDS = 6  # words beside the links of a line under a heading such as References: a title, no sentence
MAX_LABEL_WORDS = 15  # words of a link's text: a longer one is a sentence

_LINK = re.compile(
    r"!?\[\[[^\[\]\n]*\]\]"  # [[note]]
    r"|!?\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]"
    r"(?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\[\]\n]*\]|:[ \t]*\S+(?:[ \t]+[\"'(].*)?$)"
    r"|<?https?://[^\s>]+>?"
    r"|(?:(?<=\s)|^)@[\w~./-]*[\w/-]"  # @AGENTS.md
    r"|(?<![\w~./-])`?[\w~./-]*\w\.(?:mdx?|mdc|markdown|adoc|rst|html)(?:#[\w-]*)?`?(?!\w)",
    re.MULTILINE,
)
_HEADING = re.compile(
    r"(?:\d+[.)]?\s+)?(?:table of contents|contents|toc|index|see also"
    r"|(?:further|additional|more) (?:reading|resources|information)"
    r"|(?:related |useful |external |quick |more )?(?:resources|(?:\w+ )?(?:links|references))(?: (?:and|&) \w+)?"
    r"|related(?: \w+){0,2}|references?|sources|bibliography|navigation)\W*",
    re.IGNORECASE,
)
_FILLER_WORDS = frozenset(
    "a about and also are at by can contents details docs documentation file files find following for found from full here in "
    "information is it its link links more of on or other out page please read see table the their these this to with".split()
)
_CONTINUED = re.compile(r"\n[ \t]+(?!(?:[-*+]|\d+[.)])[ \t])")
_WORD = re.compile(r"[^\W\d_][\w'’]*")
_MARKS = re.compile(r"^\s*(?:(?:[-*+>]|\d+[.)]|\[[ xX]\])\s+)+|[*_|]")


def is_navigation(content: str) -> bool:
    """Return whether a section has nothing but links and names. content: with its line of headings.

    >>> is_navigation("Cache > Related\\n\\n- [Warm-up](warm-up.md)\\n- [Limits](limits.md), see also [[Quota]]")
    True
    >>> is_navigation("Cache > Related\\n\\n- [Warm-up](warm-up.md): use it after each deploy, or the first hour is slow.")
    False
    >>> is_navigation("Queues\\n\\nUse [RabbitMQ](https://www.rabbitmq.com)."), is_navigation("CLAUDE\\n\\n@AGENTS.md")
    (False, True)
    """
    headings, _, text = content.partition("\n\n")
    if not text:
        headings, text = "", content
    if "```" in text or "~~~" in text or not _LINK.search(text):
        return False
    may_name = _HEADING.fullmatch(headings.rpartition(" > ")[2].strip()) is not None
    for line in _CONTINUED.sub(" ", text).splitlines():
        labels = [match[1] or "" for match in _LINK.finditer(line)]
        words = [word for word in _WORD.findall(_MARKS.sub(" ", _LINK.sub(" ", line))) if word.lower() not in _FILLER_WORDS]
        has_names = may_name and (bool(labels) or not line.endswith("."))  # such as the names of books
        is_text = len(words) > (MAX_NAME_WORDS if has_names else int(line.endswith(":")))
        if (is_text or any(len(label.split()) > MAX_LABEL_WORDS for label in labels)) and not line.startswith("#"):
            return False
    return True


_FENCED = re.compile(r"(^[ \t]*(?:```|~~~).*?(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z))", re.MULTILINE | re.DOTALL)
_COMMENT_OR_CODE = re.compile(r"\\.|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|<!(?=--).*?(?:-->|\Z)", re.DOTALL)
_OBSIDIAN_COMMENT = re.compile(  # on one line, or between two lines of nothing else
    r"(?<!\S)%%(?!%)(?:(?!%%).)+%%(?=[\s.,;:!?)]|\Z)|^[ \t]*%%[ \t]*\n(?s:.*?)\n[ \t]*%%[ \t]*$", re.MULTILINE
)

MAX_SECTION = 2_000  # characters with its heading line, the size of one injection; longer ones are cut
MIN_SECTION = 80  # characters; `Status: Accepted` alone says nothing

_MIN_BODY = 500  # characters of text in a piece under long headings
MAX_HEADING = 200  # characters; headings are repeated in every piece of their section


class Section(NamedTuple):
    """A memory: its headings from the title down, its text with a line of these, and its first line in the document."""

    heading_path: tuple[str, ...]
    content: str
    line: int


def parse_front_matter(text: str, *, with_nested: bool = True) -> tuple[dict[str, list[str]], str]:
    """Return the fields of a document's front matter, their names in lower case, and the text behind it.

    It is parsed leniently line by line. with_nested: the entries of a nested block stand beside the others.

    >>> parse_front_matter("---\\nglobs: **/*.ts\\nmetadata:\\n  type: feedback\\n---\\nNo default exports.")
    ({'globs': ['**/*.ts'], 'metadata': [], 'type': ['feedback']}, 'No default exports.')
    """
    lines = _split_lines(text)
    end = _count_front_matter(lines)
    return _parse_fields(lines[: end - 1], with_nested=with_nested) if end else {}, "\n".join(lines[end:])


def first_value(fields: Mapping[str, list[str]], name: str) -> str:
    """Return the first value of a field of front matter, "" for none."""
    return next(iter(fields.get(name, [])), "")


def add_description(fields: Mapping[str, list[str]], body: str) -> tuple[str, str]:
    """Return the description in front matter, "" for none, and the text with it below its title, unless it says so itself.

    >>> add_description({"description": ["How migrations are undone"]}, "# Steps\\n\\nEach has a reverse.")
    ('How migrations are undone', '# Steps\\n\\nHow migrations are undone\\n\\nEach has a reverse.')
    """
    description = " ".join(first_value(fields, "description").split())
    if not description or description.rstrip(".").lower() in " ".join(body.split()).lower():
        return description, body
    title, _, rest = body.lstrip("\n").partition("\n")
    if not title.startswith("# "):
        title, rest = "", body
    return description, "\n\n".join(filter(None, (title, description, rest.strip("\n"))))


def split_parts(text: str, *, title: str) -> list[Part]:
    """Split a document at its headings. title: of the text before them, unless the document has a single top heading."""
    lines = _split_lines(drop_obsidian_comments(text))
    offset = _count_front_matter(lines)
    lines = lines[offset:]
    # the inline rules take ten times as long, and only headings need them
    blocks = _parser("inline", "text_join").parse("\n".join(lines))
    tokens = [token for token in blocks if token.level == 0 and token.map and token.nesting >= 0]
    root = part = Part(title.strip()[:MAX_HEADING], 0, offset + 1, None, is_named_by_file=True)
    parts = [root]
    headings = [token for token in tokens if token.type == "heading_open"]
    tops = [token for token in headings if token.tag == "h1"]
    sole_top = tops[0] if len(tops) == 1 and tops[0] is headings[0] else None
    start = 0
    for token in tokens:
        first, last = token.map or (0, 0)
        # link definitions are no block: they stay with the text before them
        _add_block(part, lines, start, first, offset)
        start = last
        if token.type != "heading_open":
            if token.type != "hr":
                _add_block(part, lines, first, last, offset, token.type)
        elif token is sole_top:
            root.heading = _heading_text(token, lines) or root.heading
            root.is_named_by_file = False
        else:
            level = int(token.tag[1:])
            while part.level >= level and part.parent:
                part = part.parent
            part = Part(_heading_text(token, lines), level, offset + first + 1, part)
            parts.append(part)
        if token.type == "heading_open" and last - first + sum(map(len, lines[first:last])) > MAX_HEADING:
            _add_block(part, lines, first, last, offset)  # The heading is cut, or is a paragraph above `---`.
    _add_block(part, lines, start, len(lines), offset)
    return parts


def cut_sections(parts: list[Part]) -> list[Section]:
    """Return the sections of a document: long parts are cut, tiny ones go to their parents, a tiny root to the first part.

    A heading with nothing below it is text, too, unless the document has no other text.
    """
    if not any(part.blocks for part in parts):
        return []
    parents = {part.parent for part in parts}
    for part in sorted(parts[1:], key=lambda part: -part.level):
        if (part.blocks or part not in parents) and part.is_tiny() and part.parent:
            first_block = "\n".join([part.heading, *(block.text for block in part.blocks[:1])])
            part.parent.blocks += [Block(part.line, first_block), *part.blocks[1:]]
            part.blocks = []
    first = next((part for part in parts[1:] if part.blocks), None)
    if first and parts[0].is_tiny():
        first.blocks[:0] = parts[0].blocks
        parts[0].blocks = []
    sections: list[Section] = []
    for part in filter(lambda part: part.blocks, parts):
        path = part.path()
        head = " > ".join(path)
        room = max(MAX_SECTION - len(head) - 2, _MIN_BODY)
        packs: list[tuple[int, list[str]]] = []  # first lines, and texts that fit into one section
        size = 0
        for piece in (piece for block in part.blocks for piece in _cut_block(block, room)):
            if not packs or size + len(piece.text) + 2 > room:
                packs.append((piece.line if packs else part.line, []))
                size = 0
            packs[-1][1].append(piece.text)
            size += len(piece.text) + 2
        sections += [Section(path, "\n\n".join([head, *texts] if head else texts), line) for line, texts in packs]
    return [section for section in sections if not is_navigation(section.content)]


_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+(.*))?$")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.+)$")
_KEY = r"[\w$./-]+(?: [\w./-]+){0,2}|\"[^\"]*\"|'[^']*'"  # Obsidian has keys of several words
_YAML_LINE = re.compile(rf"[ \t]|#|-[ \t]|-?$|[\]}}]|(?:{_KEY})[ \t]*:")
_BRACKETED = re.compile(r"\[(.*)\][ \t]*(?:#.*)?$")
_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')"""
_QUOTED_LIST = re.compile(rf"{_QUOTED}[ \t]*,")
_LIST_MARK = re.compile(rf"(?:^|(?<=,))\s*{_QUOTED}|[{{}},]")
_MAX_FRONT_MATTER = 200  # lines


def _count_front_matter(lines: list[str]) -> int:
    """Return the number of lines of the leading YAML blocks with their `---` lines; 0 without a block."""
    count = start = 0
    while True:
        start = next((index for index, line in enumerate(lines[count:], count) if line.strip()), len(lines))
        if not (more := _count_yaml_block(lines[start:])):
            return count
        count = start + more


def _count_yaml_block(lines: list[str]) -> int:
    """Return the number of lines of a YAML block at the start. A thematic break has an empty line or prose below it."""
    if len(lines) < 2 or lines[0].rstrip() != "---" or not lines[1].strip():
        return 0
    for index, line in enumerate(lines[1:_MAX_FRONT_MATTER], 1):
        if line.rstrip() in ("---", "..."):
            return index + 1 if _parse_fields(lines[1:index]) else 0
        if not _YAML_LINE.match(line):
            return 0
    return 0


def _parse_fields(lines: list[str], *, with_nested: bool = False) -> dict[str, list[str]]:
    """Parse entries: `key: value`, lists on a line, and `- a`, or a longer text, on the lines below a key."""
    fields: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    key, depth, is_text = "", 0, False
    for line in lines:
        entry = line.lstrip()
        is_deeper = 0 < len(entry) < len(line) - depth
        if is_text and is_deeper:
            texts[key] = f"{texts.get(key, '')} {entry}".strip()
        elif key and (item := _ITEM.match(line)):
            fields[key].append(item[1])
        elif field := _FIELD.match(entry if with_nested else line):
            key, depth, value = field[1].lower(), len(line) - len(entry), (field[2] or "").strip()
            is_text = value.rstrip("+-123456789") in ("|", ">")
            fields[key] = [value] if value and not is_text else []
        elif fields.get(key) and (is_deeper or entry[:1] == "]"):
            fields[key][-1] += f" {entry.rstrip()}"
    for key, values in fields.items():
        value = values[0] if len(values) == 1 else ""
        bracketed = _BRACKETED.match(value)
        is_list = bracketed or (value and (key == "tags" or _QUOTED_LIST.match(value)))
        fields[key] = split_list(bracketed[1] if bracketed else value) if is_list else list(map(_plain_scalar, values))
    return fields | {key: [text] for key, text in texts.items()}


def split_list(value: str) -> list[str]:
    """Split a value at its commas into plain scalars; a comma inside of braces or quotes does not split.

    >>> split_list("src/**/*.{ts,tsx}, app/[slug], 'a, b'")
    ['src/**/*.{ts,tsx}', 'app/[slug]', 'a, b']
    """
    parts, depth, start = [], 0, 0
    for mark in _LIST_MARK.finditer(value):
        depth += (mark[0] == "{") - (mark[0] == "}")
        if mark[0] == "," and depth == 0:
            parts.append(value[start : mark.start()])
            start = mark.end()
    return [entry for part in (*parts, value[start:]) if (entry := _plain_scalar(part))]


def _plain_scalar(value: str) -> str:
    """Return a YAML scalar without its quotes or comment."""
    value = value.strip()
    if quoted := re.match(_QUOTED, value):
        text = quoted[0][1:-1]
        return (text.replace("''", "'") if value[0] == "'" else re.sub(r'\\(["\\])', r"\1", text)).strip()
    return value.partition(" #")[0].strip()


@cache
def _parser(*left_out: str) -> MarkdownIt:
    from markdown_it import MarkdownIt  # takes 40 ms, which a typed memory does not need

    return MarkdownIt("commonmark").disable(list(left_out))


class Block(NamedTuple):
    """A paragraph, list, table or code block. line: of the document."""

    line: int
    text: str


@dataclass(slots=True, eq=False)
class Part:
    """The text under one heading, in blocks. The root is the text before all headings.

    is_named_by_file: its heading is the file's name, as the document has no single top heading.
    """

    heading: str
    level: int
    line: int
    parent: Part | None
    blocks: list[Block] = field(default_factory=list)
    is_named_by_file: bool = False

    def path(self) -> tuple[str, ...]:
        above = self.parent.path() if self.parent else ()
        return (*above, self.heading) if self.heading else above

    def is_tiny(self) -> bool:
        return len(self.blocks) < MIN_SECTION and sum(len(block.text) for block in self.blocks) < MIN_SECTION


def _split_lines(text: str) -> list[str]:
    """Return the lines without byte order mark, and with U+FFFD for NUL, as CommonMark has it."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text.split("\n")


def _add_block(part: Part, lines: list[str], first: int, last: int, skipped: int, block_type: str = "") -> None:
    text = _drop_block_comments("\n".join(lines[first:last]), block_type)
    if text.strip():
        part.blocks.append(Block(first + skipped + 1, text.strip("\n").rstrip()))


def _heading_text(token: Token, lines: list[str]) -> str:
    first, last = token.map or (0, 0)
    if token.markup.startswith("#"):
        source = re.sub(r"(?:^|[ \t])#+$", "", lines[first].strip().lstrip("#").strip())
    else:
        source = " ".join(line.strip() for line in lines[first : last - 1])
    inline = _parser().parseInline(source[:MAX_HEADING])[0].children or []
    return " ".join("".join(child.content for child in inline if child.type != "html_inline").split())


def drop_comments(text: str) -> str:
    """Return a document without its HTML comments. Code keeps them.

    >>> drop_comments("Run `<!-- gen` <!-- not yet --> first.")
    'Run `<!-- gen`  first.'
    """
    if "<!--" not in text:
        return text
    lines = _split_lines(text)
    for token in reversed(_parser("inline", "text_join").parse("\n".join(lines))):
        if token.map and token.type in ("html_block", "inline"):
            first, last = token.map
            lines[first:last] = [_drop_block_comments("\n".join(lines[first:last]), token.type)]
    return "\n".join(lines)


def read_prose(text: str) -> str:
    """Return a document without its code."""
    tokens = _parser("inline", "text_join").parse(text)
    prose = (token.content for token in tokens if token.type in ("inline", "html_block"))
    return "\n".join(_COMMENT_OR_CODE.sub(lambda match: "" if match["ticks"] else match[0], block) for block in prose)


def _drop_block_comments(text: str, block_type: str) -> str:
    """Return a block without its comments; an unclosed comment ends an HTML block, and is text elsewhere."""
    if block_type == "html_block":
        return drop_elements(text, "<!--", "-->")
    if block_type not in ("inline", "paragraph_open"):
        return text
    return _COMMENT_OR_CODE.sub(lambda m: "" if m[0].startswith("<!") and m[0].endswith("-->") else m[0], text)


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


def drop_elements(text: str, begin: str, close: str, *, keeps_unclosed: bool = False) -> str:
    """Return `text` without its parts from `begin` to `close`; an unclosed part ends it, or stays."""
    parts = []
    position = 0
    while (start := text.find(begin, position)) >= 0:
        parts.append(text[position:start])
        end = text.find(close, start)
        if end < 0:
            return "".join([*parts, text[start:] if keeps_unclosed else ""])
        position = end + len(close)
    return "".join([*parts, text[position:]])


_TABLE_HEAD = re.compile(r"^[^\n]*\|[^\n]*\n[ \t|:]*-[ \t|:-]*\n", re.MULTILINE)
_FENCE_LINE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n", re.MULTILINE)


def _cut_block(block: Block, room: int) -> Iterator[Block]:
    """Yield the pieces of a block, cut at an empty line, line end or blank; each has the head of its table, or fences."""
    text = block.text
    start, line = 0, block.line
    head = foot = ""
    if len(text) > room and (fence := _FENCE_LINE.match(text)):
        head, foot = fence[0], f"\n{fence[1]}"
    elif len(text) > room and (table := _TABLE_HEAD.search(text, 0, room // 4)):
        head = table[0]
    if len(head) + len(foot) > room // 4:
        head = foot = ""
    room -= len(head) + len(foot)
    while len(text) - start > room:
        end = start + room
        for boundary in ("\n\n", "\n", " "):
            cut = text.rfind(boundary, start + room // 4, end)
            if cut >= 0:
                end = cut
                break
        fences = [] if foot else list(_FENCE_LINE.finditer(text, start, end))
        if len(fences) % 2 and fences[-1].start() > start + room // 4:
            end = fences[-1].start()  # Code in a list is not cut open where it fits into the next piece.
        if piece := text[start:end].strip("\n").rstrip():
            yield Block(line, f"{head if start else ''}{piece}{foot}")
        line += text.count("\n", start, end)
        start = end
    if piece := text[start:].strip("\n").rstrip():
        yield Block(line, f"{head if start else ''}{piece}")
