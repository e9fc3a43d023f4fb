"""Batches of rows on their way to the server and back."""

from __future__ import annotations

import hashlib

from subcog_hooks.share import server_documents
from subcog_hooks.share.server_schema import KEPT_OWN, LOST
from subcog_hooks.share.synced import ARRIVING, CHANGED, DELETED, ERASED, Known, Overruling
from subcog_hooks.store.memory import PENDING, TEAM, Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.synced import ShareState
    from subcog_hooks.store.store import Store

_LATEST = "SELECT revision, token::text FROM subcog.pushes ORDER BY revision DESC LIMIT 1"
# the turn to write first, then a revision that nobody has, then a statement that changes nothing: its trigger notes a push
_ADD = (
    b"SELECT subcog.lift(0)",
    b"SELECT subcog.lift(max(revision) + 1) FROM subcog.pushes",
    b"UPDATE subcog.memories SET base = base WHERE false",
)


def note_latest(connection: Connection, state: ShareState) -> int:
    """Note the latest push there, before anything of it is noted as known: it may be lost when this run is cut off.

    Return its revision, 0 for none. Raises StoreError, psycopg's errors.
    """
    row = connection.execute(_LATEST).fetchone()
    if row is None:
        return 0
    state.note_seen(*row)
    return int(row[0])


def add(connection: Connection) -> None:
    """Add a push of no memory: what else this transaction writes is missed, too, where a backup takes it back.

    Raises psycopg's errors.
    """
    for statement in _ADD:
        connection.execute(statement)


class Batch:
    """The changes of a batch here.

    kept: what is known of memories that stay as they are; before: colleagues' earlier changes of the user's own memories, by
    id; count: of their changes in this batch.
    """

    __slots__ = ("_before", "_known", "changed", "count", "deleted", "kept", "new", "overruled", "own", "purged")

    def __init__(self, before: dict[str, Overruling]) -> None:
        self.new: dict[str, Memory] = {}
        self.own: dict[str, Memory] = {}  # the user's, which are kept beside what took their places
        self.changed: dict[str, Memory] = {}
        self.deleted: dict[str, Memory] = {}
        self.overruled: dict[str, Overruling] = {}
        self.count = 0
        self.purged: list[str] = []
        self.kept: list[Known] = []
        self._known: list[Known] = []
        self._before = before

    def take(self, memory: Memory, known: Known, *, is_new: bool) -> None:
        (self.new if is_new else self.changed)[memory.id] = memory
        self._known.append(known)

    def put_aside(self, memory: Memory) -> None:
        """Keep a version beside the one that takes its place: it is sent like any other memory."""
        text = f"{memory.project}\n{memory.id}\n{server_documents.local_digest(memory)}"
        id_ = LOST + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        status = PENDING if memory.status == PENDING else "superseded"  # what waits for the person's word does not leave so
        self.new[id_] = memory.with_changes(id=id_, status=status, superseded_by=memory.id, seq=0)

    def keep(self, memory: Memory) -> None:
        """Keep a version of the user's own beside a colleague's, one of each text: it stays on this machine."""
        id_ = kept_id(memory)
        self.own[id_] = memory.with_changes(id=id_, status="superseded", superseded_by=memory.id, seq=0)

    # colleagues' changes of the user's own memories

    def _is_as_left(self, memory: Memory) -> bool:
        """Return whether a memory is still as a colleague has left it."""
        before = self._before.get(memory.id)
        return before is not None and before.updated_at == memory.updated_at

    def take_over(self, memory: Memory, after: Memory, author: str, store: Store, *, is_same: bool, is_kept: bool) -> None:
        """Keep the user's own version of a memory that a colleague has changed, and note the colleague.

        is_same: nothing of it counts here; is_kept: it is put aside already.
        """
        was_changed = self._is_as_left(memory)
        if is_same:
            if was_changed:
                self.overruled[memory.id] = self._before[memory.id]._replace(updated_at=after.updated_at)
            return
        there = store.by_ids([kept_id(memory)]).values() if was_changed else ()
        if not is_kept and not any(version.status == "superseded" for version in there):
            self.keep(memory)
        self._note(memory, author, CHANGED, after.updated_at)

    def note_deleted(self, memory: Memory, author: str, *, is_erased: bool, is_own: bool) -> None:
        """Note that a colleague has deleted a memory of the user's own, or a version that took its place."""
        if is_own or memory.id in self._before:
            after = self.deleted.get(memory.id, memory)
            self._note(memory, author, ERASED if is_erased else DELETED, after.updated_at)

    def _note(self, memory: Memory, author: str, kind: str, updated_at: int) -> None:
        self.count += 1
        before = self._before.get(memory.id)
        was = before if before and (self._is_as_left(memory) or memory.trust == TEAM) else memory
        self.overruled[memory.id] = Overruling(memory.id, author, kind, updated_at, was.status, was.superseded_by)

    def write(self, store: Store) -> None:
        """Store it. What is there already, since a run before this one was cut off, is written over."""
        there = store.by_ids([*self.new, *self.own])
        self.changed.update({id_: self.new.pop(id_) for id_ in there if id_ in self.new})
        store.add([*self.new.values(), *(memory for id_, memory in self.own.items() if id_ not in there)])
        kept_again = [memory for id_, memory in self.own.items() if id_ in there]
        store.update([*kept_again, *self.changed.values(), *self.deleted.values()])
        if self.purged:
            store.purge(self.purged)

    def about_to_arrive(self) -> list[Known]:
        """Return what is known of new memories until they are stored. To be called before `write`."""
        for known in self._known:
            memory = self.new.get(known.id) or self.changed[known.id]
            known.local = ARRIVING
            known.shared = server_documents.digest(server_documents.with_withheld(memory, known.withheld))
        return [known for known in self._known if known.id in self.new]

    def noted(self) -> list[Known]:
        """Return what is known of the memories that were written."""
        for known in self._known:
            memory = self.new.get(known.id) or self.changed[known.id]
            known.seq, known.local = memory.seq, server_documents.local_digest(memory)
        return self._known


def kept_id(memory: Memory) -> str:
    """Return the id under which a version of one's own is kept beside a colleague's: one for each text that a memory had."""
    text = f"{memory.project}\n{memory.id}\n{memory.content_hash}"
    return KEPT_OWN + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
