"""`subcog import --from`: reads, previews and imports the notes of another source."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from subcog_hooks.capture import importing
from subcog_hooks.capture.absence import MARKDOWN_SUFFIXES, Absence
from subcog_hooks.capture.duplicates import find_near_duplicates
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport
from subcog_hooks.capture.markdown_document import FileDates
from subcog_hooks.capture.sources import catalogue, claude_memory
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.cli.claude_code import claude_notes
from subcog_hooks.cli.proposals import waiting
from subcog_hooks.cli.support import context, progress
from subcog_hooks.cli.support.output import pluralize, safe, terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, ConfigError, StoreError, UsageError
from subcog_hooks.store import stops
from subcog_hooks.store.memory import FILE, PENDING, now_ms
from subcog_hooks.store.project import Project
from subcog_hooks.store.renamed_memories import rename_memories
from subcog_hooks.store.store import Store

MAX_REASONS = 10  # for rows that were left out
MAX_REASON_LENGTH = 300  # characters; a reason can quote a file
MAX_LOADED = 3  # names of files that the client loads by itself
MAX_SHOWN_NEAR = 5  # near duplicates
MAX_NEAR_CHECKS = 500  # memories compared with the store: one second


def read_source(name: str, path: str | None, since: str | None, here: Project | None) -> SourceReading:
    """Read a source, without the memories that the person's settings drop.

    since: the date of the oldest commit of a history; here: the current project. Raises UsageError, ConfigError.
    """
    reading = catalogue.read_source(name, path, _surroundings()._replace(since=since, here=here))
    if name in waiting.settled_sources(waiting.DROP_FROM):
        is_dropped = [row.memory.status == PENDING for _, row in reading.rows]
        reading.left_out[f"is a machine's note, which {waiting.DROP_FROM} leaves out"] += sum(is_dropped)
        reading.is_whole = False  # Memories imported earlier must not count as gone from the source.
        reading.rows = [row for row, dropped in zip(reading.rows, is_dropped, strict=True) if not dropped]
    elif name in waiting.settled_sources(waiting.KEEP_FROM):
        for _, row in reading.rows:
            if row.memory.status == PENDING and row.memory.trust != FILE:  # The setting does not cover files of a repository.
                row.memory.status = "active"
    return reading


def import_path(
    path: str, store: Store | None, options: ImportOptions, here: Project | None, progress: Callable[[int], None]
) -> ImportReport:
    """Import a file or folder. Texts that Claude Code loads by itself are stored as from `claude`. here: the path's project.

    Raises as `importing.import_path` does.
    """
    reading, loaded = _read_loaded_files(path, here)
    report = importing.import_path(path, store, replace(options, loaded=loaded), progress)
    importing.import_reading(reading.rows, Absence(), set(), store, options, progress, report)
    if loaded:
        names = sorted(os.path.basename(file) for file in loaded)
        more = f" and {len(names) - MAX_LOADED} more" if len(names) > MAX_LOADED else ""
        subject = f"{', '.join(names[:MAX_LOADED])}{more} {'is' if len(names) == 1 else 'are'}"
        report.remarks.append(f"{subject} in Claude Code's context anyway: `search` finds it, the hook does not repeat it")
        report.remarks += [_left_out_remark(reason, count) for reason, count in reading.left_out.most_common(MAX_REASONS)]
    return report


def _read_loaded_files(path: str, here: Project | None) -> tuple[SourceReading, frozenset[str]]:
    """Read the texts of a Markdown file or folder that Claude Code loads by itself. Return also the real paths of its files."""
    none = SourceReading(claude_memory.CLAUDE), frozenset[str]()
    if not os.path.isdir(path) and not path.lower().endswith(MARKDOWN_SUFFIXES):
        return none
    try:
        return claude_memory.read_loaded_files(claude_notes.config_folder(), here, path)
    except ConfigError:  # A repository says where the client's folder is.
        return none


def find_sources() -> list[tuple[str, str]]:
    """Return the sources found on this machine, each with its location."""
    return catalogue.find_sources(_surroundings())


def list_sources() -> int:
    """Print the sources found on this machine. Return the exit code."""
    sources = find_sources()
    for name, location in sources:
        terminal.result(f"{name:<20}{safe(location)}")
    if not sources:
        terminal.say(f"no notes of these programs were found: {', '.join(catalogue.SOURCE_NAMES)}")
        return EXIT_NOTHING_FOUND
    terminal.say("`subcog import --from NAME --dry-run` shows what would come")
    return 0


def import_source(reading: SourceReading, store: Store | None, options: ImportOptions) -> ImportReport:
    """Import the rows of a source, and archive memories that are gone from it. Raises StoreError."""
    absence = reading.find_absence(store, options) if store else Absence()
    if not (reading.rows or reading.left_out or absence.lost or absence.kept):
        raise UsageError(*reading.missing)
    with progress.track_items("reading", len(reading.rows)) as advance:
        return importing.import_reading(reading.rows, absence, reading.files, store, options, advance)


def finish_import(report: ImportReport, store: Store, progress: Callable[[int], None] | None = None) -> None:
    """Let index, vectors and statistics follow an import. progress: called as by `context.update_index_and_vectors`."""
    if count_changes(report):
        context.update_index_and_vectors(store, progress)
    if report.moved:
        stops.rename_stops(context.home(), report.moved)
        try:
            with context.existing_state(context.home()) as state:
                if state:
                    rename_memories(state, report.moved)
        except StoreError as error:
            terminal.say(
                f"the statistics of {pluralize(len(report.moved), 'moved memory', 'moved memories')} are lost ({error.message})"
            )


def count_changes(report: ImportReport) -> int:
    """Return the number of memories that an import has changed."""
    return report.added + report.replaced + report.archived + len(report.moved)


def print_location(name: str, path: str | None) -> None:
    """Print the location of a source. path: the given path, None for the usual one."""
    terminal.say(f"from {safe(path or catalogue.SOURCES[name].where(_surroundings()))}")


def print_reading(reading: SourceReading, store: Store | None, *, dry_run: bool) -> None:
    """Print the content of a source, the rows left out and, on a dry run, near duplicates in the store."""
    waiting_rows = [row.memory.id for _, row in reading.rows if row.memory.status == PENDING]
    stored = store.by_ids(waiting_rows) if store and not dry_run else {}
    pending = sum(id_ not in stored or stored[id_].status == PENDING for id_ in waiting_rows)
    owners = Counter(row.memory.project or "all your projects" for _, row in reading.rows)
    if dry_run:
        for kind, count in reading.kinds.most_common():
            terminal.result(f"{count:>7,}  {safe(kind)}")
        for owner, count in owners.most_common():
            terminal.say(f"for {safe(owner)}: {count}")
    print_remarks(reading.remarks)
    if pending:
        terminal.say(f"{pending} of them {'would wait' if dry_run else 'wait'} for `subcog review`, until you accept them")
    _print_left_out(reading)
    if dry_run and store:
        _print_near(reading, store)


def _print_left_out(reading: SourceReading) -> None:
    for reason, count in reading.left_out.most_common(MAX_REASONS):
        terminal.say(_left_out_remark(safe(reason)[:MAX_REASON_LENGTH], count))
    if len(reading.left_out) > MAX_REASONS:
        remaining = sum(count for _, count in reading.left_out.most_common()[MAX_REASONS:])
        terminal.say(f"and {remaining} more for other reasons")


def _left_out_remark(reason: str, count: int) -> str:
    return f"left out {count}, {'which' if count == 1 else 'each of which'} {reason}"


def print_remarks(remarks: Sequence[str]) -> None:
    """Print the remarks on a source, up to a number."""
    for remark in remarks[:MAX_REASONS]:
        terminal.say(safe(remark)[:MAX_REASON_LENGTH])
    if len(remarks) > MAX_REASONS:
        terminal.say(f"and {pluralize(len(remarks) - MAX_REASONS, 'more remark')}")


def _print_near(reading: SourceReading, store: Store) -> None:
    try:
        index = context.index_of(store)
        near = [
            (row.memory, duplicates[0])
            for _, row in reading.rows[:MAX_NEAR_CHECKS]
            if (duplicates := find_near_duplicates(row.memory, index, store))
        ]
    except StoreError as error:
        terminal.say(f"similar memories were not checked ({error.message})")
        return
    now = now_ms()
    near = [(memory, other) for memory, other in near if other.memory.is_live(now) and other.memory.id != memory.id]
    for memory, other in near[:MAX_SHOWN_NEAR]:
        terminal.say(f"{other.likeness}: {other.memory.id} {safe(other.memory.content)[:80]} / {safe(memory.content)[:80]}")
    if len(near) > MAX_SHOWN_NEAR:
        terminal.say(f"and {len(near) - MAX_SHOWN_NEAR} more are similar to stored memories")


def file_dates(here: Project) -> FileDates:
    """Return the dates of a project's files that tell none."""
    return _surroundings()._replace(here=here).file_dates()


def _surroundings() -> catalogue.SourceContext:
    return catalogue.SourceContext(claude_notes.config_folder(), context.here(), os.environ)
