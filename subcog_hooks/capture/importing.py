"""Importing many memories: in chunks, so that no other process waits; a line that does not hold stops only itself."""

import os
from itertools import islice

from subcog_hooks.capture import jsonl, markdown
from subcog_hooks.capture.compose import Removed, cleaned, total
from subcog_hooks.errors import InvalidMemory, UsageError
from subcog_hooks.memory.model import IdMaker, Memory, hash_content, now_ms
from subcog_hooks.memory.store import Store, audience_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK = 1_000  # memories in one transaction: some 50 ms of the write lock
MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx")
SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target", ".tox"))


class Problem:
    """Something in the source that was not taken, with its place."""

    __slots__ = ("message", "place")

    def __init__(self, place: str, message: str) -> None:
        self.place = place
        self.message = message


class Report:
    """What an import did."""

    __slots__ = ("added", "problems", "removed", "replaced", "skipped", "unknown")

    def __init__(self) -> None:
        self.added = 0
        self.replaced = 0
        self.skipped = 0
        self.problems: list[Problem] = []
        self.removed: Removed = ()
        self.unknown: set[str] = set()


class Options:
    """How to import. project: for rows of a folder of Markdown; trusted: `--trust user`; replace, dry_run: as named."""

    __slots__ = ("dry_run", "project", "replace", "trusted")

    def __init__(
        self, *, project: str | None = None, trusted: bool = False, replace: bool = False, dry_run: bool = False
    ) -> None:
        self.project = project
        self.trusted = trusted
        self.replace = replace
        self.dry_run = dry_run


def run(path: str, store: Store | None, options: Options, progress: "Callable[[int], None]") -> Report:
    """Import a JSONL file, a Markdown file or a folder of Markdown. `progress` is told how many rows each chunk had.

    store: None where there is none yet and nothing will be written (`--dry-run`). Raises UsageError when the path can not be
    read, StoreError when the store can not be written; what was committed before stays.
    """
    report = Report()
    rows = _rows(path, options, report)
    while chunk := list(islice(rows, CHUNK)):
        _take(chunk, store, options, report)
        progress(len(chunk))
    return report


def count_lines(path: str) -> int | None:
    """How many rows a JSONL file has, for a progress bar; None for Markdown."""
    if os.path.isdir(path) or path.endswith(MARKDOWN_SUFFIXES):
        return None
    lines = 0
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                lines += block.count(b"\n")
    except OSError:
        return None
    return lines


def _rows(path: str, options: Options, report: Report) -> "Iterator[tuple[str, jsonl.Row]]":
    """Each row with its place; problems go to the report."""
    if os.path.isdir(path):
        found = False
        for file in _markdown_files(path):
            found = True
            yield from _sections(file, os.path.relpath(file, path), options, report)
        if not found:
            raise UsageError(f"{path} holds no Markdown", "give a folder of .md files, or a .jsonl file")
    elif path.endswith(MARKDOWN_SUFFIXES):
        yield from _sections(path, os.path.basename(path), options, report)
    else:
        yield from _lines(path, options, report)


def _lines(path: str, options: Options, report: Report) -> "Iterator[tuple[str, jsonl.Row]]":
    ids, now, name = IdMaker(), now_ms(), os.path.basename(path)
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                place = f"{name} line {number}"
                try:
                    _check_utf8(line)
                    yield place, jsonl.parse(line, ids.new, now, trusted=options.trusted)
                except InvalidMemory as error:
                    report.problems.append(Problem(place, str(error)))
    except OSError as error:
        raise UsageError(f"{path} can not be read: {error.strerror}", "give a .jsonl file, a .md file or a folder") from error


def _check_utf8(line: str) -> None:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidMemory(f"not UTF-8 at character {error.start + 1}", "convert the file") from error


def _markdown_files(folder: str) -> "Iterator[str]":
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(MARKDOWN_SUFFIXES):
                yield os.path.join(parent, name)


def _sections(file: str, shown: str, options: Options, report: Report) -> "Iterator[tuple[str, jsonl.Row]]":
    """The sections of a Markdown file; each has an id that follows from its place, so that importing again adds nothing."""
    shown = shown.replace(os.sep, "/")
    try:
        with open(file, "rb") as handle:
            text = handle.read().decode("utf-8-sig")
        modified = int(os.stat(file).st_mtime * 1000)
    except (OSError, UnicodeDecodeError) as error:
        report.problems.append(Problem(shown, f"can not be read: {error}"))
        return
    title = os.path.splitext(os.path.basename(shown))[0]
    document = markdown.read(text, title=title)
    seen: dict[str, int] = {}
    for section in document.sections:
        key = "\x00".join((options.project or "", shown, *section.heading_path))
        seen[key] = seen.get(key, 0) + 1
        memory = Memory(
            id="md-" + hash_content(f"{key}\x00{seen[key]}")[:20],
            content=section.content,
            namespace=document.namespace,
            scope="project" if options.project else "user",
            project=options.project,
            tags=document.tags,
            source=f"{shown}:{section.line}",
            trust="user" if options.trusted else "file",
            created_at=document.date or modified,
            updated_at=document.date or modified,
        )
        yield f"{shown} line {section.line}", jsonl.Row(memory, True, ())


def _take(chunk: "list[tuple[str, jsonl.Row]]", store: Store | None, options: Options, report: Report) -> None:
    existing = store.by_ids([row.memory.id for _, row in chunk if row.has_id]) if store else {}
    new: dict[str, Memory] = {}
    changed: dict[str, Memory] = {}
    hashes: set[tuple[str, str]] = set()
    removed = [report.removed]
    for place, row in chunk:
        report.unknown.update(row.unknown)
        try:
            memory, gone = cleaned(row.memory)
            removed.append(gone)
            before = new.get(memory.id) or changed.get(memory.id) or existing.get(memory.id)
            if before is None:
                if not row.has_id and _is_known(memory, hashes, store):
                    report.skipped += 1
                    continue
                new[memory.id] = memory
            elif before.content_hash == memory.content_hash and (
                not options.replace or jsonl.dump(before) == jsonl.dump(memory)
            ):
                report.skipped += 1
            elif not options.replace:
                raise InvalidMemory(f"the id {memory.id} is taken by another content", "use --replace to overwrite it")
            elif memory.id in new:
                new[memory.id] = memory
            else:
                changed[memory.id] = memory
        except InvalidMemory as error:
            report.problems.append(Problem(place, str(error)))
    if store and not options.dry_run:
        store.add(new.values())
        store.update(changed.values())
    report.added += len(new)
    report.replaced += len(changed)
    report.removed = total(removed)


def _is_known(memory: Memory, hashes: set[tuple[str, str]], store: Store | None) -> bool:
    """Whether the same audience has exactly this content already. Only rows without an id are asked."""
    key = (memory.content_hash, audience_of(memory.scope, memory.project))
    if key in hashes:
        return True
    hashes.add(key)
    same = store.by_hash(memory.content_hash) if store else []
    return any(audience_of(other.scope, other.project) == key[1] for other in same)
