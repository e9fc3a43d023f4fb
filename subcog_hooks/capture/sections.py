"""The sections of imported documents: ids across imports, and sections that are gone."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import count, groupby, islice

from subcog_hooks.capture.import_changes import ImportOptions, ImportReport, section_file, stays_away
from subcog_hooks.capture.jsonl import Row, clean_content
from subcog_hooks.store.memory import PENDING, SECTION_PREFIX, Memory, hash_content
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of

RULE_SUFFIX = ".mdc"  # of Cursor's rules: Markdown with globs in its front matter
MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx", RULE_SUFFIX)
LIVE = ("active", PENDING)

MAX_COMPARED = 100  # sections of a heading that are compared by their words
MIN_LINE = 40  # characters of a line that shows that two pieces have a text in common
MAX_GAP = 4  # numbers in a row without a memory; a section is in none while another memory says the same


def _look_for(path: str, base: str, list_names: Callable[[str], frozenset[str] | None]) -> tuple[bool, str]:
    """Return whether a path below the folder `base` is gone, and the empty folder that cannot tell, "" for none."""
    folder, name = os.path.split(path)
    while (names := list_names(folder)) is None:
        if len(folder) <= len(base):
            return False, folder
        folder, name = os.path.split(folder)
    return bool(names) and name not in names, "" if names else folder


def _list_names(folder: str) -> frozenset[str] | None:
    """Return the names in a folder; None if it is not there."""
    try:
        return frozenset(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return frozenset()


def find_sections(store: Store, options: ImportOptions, statuses: tuple[str, ...]) -> list[Memory]:
    """Return the imported sections of the project, under all its names; of the user without a project."""
    names = options.names or ((options.project,) if options.project else ())
    audiences = tuple(audience_of("project", name) for name in names) or ("user",)
    memories = store.select(Filter(audiences=audiences, statuses=statuses))
    return [memory for memory in memories if memory.id.startswith(SECTION_PREFIX)]


def find_absence(
    store: Store, path: str, options: ImportOptions, is_wanted: Callable[[Memory], bool] = lambda _: True
) -> ImportReport:
    """Return a report with the sections of deleted Markdown files: lost, or kept as the folder cannot tell.

    path: the imported file or folder; is_wanted: leaves sections out. A file of the project is looked for from its root, any
    other from the imported folder. No file is gone that another worktree or clone still has.
    """
    imported, report, list_names = os.path.realpath(path), ImportReport(), cache(_list_names)
    folder = imported if os.path.isdir(imported) else os.path.dirname(imported)
    root = "" if options.lacks_files else options.root or ""
    for section in filter(is_wanted, find_sections(store, options, LIVE)):
        name = section_file(section)
        base = folder if os.path.isabs(name) else root
        file = os.path.normpath(os.path.join(base, name))
        is_markdown = name.lower().endswith(MARKDOWN_SUFFIXES) and ":" not in name[2:]  # Locations of programs' notes have one.
        is_inside = file.startswith(os.path.join(base, "")) and os.path.join(file, "").startswith(os.path.join(imported, ""))
        if not (base and is_markdown and is_inside):
            continue
        if any(os.path.lexists(os.path.join(other, name)) for other in options.other_roots):
            continue
        is_gone, unlisted = _look_for(file, base, list_names)
        if is_gone:
            report.lost.append(section)
        elif unlisted:
            report.kept[unlisted] += 1
    return report


def document_of(section: Memory) -> str:
    """Return the name of a section's document."""
    return section_file(section).partition("#")[0]  # a program's long note has a location for each of its sections


def section_id(group: str, number: int) -> str:
    """Return the id of a section. group: of the sections with its heading; number: from 1."""
    return SECTION_PREFIX + hash_content(f"{group}{number}")[:12]


def keep_section_ids(rows: Iterable[tuple[str, Row]], store: Store, *, may_return: bool) -> Iterator[tuple[str, Row]]:
    """Yield the rows, sections of one heading with the ids of their stored texts. may_return: forgotten lines come back."""
    for document, entries in groupby(rows, key=lambda entry: document_of(entry[1].memory) if entry[1].group else None):
        if document is None:
            yield from entries
            continue
        sections = list(entries)
        groups: dict[str, list[Row]] = defaultdict(list)
        for _, row in sections:
            groups[row.group].append(row)
        for group, members in groups.items():
            _keep_numbers(group, members, _find_stored(group, len(members), store), may_return=may_return)
        yield from sections


def _find_stored(group: str, min_count: int, store: Store) -> dict[int, Memory | None]:
    """Return the stored sections of a group by number, None for purged ones. min_count: of numbers that are looked up."""
    found: dict[int, Memory | None] = {}
    numbers = count(1)
    size = min_count + MAX_GAP
    while size:
        ids = {section_id(group, number): number for number in islice(numbers, size)}
        stored = store.by_ids(list(ids))
        latest = {ids[id_]: stored.get(id_) for id_ in (*store.purged_sections(list(ids)), *stored)}
        found |= latest
        size = MAX_GAP if latest and max(latest) > max(ids.values()) - MAX_GAP else 0
    return found


def _keep_numbers(group: str, rows: list[Row], stored: dict[int, Memory | None], *, may_return: bool) -> None:
    """Give each row the number of the stored section with its text, else of the likest one, else of its place."""
    if len(rows) == 1 and stored.keys() <= {1}:
        return
    texts = dict(enumerate(clean_content(row.memory.content) for row in rows))
    sections = {number: memory for number, memory in stored.items() if memory}
    numbers: dict[int, int] = {}
    _pair_equal(texts, sections, numbers)
    live = {number: memory for number, memory in sections.items() if not stays_away(memory) or number in numbers.values()}
    if len(live) < len(sections):
        mixed = _mixed_pieces({index: text for index, text in texts.items() if index not in numbers}, sections, live)
        for index, text in () if may_return else mixed.items():
            rows[index].memory = rows[index].memory.with_changes(content=text)
        _pair_equal(mixed, live, numbers)
        _pair_alike(mixed, live, numbers)
        texts = {index: text for index, text in texts.items() if index not in mixed}
    _pair_alike(texts, sections, numbers)
    _number_by_place(numbers, len(rows), stored)
    for index, row in enumerate(rows):
        row.memory.id = section_id(group, numbers[index])
        row.memory.source = row.memory.source.replace(f"{group}{index + 1}:", f"{group}{numbers[index]}:")


def _mixed_pieces(texts: dict[int, str], sections: dict[int, Memory], live: dict[int, Memory]) -> dict[int, str]:
    """Return the texts with lines of live sections, without the lines of forgotten ones, by their keys.

    A new paragraph shifts the cuts of a long text, so that a piece can have a part of both.
    """
    live_lines = {line for memory in live.values() for line in _lines_of(memory.content)}
    lost_lines = {line for number in sections.keys() - live.keys() for line in _lines_of(sections[number].content)} - live_lines
    mixed: dict[int, str] = {}
    for index, text in texts.items():
        lines = _lines_of(text)
        if any(line in live_lines and len(line) >= MIN_LINE for line in lines):
            head, kept = text.partition("\n\n")[0], [line for line in lines if line not in lost_lines]
            mixed[index] = re.sub(r"\n{3,}", "\n\n", "\n".join([head, "", *kept])).strip()
    return mixed


def _lines_of(content: str) -> list[str]:
    """Return the lines below the heading."""
    return (content.partition("\n\n")[2] or content).split("\n")


def _pair_equal(texts: dict[int, str], stored: dict[int, Memory], numbers: dict[int, int]) -> None:
    """Add the numbers of the stored sections with these texts, by the texts' keys."""
    by_hash: dict[str, list[int]] = defaultdict(list)
    used = set(numbers.values())
    for number, memory in sorted(stored.items(), key=lambda entry: (stays_away(entry[1]), entry[0])):
        if number not in used:
            by_hash[memory.content_hash].append(number)
    for index, text in texts.items():
        if index not in numbers and (same := by_hash[hash_content(text)]):
            numbers[index] = same.pop(0)


def _number_by_place(numbers: dict[int, int], row_count: int, stored: dict[int, Memory | None]) -> None:
    """Add the numbers of all other rows: beside the next row's or the row before, where no memory has it, else new ones.

    The number of a forgotten text is not for another one. A purged text is unknown, so its place decides.
    """
    used = {*numbers.values(), *(number for number, memory in stored.items() if memory and stays_away(memory))}
    for index in reversed(range(row_count)):
        number = numbers.get(index + 1, 0) - 1
        if index not in numbers and number in stored and number not in used:
            numbers[index] = number
            used.add(number)
    fresh = (number for number in count(1) if number not in stored and number not in used)
    for index in range(row_count):
        if index not in numbers:
            number = numbers.get(index - 1, 0) + 1
            numbers[index] = next(fresh) if number in used else number
            used.add(numbers[index])


def _pair_alike(texts: dict[int, str], stored: dict[int, Memory], numbers: dict[int, int]) -> None:
    """Add the numbers of the stored sections that share half of their words with these texts, the likest first."""
    others = {index: frozenset(" ".join(_lines_of(text)).split()) for index, text in texts.items() if index not in numbers}
    used = set(numbers.values())
    left = {number: memory for number, memory in stored.items() if number not in used}
    likeness: dict[tuple[int, int], float] = {}
    for number, memory in islice(left.items(), MAX_COMPARED):
        words = frozenset(" ".join(_lines_of(memory.content)).split())
        for index, other in islice(others.items(), MAX_COMPARED):
            likeness[index, number] = len(words & other) / len(words | other)
    for index, number in sorted(likeness, key=likeness.__getitem__, reverse=True):
        if likeness[index, number] >= 1 / 2 and index not in numbers and number not in used:
            numbers[index] = number
            used.add(number)
