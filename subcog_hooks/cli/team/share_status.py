"""Telling how sharing stands, by this machine's own notes: what waits, what lost a conflict, what colleagues have changed."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from subcog_hooks.cli.support import session
from subcog_hooks.cli.team import preview
from subcog_hooks.memory.model import TEAM, Memory, colleague_in
from subcog_hooks.memory.store import Store
from subcog_hooks.sharing import documents
from subcog_hooks.sharing.known import CHANGED, ERASED, NOTHING, Known, Overruling, ShareState
from subcog_hooks.sharing.schema import KEPT_OWN, LOST

COUNTED_AT_ONCE = 2_000  # memories that are looked at to count those that wait
SHOWN_LOST = 1_000  # versions that lost a conflict, the latest
MAX_KEPT = 100_000  # versions beside others, which are looked through


def count_waiting(projects: Sequence[str], agreed: Sequence[str]) -> dict[str, int]:
    """Return how many memories of each project would be sent, or their end.

    agreed: the projects of which the server that is set has something.
    """
    waiting = dict.fromkeys(projects, 0)
    with session.reading() as store, ShareState.open(session.home()) as state:
        if store is None:
            return waiting
        for name in projects:
            looked = state.progress(name)[1] if name in agreed else NOTHING
            changed = store.changes(looked, store.revision(), 0, COUNTED_AT_ONCE)
            while changed:
                known = state.find(name, [memory.id for memory in changed]) if name in agreed else {}
                waiting[name] += sum(preview.is_waiting(memory, known.get(memory.id), name) for memory in changed)
                changed = store.changes(looked, store.revision(), changed[-1].seq + 1, COUNTED_AT_ONCE)
            if name in agreed:
                purged = state.of_seqs(store.purged_after(looked))
                waiting[name] += sum(one.project == name and not one.is_deleted for one in purged)
    return waiting


def lost_versions(projects: Sequence[str]) -> list[Memory]:
    """Return the versions of memories of these projects that lost a conflict, the newest first."""
    with session.reading() as store:
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
    by = documents.shown_author(note.author) if note else (memory and colleague_in(memory.noted)) or "a colleague"
    return OwnChange(id_, by, kind, before, fields, status, superseded_by) if is_open else None


def _differing(before: Memory, after: Memory) -> tuple[str, ...]:
    """Return the fields in which two versions of a memory differ, but for who vouches for them and when they were changed."""
    was, is_now = documents.with_withheld(before, {}), documents.with_withheld(after, {})
    was["project"], is_now["project"] = before.project, after.project
    names = sorted({*was, *is_now} - {"updated_at", "trust", "status", "superseded_by"})
    return tuple([name for name in names if (was.get(name) or None) != (is_now.get(name) or None)])


def own_fields_kept(held: Sequence[Known]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the memories of one's own of which a colleague's changes do not count: id, colleague, fields."""
    with session.reading() as store:
        there = store.by_ids([known.id for known in held]) if store and held else {}
    own = [known for known in held if known.id in there and there[known.id].trust != TEAM]
    rows = [(one.id, one.author, tuple(name for name in sorted(one.withheld) if name != "updated_at")) for one in own]
    return [(id_, documents.shown_author(by) if by else "a colleague", fields) for id_, by, fields in rows if fields]
