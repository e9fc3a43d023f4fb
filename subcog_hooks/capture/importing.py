"""Importing many memories: in chunks, so that no other process waits; a line that does not hold stops only itself."""

from __future__ import annotations

from itertools import islice

from subcog_hooks.capture import import_files
from subcog_hooks.capture.compose import total
from subcog_hooks.capture.import_changes import Options, Report, changes_by, is_untouched
from subcog_hooks.capture.import_files import HIDING
from subcog_hooks.core.errors import UsageError
from subcog_hooks.store.memory import PENDING, SECTION_PREFIX, USER, Memory
from subcog_hooks.store.store import Filter, Store, audience_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.capture import jsonl

CHUNK = 1_000  # memories in one transaction: some 50 ms of the write lock
ATTEMPTS = 3  # of a chunk, when another process gets in between


def run(path: str, store: Store | None, options: Options, progress: Callable[[int], None]) -> Report:
    """Import a JSONL file, a Markdown file or a folder of Markdown. `progress` is told how many rows each chunk had.

    path: one that `import_files.check_source` lets through. store: None where there is none yet and nothing will be written
    (`--dry-run`). Raises UsageError when the path can not be read, StoreError when the store can not be written; what was
    committed before stays.
    """
    report = Report()
    rows = import_files.rows_of(path, options, report)
    imported: set[str] = set()
    while chunk := list(islice(rows, CHUNK)):
        _take(chunk, store, options, report)
        for _, row in chunk:
            if row.is_section:
                imported.add(row.memory.id)
        progress(len(chunk))
    if store and report.files:
        _archive_what_is_gone(store, imported, report.files, options, report)
    return report


def run_reading(
    rows: Sequence[tuple[str, jsonl.Row]],
    has_lost: Callable[[str], bool],
    files: AbstractSet[str],
    store: Store | None,
    options: Options,
    progress: Callable[[int], None],
) -> Report:
    """Import what a source held, as `run` does.

    has_lost: tells by a memory's origin whether it would be among the rows if it were still there: those that an earlier import
    took are archived. files: the Markdown files that were read as `run` reads them:
    sections that are no longer in them are archived. Raises StoreError.
    """
    report = Report()
    there = {row.memory.id for _, row in rows}
    for start in range(0, len(rows), CHUNK):
        chunk = list(rows[start : start + CHUNK])
        _take(chunk, store, options, report)
        progress(len(chunk))
    if store and files:
        _archive_what_is_gone(store, there, files, options, report)
    if store:
        _archive(
            [
                memory
                for memory in store.all(("active", PENDING))
                if memory.id.startswith(SECTION_PREFIX) and memory.id not in there and has_lost(memory.source)
            ],
            store,
            options,
            report,
        )
    return report


def _archive(gone: Sequence[Memory], store: Store, options: Options, report: Report) -> None:
    """Archive what is no longer where it was taken from, and that nobody has changed here."""
    kept = [one for one in gone if is_untouched(one) and not (options.keeps_users and one.trust == USER)]
    report.archived += len(kept)
    if kept and not options.dry_run:
        store.update([memory.with_changes(status="archived") for memory in kept])


def _archive_what_is_gone(
    store: Store, imported: AbstractSet[str], files: AbstractSet[str], options: Options, report: Report
) -> None:
    """Archive the sections that an earlier import took from these files and that are in them no longer.

    That a project has got a remote, and so another name, is no reason to have its sections twice. What the user has edited
    stays, and an archived one that the user brings back stays too: an edit moves `updated_at`.
    """
    names = options.names or ((options.project,) if options.project else ())
    audiences = tuple(audience_of("project", name) for name in names) or ("user",)
    gone = [
        memory
        for memory in store.select(Filter(audiences=audiences, statuses=("active",)))
        if memory.id.startswith(SECTION_PREFIX) and memory.id not in imported and _file_of(memory) in files
    ]
    _archive(gone, store, options, report)


def _take(chunk: list[tuple[str, jsonl.Row]], store: Store | None, options: Options, report: Report) -> None:
    """Write one chunk. Another process may import the same rows: then they are looked at once more."""
    for attempt in range(ATTEMPTS):
        found = changes_by(chunk, store, options)
        try:
            if store and not options.dry_run:
                store.add(found.new.values())
                store.update(found.changed.values())
        except UsageError:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        break
    report.added += len(found.new)
    report.set_aside += sum(memory.status in HIDING.values() for memory in found.new.values())
    for memory in (*found.new.values(), *found.changed.values()):
        if memory.status in HIDING.values() and memory.id.startswith(SECTION_PREFIX):
            report.hidden[_file_of(memory)] = (memory.content.partition("\n")[0].partition(" > ")[0], memory.status)
    report.owners.update(memory.project or memory.scope for memory in found.new.values())
    report.replaced += len(found.changed)
    report.skipped += found.skipped
    report.problems += found.problems
    report.removed = total([report.removed, *found.removed])
    report.unknown |= found.unknown
    report.withheld += found.withheld


def _file_of(section: Memory) -> str:
    return section.source.rpartition(":")[0]
