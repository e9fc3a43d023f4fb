"""Imported sections of deleted and renamed files: they are archived, or follow their text into the other file."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from subcog_hooks.capture.compose import clean_content
from subcog_hooks.capture.import_changes import ImportOptions
from subcog_hooks.capture.jsonl import Row
from subcog_hooks.store.memory import PENDING, SECTION_PREFIX, Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of

MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx")
LIVE = ("active", PENDING)


@dataclass(slots=True)
class Absence:
    """Sections of earlier imports that are gone.

    lost: live ones that the imported part has no more; others: all others, which may still be found under another name. kept:
    the numbers of memories by folder that stay, because the folder is empty or cannot be listed: its disk could be missing.
    """

    lost: list[Memory] = field(default_factory=list)
    others: list[Memory] = field(default_factory=list)
    kept: Counter[str] = field(default_factory=Counter)

    def add(self, section: Memory, *, is_inside: bool) -> None:
        (self.lost if is_inside and section.status in LIVE else self.others).append(section)


class _Folders:
    """The names in folders, each listed once."""

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str] | None] = {}  # None: the folder is not there

    def look_for(self, path: str, base: str) -> tuple[bool, str]:
        """Return whether a path below a folder, `base`, is gone; and the folder that cannot tell, "" for none.

        An empty folder cannot tell, as its disk could be missing. A name counts as it is listed, on every file system.
        """
        folder, name = os.path.split(path)
        while (names := self._list(folder)) is None:
            if len(folder) <= len(base):
                return False, folder
            folder, name = os.path.split(folder)
        return bool(names) and name not in names, "" if names else folder

    def _list(self, folder: str) -> frozenset[str] | None:
        if folder not in self._names:
            try:
                self._names[folder] = frozenset(os.listdir(folder))
            except (FileNotFoundError, NotADirectoryError):
                self._names[folder] = None
            except OSError:
                self._names[folder] = frozenset()
        return self._names[folder]


def find_sections(store: Store, options: ImportOptions, statuses: tuple[str, ...] = ()) -> list[Memory]:
    """Return the imported sections of the project, under all its names; of the user without a project. statuses: () for all."""
    names = options.names or ((options.project,) if options.project else ())
    audiences = tuple(audience_of("project", name) for name in names) or ("user",)
    memories = store.select(Filter(audiences=audiences, statuses=statuses, include_expired=not statuses))
    return [memory for memory in memories if memory.id.startswith(SECTION_PREFIX)]


def section_file(section: Memory) -> str:
    """Return the name of a section's file, as `importing.name_in_sources` writes it."""
    return section.source.rpartition(":")[0]


def find_absence(
    store: Store, path: str, options: ImportOptions, is_wanted: Callable[[Memory], bool] = lambda _: True
) -> Absence:
    """Return the sections of deleted Markdown files. path: the imported file or folder; is_wanted: leaves sections out.

    A file of the project is looked for from its root, any other from the imported folder. No file is gone that another
    worktree or clone still has.
    """
    imported, absence, folders = os.path.realpath(path), Absence(), _Folders()
    folder = imported if os.path.isdir(imported) else os.path.dirname(imported)
    root = "" if options.lacks_files else options.root or ""
    for section in filter(is_wanted, find_sections(store, options)):
        name = section_file(section)
        base = folder if os.path.isabs(name) else root
        file = os.path.normpath(os.path.join(base, name))
        if not (base and _is_markdown(name) and file.startswith(os.path.join(base, ""))):
            continue
        if any(os.path.lexists(os.path.join(other, name)) for other in options.other_roots):
            continue
        is_inside = os.path.join(file, "").startswith(os.path.join(imported, ""))
        is_gone, unlisted = folders.look_for(file, base)
        if is_gone:
            absence.add(section, is_inside=is_inside)
        elif unlisted and is_inside and section.status in LIVE:
            absence.kept[unlisted] += 1
    return absence


def _is_markdown(name: str) -> bool:
    """Return whether a name is a file's, and not a location in another program's notes: those have a colon."""
    return name.lower().endswith(MARKDOWN_SUFFIXES) and ":" not in name[2:]


def find_moves(gone: Sequence[Memory], rows: Sequence[Row], names: Sequence[str]) -> dict[str, Row]:
    """Return the new rows of sections that moved to another file, by the sections' ids.

    A file moved where the text of more than half of its sections stands in another file. Its other sections follow by their
    headings. names: all names of the current project.
    """

    def owner(memory: Memory) -> str | None:
        return names[0] if memory.project in names else memory.project

    rows_by_file: dict[str, list[Row]] = defaultdict(list)
    files_by_text: dict[tuple[str | None, str], set[str]] = defaultdict(set)
    for row in rows:
        rows_by_file[document_of(row.memory)].append(row)
        files_by_text[owner(row.memory), _body(row.memory)].add(document_of(row.memory))
    sections_by_file: dict[str, list[Memory]] = defaultdict(list)
    for section in sorted(gone, key=lambda section: section.status not in LIVE):
        sections_by_file[document_of(section)].append(section)
    moves: dict[str, Row] = {}
    for sections in sections_by_file.values():
        live = [section for section in sections if section.status in LIVE] or sections
        counts = Counter(file for section in live for file in files_by_text.get((owner(section), _body(section)), ()))
        for file, count in counts.most_common(1):
            if 2 * count > len(live):
                moves |= _pair_sections(sections, rows_by_file[file], _body, _heading)
    return moves


def find_renamed(missing: Sequence[Memory], rows: Sequence[Row]) -> dict[str, Row]:
    """Return the new rows that have the text of a section without its heading, by the ids of these sections.

    They are of the same file; a live section is looked for in other files, too.
    """
    rows_left, live = list(rows), [section for section in missing if section.status in LIVE]
    others = [section for section in missing if section.status not in LIVE]
    pairs = _pair_sections([*live, *others], rows_left, lambda section: (document_of(section), _body(section)))
    return pairs | _pair_sections([section for section in live if section.id not in pairs], rows_left, _body)


def _pair_sections(sections: list[Memory], rows: list[Row], *keys: Callable[[Memory], Hashable]) -> dict[str, Row]:
    """Return the rows of sections by the sections' ids: with an equal value of the first key, else the next. Take them away."""
    pairs: dict[str, Row] = {}
    for key in keys:
        rows_by_key = {key(row.memory): row for row in reversed(rows)}
        for section in sections:
            if section.id not in pairs and (row := rows_by_key.pop(key(section), None)):
                pairs[section.id] = row
                rows.remove(row)
    return pairs


def document_of(section: Memory) -> str:
    """Return the name of a section's document."""
    return section_file(section).partition("#")[0]  # a program's long note has a location for each of its sections


def _heading(section: Memory) -> str:
    return section.content.partition("\n\n")[0]


def _body(section: Memory) -> str:
    """Return the text below the heading, which can be the file's name, as it is stored."""
    text = clean_content(section.content)
    return text.partition("\n\n")[2] or text
