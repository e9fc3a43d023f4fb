"""Synchronisation with the team's server: changes there come here, then changes here go there, batch by batch.

The order of versions is the order in which they reach the server. Every step can be cut off and done again: a batch is
stored, then its records are written, so that records are never ahead of the store.

A memory that was changed on both sides keeps the version here: it is sent, and becomes the later one. The server keeps the
other version beside it (`server_schema`, the trigger `stamp`).

The user's own memory that a colleague changes is kept beside the new version, on this machine alone. Others cannot purge the
user's memories.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.share import server_documents
from subcog_hooks.share.sending import BATCH_MEMORIES, UNSEEN_REVISION, Exchange, mark_lost_versions, send_changes
from subcog_hooks.share.server_schema import KEPT_OWN_PREFIX, LOST_PREFIX
from subcog_hooks.share.synced import ARRIVING, CHANGED, DELETED, ERASED, NOTHING_LOOKED_AT, RULES, Overruling, SyncRecord
from subcog_hooks.store.home_files import ProcessLock
from subcog_hooks.store.memory import PENDING, TEAM, Memory, now_ms, team_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.core.paths import Home
    from subcog_hooks.share.sending import SyncOutcome
    from subcog_hooks.share.server_documents import Document, ReceivedMemory

BATCH_BYTES = 8_000_000  # bytes of documents fetched at once
SYNC_LOCK_WAIT_MS = 60_000  # ms, while another process of this home synchronises

_CHANGED_SINCE = """
SELECT id, revision, author, erased
FROM (
  SELECT *, sum(bytes) OVER (ORDER BY revision) - bytes AS before FROM (
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


class Sync(Exchange):
    """A synchronisation of a home with a server. The caller holds `sync_lock`."""

    def run(self) -> SyncOutcome:
        """Fetch, then send. Raises StoreError; after psycopg's errors it can be run again."""
        self.state.set_server(self.tables.server)
        arriving = self.state.records(f"local = '{ARRIVING}'")  # A run that was cut off has stored some of them.
        stored = self.store.by_ids([record.id for record in arriving])
        self.state.drop_records([record for record in arriving if record.id not in stored])
        self.state.put_records([replace(record, local="") for record in arriving if record.id in stored])
        self._apply_rules()
        for project in self.projects:
            seen_revision = self.state.progress(project)[1]
            if seen_revision != NOTHING_LOOKED_AT and not self.store.has_revision(seen_revision):  # The store is a backup.
                self.state.drop_records(self.state.project_records(project))
                self.state.note_progress(project, "fetched", 0)
                self.state.note_progress(project, "looked", NOTHING_LOOKED_AT)
            if self.tables.may_write:
                mark_lost_versions(self, project)
        while self._fetch_all():
            pass
        if self.tables.may_write:
            send_changes(self)
            self._fetch_all()  # It skips the versions just sent, and brings versions that lost to them.
        self.outcome.is_read_only = not self.tables.may_write
        return self.outcome

    def _apply_rules(self) -> None:
        """Judge colleagues' memories anew if the user's choice of cue authors has changed."""
        rules = json.dumps(sorted(self.cues_from))
        if self.state.read_note(RULES) == rules:
            return
        records = [record for project in self.projects for record in self.state.project_records(project)]
        theirs = [record for record in records if record.author and not record.is_deleted]
        for start in range(0, len(theirs), BATCH_MEMORIES):
            part, is_stored = theirs[start : start + BATCH_MEMORIES], False
            while not is_stored:  # Another process may change a memory meanwhile.
                since = self.store.revision()
                memories = self.store.by_ids([record.id for record in part])
                judged_anew = list(filter(None, [self._judge_memory(record, memories.get(record.id)) for record in part]))
                # First, or a withheld field would count as a change here.
                self.state.put_records([record for record, _ in judged_anew])
                is_stored = self.store.write_unless_changed(since, changed=[memory for _, memory in judged_anew])
        self.state.write_note(RULES, rules)

    def _judge_memory(self, record: SyncRecord, memory: Memory | None) -> tuple[SyncRecord, Memory] | None:
        """Return a colleague's memory as it would arrive now, with its record, None if it is the same."""
        if memory is None or memory.trust != TEAM or self._is_dirty(record, memory):
            return None
        document = server_documents.document_with_withheld(memory, record.withheld)
        try:
            arrived = server_documents.merge_with_local(self._receive(record, record.author, document), memory)
        except InvalidMemory:
            return None
        local = server_documents.local_digest(arrived.memory)
        if local == server_documents.local_digest(memory):
            return None
        return replace(record, local=local, withheld=arrived.withheld), arrived.memory

    def _receive(self, record: SyncRecord, author: str, document: Document) -> ReceivedMemory:
        names, brings_cues, is_own = (record.project, record.id, author), author in self.cues_from, self.is_users_role(author)
        return server_documents.memory_from_document(*names, document, brings_cues=brings_cues, now_ms=now_ms(), is_own=is_own)

    def _fetch_all(self) -> bool:
        sql = "SELECT name, (SELECT max(revision) FROM subcog.memories WHERE project = name) FROM unnest(%s::text[]) AS name"
        last_revisions: dict[str, int | None] = dict(self.server.execute(sql, (list(self.projects),)).fetchall())
        has_fetched = False
        for project in self.projects:
            until = last_revisions[project] or 0
            if self.state.progress(project)[0] > until:  # The server was restored, and its clock may be behind.
                self.state.note_progress(project, "fetched", 0)
            while (after := self.state.progress(project)[0]) < until:
                values = {"project": project, "after": after, "until": until, "limit": BATCH_MEMORIES, "bytes": BATCH_BYTES}
                rows = self.server.execute(_CHANGED_SINCE, values).fetchall()
                if not rows:
                    break
                batch = self._judge_rows(project, [_ServerRow(*row) for row in rows])
                if batch and not self._store_batch(project, batch):
                    continue  # Another process has changed a memory of the batch, so all are judged once more.
                has_fetched |= batch is not None
                self.state.note_progress(project, "fetched", rows[-1][1])
                self.progress(len(rows))
        return has_fetched

    def _judge_rows(self, project: str, rows: list[_ServerRow]) -> Batch | None:
        """Return the changes that these rows make here, None if all of them are here already."""
        records = self.state.records_by_id(project, [row.id for row in rows])
        rows = [row for row in rows if row.id not in records or row.revision > (records[row.id].revision or 0)]
        if not rows:
            return None  # Mostly they were sent from here.
        ids = [row.id for row in rows]
        documents = {(id_, revision): document for id_, revision, document in self.server.execute(_DOCUMENTS, (project, ids))}
        batch = Batch(self.state.overrulings(ids), self.store.revision())
        local = self.store.by_ids(ids)
        elsewhere = self.state.records("id IN (SELECT value FROM json_each(?)) AND project <> ?", json.dumps(ids), project)
        # Only who may write in another project can delete there: a role of this project alone could take any id.
        others = list({record.project for record in elsewhere})
        deleted = set(self.server.execute(_DELETED, (others, ids)).fetchall()) if others else ()
        left = {record.id: record for record in elsewhere if (record.project, record.id) in deleted}
        for row in rows:
            if (row.id, row.revision) not in documents:  # It comes again with its later revision.
                continue
            document = documents[row.id, row.revision]
            record = records.get(row.id) or SyncRecord(project, row.id)
            try:
                self._judge(row._replace(document=document), record, local.get(row.id), left.get(row.id), batch)
            except InvalidMemory as error:
                batch.problems.append(f"{row.id} by {server_documents.shown_author(row.author)}: {error.message}")
        return batch

    def _judge(self, row: _ServerRow, record: SyncRecord, memory: Memory | None, left: SyncRecord | None, batch: Batch) -> None:
        """Add the change that a row makes here to the batch. Raises InvalidMemory for one that is left out.

        left: the record of the memory in another project, which it has left on the server.
        """
        if row.id.startswith(KEPT_OWN_PREFIX):  # Such a version stays on its user's machine.
            raise InvalidMemory("its id cannot be used here")
        if memory is not None and memory.project != record.project:
            # The server may still have it in this project, from which it was moved on this machine.
            was_moved_here = record.revision is not None and not record.is_deleted
            is_left = left is not None and left.project == memory.project and not self._is_dirty(left, memory)
            if memory.project not in self.projects and (was_moved_here or not is_left):
                batch.problems.append(f"{row.id} is the id of a memory of your own, so the team's is left out")
                return
            if was_moved_here:
                return
            if not is_left:
                raise InvalidMemory(f"it has the id of a memory in {memory.project}")
        if row.document is None:
            self._delete_here(row, record, memory, batch)
        else:
            self._put_here(row, server_documents.read_document(row.document), record, memory, batch)

    def _store_batch(self, project: str, batch: Batch) -> bool:
        """Store a batch, then its records. Return False without a change if one of its memories has changed meanwhile.

        Memories that an earlier, cut-off run has stored are overwritten.
        """
        if batch.deleted:  # Fetch them once more from the projects to which they were moved before.
            moved = self.server.execute(_MOVED, (list(self.projects), project, list(batch.deleted))).fetchall()
            for other, revision in moved:
                self.state.note_progress(other, "fetched", min(self.state.progress(other)[0], revision - 1))
        for record in batch.records:
            record.local = ARRIVING
            document = server_documents.document_with_withheld(batch.memory_of(record), record.withheld)
            record.shared = server_documents.document_digest(document)
        self.state.put_records([record for record in batch.records if record.id in batch.new])
        self.state.note_overruled(batch.overruled.values())  # First, since a repeated run finds the change done already.
        stored_ids = self.store.by_ids([*batch.new, *batch.own])
        batch.changed |= {id_: batch.new.pop(id_) for id_ in stored_ids if id_ in batch.new}
        new = [*batch.new.values(), *(memory for id_, memory in batch.own.items() if id_ not in stored_ids)]
        kept_again = [memory for id_, memory in batch.own.items() if id_ in stored_ids]
        changed = [*kept_again, *batch.changed.values(), *batch.deleted.values()]
        if not self.store.write_unless_changed(batch.since, new=new, changed=changed, purged=batch.purged):
            self.state.drop_records([record for record in batch.records if record.id in batch.new])
            self.state.forget_overrulings(list(batch.overruled))
            self.state.note_overruled(batch.before.values())
            return False
        for record in batch.records:
            memory = batch.memory_of(record)
            record.seq, record.local = memory.seq, server_documents.local_digest(memory)
        self.state.put_records([*batch.records, *batch.kept])
        self.outcome.fetched += len(batch.new) + len(batch.changed)
        self.outcome.deleted_here += len(batch.deleted) + len(batch.purged)
        self.outcome.overruled += batch.count
        self.outcome.problems += batch.problems
        self.outcome.lost += [id_ for id_ in batch.new if id_.startswith(LOST_PREFIX)]
        return True

    def _is_dirty(self, record: SyncRecord, memory: Memory | None) -> bool:
        """Return whether a memory was changed here since it last equalled the server's version."""
        if record.missed:
            return True
        if memory is None or memory.project != record.project or memory.status == "deleted":
            return not record.is_deleted
        return record.local != server_documents.local_digest(memory) and self._sent_digest(memory, record) != record.shared

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
        if memory is not None and is_here:
            self._require_no_rule(row, record, memory, batch)
        # The user's edit was sent, or is to be, after a deletion; it has lost to the erasure of its id.
        is_edited = is_here and record.revision is not None and record.is_deleted
        record.revision, record.shared, record.sending, record.missed, record.withheld = row.revision, "", "", False, {}
        if record.seq == 0 and memory is None:  # It never was here: a colleague could fill the disk with deletions.
            return
        if memory is not None and memory.project == record.project:
            is_own = self._is_own(memory)
            is_overruled = row.author != self.tables.role or (is_edited and is_own)
            is_erasable = memory.trust == TEAM or self.is_users_role(row.author)
            if row.is_erased and is_erasable and not (is_overruled and is_own):
                batch.purged.append(memory.id)
            elif is_here:
                batch.deleted[memory.id] = memory.with_changes(status="deleted", updated_at=now_ms())
            if is_overruled and ((is_here and is_own) or memory.id in batch.before):
                after = batch.deleted.get(memory.id, memory)
                batch.note_overruling(memory, row.author, ERASED if row.is_erased else DELETED, after.updated_at)
        batch.kept.append(record)

    def _put_here(self, row: _ServerRow, document: Document, record: SyncRecord, memory: Memory | None, batch: Batch) -> None:
        """Store the server's version of a memory, unless the version here is later."""
        is_forgotten = memory is not None and memory.project == record.project and memory.status == "deleted"
        if is_forgotten and record.revision is None:
            record.revision = row.revision  # The user forgot it before it was shared, so it stays forgotten here.
            batch.kept.append(record)
            return
        server_digest = server_documents.document_digest(document)
        is_here = memory is not None and memory.project == record.project and memory.status != "deleted"
        if memory is not None and is_here and self._sent_digest(memory, record) == server_digest:
            if record.revision is None and memory.trust == TEAM:
                record.author = row.author
            record.revision, record.shared, record.sending, record.missed = row.revision, server_digest, "", False
            record.vectors = ""  # A colleague may have sent it anew after a restore, without the vectors of its author.
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
        arrived, is_same = self._receive(record, row.author, document), False
        if memory is not None:
            arrived = server_documents.merge_with_local(arrived, memory)
            is_same = server_documents.local_digest(arrived.memory) == server_documents.local_digest(memory)
            if not is_same:
                self._require_no_rule(row, record, memory, batch)
            self._keep_beside(row, record, memory, arrived.memory, batch)
        record.revision, record.sending, record.missed = row.revision, "", False
        record.author, record.vectors, record.withheld = row.author, "", arrived.withheld
        if memory is not None and is_same:
            record.local, record.seq = server_documents.local_digest(memory), memory.seq
            record.shared = server_documents.document_digest(server_documents.document_with_withheld(memory, record.withheld))
            batch.kept.append(record)
        else:
            (batch.new if memory is None else batch.changed)[record.id] = arrived.memory
            batch.records.append(record)

    def _require_no_rule(self, row: _ServerRow, record: SyncRecord, memory: Memory, batch: Batch) -> None:
        """Raise InvalidMemory for a colleague's change of a memory that owns a rule of Claude Code."""
        if memory.id in self.owners and row.author != self.tables.role:
            # It is not sent until the user changes it. Then the server keeps the colleague's version beside it.
            record.revision, record.seq = record.revision or UNSEEN_REVISION, memory.seq
            record.local = server_documents.local_digest(memory)
            batch.kept.append(record)
            raise InvalidMemory("it owns a rule of Claude Code here, so it stays as it is")

    def _is_own(self, memory: Memory) -> bool:
        """Return whether a memory is the user's word: written here, or by the user's role on another machine."""
        return memory.trust != TEAM or memory.source == team_source(server_documents.shown_author(self.tables.role))

    def _keep_beside(self, row: _ServerRow, record: SyncRecord, memory: Memory, after: Memory, batch: Batch) -> None:
        """Keep a memory beside its replacement `after` if it may be the later version or is the user's own."""
        is_moved, is_deleted = after.project != memory.project, memory.status == "deleted"
        is_same = not is_moved and server_documents.has_same_fields(after, memory)
        is_unknown = record.revision is None and not (is_moved or is_deleted or is_same)
        if is_unknown:
            id_ = _version_id(LOST_PREFIX, memory, server_documents.local_digest(memory))
            status = PENDING if memory.status == PENDING else "superseded"  # A proposal must not be shared as superseded.
            # It is sent like any other memory.
            batch.new[id_] = memory.with_changes(id=id_, status=status, superseded_by=memory.id, seq=0)
        if not self._is_own(memory):
            return
        if row.author != self.tables.role:
            was_changed = batch.is_as_left(memory)
            if is_same:
                if was_changed:
                    batch.overruled[memory.id] = batch.before[memory.id]._replace(updated_at=after.updated_at)
                return
            kept_id = _version_id(KEPT_OWN_PREFIX, memory, memory.content_hash)
            kept_copies = self.store.by_ids([kept_id]).values() if was_changed else ()
            if not is_unknown and not any(version.status == "superseded" for version in kept_copies):
                batch.keep_own(memory)
            batch.note_overruling(memory, row.author, CHANGED, after.updated_at)
            return
        comes_no_more = memory.trust != TEAM and after.trust == TEAM and server_documents.cues_of(memory) and not is_unknown
        is_changed = server_documents.is_colleagues_text(after, memory) and (is_moved or not is_deleted)
        if comes_no_more and is_changed:  # The user changed it on another machine.
            batch.keep_own(memory)


class _ServerRow(NamedTuple):
    """A memory as the server has it. document: read later, None for a deleted one."""

    id: str
    revision: int
    author: str
    is_erased: bool
    document: str | None = None


@dataclass(slots=True)
class Batch:
    """The changes that a batch makes here.

    before: colleagues' earlier changes of the user's own memories, by id. since: the store's revision when the memories were
    read. new, changed, deleted: memories by id. own: the user's versions that are kept beside a colleague's. overruled: changes
    of the user's memories by colleagues, count: their number. purged: ids. kept: the records of memories that stay as they are.
    records: the records of memories to write. problems: a line for each memory that cannot be stored.
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
    problems: list[str] = field(default_factory=list)

    def memory_of(self, record: SyncRecord) -> Memory:
        """Return the memory that is stored with one of `records`."""
        return self.new.get(record.id) or self.changed[record.id]

    def keep_own(self, memory: Memory) -> None:
        """Keep the user's own version beside a colleague's, once for each text: it stays on this machine."""
        id_ = _version_id(KEPT_OWN_PREFIX, memory, memory.content_hash)
        self.own[id_] = memory.with_changes(id=id_, status="superseded", superseded_by=memory.id, seq=0)

    def is_as_left(self, memory: Memory) -> bool:
        before = self.before.get(memory.id)
        return before is not None and before.updated_at == memory.updated_at

    def note_overruling(self, memory: Memory, author: str, kind: str, updated_at: int) -> None:
        """Note that a colleague has changed or deleted a memory of the user's own, or the version that replaced it."""
        self.count += 1
        before = self.before.get(memory.id)
        original = before if before and (self.is_as_left(memory) or memory.trust == TEAM) else memory
        self.overruled[memory.id] = Overruling(memory.id, author, kind, updated_at, original.status, original.superseded_by)


def _version_id(prefix: str, memory: Memory, digest: str) -> str:
    """Return the id under which a version of a memory is kept beside another: one id for each digest."""
    text = f"{memory.project}\n{memory.id}\n{digest}"
    return prefix + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
