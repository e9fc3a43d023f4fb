"""Batches of rows on their way to the server and back, the outcome of a synchronisation, and a server restored from backup."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from subcog_hooks.share import server_documents
from subcog_hooks.share.server_schema import KEPT_OWN_PREFIX, LOST_PREFIX
from subcog_hooks.share.synced import ARRIVING, CHANGED, DELETED, ERASED, Overruling, SyncRecord
from subcog_hooks.store.memory import PENDING, TEAM, Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.server_schema import TeamTables
    from subcog_hooks.share.synced import ShareState
    from subcog_hooks.store.store import Store


if TYPE_CHECKING:
    Progress = Callable[[int], None]

BATCH_MEMORIES = 1_000  # memories sent or fetched at once; a kill loses at most one batch
THIS_HOME = ""  # the author of memories that this home has sent
_LATEST = "SELECT revision, token::text FROM subcog.pushes ORDER BY revision DESC LIMIT 1"
# Take the turn to write, reserve a new revision, then run a statement that changes nothing: its trigger notes a push.
_ADD = (
    b"SELECT subcog.lift(0)",
    b"SELECT subcog.lift(max(revision) + 1) FROM subcog.pushes",
    b"UPDATE subcog.memories SET base = base WHERE false",
)


def note_latest(connection: Connection, state: ShareState) -> int:
    """Note the latest push before any of its rows is recorded, and return its revision, 0 for none. Raises StoreError."""
    row = connection.execute(_LATEST).fetchone()
    if row is None:
        return 0
    state.note_seen(*row)
    return int(row[0])


def add_empty_push(connection: Connection) -> None:
    """Add a push without memories: if a backup undoes this transaction, clients notice. Raises psycopg's errors."""
    for statement in _ADD:
        connection.execute(statement)


@dataclass(slots=True)
class SyncOutcome:
    """The result of a synchronisation.

    sent, deleted_there, fetched, deleted_here: numbers of memories. overruled: changes and deletions of the user's own
    memories by colleagues. judged_anew: colleagues' memories with other withheld fields than before. lost: ids of versions
    that lost a conflict, as they arrived here. left: by author, how many memories are left out because there are too many.
    problems: a line for each memory that could not be sent or stored.
    was_restored: the server had lost revisions that this home had seen.
    """

    sent: int = 0
    deleted_there: int = 0
    fetched: int = 0
    deleted_here: int = 0
    overruled: int = 0
    judged_anew: int = 0
    lost: list[str] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    was_restored: bool = False
    is_read_only: bool = False

    @property
    def has_changed_here(self) -> bool:
        return bool(self.fetched or self.deleted_here or self.judged_anew)


@dataclass(slots=True)
class Batch:
    """Collect the changes that a batch makes here.

    before: colleagues' earlier changes of the user's own memories, by id. own: the user's versions that are kept beside a
    colleague's. count: the number of changes of the user's memories by colleagues. kept: the records of memories that stay
    as they are. records: the records of memories to write. left: the authors of memories that are left out, one for each.
    problems: a line for each memory that cannot be stored. since: the store's revision when the memories were read.
    """

    before: dict[str, Overruling]
    since: int
    new: dict[str, Memory] = field(default_factory=dict)
    own: dict[str, Memory] = field(default_factory=dict)
    changed: dict[str, Memory] = field(default_factory=dict)
    deleted: dict[str, Memory] = field(default_factory=dict)
    overruled: dict[str, Overruling] = field(default_factory=dict)
    count: int = 0
    purged: list[str] = field(default_factory=list)
    kept: list[SyncRecord] = field(default_factory=list)
    records: list[SyncRecord] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add_arrived(self, memory: Memory, record: SyncRecord, *, is_new: bool) -> None:
        (self.new if is_new else self.changed)[memory.id] = memory
        self.records.append(record)

    def put_aside(self, memory: Memory) -> None:
        """Keep a version beside the version that replaces it: it is sent like any other memory."""
        text = f"{memory.project}\n{memory.id}\n{server_documents.local_digest(memory)}"
        id_ = LOST_PREFIX + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        status = PENDING if memory.status == PENDING else "superseded"  # a proposal must not be shared as superseded
        self.new[id_] = memory.with_changes(id=id_, status=status, superseded_by=memory.id, seq=0)

    def keep_own(self, memory: Memory) -> None:
        """Keep the user's own version beside a colleague's, once for each text: it stays on this machine."""
        id_ = kept_copy_id(memory)
        self.own[id_] = memory.with_changes(id=id_, status="superseded", superseded_by=memory.id, seq=0)

    def _is_as_left(self, memory: Memory) -> bool:
        before = self.before.get(memory.id)
        return before is not None and before.updated_at == memory.updated_at

    def take_over(self, memory: Memory, after: Memory, author: str, store: Store, *, is_same: bool, is_kept: bool) -> None:
        """Keep the user's own version of a memory that a colleague has changed, and note the colleague.

        is_same: the colleague changed no field that counts here. is_kept: the user's version is already put aside.
        """
        was_changed = self._is_as_left(memory)
        if is_same:
            if was_changed:
                self.overruled[memory.id] = self.before[memory.id]._replace(updated_at=after.updated_at)
            return
        kept_copies = store.by_ids([kept_copy_id(memory)]).values() if was_changed else ()
        if not is_kept and not any(version.status == "superseded" for version in kept_copies):
            self.keep_own(memory)
        self._note_overruling(memory, author, CHANGED, after.updated_at)

    def note_deleted(self, memory: Memory, author: str, *, is_erased: bool, is_own: bool) -> None:
        """Note that a colleague has deleted a memory of the user's own, or the version that replaced it."""
        if is_own or memory.id in self.before:
            after = self.deleted.get(memory.id, memory)
            self._note_overruling(memory, author, ERASED if is_erased else DELETED, after.updated_at)

    def _note_overruling(self, memory: Memory, author: str, kind: str, updated_at: int) -> None:
        self.count += 1
        before = self.before.get(memory.id)
        original = before if before and (self._is_as_left(memory) or memory.trust == TEAM) else memory
        self.overruled[memory.id] = Overruling(memory.id, author, kind, updated_at, original.status, original.superseded_by)

    def store_changes(self, store: Store) -> bool:
        """Store the changes, or nothing if one of the memories has changed since it was read. Return whether they are stored.

        Memories that an earlier, cut-off run has stored are overwritten.
        """
        stored_ids = store.by_ids([*self.new, *self.own])
        self.changed.update({id_: self.new.pop(id_) for id_ in stored_ids if id_ in self.new})
        new = [*self.new.values(), *(memory for id_, memory in self.own.items() if id_ not in stored_ids)]
        kept_again = [memory for id_, memory in self.own.items() if id_ in stored_ids]
        changed = [*kept_again, *self.changed.values(), *self.deleted.values()]
        return store.write_unless_changed(self.since, new=new, changed=changed, purged=self.purged)

    def undo_notes(self, state: ShareState) -> None:
        """Take back the notes of changes that were not stored."""
        state.drop_records([record for record in self.records if record.id in self.new])
        state.forget_overrulings(list(self.overruled))
        state.note_overruled(self.before.values())

    def arriving_records(self) -> list[SyncRecord]:
        """Return the records of new memories while they are not stored yet. Call it before `store_changes`."""
        for record in self.records:
            memory = self.new.get(record.id) or self.changed[record.id]
            record.local = ARRIVING
            record.shared = server_documents.document_digest(server_documents.document_with_withheld(memory, record.withheld))
        return [record for record in self.records if record.id in self.new]

    def stored_records(self) -> list[SyncRecord]:
        """Return the records of the memories that were written."""
        for record in self.records:
            memory = self.new.get(record.id) or self.changed[record.id]
            record.seq, record.local = memory.seq, server_documents.local_digest(memory)
        return self.records


def kept_copy_id(memory: Memory) -> str:
    """Return the id under which the user's version is kept beside a colleague's: one id for each text."""
    text = f"{memory.project}\n{memory.id}\n{memory.content_hash}"
    return KEPT_OWN_PREFIX + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


UNSEEN_REVISION = 0  # below every revision: the server has another version


def notice_restored_server(state: ShareState, server: Connection, tables: TeamTables, projects: Sequence[str]) -> bool:
    """Return whether the server has lost revisions that this home has seen; their records are marked to be sent again."""
    _, revision, token = state.server()
    sql = "SELECT 1 FROM subcog.pushes WHERE revision = %s AND token = %s"
    if not token or server.execute(sql, (revision, token)).fetchone():
        return False
    if tables.may_write:
        server.execute("SELECT subcog.lift(%s)", (revision,))
    unharmed = _unharmed_revision(state, server)
    for project in dict.fromkeys((*projects, *state.projects())):  # Include projects that were shared once.
        rows = server.execute("SELECT id, revision, base, author FROM subcog.memories WHERE project = %s", (project,))
        server_rows = {id_: (revision_, base, author) for id_, revision_, base, author in rows.fetchall()}
        records = state.project_records(project)
        lost = [record for record in records if _was_lost(record, tables, server_rows.get(record.id), unharmed)]
        state.put_records([*lost, *_without_vectors(server, tables, project, records)])
        state.note_progress(project, "fetched", 0)
    return True


def _without_vectors(server: Connection, tables: TeamTables, project: str, records: Sequence[SyncRecord]) -> list[SyncRecord]:
    if not tables.has_vectors:
        return []
    rows = server.execute("SELECT id, content_hash FROM subcog.vectors WHERE project = %s AND part = 0", (project,))
    present = set(rows.fetchall())
    own = [record for record in records if record.vectors and record.author == THIS_HOME]
    missing = [record for record in own if (record.id, record.vectors) not in present]
    for record in missing:
        record.vectors = ""
    return missing


def _unharmed_revision(state: ShareState, server: Connection) -> int:
    """Return the latest revision that this home has seen and the server still has: nothing before it was lost."""
    seen = state.seen_revisions()
    sql = (
        "SELECT max(revision) FROM subcog.pushes JOIN unnest(%s::bigint[], %s::uuid[]) AS seen (revision, token)"
        " USING (revision, token)"
    )
    pairs = ([revision for revision, _ in seen], [token for _, token in seen])
    return server.execute(sql, pairs).fetchall()[0][0] or 0


def _was_lost(record: SyncRecord, tables: TeamTables, server_row: tuple[int, int | None, str] | None, unharmed: int) -> bool:
    """Return whether the server has lost this record's version, and mark the record to be sent then.

    server_row: its revision, base and author now. After a restore, others may have written the same revision numbers.
    """
    if record.revision is None:
        return False
    revision, base, author = server_row or (None, None, "")
    if revision is not None and revision > unharmed:  # It may be from after the restore.
        is_same = revision == record.revision and author == (record.author or tables.role)
        if record.revision <= unharmed or is_same or base == record.revision:
            return False
        record.revision = UNSEEN_REVISION  # The server keeps its version beside this one.
    elif revision is None or revision < record.revision:
        record.revision = revision
    else:
        return False
    record.missed = tables.may_write
    if not record.missed:  # A home that cannot send accepts the server's version.
        record.revision = None
    return True
