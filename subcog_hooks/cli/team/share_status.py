"""`share status`, its preview and `share restore`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from subcog_hooks.cli.support import context
from subcog_hooks.cli.support.output import counted, safe, terminal
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.share import server_documents
from subcog_hooks.share.server_schema import KEPT_OWN, LOST
from subcog_hooks.share.synced import CHANGED, ERASED, NOTHING, Known, Overruling, ShareState
from subcog_hooks.store.memory import TEAM, IdMaker, Memory, colleague_in, move_date, now_ms
from subcog_hooks.store.store import Store

SHOWN_IN_DRY_RUN = 5  # memories, and what is wrong with others
_STATUSES = ("active", "superseded", "archived")


def show_preview(projects: Sequence[str], agreed: Sequence[str] = (), *, is_whole: bool = False) -> None:
    """Show what would be sent of projects, as it would be sent: of a lot the first, unless `is_whole`.

    agreed: those of which only changes are.
    """
    most = sys.maxsize if is_whole else SHOWN_IN_DRY_RUN
    with context.reading() as store, ShareState.open(context.home()) as state:
        for name in projects:
            known = {one.id: one for one in state.every(name)} if name in agreed else {}
            ready, refused = _leaving_of(store, name, known) if store else ([], [])
            gone = _count_gone(store, known) if store else 0
            deleted = f", and that {counted(gone, 'memory was', 'memories were')} forgotten or taken out" if gone else ""
            terminal.say(f"{safe(name)}: {counted(len(ready), 'memory', 'memories')} would leave, redacted once more{deleted}")
            for memory, document in ready[:most]:
                terminal.say(f"  {memory.id} {safe(str(document['content']))[:100]}")
            if len(ready) > most:
                terminal.say(f"  and {len(ready) - most} more; `subcog share sync --dry-run --all` shows them")
            for problem in refused[:most]:
                terminal.say(f"  left out: {safe(problem)}")


def _leaving_of(
    store: Store, project: str, known: Mapping[str, Known]
) -> tuple[list[tuple[Memory, server_documents.Document]], list[str]]:
    """Return what would be sent of a project, and what is wrong with the rest. known: by id, what the server has already."""
    ready, refused = [], []
    for memory in store.all(_STATUSES):
        before = known.get(memory.id)
        if not server_documents.may_leave(memory, frozenset((project,))) or (before and _is_settled(memory, before)):
            continue
        try:
            ready.append((memory, server_documents.leaving(memory, before.withheld if before else None)))
        except InvalidMemory as error:
            refused.append(error.message)
    return ready, refused


def is_waiting(memory: Memory, before: Known | None, project: str) -> bool:
    """Return whether a memory would be sent, or its end. before: what the server has of it."""
    if server_documents.may_leave(memory, frozenset((project,))):
        return before is None or not _is_settled(memory, before)
    return before is not None and not before.is_deleted and _is_gone(before, memory)


def _is_settled(memory: Memory, before: Known) -> bool:
    return before.local == server_documents.local_digest(memory) and not before.missed and not before.sending


def _count_gone(store: Store, known: Mapping[str, Known]) -> int:
    """Return how many memories are on the server and are no longer shared from here."""
    shared = [one for one in known.values() if not one.is_deleted]
    there = store.by_ids([one.id for one in shared])
    return sum(_is_gone(one, there.get(one.id)) for one in shared)


def _is_gone(known: Known, memory: Memory | None) -> bool:
    if memory is None or memory.status == "deleted":
        return True
    is_elsewhere = memory.scope != "project" or memory.project != known.project
    return is_elsewhere and not known.author  # a colleague's, taken into one's own, stays there


COUNTED_AT_ONCE = 2_000  # memories that are looked at to count those that wait
SHOWN_LOST = 1_000  # versions that lost a conflict, the latest
MAX_KEPT = 100_000  # versions beside others, which are looked through


def count_waiting(projects: Sequence[str], agreed: Sequence[str]) -> dict[str, int]:
    """Return how many memories of each project would be sent, or their end.

    agreed: the projects of which the server that is set has something.
    """
    waiting = dict.fromkeys(projects, 0)
    with context.reading() as store, ShareState.open(context.home()) as state:
        if store is None:
            return waiting
        for name in projects:
            looked = state.progress(name)[1] if name in agreed else NOTHING
            changed = store.changes(looked, store.revision(), 0, COUNTED_AT_ONCE)
            while changed:
                known = state.find(name, [memory.id for memory in changed]) if name in agreed else {}
                waiting[name] += sum(is_waiting(memory, known.get(memory.id), name) for memory in changed)
                changed = store.changes(looked, store.revision(), changed[-1].seq + 1, COUNTED_AT_ONCE)
            if name in agreed:
                purged = state.of_seqs(store.purged_after(looked))
                waiting[name] += sum(one.project == name and not one.is_deleted for one in purged)
    return waiting


def lost_versions(projects: Sequence[str]) -> list[Memory]:
    """Return the versions of memories of these projects that lost a conflict, the newest first."""
    with context.reading() as store:
        found = store.newest_with_prefix(LOST, SHOWN_LOST) if store else []
    return [memory for memory in found if memory.status == "superseded" and memory.project in projects]


class OwnChange(NamedTuple):
    """A change or deletion of one's own memory by a colleague, as it stands.

    by: the colleague's name; kind: of `Overruling`; before: the memory as it was, by itself where it is deleted, else the
    version that is kept beside it; fields: those that are others now; status, superseded_by: what it had before.
    """

    id: str
    by: str
    kind: str
    before: Memory
    fields: tuple[str, ...]
    status: str
    superseded_by: str | None


def own_changes(store: Store, state: ShareState) -> list[OwnChange]:
    """Return colleagues' changes of one's own memories, by id, but for memories brought back or edited since."""
    notes = state.overrulings()
    kept = _versions_kept(store, notes)
    there = store.by_ids([*notes, *kept])
    changes = (_change_of_own(id_, notes.get(id_), there.get(id_), kept.get(id_)) for id_ in sorted({*notes, *kept}))
    return [change for change in changes if change]


def _versions_kept(store: Store, notes: Mapping[str, Overruling]) -> dict[str, Memory]:
    """Return the latest version of one's own that is kept beside each memory, by its id.

    A version that lost a conflict is among them where a colleague is known to have written the other.
    """
    versions = [memory for prefix in (KEPT_OWN, LOST) for memory in store.newest_with_prefix(prefix, MAX_KEPT)]
    own = [
        memory
        for memory in versions
        if memory.status == "superseded"
        and (memory.id.startswith(KEPT_OWN) or (memory.trust != TEAM and memory.superseded_by in notes))
    ]
    own.sort(key=lambda memory: memory.updated_at)
    return {memory.superseded_by: memory for memory in own if memory.superseded_by}


def _change_of_own(id_: str, note: Overruling | None, memory: Memory | None, kept: Memory | None) -> OwnChange | None:
    """Return a colleague's change of one's own memory, None where it is settled.

    note: of the change; memory: as it is now; kept: the version of one's own beside it.
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
        fields = _differing(before, memory) + (("status",) if memory.status != status else ())
        is_theirs = memory.trust == TEAM or note is None
        is_open = bool(fields) and memory.status != "deleted" and (is_theirs or is_as_left)
    else:
        is_open = memory.status == "deleted" and (is_as_left or kind == ERASED)
    by = server_documents.shown_author(note.author) if note else (memory and colleague_in(memory.noted)) or "a colleague"
    return OwnChange(id_, by, kind, before, fields, status, superseded_by) if is_open else None


def _differing(before: Memory, after: Memory) -> tuple[str, ...]:
    """Return the fields in which two versions of a memory differ, but for who vouches for them and when they were changed."""
    was, is_now = server_documents.with_withheld(before, {}), server_documents.with_withheld(after, {})
    was["project"], is_now["project"] = before.project, after.project
    names = sorted({*was, *is_now} - {"updated_at", "trust", "status", "superseded_by"})
    return tuple([name for name in names if (was.get(name) or None) != (is_now.get(name) or None)])


def own_fields_kept(held: Sequence[Known]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the memories of one's own of which a colleague's changes do not count: id, colleague, fields."""
    with context.reading() as store:
        there = store.by_ids([known.id for known in held]) if store and held else {}
    own = [known for known in held if known.id in there and there[known.id].trust != TEAM]
    rows = [(one.id, one.author, tuple(name for name in sorted(one.withheld) if name != "updated_at")) for one in own]
    return [(id_, server_documents.shown_author(by) if by else "a colleague", fields) for id_, by, fields in rows if fields]


def restore_own(changes: Sequence[OwnChange], store: Store, state: ShareState) -> list[Memory]:
    """Put memories back as they were before these changes. Return them. Raises InvalidMemory, StoreError.

    An id that was erased for all does not come back there, so what had it gets another.
    """
    ids = IdMaker()
    restored = []
    for change in changes:
        restored.append(_add_anew(change, ids, store) if change.kind == ERASED else _put_back(change, store))
        if change.before.id != change.id:
            store.modify([change.before.id], lambda kept: kept.replaced(status="deleted", updated_at=now_ms()))
        state.settle([change.id])
    return restored


def _add_anew(change: OwnChange, ids: IdMaker, store: Store) -> Memory:
    return store.add([_as_before(change, id=ids.new(), seq=0, updated_at=now_ms())])[0]


def _put_back(change: OwnChange, store: Store) -> Memory:
    def undo(stored: Memory) -> Memory:
        return _as_before(change, id=stored.id, seq=stored.seq, updated_at=move_date(stored.updated_at))

    return store.modify([change.id], undo)[0]


def _as_before(change: OwnChange, **others: object) -> Memory:
    return change.before.replaced(status=change.status, superseded_by=change.superseded_by, **others)
