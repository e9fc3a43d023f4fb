"""Keeps imports up: repeats recorded imports by `subcog import --again`, and in the background where files have changed."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import replace

from subcog_hooks.capture import importing
from subcog_hooks.capture.absence import MARKDOWN_SUFFIXES, find_absence
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport
from subcog_hooks.capture.sources import decision_records, rule_files
from subcog_hooks.cli.support import context, import_from
from subcog_hooks.cli.support.output import terminal
from subcog_hooks.core import log
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import StoreError, UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.store import import_record
from subcog_hooks.store.import_record import RecordedImport
from subcog_hooks.store.project import Project, find_project, is_linked_worktree
from subcog_hooks.store.store import Store

MAX_WATCHED = 50_000  # folders and files of an import that is repeated in the background


def options_in_project(options: ImportOptions, here: Project | None) -> ImportOptions:
    """Return the options for the Markdown files of a project; None for all projects."""
    if here is None:
        return options
    entries = import_record.read_imports(context.home())
    options = replace(options, dates=import_from.file_dates(here))
    return options.in_project(here, [entry.root for entry in entries if entry.project == here.identity])


def describe_import(path: str | None, source: str | None, since: str | None, options: ImportOptions) -> RecordedImport | None:
    """Return an import for the record, with the present state of its files; None for an import that is not repeated."""
    is_repeatable = source or os.path.isdir(path or "") or (path or "").lower().endswith(MARKDOWN_SUFFIXES)
    here = context.here() if options.root or source else None
    entry = RecordedImport(
        here.identity if here else "",
        here.root if here else "",
        os.path.abspath(path) if path else "",
        source or "",
        since or "",
        options.trusted,
        options.keeps_users,
        options.waits,
    )
    return entry._replace(stamp=_compute_stamp(entry) or "") if is_repeatable else None


def record_import(entry: RecordedImport | None) -> None:
    """Record an import that has succeeded, so that it is repeated."""
    try:
        if entry:
            import_record.record_import(context.home(), entry)
    except StoreError as error:
        terminal.say(f"this import will not be repeated by itself ({error.message})")


def find_imports(here: Project | None) -> list[RecordedImport]:
    """Return the recorded imports into a project from its worktree at hand; None for all recorded imports."""
    entries = import_record.read_imports(context.home())
    return [entry for entry in entries if here is None or entry.root == here.root]


def describe_place(entry: RecordedImport) -> str:
    """Return the file, folder or program of an import for the person."""
    where = entry.path or entry.root
    return f"{entry.source}, {where}" if entry.source and where else where or entry.source


def repeat_import(entry: RecordedImport, store: Store | None, options: ImportOptions) -> ImportReport:
    """Repeat an import, with the options that it had and these ones. Raises UsageError, StoreError."""
    here = find_project(entry.root) if entry.root else None
    if entry.root and (here is None or here.root != entry.root):
        raise UsageError(f"{entry.root} is no repository any more", "its memories stay")
    own = ImportOptions(
        trusted=entry.trusted and not options.keeps_users,
        replace=options.replace,
        dry_run=options.dry_run,
        keeps_users=entry.keeps_users or options.keeps_users,
        waits=entry.waits or options.waits,
    )
    options = options_in_project(own, here)
    if entry.source:
        reading = import_from.read_source(entry.source, entry.path or None, entry.since or None, here)
        return import_from.import_source(reading, store, options)
    if store and here and not os.path.lexists(entry.path):
        return importing.import_reading(
            (), find_absence(store, entry.path, options), frozenset(), store, options, lambda _: None
        )
    importing.check_source(entry.path, here.root if here else None)
    return import_from.import_path(entry.path, store, options, here, lambda _: None)


def repeat_in_background(home: Home, pace: Pace) -> str:
    """Repeat the imports whose files have changed, and return a summary, "" for no change. Raises StoreError."""
    added = replaced = archived = 0
    for entry in import_record.read_imports(home):
        if not pace.goes_on():
            break
        stamp = _compute_stamp(entry, pace)
        if stamp is None or stamp == entry.stamp or not _may_repeat_unasked(entry):
            continue
        try:
            with context.writing() as store:
                report = repeat_import(entry, store, ImportOptions())
                import_from.finish_import(report, store)
        except UsageError as error:
            log.write_line(home, f"the import of {describe_place(entry)} was not repeated: {error.message}")
        else:
            added, replaced, archived = added + report.added, replaced + report.replaced, archived + report.archived
        import_record.record_stamp(home, entry, stamp)
    return f"{added} added, {replaced} updated, {archived} archived" if added or replaced or archived else ""


def _may_repeat_unasked(entry: RecordedImport) -> bool:
    """Return whether the background may repeat an import.

    A linked worktree can be on any branch. The person has vouched for a repository's files as they were, not as they are.
    """
    here = find_project(entry.root) if entry.root else None
    if here and is_linked_worktree(here):
        return False
    return not (entry.trusted and find_project(entry.path if os.path.isdir(entry.path) else os.path.dirname(entry.path)))


def _compute_stamp(entry: RecordedImport, pace: Pace | None = None) -> str | None:
    """Return a digest of the names, sizes and times of an import's files.

    None where they are too many, and for a program's notes outside of the repository: only the person reads those again.
    """
    digest = hashlib.sha256()
    for count, path in enumerate(_find_watched(entry)):
        if count >= MAX_WATCHED or (pace and not pace.goes_on()):
            return None
        try:
            status = os.stat(path)
        except OSError:
            continue
        size_and_time = f"{status.st_size}\0{status.st_mtime_ns}" if not os.path.isdir(path) else ""
        digest.update(f"{path}\0{size_and_time}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest() if entry.source in _WATCHED else None


def _find_watched(entry: RecordedImport) -> Iterator[str]:
    folders = [] if entry.source not in _WATCHED else [entry.path] if entry.path else _WATCHED[entry.source](entry.root)
    for folder in folders:
        yield folder
        for parent, names in importing.walk_markdown(folder):
            yield parent
            yield from (os.path.join(parent, name) for name in names)


def _record_folders(root: str) -> list[str]:
    return [os.path.join(root, name) for places in decision_records.find_record_places(root) for name in places]


def _rule_finder(name: str) -> Callable[[str], list[str]]:
    return lambda root: rule_files.find_rule_files(name, root)


# the files that are watched, by the source's name, "" for Markdown; from the root of the repository
_WATCHED: dict[str, Callable[[str], list[str]]] = {
    "": lambda _: [],
    decision_records.ADR: _record_folders,
    **{name: _rule_finder(name) for name in rule_files.SOURCES},
}
