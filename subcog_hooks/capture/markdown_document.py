"""Markdown documents as memories: a decision record is one memory, every other document one for each of its sections.

A record is known by its folder, name or headings. Its words are those of the usual templates (Nygard, MADR 2 to 4, log4brains,
adr-tools, structurizr, Y-statements), in English, French, German and Spanish, as are its dates: `2024-06-20`, `20 juin 2024`.
"""

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from subcog_hooks.capture import markdown
from subcog_hooks.capture.markdown import MAX_HEADING, Block, Part, Section
from subcog_hooks.core.files import read_words
from subcog_hooks.store.memory import BACKGROUND, DEFAULT_NAMESPACE

WORDS = read_words(__file__, "record_words.tsv")
MONTHS = {word: number for number in range(1, 13) for word in WORDS[f"month {number}"]}

_ARTICLE = re.compile(r"\b[ld]['’](?=\w)")  # `l'ADR`
_WORD = re.compile(r"[^\W_](?:[\w./:’'-]*\w)?|[.,;:()–—-]+")


def fold_words(text: str) -> list[str]:
    """Split a text into words without accents, in lower case, and its punctuation.

    >>> fold_words("Remplacée par l'ADR-7.")
    ['remplacee', 'par', 'adr-7', '.']
    """
    folded = _ARTICLE.sub("", unicodedata.normalize("NFKD", text).lower())
    return _WORD.findall("".join(letter for letter in folded if not unicodedata.combining(letter)))


MIN_YEAR, MAX_YEAR = 1990, 2100  # A year before is no date of a note: 1970 is the zero of a clock.

_ISO = re.compile(r"(?<![\d.])(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d|[-/.]\d)")
_NAME_DATE = re.compile(r"((?:19|20)\d{2})(?:([-/.])(\d{1,2})\2(\d{1,2})|(\d{2})(\d{2}))(?!\d)")
_NUMBERS = re.compile(r"(?<![\d./-])(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d|[-/.]\d)")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|\.)?")
_YEAR = re.compile(r"\d{4}")


def parse_date_ms(text: str) -> int | None:
    """Return the first date in a text, in milliseconds since the epoch, UTC without a zone; None without a date.

    `03/05/2024` has two meanings, so it is no date; `25/05/2024` and `3.5.2024` are.

    >>> [parse_date_ms(text) for text in ("{ 2024-06-20 }", "September 20, 2024", "12 March 2025", "03/05/2024")]
    [1718841600000, 1726790400000, 1741737600000, None]
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        pass
    else:
        return _moment_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    if match := _ISO.search(text):
        return _day_ms(int(match[1]), int(match[3]), int(match[4]))
    if match := _NUMBERS.search(text):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        is_day_first = match[2] == "." or first > 12
        is_ambiguous = first <= 12 and second <= 12 and first != second and match[2] != "."
        return None if is_ambiguous else _day_ms(year, *((second, first) if is_day_first else (first, second)))
    return _date_in_words(text)


def file_name_date_ms(name: str) -> int | None:
    """Return the date at the beginning of a file's name, in milliseconds since the epoch.

    >>> file_name_date_ms("20240601-carts"), file_name_date_ms("2024-06-01_carts"), file_name_date_ms("0012-carts")
    (1717200000000, 1717200000000, None)
    """
    match = _NAME_DATE.match(name)
    return _day_ms(int(match[1]), int(match[3] or match[5]), int(match[4] or match[6])) if match else None


def _date_in_words(text: str) -> int | None:
    """Return the date of a month's name with a day and a year beside it."""
    tokens = [token for token in fold_words(text) if token[0].isalnum() and token not in ("of", "de", "the", "le")]
    for position, token in enumerate(tokens):
        if month := MONTHS.get(token):
            near = tokens[max(0, position - 1) : position] + tokens[position + 1 : position + 3]
            day = next((int(match[1]) for word in near if (match := _ORDINAL.fullmatch(word))), 0)
            year = next((int(word) for word in near if _YEAR.fullmatch(word)), 0)
            if day and year:
                return _day_ms(year, month, day)
    return None


def _day_ms(year: int, month: int, day: int) -> int | None:
    try:
        return _moment_ms(datetime(year, month, day, tzinfo=UTC))
    except ValueError:
        return None


def _moment_ms(moment: datetime) -> int | None:
    return int(moment.timestamp() * 1000) if MIN_YEAR <= moment.year <= MAX_YEAR else None


MAX_KINDS = 3  # kinds of status in one text: a template, as `{proposed | rejected | accepted}`
MAX_STATUS = 300  # characters of a text that are read

ENDED_STATUSES = ("superseded", "deprecated", "rejected")

_KIND_OF_WORD = {word: kind for kind in ("accepted", "proposed", *ENDED_STATUSES) for word in WORDS[kind]}
_HIDDEN = re.compile(r"~~[^~]*~~|<!--.*?(?:-->|\Z)|<[^<>]*>", re.DOTALL)
_LINK = re.compile(r"\[\[[^\[\]]*\]\]|\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])|\[\d[^\[\]]*\]")
_REFERENCE = re.compile(r"(?:adr|mdr|rfc|decision|#)?[-_#]?\d[\w./:-]*(?:st|nd|rd|th)?|[\w./-]*\.(?:md|markdown|mdx|adoc|rst)")
_TITLE_STATUS = re.compile(r"^\s*[\[(]([^\[\]()]+)[\])]|[\[(]([^\[\]()]+)[\])]\s*$|^\s*([^\W\d_]+)\s*:")


class Status(NamedTuple):
    """A status. kind: `accepted`, `proposed` or one of ENDED_STATUSES, "" for none.

    is_certain: every word of the text is understood; rest: the text, where it says more than a kind.
    """

    kind: str
    is_certain: bool = True
    rest: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether the decision holds no longer."""
        return self.kind in ENDED_STATUSES


NO_STATUS = Status("")


def drop_references(text: str) -> str:
    """Return a text without struck-out words, comments and links, which become 0."""
    return " ".join(_LINK.sub(" 0 ", _HIDDEN.sub(" ", text)).split())


def parse_status(value: str) -> Status:
    """Return the status that a text names: by its first word, if the rest only points, dates or explains.

    A text that restricts the end of a decision names none: the decision still holds somewhere.

    >>> parse_status("❌ Rejected (see [2](0002-b.md))").kind, parse_status("~~Accepted~~ **Withdrawn** 2024-08-01").kind
    ('rejected', 'rejected')
    >>> parse_status("Superseded because the broker lost messages")
    Status(kind='superseded', is_certain=False, rest='Superseded because the broker lost messages')
    >>> parse_status("superseded by ADR-7 for the driver app; still holds for the web client").kind
    ''
    """
    text = drop_references(value)
    tokens = fold_words(text)
    while tokens and (not tokens[0][0].isalnum() or _REFERENCE.fullmatch(tokens[0])):
        del tokens[0]
    kinds = [_KIND_OF_WORD[token] for token in tokens if token in _KIND_OF_WORD]
    rest = " ".join(value.split())[:MAX_STATUS]
    if len(set(kinds)) >= MAX_KINDS:
        return NO_STATUS
    if not tokens or tokens[0] not in _KIND_OF_WORD:
        return Status("", is_certain=set(ENDED_STATUSES).isdisjoint(kinds), rest=rest)
    kind = next((kind for kind in kinds if kind in ENDED_STATUSES), kinds[0])
    if kind not in ENDED_STATUSES or (len(text) <= MAX_STATUS and is_understood(text)):
        return Status(kind)
    is_adjective = len(tokens) > 1 and tokens[1][0].isalnum() and tokens[1] not in WORDS["joins"]
    if kinds[0] not in ENDED_STATUSES or is_adjective or not WORDS["restricts"].isdisjoint(tokens):
        return Status("", is_certain=False, rest=rest)
    return Status(kinds[0], is_certain=False, rest=rest)


def is_understood(text: str) -> bool:
    """Return whether each word of a text is a status, a date, a reference, or joins these.

    >>> is_understood("Accepted on 5 May 2024 ([PR 12](../pull/12))"), is_understood("The queue is PostgreSQL.")
    (True, False)
    """
    tokens = [token for token in fold_words(drop_references(text)) if token[0].isalnum()]
    plain = _KIND_OF_WORD.keys() | WORDS["filler"] | MONTHS.keys()
    return all(token in plain or _REFERENCE.fullmatch(token) for token in tokens)


def title_status(title: str) -> Status:
    """Return the end of a decision that its title tells in brackets or before a colon, or by being struck out.

    >>> title_status("Use Kafka (deprecated)").kind, title_status("Retired: Use Kafka").kind, title_status("Use Kafka").kind
    ('deprecated', 'deprecated', '')
    """
    if title.strip().startswith("~~") and title.strip().endswith("~~"):
        return Status("superseded")
    match = _TITLE_STATUS.search(title)
    status = parse_status(next(filter(None, match.groups()), "")) if match else NO_STATUS
    return status if status.has_ended and status.is_certain else NO_STATUS


MAX_RECORD = 100_000  # characters; a longer document is cut at its headings
MAX_OTHER_HEADINGS = 12  # of a note with a decision; more make it a handbook

RECORD_FOLDERS = frozenset(
    "adr adrs .adr decisions decision-records decision-record architecture-decisions architecture-decision"
    " architecture-decision-records architecture-decision-record architectural-decisions architectural-decision-records".split()
)
_NO_RECORDS = ("readme", "index")  # names of files; a folder of that record can have one

_NUMBERED = re.compile(r"0\d{2,4}[-_.]\w|\d{4}-\d\d-\d\d|(?:19|20)\d{6}[-_]\w")
_RECORD_NAME = re.compile(r"(?:adr|mdr|decision)[-_ #]*\d", re.IGNORECASE)
_LABEL = re.compile(  # with its continuation lines
    r"^[ \t>]*(?:[-*+][ \t]+)?[*_]*([^\W\d_]+)[*_]*[ \t]*:[*_]*[ \t]*"
    r"(\S.*(?:\n(?=[ \t]*[^\s*#>|+-])(?![ \t]*[A-Z][\w ]{2,20}:).*)*)",
    re.MULTILINE,
)
_FENCES = ("```", "~~~")
_HEADING_STATUS = re.compile(r"[\W_]*[^\W\d_]+[ \t]*[:–—-]+[ \t]*(.+)")


def in_record_folder(file_name: str) -> bool:
    """Return whether a file lies in a folder that people keep decision records in.

    >>> in_record_folder("packages/web/docs/adr/20240601-carts.md"), in_record_folder("doc/arch/carts.md")
    (True, True)
    """
    folders = file_name.lower().replace("_", "-").split("/")[:-1]
    is_arch = any(pair in (("doc", "arch"), ("docs", "arch")) for pair in pairwise(folders))
    return is_arch or any(folder in RECORD_FOLDERS or folder.endswith(("-adr", "-adrs")) for folder in folders)


def is_record(file_name: str, parts: Sequence[Part]) -> bool:
    """Return whether a document is a decision record. file_name: with its folders; parts: the document at its headings."""
    folder, name = os.path.split(file_name)
    stem, above = os.path.splitext(name)[0].lower(), os.path.basename(folder).lower()
    if stem in _NO_RECORDS and (_NUMBERED.match(above) or _RECORD_NAME.match(above)):
        stem = above
    if stem in _NO_RECORDS or sum(len(block.text) for part in parts for block in part.blocks) > MAX_RECORD:
        return False
    if _RECORD_NAME.match(stem) or _RECORD_NAME.match(parts[0].heading):
        return True
    headings = {words[0] for part in parts[1:] if (words := _heading_words(part)) and words[0] in WORDS["record"]}
    decisions = [part for part in parts[1:] if _is_decision(part)]
    has_status = any(True for _ in _find_values(parts, "status"))
    is_numbered = bool(_NUMBERED.match(stem))
    if in_record_folder(file_name) or is_numbered:
        return bool(headings) or has_status or (in_record_folder(file_name) and is_numbered)
    if decisions and len(headings) >= 3:
        return True
    top = min((part.level for part in parts[1:]), default=0)
    return len(decisions) == 1 and decisions[0].level <= top + 1 and len(parts) <= MAX_OTHER_HEADINGS


def read_record(file_name: str, parts: Sequence[Part], fields: Mapping[str, str]) -> tuple[str, Status, int | None]:
    """Return a record's content, its status, and its date in milliseconds since the epoch, None where nobody wrote one.

    The content is title, status and decision, and the rest of its text behind BACKGROUND. fields: its front matter.
    """
    title = parts[0].heading
    status_texts = list(_find_values(parts, "status"))
    statuses = [parse_status(fields.get("status", "")), title_status(title)]
    lines_alone = [parse_status(block.text) for block in _head_blocks(parts)]  # as `**Withdrawn** 2024-08-01`
    statuses += [status for status in lines_alone if status.has_ended and status.is_certain]
    statuses += [parse_status(text) for text in status_texts] if len(status_texts) == 1 else []
    for text in _section_texts(parts, "status"):
        lines = [parse_status(line.strip().lstrip("|>-*+ \t")) for line in text.strip().split("\n")]
        is_listed = text.lstrip().startswith("|") or all(status.kind and status.is_certain for status in lines)
        statuses += lines if is_listed else [parse_status(text)]
    given = (status for status in statuses if status.kind or status.rest)
    # Endings count before named statuses, these before other words.
    status = min(given, key=lambda status: (not status.has_ended, not status.kind), default=NO_STATUS)
    dates = [fields.get("date", ""), fields.get("created", ""), *_find_values(parts, "date"), *_section_texts(parts, "date")]
    dates += [drop_references(text) for text in (fields.get("status", ""), *status_texts, *_section_texts(parts, "status"))]
    written = (parse_date_ms(text) for text in dates if text)
    date = next((date for date in written if date is not None), None)
    return _compose(title, status, parts), status, date or file_name_date_ms(os.path.basename(file_name))


def _compose(title: str, status: Status, parts: Sequence[Part]) -> str:
    lead = [title]
    if status.rest or status.kind not in ("", "accepted"):
        lead.append(f"Status: {status.rest or status.kind}")
    decided: list[str] = []
    others: list[str] = []
    is_deciding, level = False, 0
    for part in parts:
        if (part.parent and part.level <= level) or not is_deciding:
            is_deciding, level = _is_decision(part), part.level
        if _is_about(part, "status"):
            parsed = [(block.text, parse_status(block.text)) for block in part.blocks]
            unclear = (text for text, own in parsed if not (own.kind and own.is_certain))
            others += [text for text in unclear if " ".join(text.split()) != status.rest]
        elif not _is_about(part, "date"):
            texts = [block.text for block in part.blocks]
            if part is parts[0]:
                texts = [rest for text in texts if (rest := _drop_labels(text, status))]
            elif texts and part.heading:
                has_list = texts[0].startswith((*_FENCES, "* "))
                is_prose = texts[0][:1].isalnum() or (texts[0][:1] in "\"'*_([`" and not has_list)
                texts[0] = f"{part.heading.rstrip(':')}:{' ' if is_prose else chr(10)}{texts[0]}"
            (decided if is_deciding else others).extend(texts)
    if not decided:
        return "\n\n".join([*lead, *others])
    return "\n\n".join([*lead, *decided]) + (BACKGROUND + "\n\n".join(others) if others else "")


def _drop_labels(text: str, status: Status) -> str:
    """Return a paragraph of a record's head without its status and date. Lines that say more than these stay."""

    def replacement(match: re.Match[str]) -> str:
        (word, *_) = fold_words(match[1])
        if word not in WORDS["status"] | WORDS["date"]:
            return match[0]
        lines = zip(match[0].split("\n"), match[2].split("\n"), strict=True)
        is_rest = " ".join(match[2].split()) == status.rest
        return "" if is_rest else "\n".join(line for line, value in lines if not is_understood(value))

    if text.startswith(_FENCES):
        return text
    return "\n".join(line for line in _LABEL.sub(replacement, text).split("\n") if line.strip())


def _heading_words(part: Part) -> list[str]:
    """Return the words of a heading without its number."""
    return [word for word in fold_words(part.heading) if word[0].isalpha()]


def _is_decision(part: Part) -> bool:
    words = _heading_words(part)
    is_about = bool(words) and (words[0] in WORDS["decision"] or (len(words) > 1 and words[1] in WORDS["decision"]))
    return is_about and part.level > 0 and WORDS["beside_decision"].isdisjoint(words)


def _is_about(part: Part, kind: str) -> bool:
    words = _heading_words(part)
    is_named = part.level > 0 and bool(words) and words[0] in WORDS[kind]
    return is_named and (len(words) == 1 or _HEADING_STATUS.match(part.heading) is not None)


def _head_blocks(parts: Sequence[Part]) -> Iterator[Block]:
    """Yield the blocks of a record's head: the text before its first section, and all of it where nothing has a heading."""
    for part in parts:
        if part.level <= 1:
            yield from (block for block in part.blocks if not block.text.startswith(_FENCES))


def _find_values(parts: Sequence[Part], kind: str) -> Iterator[str]:
    """Yield the values that lines and tables in a record's head give: `Status: …`, `| Date | … |`."""
    for block in _head_blocks(parts):
        pairs = [(match[1], match[2]) for match in _LABEL.finditer(block.text)]
        lines = [line.strip() for line in block.text.split("\n")]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
        is_wide = len(rows) > 2 and len(rows[0]) != 2  # with the labels in its first row
        pairs += zip(rows[0], rows[2], strict=False) if is_wide else [(row[0], row[1]) for row in rows if len(row) == 2]
        for label, value in pairs:
            words = [word for word in fold_words(label) if word[0].isalnum()]
            if len(words) == 1 and words[0] in WORDS[kind]:
                yield value


def _section_texts(parts: Sequence[Part], kind: str) -> list[str]:
    """Return the paragraphs of the only section about a status or date, with the rest of its heading's line."""
    sections = [part for part in parts if _is_about(part, kind)]
    if len(sections) != 1:
        return []
    in_heading = _HEADING_STATUS.match(sections[0].heading)
    return [*([in_heading[1]] if in_heading else []), *(block.text for block in sections[0].blocks)]


DECISIONS, CHANGELOG = "decisions", "changelog"

_CHANGELOGS = ("changelog", "changes", "history", "releases", "release-notes", "news")
_MAX_TAG = 100  # characters
_MAX_ALIASES = 20
_MIN_NAME_WORD = 3  # letters; a file's name without such a word is no title


class Document(NamedTuple):
    """A document as memories. date: of the document, in milliseconds since the epoch, None where nobody wrote one.

    aliases: other titles in its front matter; description: of the text, there. Sections of a changelog have dates of their own.
    fields: its front matter.
    """

    sections: list[Section]
    namespace: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    date: int | None
    status: Status
    description: str
    fields: Mapping[str, list[str]]


def read_document(text: str, file_name: str) -> Document:
    """Parse a document. file_name: with its folders."""
    lists, body = markdown.parse_front_matter(text, with_nested=False)
    description, described = markdown.add_description(lists, body)
    fields = {name: values[0] for name, values in lists.items() if values}
    stem = os.path.splitext(os.path.basename(file_name))[0]
    parts = markdown.split_parts(text, title=stem if _is_title(stem) else "")
    root = parts[0]
    title = fields.get("title", "") or (fields.get("name", "") if description and root.is_named_by_file else "")
    if described is not body:
        root.blocks.insert(0, Block(root.line, description))
    if title and not set(fold_words(title)) <= set(fold_words(root.heading)):
        if root.heading and not root.is_named_by_file:
            root.blocks.insert(0, Block(root.line, root.heading))  # Another heading at the top stays as text.
        root.heading = title[:MAX_HEADING]
    tags = _short_values(lists.get("tags", []))
    aliases = _short_values(lists.get("aliases", []))[:_MAX_ALIASES]
    if is_record(file_name, parts):
        root.heading = root.heading or stem
        content, status, date = read_record(file_name, parts, fields)
        sections = [] if content == root.heading else [Section((), content, 1)]
        return Document(sections, DECISIONS, tags, aliases, date, status, description, lists)
    written = (parse_date_ms(fields.get(name, "")) for name in ("date", "created"))
    date = next(filter(None, written), None) or file_name_date_ms(stem)
    namespace = CHANGELOG if stem.lower() in _CHANGELOGS else DEFAULT_NAMESPACE
    status = parse_status(fields.get("status", "")) if fields.get("status") else NO_STATUS
    return Document(markdown.cut_sections(parts), namespace, tags, aliases, date, status, description, lists)


def section_date_ms(section: Section) -> int | None:
    """Return the date in a section's nearest heading, as in a changelog: milliseconds since the epoch."""
    dates = (parse_date_ms(heading) for heading in reversed(section.heading_path))
    return next((date for date in dates if date is not None), None)


def is_decision_record(text: str, file_name: str) -> bool:
    """Return whether a document is a decision record by its folder, name or headings. file_name: with its folders."""
    return read_document(text, file_name).namespace == DECISIONS


def _short_values(values: list[str]) -> tuple[str, ...]:
    plain = (value.lstrip("#") for value in values)
    return tuple(dict.fromkeys(value for value in plain if value and len(value) <= _MAX_TAG))


def _is_title(stem: str) -> bool:
    """Return whether a file's name says something: it has a word.

    >>> _is_title("payments"), _is_title("n-20250312a")
    (True, False)
    """
    return any(len(word) >= _MIN_NAME_WORD and word.isalpha() for word in stem.replace("_", "-").replace(" ", "-").split("-"))
