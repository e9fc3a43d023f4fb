"""`subcog import --from`: reads, previews and imports the notes of another source.

In the background it repeats recorded imports, and imports Claude Code's own notes, when one of their files has changed.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from subcog_hooks.capture import importing
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport, is_linked_worktree, may_lack_files
from subcog_hooks.capture.sections import MARKDOWN_SUFFIXES, find_absence
from subcog_hooks.capture.sources import catalogue, claude, repository
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.cli.agents import claude_code
from subcog_hooks.cli.terminal import author, context, output
from subcog_hooks.cli.terminal.output import pluralize, safe, terminal
from subcog_hooks.core import log, records
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, ConfigError, StoreError, UsageError
from subcog_hooks.core.files import WholeFile, read_regular
from subcog_hooks.core.paths import Home
from subcog_hooks.settings.defaults import NO_NOTES, WAITING_NOTES
from subcog_hooks.store import home_files
from subcog_hooks.store.home_files import RecordedImport
from subcog_hooks.store.memory import AGENT, PENDING
from subcog_hooks.store.project import Project, find_project
from subcog_hooks.store.store import Store

MAX_REASONS = 10  # for rows that were left out
MAX_REASON_LENGTH = 300  # characters; a reason can quote a file
MAX_STAMP = 256  # bytes of the stored digest of Claude Code's notes
MAX_WATCHED = 50_000  # folders and files of an import that is repeated in the background


def surroundings() -> catalogue.SourceContext:
    """Return the place in which sources are found and read: this folder's project, and this machine's."""
    return catalogue.SourceContext(claude_code.notes_folder(), context.here(), os.environ)


def import_path(path: str, store: Store | None, options: ImportOptions, progress: Callable[[int], None]) -> ImportReport:
    """Import a file or folder. Texts that Claude Code loads by itself are stored as from `claude`.

    Raises as `importing.import_path` does.
    """
    here = find_project(options.root) if options.root else None
    reading, loaded = _read_loaded_files(path, here)
    report = importing.import_path(path, store, replace(options, loaded=loaded), progress)
    unloaded = _find_unloaded(reading, path, store, options, here) if store else ImportReport()
    report.include(importing.import_reading(reading.rows, unloaded, store, options, progress))
    if loaded:
        remark = "in Claude Code's context anyway: the hook gives it to other agents, and `search` finds it"
        report.remarks.append(f"{remark} ({', '.join(sorted(map(os.path.basename, loaded)))})")
        report.remarks += _describe_left_out(reading)
    return report


def _read_loaded_files(path: str, here: Project | None) -> tuple[SourceReading, frozenset[str]]:
    """Read the texts of a Markdown file or folder that Claude Code loads by itself. Return also the real paths of its files."""
    if path == "-" or (os.path.isfile(path) and not path.lower().endswith(MARKDOWN_SUFFIXES)):
        return SourceReading(claude.CLAUDE), frozenset()
    try:
        return claude.read_loaded_files(claude_code.notes_folder(), here, path)
    except ConfigError:  # A repository says where the client's folder is.
        return SourceReading(claude.CLAUDE), frozenset()


def _find_unloaded(
    reading: SourceReading, path: str, store: Store, options: ImportOptions, here: Project | None
) -> ImportReport:
    """Return a report with the memories of texts below a path that the client had loaded."""
    if not reading.looked_in or options.lacks_files:
        return ImportReport()
    report = reading.find_absence(store, options)
    config, root = claude_code.notes_folder(), here.root if here else ""
    report.lost = [memory for memory in report.lost if claude.is_from_path(memory, path, config, root)]
    return report


def list_sources(*, as_json: bool, as_jsonl: bool) -> int:
    """Print the sources found on this machine. Return the exit code."""
    sources = catalogue.find_sources(surroundings())
    records = ({"name": name, "location": location} for name, location in sources)
    if not terminal.rows(records, as_json=as_json, as_jsonl=as_jsonl):
        for name, location in sources:
            terminal.result(f"{name:<20}{safe(location)}")
    if not sources:
        terminal.say(f"no notes of these programs were found: {', '.join(catalogue.SOURCE_NAMES)}")
        return EXIT_NOTHING_FOUND
    terminal.say("`subcog import --from NAME --dry-run` shows what would come")
    return 0


def import_source(reading: SourceReading, store: Store | None, options: ImportOptions) -> ImportReport:
    """Import the rows of a source, and archive memories that are gone from it. Raises StoreError."""
    report = reading.find_absence(store, options)
    if not (reading.rows or reading.left_out or report.lost or report.kept):
        raise UsageError(*reading.missing)
    with output.track_items("reading", len(reading.rows)) as advance:
        return importing.import_reading(reading.rows, report, store, options, advance)


def finish_import(report: ImportReport, store: Store) -> None:
    """Let index, vectors and statistics follow an import."""
    if changes := report.added + report.replaced + report.archived:
        with output.track_items("indexing", 2 * changes) as advance:
            context.update_index_and_vectors(store, advance)


def print_reading(reading: SourceReading, path: str | None, store: Store | None, *, dry_run: bool) -> None:
    """Print the content of a source, and the rows left out. path: the given path, None for the source's usual location."""
    waiting_rows = [row.memory.id for _, row in reading.rows if row.memory.status == PENDING]
    stored = store.by_ids(waiting_rows) if store and not dry_run else {}
    pending = sum(id_ not in stored or stored[id_].status == PENDING for id_ in waiting_rows)
    owners = Counter(row.memory.project or "all your projects" for _, row in reading.rows)
    if dry_run:
        terminal.say(f"from {safe(path or catalogue.SOURCES[reading.name].where(surroundings()))}")
        for kind, count in reading.kinds.most_common():
            terminal.result(f"{count:>7,}  {safe(kind)}")
        for owner, count in owners.most_common():
            terminal.say(f"for {safe(owner)}: {count}")
    print_remarks(reading.remarks)
    if pending:
        terminal.say(f"{pending} of them {'would wait' if dry_run else 'wait'} for `subcog review`, until you accept them")
    print_remarks(_describe_left_out(reading))


def _describe_left_out(reading: SourceReading) -> list[str]:
    counts = reading.left_out.most_common()
    return [f"left out {count}, {'which' if count == 1 else 'each of which'} {reason}" for reason, count in counts]


def print_remarks(remarks: Sequence[str]) -> None:
    """Print the remarks on a source, up to a number."""
    for remark in remarks[:MAX_REASONS]:
        terminal.say(safe(remark)[:MAX_REASON_LENGTH])
    if len(remarks) > MAX_REASONS:
        terminal.say(f"and {pluralize(len(remarks) - MAX_REASONS, 'more remark')}")


def options_for_path(options: ImportOptions, path: str, here: Project | None, *, for_all: bool) -> ImportOptions:
    """Return the options for a path; a repository's files are about it alone, unless a person says else. Raises UsageError."""
    holder = importing.check_source(path)
    if holder and for_all and options.keeps_users:
        raise author.needs_consent(f"--user takes {path} out of its repository")
    options = replace(options, is_repositorys=holder is not None and not (for_all or options.trusted))
    return options_in_project(options, None if for_all else holder if options.is_repositorys else here)


def options_in_project(options: ImportOptions, here: Project | None) -> ImportOptions:
    """Return the options for the Markdown files of a project; None for all projects."""
    if here is None:
        return options
    entries = home_files.read_imports(context.home())
    return replace(
        options,
        project=here.identity,
        root=here.root,
        names=here.names,
        lacks_files=may_lack_files(here),
        other_roots=tuple(entry.root for entry in entries if entry.project == here.identity and entry.root != here.root),
        first_commit_ms=surroundings()._replace(here=here).first_commit_reader(),
    )


def describe_import(path: str | None, source: str | None, options: ImportOptions) -> RecordedImport | None:
    """Return an import for the record, with the present state of its files; None for an import that is not repeated."""
    is_repeatable = source or os.path.isdir(path or "") or (path or "").lower().endswith(MARKDOWN_SUFFIXES)
    place = options.project or "", options.root or "", os.path.abspath(path) if path else "", source or ""
    entry = RecordedImport(*place, options.trusted, options.keeps_users, options.waits)
    return records.replace(entry, stamp=_compute_stamp(entry) or "") if is_repeatable else None


def record_import(entry: RecordedImport | None) -> None:
    """Record an import that has succeeded, so that it is repeated."""
    try:
        if entry:
            home_files.record_import(context.home(), entry)
    except StoreError as error:
        terminal.say(f"this import will not be repeated by itself ({error.message})")


def describe_place(entry: RecordedImport) -> str:
    """Return the file, folder or program of an import for the person."""
    where = entry.path or entry.root
    return f"{entry.source}, {where}" if entry.source and where else where or entry.source


def repeat_import(entry: RecordedImport, store: Store | None, options: ImportOptions) -> ImportReport:
    """Repeat an import, with the options that it had and these ones. Raises UsageError, StoreError."""
    here = find_project(entry.root) if entry.root else None
    if entry.root and (here is None or here.root != entry.root):
        raise UsageError(f"{entry.root} is no repository any more", "its memories stay")
    own = replace(
        options,
        trusted=entry.trusted and not options.keeps_users,
        keeps_users=entry.keeps_users or options.keeps_users,
        waits=entry.waits or options.waits,
    )
    if entry.source:
        reading = catalogue.read_source(entry.source, entry.path or None, surroundings()._replace(here=here))
        return import_source(reading, store, options_in_project(own, here))
    if store and here and not os.path.lexists(entry.path):
        options = options_in_project(own, here)
        report = find_absence(store, entry.path, options)
        report.lost += _find_unloaded(_read_loaded_files(entry.path, here)[0], entry.path, store, options, here).lost
        return importing.import_reading((), report, store, options, lambda _: None)
    options = options_for_path(own, entry.path, here, for_all=not entry.root)
    return import_path(entry.path, store, options, lambda _: None)


def repeat_in_background(home: Home, pace: Pace) -> str:
    """Repeat imports of changed files, and return a summary, "" for no change. Raises StoreError."""
    reports = []
    for entry in home_files.read_imports(home):
        if not pace.goes_on():
            break
        stamp = _compute_stamp(entry, pace)
        if stamp in (None, entry.stamp):
            continue
        here = find_project(entry.root) if entry.root else None
        if here and is_linked_worktree(here):
            continue  # It can be on any branch.
        folder = entry.path if os.path.isdir(entry.path) else os.path.dirname(entry.path)
        if (entry.trusted or not entry.root) and find_project(folder):
            continue  # The person has vouched for a repository's files as they were.
        try:
            with context.writing() as store:
                report = repeat_import(entry, store, ImportOptions())
                finish_import(report, store)
        except UsageError as error:
            log.write_line(home, f"the import of {describe_place(entry)} was not repeated: {error.message}")
        else:
            reports.append(report)
        home_files.record_stamp(home, entry, stamp)
    return _sum_up(reports)


def _compute_stamp(entry: RecordedImport, pace: Pace | None = None) -> str | None:
    """Return a digest of the names, sizes and times of an import's files.

    None where they are too many, and for a program's notes outside of the repository: only the person reads those again.
    """
    return _digest_files(_find_watched(entry), pace) if entry.source in _WATCHED else None


def _digest_files(paths: Iterable[str], pace: Pace | None = None) -> str | None:
    digest = hashlib.sha256()
    for count, path in enumerate(paths):
        if count >= MAX_WATCHED or (pace and not pace.goes_on()):
            return None
        try:
            status = os.stat(path)
        except OSError:
            continue
        size_and_time = f"{status.st_size}\0{status.st_mtime_ns}" if not os.path.isdir(path) else ""
        digest.update(f"{path}\0{size_and_time}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _find_watched(entry: RecordedImport) -> Iterator[str]:
    for folder in [entry.path] if entry.path else _WATCHED[entry.source](entry.root):
        yield folder
        for parent, names in importing.walk_markdown(folder):
            yield parent
            yield from (os.path.join(parent, name) for name in names)


# the files that are watched, by the source's name, "" for Markdown; from the root of the repository
_WATCHED: dict[str, Callable[[str], list[str]]] = {
    "": lambda _: [],
    repository.ADR: lambda root: [
        os.path.join(root, name) for places in repository.find_record_places(root) for name in places
    ],
    **{name: partial(repository.find_rule_files, name) for name in repository.SOURCES},
}


def import_notes_in_background(home: Home, pace: Pace) -> str:
    """Import changed notes of Claude Code and return a summary, "" for no change. Raises SubcogError."""
    report = import_claude_notes(home) if pace.goes_on() else None
    return _sum_up([report] if report else [])


def import_claude_notes(home: Home) -> ImportReport | None:
    """Import Claude Code's own notes, None where no file has changed since the last import. Raises SubcogError."""
    config = claude_code.notes_folder()
    stamp = _digest_files(claude.find_files(config))
    with suppress(OSError):
        if read_regular(home.claude_notes, MAX_STAMP).decode("utf-8", "replace") == stamp:
            return None
    reading = claude.read_claude_memory(config)
    setting = context.settings()[author.AGENT_SETTING]
    for _, row in reading.rows:
        row.memory.standing = None  # Nobody has reviewed it.
        if setting == WAITING_NOTES and row.memory.trust == AGENT:
            row.memory.status = PENDING
    if setting == NO_NOTES:
        reading.is_whole = False
        reading.rows = [(line, row) for line, row in reading.rows if row.memory.trust != AGENT]
    with context.writing() as store:
        options = ImportOptions()
        report = reading.find_absence(store, options)
        report = importing.import_reading(reading.rows, report, store, options, lambda _: None)
        finish_import(report, store)
    with suppress(OSError), WholeFile(home.claude_notes) as whole:  # On a full disk, the next run imports again.
        whole.file.write(stamp or "")
    return report


def _sum_up(reports: Sequence[ImportReport]) -> str:
    added, replaced = sum(report.added for report in reports), sum(report.replaced for report in reports)
    archived = sum(report.archived for report in reports)
    return f"{added} added, {replaced} updated, {archived} archived" if added or replaced or archived else ""
