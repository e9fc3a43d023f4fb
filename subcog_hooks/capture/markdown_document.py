"""Markdown documents as memories: a decision record is one memory, every other document one for each of its sections."""

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from subcog_hooks.capture import markdown
from subcog_hooks.capture.decision_record import is_record, read_record
from subcog_hooks.capture.markdown import MAX_HEADING, Block, Part, Section
from subcog_hooks.capture.record_status import NO_STATUS, Status, fold_words, parse_status
from subcog_hooks.capture.written_dates import file_name_date_ms, find_day_order, parse_date_ms
from subcog_hooks.store.memory import DEFAULT_NAMESPACE, REJECTED, UNDATED

DECISIONS, CHANGELOG = "decisions", "changelog"

_CHANGELOGS = ("changelog", "changes", "history", "releases", "release-notes", "news")
_MAX_TAG = 100  # characters
_MAX_ALIASES = 20
_MIN_NAME_WORD = 3  # letters; a file's name without such a word is no title


class FileDates(NamedTuple):
    """The dates that a document does not tell itself.

    is_day_first: the order of `03/05/2024`, None for unknown; first_commit_ms: returns the time of a file's first commit by its
    name from the repository's root, in milliseconds since the epoch, UNDATED for none.
    """

    is_day_first: bool | None = None
    first_commit_ms: Callable[[str], int] = lambda _: UNDATED

    def with_order_of(self, texts: Iterable[str]) -> "FileDates":
        """Return these dates with the order that the texts of a folder tell."""
        return self._replace(is_day_first=find_day_order(texts))


class Document(NamedTuple):
    """A document as memories. date: of the document, in milliseconds since the epoch, None where nobody wrote one.

    aliases: other titles in its front matter. Sections of a changelog have dates of their own.
    """

    sections: list[Section]
    namespace: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    date: int | None
    status: Status


def read_document(text: str, file_name: str, *, is_day_first: bool | None = None) -> Document:
    """Parse a document. file_name: with its folders; is_day_first: the order of `03/05/2024`, None for unknown."""
    lists, _ = markdown.parse_front_matter(text, with_nested=False)
    fields = {name: values[0] for name, values in lists.items() if values}
    stem = os.path.splitext(os.path.basename(file_name))[0]
    parts = markdown.split_parts(text, title=stem if _is_title(stem) else "")
    _put_title(fields.get("title", ""), parts)
    tags = _short_values(lists.get("tags", []), _MAX_TAG)
    aliases = _short_values(lists.get("aliases", []), _MAX_TAG)[:_MAX_ALIASES]
    if is_record(file_name, parts):
        if not parts[0].heading:
            parts[0].heading = stem
        content, status, date = read_record(file_name, parts, fields, is_day_first=is_day_first)
        sections = [] if content == parts[0].heading else [Section((), content, 1)]
        namespace = REJECTED if status.kind == "rejected" else DECISIONS
        return Document(sections, namespace, tags, aliases, date, status)
    written = (parse_date_ms(fields.get(name, ""), is_day_first=is_day_first) for name in ("date", "created"))
    date = next(filter(None, written), None) or file_name_date_ms(stem)
    namespace = CHANGELOG if stem.lower() in _CHANGELOGS else DEFAULT_NAMESPACE
    status = parse_status(fields.get("status", "")) if fields.get("status") else NO_STATUS
    return Document(markdown.cut_sections(parts), namespace, tags, aliases, date, status)


def _put_title(title: str, parts: list[Part]) -> None:
    """Make the title of the front matter the first heading. Another heading at the top stays as text."""
    root = parts[0]
    if title and not set(fold_words(title)) <= set(fold_words(root.heading)):
        if root.heading and not root.is_named_by_file:
            root.blocks.insert(0, Block(root.line, root.heading))
        root.heading = title[:MAX_HEADING]


def section_date_ms(section: Section) -> int | None:
    """Return the date in a section's nearest heading, as in a changelog: milliseconds since the epoch."""
    dates = (parse_date_ms(heading) for heading in reversed(section.heading_path))
    return next((date for date in dates if date is not None), None)


def is_decision_record(text: str, file_name: str) -> bool:
    """Return whether a document is a decision record by its folder, name or headings. file_name: with its folders."""
    return read_document(text, file_name).namespace in (DECISIONS, REJECTED)


def _short_values(values: list[str], max_length: int) -> tuple[str, ...]:
    plain = (value.lstrip("#") for value in values)
    return tuple(dict.fromkeys(value for value in plain if value and len(value) <= max_length))


def _is_title(stem: str) -> bool:
    """Return whether a file's name says something: it has a word.

    >>> _is_title("payments"), _is_title("n-20250312a")
    (True, False)
    """
    return any(len(word) >= _MIN_NAME_WORD and word.isalpha() for word in stem.replace("_", "-").replace(" ", "-").split("-"))
