"""Decision records: recognised by their folder, name or headings, and read as one memory that begins with the decision.

The words are those of the usual templates: Nygard, MADR 2 to 4, log4brains, adr-tools, structurizr, Y-statements.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from subcog_hooks.capture.markdown import Block, Part
from subcog_hooks.capture.record_status import (
    WORDS,
    Status,
    choose_status,
    drop_references,
    fold_words,
    is_understood,
    parse_status,
    title_status,
)
from subcog_hooks.capture.written_dates import file_name_date_ms, parse_date_ms
from subcog_hooks.store.memory import BACKGROUND

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
    stem = _record_stem(file_name)
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


def _record_stem(file_name: str) -> str:
    folder, name = os.path.split(file_name)
    stem = os.path.splitext(name)[0].lower()
    above = os.path.basename(folder)
    return above.lower() if stem in _NO_RECORDS and (_NUMBERED.match(above) or _RECORD_NAME.match(above)) else stem


def read_record(
    file_name: str, parts: Sequence[Part], fields: Mapping[str, str], *, is_day_first: bool | None = None
) -> tuple[str, Status, int | None]:
    """Return a record's content, its status, and its date in milliseconds since the epoch, None where nobody wrote one.

    The content is title, status and decision, and the rest of its text behind BACKGROUND. fields: its front matter;
    is_day_first: the order of `03/05/2024`, None for unknown.
    """
    title = parts[0].heading
    status_texts = list(_find_values(parts, "status"))
    statuses = [parse_status(fields.get("status", "")), title_status(title), *_preamble_ends(parts)]
    statuses += [parse_status(text) for text in status_texts] if len(status_texts) == 1 else []
    statuses += _section_statuses(parts)
    status = choose_status(statuses)
    dates = [fields.get("date", ""), fields.get("created", ""), *_find_values(parts, "date"), *_section_texts(parts, "date")]
    dates += [drop_references(text) for text in (fields.get("status", ""), *status_texts, *_section_texts(parts, "status"))]
    written = (parse_date_ms(text, is_day_first=is_day_first) for text in dates if text)
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
            others += [text for text in (block.text for block in part.blocks) if _says_more(text, status)]
        elif not _is_about(part, "date"):
            (decided if is_deciding else others).extend(_labelled_text(part, status, is_root=part is parts[0]))
    if not decided:
        return "\n\n".join([*lead, *others])
    return "\n\n".join([*lead, *decided]) + (BACKGROUND + "\n\n".join(others) if others else "")


def _says_more(text: str, status: Status) -> bool:
    """Return whether a paragraph of the section about the status says more than the status."""
    parsed = parse_status(text)
    return not (parsed.kind and parsed.is_certain) and " ".join(text.split()) != status.rest


def _labelled_text(part: Part, status: Status, *, is_root: bool) -> list[str]:
    texts = [block.text for block in part.blocks]
    if is_root:
        texts = [rest for text in texts if (rest := _drop_labels(text, status))]
    if not texts or is_root or not part.heading:
        return texts
    is_prose = texts[0][:1].isalnum() or (texts[0][:1] in "\"'*_([`" and not texts[0].startswith((*_FENCES, "* ")))
    texts[0] = f"{part.heading.rstrip(':')}:{' ' if is_prose else chr(10)}{texts[0]}"
    return texts


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
        for match in _LABEL.finditer(block.text):
            if fold_words(match[1])[0] in WORDS[kind]:
                yield match[2]
        yield from _find_table_values(block.text, kind)


def _find_table_values(text: str, kind: str) -> Iterator[str]:
    lines = [line.strip() for line in text.split("\n")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    for row in rows:
        if len(row) == 2 and _is_label(row[0], kind):
            yield row[1]
    if len(rows) > 2 and len(rows[0]) != 2:
        columns = [column for column, cell in enumerate(rows[0]) if _is_label(cell, kind)]
        yield from (rows[2][column] for column in columns if column < len(rows[2]))


def _is_label(cell: str, kind: str) -> bool:
    words = [word for word in fold_words(cell) if word[0].isalnum()]
    return len(words) == 1 and words[0] in WORDS[kind]


def _preamble_ends(parts: Sequence[Part]) -> list[Status]:
    """Return the ends that a line of its own tells, as `**Withdrawn** 2024-08-01`."""
    statuses = [parse_status(block.text) for block in _head_blocks(parts)]
    return [status for status in statuses if status.has_ended and status.is_certain]


def _section_texts(parts: Sequence[Part], kind: str) -> list[str]:
    """Return the paragraphs of the only section about a status or date, with the rest of its heading's line."""
    sections = [part for part in parts if _is_about(part, kind)]
    if len(sections) != 1:
        return []
    in_heading = _HEADING_STATUS.match(sections[0].heading)
    return [*([in_heading[1]] if in_heading else []), *(block.text for block in sections[0].blocks)]


def _section_statuses(parts: Sequence[Part]) -> list[Status]:
    statuses: list[Status] = []
    for text in _section_texts(parts, "status"):
        lines = [parse_status(line.strip().lstrip("|>-*+ \t")) for line in text.strip().split("\n")]
        if text.lstrip().startswith("|") or all(status.kind and status.is_certain for status in lines):
            statuses += lines
        else:
            statuses.append(parse_status(text))
    return statuses
