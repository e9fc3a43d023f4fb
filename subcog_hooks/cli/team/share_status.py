"""Telling how sharing stands, by this machine's own notes: what waits, what lost a conflict, what colleagues have deleted."""

from collections.abc import Mapping, Sequence

from subcog_hooks.cli.support import session
from subcog_hooks.cli.team import preview
from subcog_hooks.memory.model import TEAM, Memory
from subcog_hooks.sharing import documents
from subcog_hooks.sharing.known import NOTHING, DeletedBy, Known, ShareState
from subcog_hooks.sharing.schema import LOST

COUNTED_AT_ONCE = 2_000  # memories that are looked at to count those that wait
SHOWN_LOST = 1_000  # versions that lost a conflict, the latest


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


def own_deleted(deleted: Mapping[str, DeletedBy]) -> list[tuple[Memory, str, bool]]:
    """Return the memories of one's own that colleagues have deleted, each with the colleague and whether it is erased there.

    What was brought back, or forgotten here since then, is settled.
    """
    with session.reading() as store:
        there = store.by_ids([*deleted]) if store and deleted else {}
    found = [(memory, deleted[memory.id]) for memory in there.values() if memory.status == "deleted"]
    return [
        (memory, documents.shown_author(one.by), one.is_erased)
        for memory, one in found
        if one.is_erased or memory.updated_at == one.at
    ]


def own_fields_kept(held: Sequence[Known]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the memories of one's own of which a colleague's changes do not count: id, colleague, fields."""
    with session.reading() as store:
        there = store.by_ids([known.id for known in held]) if store and held else {}
    own = [known for known in held if known.id in there and there[known.id].trust != TEAM]
    rows = [(one.id, one.author, tuple(name for name in sorted(one.withheld) if name != "updated_at")) for one in own]
    return [(id_, documents.shown_author(by) if by else "a colleague", fields) for id_, by, fields in rows if fields]
