"""Import many memories in chunks, so that no other process waits. An invalid line stops only itself."""

from __future__ import annotations

from itertools import islice

from subcog_hooks.capture import import_files
from subcog_hooks.capture.compose import sum_removed
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport, is_untouched, plan_changes
from subcog_hooks.capture.import_files import HIDDEN_STATUSES
from subcog_hooks.core.errors import UsageError
from subcog_hooks.store.memory import PENDING, SECTION_PREFIX, USER, Memory
from subcog_hooks.store.store import Filter, Store, audience_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.capture import jsonl

CHUNK_ROWS = 1_000  # memories of one transaction, which holds the write lock for 50 ms
MAX_CHUNK_ATTEMPTS = 3  # attempts at a chunk, in case another process writes meanwhile


def import_path(path: str, store: Store | None, options: ImportOptions, progress: Callable[[int], None]) -> ImportReport:
    """Import a JSONL file, a Markdown file or a folder of Markdown.

    path: checked by `import_files.check_source`; store: None for `--dry-run` without a store; progress: called with the number
    of rows of each chunk. Raises UsageError if the path cannot be read, and StoreError if the store cannot be written.
    Committed chunks stay.
    """
    report = ImportReport()
    rows = import_files.read_rows(path, options, report)
    imported: set[str] = set()
    while chunk := list(islice(rows, CHUNK_ROWS)):
        _write_chunk(chunk, store, options, report)
        for _, row in chunk:
            if row.is_section:
                imported.add(row.memory.id)
        progress(len(chunk))
    if store and report.files:
        _archive_missing_sections(store, imported, report.files, options, report)
    return report


def import_reading(
    rows: Sequence[tuple[str, jsonl.Row]],
    has_lost: Callable[[str], bool],
    files: AbstractSet[str],
    store: Store | None,
    options: ImportOptions,
    progress: Callable[[int], None],
) -> ImportReport:
    """Import the rows of a source, as `import_path` does.

    has_lost: tells by the origin of a stored memory whether the source has lost it, so that it is archived. files: the Markdown
    files that were read as by `import_path`; sections that left them are archived. Raises StoreError.
    """
    report = ImportReport()
    present_ids = {row.memory.id for _, row in rows}
    for start in range(0, len(rows), CHUNK_ROWS):
        chunk = list(rows[start : start + CHUNK_ROWS])
        _write_chunk(chunk, store, options, report)
        progress(len(chunk))
    if store and files:
        _archive_missing_sections(store, present_ids, files, options, report)
    if store:
        _archive_untouched(
            [
                memory
                for memory in store.all(("active", PENDING))
                if memory.id.startswith(SECTION_PREFIX) and memory.id not in present_ids and has_lost(memory.source)
            ],
            store,
            options,
            report,
        )
    return report


def _archive_untouched(memories: Sequence[Memory], store: Store, options: ImportOptions, report: ImportReport) -> None:
    untouched = [memory for memory in memories if is_untouched(memory) and not (options.keeps_users and memory.trust == USER)]
    report.archived += len(untouched)
    if untouched and not options.dry_run:
        store.update([memory.with_changes(status="archived") for memory in untouched])


def _archive_missing_sections(
    store: Store, imported: AbstractSet[str], files: AbstractSet[str], options: ImportOptions, report: ImportReport
) -> None:
    """Archive the sections that left these files since an earlier import.

    A project that got a remote has another name, but not its sections twice. Sections that the user edited or brought back
    stay: an edit moves `updated_at`.
    """
    names = options.names or ((options.project,) if options.project else ())
    audiences = tuple(audience_of("project", name) for name in names) or ("user",)
    gone = [
        memory
        for memory in store.select(Filter(audiences=audiences, statuses=("active",)))
        if memory.id.startswith(SECTION_PREFIX) and memory.id not in imported and _section_file(memory) in files
    ]
    _archive_untouched(gone, store, options, report)


def _write_chunk(chunk: list[tuple[str, jsonl.Row]], store: Store | None, options: ImportOptions, report: ImportReport) -> None:
    """Write one chunk. If another process imports the same rows meanwhile, compare them once more."""
    for attempt in range(MAX_CHUNK_ATTEMPTS):
        changes = plan_changes(chunk, store, options)
        try:
            if store and not options.dry_run:
                store.add(changes.new.values())
                store.update(changes.changed.values())
        except UsageError:
            if attempt == MAX_CHUNK_ATTEMPTS - 1:
                raise
            continue
        break
    report.added += len(changes.new)
    report.set_aside += sum(memory.status in HIDDEN_STATUSES.values() for memory in changes.new.values())
    for memory in (*changes.new.values(), *changes.changed.values()):
        if memory.status in HIDDEN_STATUSES.values() and memory.id.startswith(SECTION_PREFIX):
            report.hidden[_section_file(memory)] = (memory.content.partition("\n")[0].partition(" > ")[0], memory.status)
    report.owners.update(memory.project or memory.scope for memory in changes.new.values())
    report.replaced += len(changes.changed)
    report.skipped += changes.skipped
    report.problems += changes.problems
    report.removed = sum_removed([report.removed, *changes.removed])
    report.unknown |= changes.unknown
    report.withheld += changes.withheld


def _section_file(section: Memory) -> str:
    return section.source.rpartition(":")[0]
