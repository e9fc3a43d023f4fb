"""Synchronisation with the team's server: changes there come here, then changes here go there, batch by batch.

The order of versions is the order in which they reach the server. Every step can be cut off and done again: a batch is
stored, then its records are written, so that records are never ahead of the store.

A memory that was changed on both sides keeps the version here: it is sent, and becomes the later one. The server keeps the
other version beside it (`schema`, the trigger `stamp`).

The user's own memory that a colleague changes is kept beside the new version, on this machine alone. Others cannot purge the
user's memories.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.share import batch as share_batch
from subcog_hooks.share import server_documents
from subcog_hooks.share.batch import BATCH_MEMORIES, UNSEEN_REVISION, Batch, SyncOutcome, notice_restored_server
from subcog_hooks.share.sending import Sender
from subcog_hooks.share.server_schema import KEPT_OWN_PREFIX, LOST_PREFIX, MAX_DOCUMENT
from subcog_hooks.share.synced import NOTHING_LOOKED_AT, RULES, ShareState, SyncRecord
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.memory import TEAM, Memory, now_ms, team_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.core.paths import Home
    from subcog_hooks.share.batch import Progress
    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.server_documents import Document
    from subcog_hooks.share.server_schema import TeamTables
    from subcog_hooks.store.store import Store

BATCH_BYTES = 8_000_000  # bytes of documents fetched at once
MAX_AUTHOR_BYTES = 200_000_000  # bytes of memories that are accepted from a colleague
ROW_OVERHEAD_BYTES = 500  # bytes of a memory here beside its document, or millions of short ones would count for nothing
SYNC_LOCK_WAIT_MS = 60_000  # ms, while another process of this home synchronises
_RULES_VERSION = 2  # The version of the rules for colleagues' memories; memories here are judged anew by a later one.

_CHANGED_SINCE = """
SELECT id, revision, author, erased, bytes, bytes > %(most)s OR (author = ANY(%(over)s) AND bytes > 0) AS is_left
FROM (
  SELECT *, sum(least(bytes, %(most)s)) OVER (ORDER BY revision) - bytes AS before FROM (
    SELECT id, revision, author, erased, bytes FROM subcog.memories WHERE project = %(project)s
    AND revision > %(after)s AND revision <= %(until)s
    ORDER BY revision LIMIT %(limit)s
  ) AS next
) AS counted
WHERE before < %(bytes)s ORDER BY revision
"""
_DOCUMENTS = "SELECT id, revision, doc::text FROM subcog.memories WHERE project = %s AND id = ANY(%s)"
_DELETED = "SELECT project, id FROM subcog.memories WHERE project = ANY(%s) AND id = ANY(%s) AND doc IS NULL"
_MOVED = """
SELECT project, min(revision) FROM subcog.memories
WHERE project = ANY(%s) AND project <> %s AND id = ANY(%s) AND doc IS NOT NULL GROUP BY project
"""


def sync_lock(home: Home, wait_ms: int = SYNC_LOCK_WAIT_MS) -> ProcessLock:
    """Return the lock that keeps other processes of this home from synchronising. Entering it raises StoreBusy."""
    return ProcessLock(os.path.join(home.root, "share.lock"), wait_ms, "synchronising with the team")


@dataclass(slots=True)
class Sync:
    """A synchronisation of a home with a server. The caller holds `sync_lock`.

    projects: the shared projects. cues_from: the colleagues whose memories may have cues; the user's own role among them means
    that nobody else uses it, and that its memories from other machines are the user's word. progress: called with each batch's
    size. owners: the ids of memories that own a rule of Claude Code: no colleague changes or ends them.
    """

    store: Store
    _state: ShareState
    _server: Connection
    _tables: TeamTables
    _projects: Sequence[str]
    _cues_from: frozenset[str] = frozenset()
    _progress: Progress = lambda _: None
    _owners: frozenset[str] = frozenset()
    outcome: SyncOutcome = field(init=False, default_factory=SyncOutcome)
    arrived: list[Memory] = field(init=False, default_factory=list)  # Their vectors may be on the server.
    _over: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._over = self._state.bytes_by_author(ROW_OVERHEAD_BYTES)

    def run(self) -> SyncOutcome:
        """Fetch, then send. Raises StoreError; after psycopg's errors it can be run again."""
        self._state.set_server(self._tables.server)
        self._settle_arriving()
        self.outcome.was_restored = notice_restored_server(self._state, self._server, self._tables, self._projects)
        self._apply_rules()
        for project in self._projects:
            seen_revision = self._state.progress(project)[1]
            if seen_revision != NOTHING_LOOKED_AT and not self.store.has_revision(seen_revision):  # The store is a backup.
                self._state.drop_records(self._state.project_records(project))
                self._state.note_progress(project, "fetched", 0)
                self._state.note_progress(project, "looked", NOTHING_LOOKED_AT)
        while self._fetch_all():
            pass
        if self._tables.may_write:
            self._sender().send_all()
            self._fetch_all()  # It skips the versions just sent, and brings versions that lost to them.
        self.outcome.is_read_only = not self._tables.may_write
        return self.outcome

    def _sender(self) -> Sender:
        is_users_role = self._is_users_role(self._tables.role)
        parts = (self.store, self._state, self._server, self._tables, self._projects)
        return Sender(*parts, self.outcome, self._progress, is_users_role)

    def _settle_arriving(self) -> None:
        """Drop records whose memory a cut-off run did not store, and complete the others."""
        arriving = self._state.arriving_records()
        stored = self.store.by_ids([record.id for record in arriving])
        self._state.drop_records([record for record in arriving if record.id not in stored])
        for record in arriving:
            record.local = ""
        self._state.put_records([record for record in arriving if record.id in stored])

    def _apply_rules(self) -> None:
        """Judge colleagues' memories anew if the user's choice of cue authors or the rules have changed."""
        rules = json.dumps([_RULES_VERSION, sorted(self._cues_from)])
        if self._state.read_note(RULES) == rules:
            return
        for project in self._projects:
            theirs = [record for record in self._state.project_records(project) if record.author and not record.is_deleted]
            for start in range(0, len(theirs), BATCH_MEMORIES):
                self._judge_anew(theirs[start : start + BATCH_MEMORIES])
        self._state.write_note(RULES, rules)

    def _judge_anew(self, theirs: Sequence[SyncRecord]) -> None:
        is_stored = False
        while not is_stored:  # Another process may change a memory meanwhile.
            since = self.store.revision()
            memories = self.store.by_ids([record.id for record in theirs])
            pairs = [(judged := replace(record), self._judge_memory(judged, memories.get(record.id))) for record in theirs]
            judged_anew = {record.id: (record, memory) for record, memory in pairs if memory is not None}
            # First, or a withheld field would count as a change here.
            self._state.put_records([record for record, _ in judged_anew.values()])
            is_stored = self.store.write_unless_changed(since, changed=[memory for _, memory in judged_anew.values()])
        self.outcome.judged_anew += len(judged_anew)

    def _judge_memory(self, record: SyncRecord, memory: Memory | None) -> Memory | None:
        """Return a colleague's memory as it would arrive now, None if it is the same. Fills the record's withheld fields."""
        if memory is None or memory.trust != TEAM or self._is_dirty(record, memory):
            return None
        is_in_future = max(memory.created_at, memory.updated_at) > now_ms()
        if not (record.withheld or server_documents.cues_of(memory) or is_in_future):
            return None
        document = server_documents.document_with_withheld(memory, record.withheld)
        try:
            arrived = server_documents.merge_with_local(self._receive(record, record.author, document), memory)
        except InvalidMemory:
            return None
        local = server_documents.local_digest(arrived.memory)
        if local == server_documents.local_digest(memory):
            return None
        record.local, record.withheld = local, {name: list(pair) for name, pair in arrived.withheld.items()}
        return arrived.memory

    def _receive(self, record: SyncRecord, author: str, document: Document) -> server_documents.ReceivedMemory:
        names, brings_cues, is_own = (record.project, record.id, author), author in self._cues_from, self._is_users_role(author)
        return server_documents.memory_from_document(*names, document, brings_cues=brings_cues, now_ms=now_ms(), is_own=is_own)

    def _is_users_role(self, author: str) -> bool:
        """Return whether the user says that a role is theirs alone, and this home uses it. The server names authors itself."""
        return author == self._tables.role and author in self._cues_from

    def _fetch_all(self) -> bool:
        until = share_batch.note_latest(self._server, self._state)
        sql = "SELECT name, (SELECT max(revision) FROM subcog.memories WHERE project = name) FROM unnest(%s::text[]) AS name"
        last_revisions: dict[str, int | None] = dict(self._server.execute(sql, (list(self._projects),)).fetchall())
        has_fetched = False
        for project in self._projects:
            while (after := self._state.progress(project)[0]) < min(last_revisions[project] or 0, until):
                values = {
                    "project": project,
                    "after": after,
                    "until": until,
                    "limit": BATCH_MEMORIES,
                    "most": 2 * MAX_DOCUMENT,
                    "bytes": BATCH_BYTES,
                    "over": [author for author, count in self._over.items() if count > MAX_AUTHOR_BYTES],
                }
                rows = self._server.execute(_CHANGED_SINCE, values).fetchall()
                if not rows:
                    break
                batch = self._judge_rows(project, [_ServerRow(*row) for row in rows])
                if batch and not self._store_batch(project, batch):
                    continue  # Another process has changed a memory of the batch, so all are judged once more.
                has_fetched |= batch is not None
                self._state.note_progress(project, "fetched", rows[-1][1])
                self._progress(len(rows))
        return has_fetched

    def _judge_rows(self, project: str, rows: list[_ServerRow]) -> Batch | None:
        """Return the changes that these rows make here, None if all of them are here already."""
        records = self._state.records_by_id(project, [row.id for row in rows])
        rows = [row for row in rows if row.id not in records or row.revision > (records[row.id].revision or 0)]
        if not rows:
            return None  # Mostly they were sent from here.
        self._read_documents(project, rows)
        ids = [row.id for row in rows]
        batch = Batch(self._state.overrulings(ids), self.store.revision())
        local = self.store.by_ids(ids)
        left = self._left_records(project, ids)
        for row in rows:
            if row.is_stale:  # It comes again with its later revision.
                continue
            if row.id.startswith(KEPT_OWN_PREFIX):  # Such a version stays on its user's machine.
                _report_left_out(row, InvalidMemory("its id cannot be used here"), batch)
                continue
            record = records.get(row.id) or SyncRecord(project, row.id)
            memory = local.get(row.id)
            if row.is_left:
                batch.left.append(row.author)
            elif memory is not None and memory.project != project and not self._may_move(record, memory, left.get(row.id)):
                batch.problems += self._describe_clash(row, record, memory)
            elif row.document is None:
                self._delete_here(row, record, memory, batch)
            else:
                self._put_here(row, record, memory, batch)
        return batch

    def _store_batch(self, project: str, batch: Batch) -> bool:
        """Store a batch, then its records. Return False without a change if one of its memories has changed meanwhile."""
        self._look_for_moved(project, list(batch.deleted))
        self._state.put_records(batch.arriving_records())
        self._state.note_overruled(batch.overruled.values())  # First, since a repeated run finds the change done already.
        if not batch.store_changes(self.store):
            batch.undo_notes(self._state)
            return False
        self._state.put_records([*batch.stored_records(), *batch.kept])
        self.outcome.fetched += len(batch.new) + len(batch.changed)
        self.outcome.deleted_here += len(batch.deleted) + len(batch.purged)
        self.outcome.overruled += batch.count
        self.outcome.problems += batch.problems
        for author in batch.left:
            self.outcome.left[author] = self.outcome.left.get(author, 0) + 1
        self.outcome.lost += [memory.id for memory in batch.new.values() if memory.id.startswith(LOST_PREFIX)]
        self.arrived += [*batch.new.values(), *batch.changed.values()]
        return True

    def _read_documents(self, project: str, rows: list[_ServerRow]) -> None:
        ids = [row.id for row in rows if not row.is_left]
        documents = {id_: (revision, document) for id_, revision, document in self._server.execute(_DOCUMENTS, (project, ids))}
        for row in rows:
            if not row.is_left:
                revision, row.document = documents.get(row.id, (0, None))
                row.is_stale = revision != row.revision

    def _left_records(self, project: str, ids: list[str]) -> dict[str, SyncRecord]:
        """Return the records of memories that have left another project on the server, by id.

        Only who may write there can delete them there: a role of this project alone could take any id.
        """
        elsewhere = self._state.records_elsewhere(project, ids)
        if not elsewhere:
            return {}
        names = list({record.project for record in elsewhere.values()})
        deleted = set(self._server.execute(_DELETED, (names, list(elsewhere))).fetchall())
        return {id_: record for id_, record in elsewhere.items() if (record.project, id_) in deleted}

    def _look_for_moved(self, project: str, deleted_ids: list[str]) -> None:
        """Fetch memories once more from the projects to which they were moved before they were deleted in this one."""
        if not deleted_ids:
            return
        for other, revision in self._server.execute(_MOVED, (list(self._projects), project, deleted_ids)).fetchall():
            self._state.note_progress(other, "fetched", min(self._state.progress(other)[0], revision - 1))

    def _may_move(self, record: SyncRecord, memory: Memory, left: SyncRecord | None) -> bool:
        """Return whether a memory of another project here is the same one, moved to this project by a colleague."""
        is_left = left is not None and left.project == memory.project and not self._is_dirty(left, memory)
        return is_left and not _was_moved_here(record)

    def _describe_clash(self, row: _ServerRow, record: SyncRecord, memory: Memory) -> list[str]:
        """Return a line for a memory that is left out because of its id, none where the user has moved it themselves."""
        if memory.project not in self._projects:
            return [f"{row.id} is the id of a memory of your own, so the team's is left out"]
        if _was_moved_here(record):
            return []
        author = server_documents.shown_author(row.author)
        return [f"{row.id} by {author}: it has the id of a memory in {memory.project}"]

    def _is_dirty(self, record: SyncRecord, memory: Memory | None) -> bool:
        """Return whether a memory was changed here since it last equalled the server's version."""
        if memory is None or memory.project != record.project or memory.status == "deleted":
            return record.missed or not record.is_deleted
        if record.local == server_documents.local_digest(memory):
            return record.missed
        return record.missed or self._sent_digest(memory, record) != record.shared

    def _sent_digest(self, memory: Memory, record: SyncRecord) -> str | None:
        try:
            return server_documents.document_digest(server_documents.document_to_send(memory, record.withheld))
        except InvalidMemory:
            return None

    def _delete_here(self, row: _ServerRow, record: SyncRecord, memory: Memory | None, batch: Batch) -> None:
        is_here = memory is not None and memory.status != "deleted" and memory.project == record.project
        if record.revision is not None and is_here and self._is_dirty(record, memory) and not row.is_erased:
            record.missed = True
            batch.kept.append(record)
            return
        if memory is not None and is_here and self._owns_rule(row, record, memory, batch):
            return
        # The user's edit was sent, or is to be, after a deletion; it has lost to the erasure of its id.
        is_edited = is_here and record.revision is not None and record.is_deleted
        record.revision, record.shared, record.sending, record.missed, record.bytes = row.revision, "", "", False, 0
        record.withheld = {}
        if record.seq == 0 and memory is None:  # It never was here: a colleague could fill the disk with deletions.
            return
        if memory is not None and memory.project == record.project:
            is_own = self._is_own(memory)
            is_overruled = row.author != self._tables.role or (is_edited and is_own)
            is_erasable = memory.trust == TEAM or self._is_users_role(row.author)
            if row.is_erased and is_erasable and not (is_overruled and is_own):
                batch.purged.append(memory.id)
            elif is_here:
                batch.deleted[memory.id] = memory.with_changes(status="deleted", updated_at=now_ms())
            if is_overruled:
                batch.note_deleted(memory, row.author, is_erased=row.is_erased, is_own=is_here and is_own)
        batch.kept.append(record)

    def _put_here(self, row: _ServerRow, record: SyncRecord, memory: Memory | None, batch: Batch) -> None:
        assert row.document is not None
        try:
            document = server_documents.read_document(row.document)
        except InvalidMemory as error:
            _report_left_out(row, error, batch)
            return
        is_forgotten = memory is not None and memory.project == record.project and memory.status == "deleted"
        if is_forgotten and record.revision is None:
            record.revision = row.revision  # The user forgot it before it was shared, so it stays forgotten here.
            batch.kept.append(record)
            return
        server_digest = server_documents.document_digest(document)
        is_here = memory is not None and memory.project == record.project and memory.status != "deleted"
        if memory is not None and is_here and self._sent_digest(memory, record) == server_digest:
            if record.revision is None and memory.trust == TEAM:
                record.author, record.bytes = row.author, row.bytes
            record.revision, record.shared, record.sending, record.missed = row.revision, server_digest, "", False
            record.local, record.seq = server_documents.local_digest(memory), memory.seq
            batch.kept.append(record)
            return
        was_sent = server_digest == record.sending  # It was sent from here, and the answer was lost.
        if (was_sent and memory is not None) or (record.revision is not None and self._is_dirty(record, memory)):
            if was_sent:
                record.revision, record.shared, record.sending = row.revision, server_digest, ""
            record.missed = True
            batch.kept.append(record)
            return
        try:
            arrived = self._receive(record, row.author, document)
        except InvalidMemory as error:
            _report_left_out(row, error, batch)
            return
        if memory is not None:
            arrived = server_documents.merge_with_local(arrived, memory)
            is_same = server_documents.local_digest(arrived.memory) == server_documents.local_digest(memory)
            if not is_same and self._owns_rule(row, record, memory, batch):
                return
            self._keep_beside(row, record, memory, arrived.memory, batch)
        record.revision, record.sending, record.missed = row.revision, "", False
        record.author, record.bytes, record.vectors = row.author, row.bytes, ""
        record.withheld = {name: list(pair) for name, pair in arrived.withheld.items()}
        self._over[row.author] = self._over.get(row.author, 0) + row.bytes + ROW_OVERHEAD_BYTES
        local = server_documents.local_digest(memory) if memory is not None else ""
        if memory is not None and server_documents.local_digest(arrived.memory) == local:
            record.local, record.seq = local, memory.seq
            record.shared = server_documents.document_digest(server_documents.document_with_withheld(memory, record.withheld))
            batch.kept.append(record)
        else:
            batch.add_arrived(arrived.memory, record, is_new=memory is None)

    def _owns_rule(self, row: _ServerRow, record: SyncRecord, memory: Memory, batch: Batch) -> bool:
        """Return whether a memory owns a rule of Claude Code. Then a colleague's change does not reach it."""
        if memory.id not in self._owners or row.author == self._tables.role:
            return False
        # It is not sent until the user changes it. Then the server keeps the colleague's version beside it.
        record.revision, record.seq = record.revision or UNSEEN_REVISION, memory.seq
        record.local = server_documents.local_digest(memory)
        batch.kept.append(record)
        _report_left_out(row, InvalidMemory("it owns a rule of Claude Code here, so it stays as it is"), batch)
        return True

    def _is_own(self, memory: Memory) -> bool:
        """Return whether a memory is the user's word: written here, or by the user's role on another machine."""
        return memory.trust != TEAM or memory.source == team_source(server_documents.shown_author(self._tables.role))

    def _keep_beside(self, row: _ServerRow, record: SyncRecord, memory: Memory, after: Memory, batch: Batch) -> None:
        """Keep a memory beside its replacement `after` if it may be the later version or is the user's own."""
        is_moved, is_deleted = after.project != memory.project, memory.status == "deleted"
        is_same = not is_moved and server_documents.has_same_fields(after, memory)
        is_unknown = record.revision is None and not (is_moved or is_deleted or is_same)
        if is_unknown:
            batch.put_aside(memory)
        if not self._is_own(memory):
            return
        if row.author != self._tables.role:
            batch.take_over(memory, after, row.author, self.store, is_same=is_same, is_kept=is_unknown)
            return
        comes_no_more = memory.trust != TEAM and after.trust == TEAM and server_documents.cues_of(memory) and not is_unknown
        is_changed = server_documents.is_colleagues_text(after, memory) and (is_moved or not is_deleted)
        if comes_no_more and is_changed:  # The user changed it on another machine.
            batch.keep_own(memory)


@dataclass(slots=True)
class _ServerRow:
    """A memory as the server has it.

    is_left: the memory is too large, or its author has sent too much. is_stale: it has changed since the query. document: as
    JSON, None if it is deleted.
    """

    id: str
    revision: int
    author: str
    is_erased: bool
    bytes: int
    is_left: bool
    is_stale: bool = False
    document: str | None = None


def _was_moved_here(record: SyncRecord) -> bool:
    """Return whether the server still has a memory in a project from which it was moved on this machine."""
    return record.revision is not None and not record.is_deleted


def _report_left_out(row: _ServerRow, error: InvalidMemory, batch: Batch) -> None:
    batch.problems.append(f"{row.id} by {server_documents.shown_author(row.author)}: {error.message}")
