"""Counts and previews shared memories (`share status`), and undoes colleagues' changes (`share restore`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import count_memories, pluralize, safe, terminal
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.share import server_documents
from subcog_hooks.share.server_schema import KEPT_OWN_PREFIX, LOST_PREFIX
from subcog_hooks.share.synced import CHANGED, ERASED, NOTHING_LOOKED_AT, Overruling, ShareState, SyncRecord
from subcog_hooks.store.memory import TEAM, IdMaker, Memory, colleague_in, now_ms
from subcog_hooks.store.memory_checks import next_change_date
from subcog_hooks.store.store import Store

MAX_PREVIEW = 5  # memories and problems
_STATUSES = ("active", "superseded", "archived")


def show_preview(projects: Sequence[str], agreed: Sequence[str] = (), *, is_whole: bool = False) -> None:
    """Print the memories of projects in the form that would be sent; the first ones unless `is_whole`.

    agreed: projects that were shared before, so only changes are sent.
    """
    max_shown = sys.maxsize if is_whole else MAX_PREVIEW
    with context.reading() as store, ShareState.open(context.home()) as state:
        for name in projects:
            on_server = {record.id: record for record in state.project_records(name)} if name in agreed else {}
            ready, refused = _documents_to_send(store, name, on_server) if store else ([], [])
            gone_count = _count_gone(store, on_server) if store else 0
            gone = pluralize(gone_count, "memory was", "memories were")
            and_gone = f", and that {gone} forgotten or taken out" if gone_count else ""
            terminal.say(f"{safe(name)}: {count_memories(len(ready))} would leave, redacted once more{and_gone}")
            for memory, document in ready[:max_shown]:
                terminal.say(f"  {memory.id} {safe(str(document['content']))[:100]}")
            if len(ready) > max_shown:
                terminal.say(f"  and {len(ready) - max_shown} more; `subcog share sync --dry-run --all` shows them")
            for problem in refused[:max_shown]:
                terminal.say(f"  left out: {safe(problem)}")


def _documents_to_send(
    store: Store, project: str, on_server: Mapping[str, SyncRecord]
) -> tuple[list[tuple[Memory, server_documents.Document]], list[str]]:
    """Return the memories of a project to send, with their documents, and the problems of the others.

    on_server: the server's records by id.
    """
    ready, refused = [], []
    for memory in store.all(_STATUSES):
        before = on_server.get(memory.id)
        if not server_documents.is_shareable(memory, frozenset((project,))) or (before and _is_settled(memory, before)):
            continue
        try:
            ready.append((memory, server_documents.document_to_send(memory, before.withheld if before else None)))
        except InvalidMemory as error:
            refused.append(error.message)
    return ready, refused


def is_waiting(memory: Memory, before: SyncRecord | None, project: str) -> bool:
    """Return whether a memory or its deletion has to be sent. before: the server's record of it."""
    if server_documents.is_shareable(memory, frozenset((project,))):
        return before is None or not _is_settled(memory, before)
    return before is not None and not before.is_deleted and _is_gone(before, memory)


def _is_settled(memory: Memory, before: SyncRecord) -> bool:
    return before.local == server_documents.local_digest(memory) and not before.missed and not before.sending


def _count_gone(store: Store, on_server: Mapping[str, SyncRecord]) -> int:
    shared = [record for record in on_server.values() if not record.is_deleted]
    stored = store.by_ids([record.id for record in shared])
    return sum(_is_gone(record, stored.get(record.id)) for record in shared)


def _is_gone(record: SyncRecord, memory: Memory | None) -> bool:
    if memory is None or memory.status == "deleted":
        return True
    is_elsewhere = memory.scope != "project" or memory.project != record.project
    return is_elsewhere and not record.author  # A colleague's memory that moved to another project here stays on the server.


COUNT_BATCH = 2_000  # memories that are counted together
MAX_LOST = 1_000  # latest versions that lost a conflict
MAX_KEPT = 100_000  # own versions that are stored beside a colleague's


def count_waiting(projects: Sequence[str], agreed: Sequence[str]) -> dict[str, int]:
    """Return the number of memories and deletions to send, by project.

    agreed: projects that the current server already has memories of.
    """
    waiting = dict.fromkeys(projects, 0)
    with context.reading() as store, ShareState.open(context.home()) as state:
        if store is None:
            return waiting
        for name in projects:
            revision = state.progress(name)[1] if name in agreed else NOTHING_LOOKED_AT
            changed = store.changes(revision, store.revision(), 0, COUNT_BATCH)
            while changed:
                on_server = state.records_by_id(name, [memory.id for memory in changed]) if name in agreed else {}
                waiting[name] += sum(is_waiting(memory, on_server.get(memory.id), name) for memory in changed)
                changed = store.changes(revision, store.revision(), changed[-1].seq + 1, COUNT_BATCH)
            if name in agreed:
                purged = state.records_of_seqs(store.purged_after(revision))
                waiting[name] += sum(record.project == name and not record.is_deleted for record in purged)
    return waiting


def find_lost_versions(projects: Sequence[str]) -> list[Memory]:
    """Return the versions of memories of these projects that lost a conflict, the newest first."""
    with context.reading() as store:
        versions = store.newest_with_prefix(LOST_PREFIX, MAX_LOST) if store else []
    return [memory for memory in versions if memory.status == "superseded" and memory.project in projects]


class OwnChange(NamedTuple):
    """A colleague's change or deletion of one's own memory.

    by: the colleague's name; kind: of `Overruling`; before: one's own version, or the memory itself after a deletion; fields:
    the changed fields; status, superseded_by: their earlier values.
    """

    id: str
    by: str
    kind: str
    before: Memory
    fields: tuple[str, ...]
    status: str
    superseded_by: str | None


def find_own_changes(store: Store, state: ShareState) -> list[OwnChange]:
    """Return colleagues' changes of one's own memories, except memories restored or edited since."""
    notes = state.overrulings()
    kept = _find_own_versions(store, notes)
    stored = store.by_ids([*notes, *kept])
    changes = (_change_of_own(id_, notes.get(id_), stored.get(id_), kept.get(id_)) for id_ in sorted({*notes, *kept}))
    return [change for change in changes if change]


def _find_own_versions(store: Store, notes: Mapping[str, Overruling]) -> dict[str, Memory]:
    """Return the latest own version that is stored beside each memory, by the memory's id.

    It may be a version that lost a conflict, where the other version is known to be a colleague's.
    """
    versions = [memory for prefix in (KEPT_OWN_PREFIX, LOST_PREFIX) for memory in store.newest_with_prefix(prefix, MAX_KEPT)]
    own = [
        memory
        for memory in versions
        if memory.status == "superseded"
        and (memory.id.startswith(KEPT_OWN_PREFIX) or (memory.trust != TEAM and memory.superseded_by in notes))
    ]
    own.sort(key=lambda memory: memory.updated_at)
    return {memory.superseded_by: memory for memory in own if memory.superseded_by}


def _change_of_own(id_: str, note: Overruling | None, memory: Memory | None, kept: Memory | None) -> OwnChange | None:
    """Return a colleague's change of one's own memory, None where it is settled.

    note: the record of the change; memory: the current version; kept: one's own version beside it.
    """
    kind = ERASED if memory is None else note.kind if note else CHANGED
    before = kept if kind == CHANGED else kept or memory
    if before is None:
        return None
    status, superseded_by = (note.status, note.superseded_by) if note else ("active", None)
    is_as_left = note is not None and memory is not None and memory.updated_at == note.updated_at
    fields: tuple[str, ...] = ()
    if memory is None:
        is_open = True
    elif kind == CHANGED:
        fields = _changed_fields(before, memory) + (("status",) if memory.status != status else ())
        is_theirs = memory.trust == TEAM or note is None
        is_open = bool(fields) and memory.status != "deleted" and (is_theirs or is_as_left)
    else:
        is_open = memory.status == "deleted" and (is_as_left or kind == ERASED)
    by = server_documents.shown_author(note.author) if note else (memory and colleague_in(memory.noted)) or "a colleague"
    return OwnChange(id_, by, kind, before, fields, status, superseded_by) if is_open else None


def _changed_fields(before: Memory, after: Memory) -> tuple[str, ...]:
    old, new = server_documents.document_with_withheld(before, {}), server_documents.document_with_withheld(after, {})
    old["project"], new["project"] = before.project, after.project
    names = sorted({*old, *new} - {"updated_at", "trust", "status", "superseded_by"})
    return tuple([name for name in names if (old.get(name) or None) != (new.get(name) or None)])


def find_withheld_changes(held: Sequence[SyncRecord]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return one's own memories with colleagues' changes that are not applied: id, colleague, fields."""
    with context.reading() as store:
        stored = store.by_ids([record.id for record in held]) if store and held else {}
    own = [record for record in held if record.id in stored and stored[record.id].trust != TEAM]
    rows = [
        (record.id, record.author, tuple(name for name in sorted(record.withheld) if name not in ("trust", "updated_at")))
        for record in own
    ]
    return [(id_, server_documents.shown_author(by) if by else "a colleague", fields) for id_, by, fields in rows if fields]


def restore_own(changes: Sequence[OwnChange], store: Store, state: ShareState) -> list[Memory]:
    """Restore memories to their state before these changes and return them. Raises InvalidMemory, StoreError.

    An id that was erased for all stays erased, so its memory gets a new id.
    """
    ids = IdMaker()
    restored: list[Memory] = []
    for change in changes:
        if change.kind == ERASED:
            restored += store.add([_as_before(change, id=ids.new(), seq=0, updated_at=now_ms())])
        else:
            restored.append(_put_back(change, store))
        if change.before.id != change.id:
            store.modify([change.before.id], lambda kept: kept.with_changes(status="deleted", updated_at=now_ms()))
        state.forget_overrulings([change.id])
    return restored


def _put_back(change: OwnChange, store: Store) -> Memory:
    def undo(stored: Memory) -> Memory:
        return _as_before(change, id=stored.id, seq=stored.seq, updated_at=next_change_date(stored.updated_at))

    return store.modify([change.id], undo)[0]


def _as_before(change: OwnChange, **others: object) -> Memory:
    return change.before.with_changes(status=change.status, superseded_by=change.superseded_by, **others)
