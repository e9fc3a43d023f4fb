"""`subcog import --from`: what is written already elsewhere, read, shown and taken over."""

import os
from collections import Counter

from subcog_hooks.capture import importing
from subcog_hooks.capture.duplicates import near_duplicates
from subcog_hooks.capture.import_changes import Options, Report
from subcog_hooks.capture.sources import catalogue
from subcog_hooks.capture.sources.source_reading import SourceReading
from subcog_hooks.cli.claude_code import claude_notes
from subcog_hooks.cli.proposals import waiting
from subcog_hooks.cli.support import context, progress
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, StoreError, UsageError
from subcog_hooks.store.memory import FILE, PENDING, now_ms
from subcog_hooks.store.store import Store

SHOWN_LEFT_OUT = 10  # reasons
LONGEST_LEFT_OUT = 300  # characters; a reason can name what a file says
SHOWN_NEAR = 5  # memories that are nearly there already
COMPARED = 500  # memories for which that is looked at: a second


def read(name: str, path: str | None, since: str | None) -> SourceReading:
    """Return what a source holds, as far as the person has not settled it for always.

    since: of a history, the date of its oldest commit. Raises UsageError, ConfigError.
    """
    reading = catalogue.read(name, path, _around()._replace(since=since))
    if name in waiting.settled_sources(waiting.DROP_FROM):
        is_dropped = [row.memory.status == PENDING for _, row in reading.rows]
        reading.left_out[f"is a machine's note, which {waiting.DROP_FROM} leaves out"] += sum(is_dropped)
        reading.is_whole = False  # what was kept of it before is not gone there
        reading.rows = [row for row, dropped in zip(reading.rows, is_dropped, strict=True) if not dropped]
    elif name in waiting.settled_sources(waiting.KEEP_FROM):
        for _, row in reading.rows:
            if row.memory.status == PENDING and row.memory.trust != FILE:  # nobody has said so of a repository's file
                row.memory.status = "active"
    return reading


def list_found() -> int:
    """Say which sources are on this machine. Return the exit code."""
    found = catalogue.found(_around())
    for name, where in found:
        terminal.result(f"{name:<20}{safe(where)}")
    if not found:
        terminal.say(f"nothing is found of {', '.join(catalogue.SOURCE_NAMES)}")
        return EXIT_NOTHING_FOUND
    terminal.say("`subcog import --from NAME --dry-run` shows what would come")
    return 0


def run(reading: SourceReading, store: Store | None, options: Options) -> Report:
    """Take over what a source holds; what an earlier run took and is gone there is archived. Raises StoreError."""
    if not reading.rows and not reading.left_out and not (store and _has_any(reading, store)):
        raise UsageError("nothing is found there", "`subcog import --from list` says what there is")
    with progress.of_items("reading", len(reading.rows)) as advance:
        return importing.run_reading(reading.rows, reading.has_lost, reading.files, store, options, advance)


def _has_any(reading: SourceReading, store: Store) -> bool:
    return any(reading.has_lost(memory.source) for memory in store.all(("active", PENDING)))


def tell_where(name: str, path: str | None) -> None:
    """Say where a source stands. path: the one that was given, None for where it usually is."""
    terminal.say(f"from {safe(path or catalogue.SOURCES[name].where(_around()))}")


def tell(reading: SourceReading, store: Store | None, *, dry_run: bool) -> None:
    """Say what a source holds, what was left out and why, and, before anything is stored, what is nearly there already."""
    waiting_rows = [row.memory.id for _, row in reading.rows if row.memory.status == PENDING]
    stored = store.by_ids(waiting_rows) if store and not dry_run else {}
    waits = sum(id_ not in stored or stored[id_].status == PENDING for id_ in waiting_rows)
    owners = Counter(row.memory.project or "all your projects" for _, row in reading.rows)
    if dry_run:
        for kind, count in reading.kinds.most_common():
            terminal.result(f"{count:>7,}  {safe(kind)}")
        for owner, count in owners.most_common():
            terminal.say(f"for {safe(owner)}: {count}")
    for remark in reading.remarks:
        terminal.say(safe(remark))
    if waits:
        terminal.say(f"{waits} of them {'would wait' if dry_run else 'wait'} for `subcog review`: nobody has said yes to them")
    for reason, count in reading.left_out.most_common(SHOWN_LEFT_OUT):
        terminal.say(f"left out {count}, which {safe(reason)[:LONGEST_LEFT_OUT]}")
    if len(reading.left_out) > SHOWN_LEFT_OUT:
        rest = sum(count for _, count in reading.left_out.most_common()[SHOWN_LEFT_OUT:])
        terminal.say(f"and {rest} more for other reasons")
    if dry_run and store:
        _tell_near(reading, store)


def _tell_near(reading: SourceReading, store: Store) -> None:
    try:
        index = context.index_of(store)
        near = [
            (row.memory, found[0]) for _, row in reading.rows[:COMPARED] if (found := near_duplicates(row.memory, index, store))
        ]
    except StoreError as error:
        terminal.say(f"similar memories were not looked for ({error.message})")
        return
    now = now_ms()
    near = [(memory, one) for memory, one in near if one.memory.is_live(now) and one.memory.id != memory.id]
    for memory, one in near[:SHOWN_NEAR]:
        terminal.say(f"{one.likeness}: {one.memory.id} {safe(one.memory.content)[:80]} / {safe(memory.content)[:80]}")
    if len(near) > SHOWN_NEAR:
        terminal.say(f"and {len(near) - SHOWN_NEAR} more are nearly there already")


def _around() -> catalogue.Surroundings:
    return catalogue.Surroundings(claude_notes.config_folder(), context.here(), os.environ)
