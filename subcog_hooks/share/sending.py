"""The sending half of a synchronisation: changes here go to the team's server, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, field

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.share import server_documents
from subcog_hooks.share.batch import BATCH_MEMORIES, THIS_HOME, note_latest
from subcog_hooks.share.synced import SyncRecord
from subcog_hooks.store.memory import TEAM, Memory, hash_content
from subcog_hooks.text.languages import language_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.share.batch import Progress, SyncOutcome
    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.server_documents import Document
    from subcog_hooks.share.server_schema import TeamTables
    from subcog_hooks.share.synced import ShareState
    from subcog_hooks.store.store import Store

_STAGE = (
    "CREATE TEMP TABLE IF NOT EXISTS subcog_staged (id text PRIMARY KEY, base bigint, doc jsonb, content_hash text,"
    " language text) ON COMMIT DELETE ROWS"
)
_SEND = """
INSERT INTO subcog.memories AS there (project, id, base, doc, content_hash, language)
SELECT %s, id, base, doc, content_hash, language::regconfig FROM pg_temp.subcog_staged ORDER BY id
ON CONFLICT (project, id) DO UPDATE
SET base = excluded.base, doc = excluded.doc, content_hash = excluded.content_hash, language = excluded.language
WHERE there.doc IS DISTINCT FROM excluded.doc
"""
_SENT = """
SELECT there.id, there.revision, there.doc IS NULL
FROM subcog.memories AS there JOIN pg_temp.subcog_staged AS sent ON there.project = %s AND there.id = sent.id
"""


@dataclass(slots=True)
class OutgoingMemory:
    """A memory on its way to the server. document, text: None and "" to delete it there. local: its fingerprint here."""

    record: SyncRecord
    document: Document | None
    memory: Memory | None
    local: str = ""
    text: str = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        self.text = "" if self.document is None else server_documents.document_json(self.document)
        self.digest = server_documents.json_digest(self.text) if self.text else "deleted"


@dataclass(slots=True)
class Sender:
    """Sends the changes of a home to a server, and sums them in `outcome`.

    is_users_role: the user says that the role is theirs alone. progress: called with each batch's size.
    """

    store: Store
    state: ShareState
    server: Connection
    tables: TeamTables
    projects: Sequence[str]
    outcome: SyncOutcome
    progress: Progress
    is_users_role: bool

    def send_all(self) -> None:
        for project in self.projects:
            self._send_project(project)

    def _send_project(self, project: str) -> None:
        from_revision = self.state.progress(project)[1]
        until = self.store.revision()
        self._send_unfinished(project)
        if from_revision < until:
            self._send_changed(project, from_revision, until)
            self.state.note_progress(project, "looked", until)

    def _send_unfinished(self, project: str) -> None:
        unfinished = self.state.unfinished_records(project)
        for start in range(0, len(unfinished), BATCH_MEMORIES):
            part = unfinished[start : start + BATCH_MEMORIES]
            local = self.store.by_ids([record.id for record in part])
            batch = [self._outgoing(record, local.get(record.id), forced=True) for record in part]
            self._send_batch(project, list(filter(None, batch)))

    def _send_changed(self, project: str, from_revision: int, until: int) -> None:
        from_seq = 0
        while chunk := self.store.changes(from_revision, until, from_seq, BATCH_MEMORIES):
            from_seq = chunk[-1].seq + 1
            records = self.state.records_by_id(project, [memory.id for memory in chunk])
            batch = [
                self._outgoing(records.get(memory.id) or SyncRecord(project, memory.id), memory)
                for memory in chunk
                if memory.project == project or memory.id in records
            ]
            self._send_batch(project, list(filter(None, batch)))
            self.progress(len(chunk))
        purged = self.store.purged_after(from_revision)
        for start in range(0, len(purged), BATCH_MEMORIES):
            gone = self.state.records_of_seqs(purged[start : start + BATCH_MEMORIES])
            memories = self.store.by_ids([record.id for record in gone if record.project == project])
            batch = [self._outgoing(record, memories.get(record.id)) for record in gone if record.project == project]
            self._send_batch(project, list(filter(None, batch)))

    def _outgoing(self, record: SyncRecord, memory: Memory | None, *, forced: bool = False) -> OutgoingMemory | None:
        is_here = memory is not None and memory.scope == "project" and memory.project == record.project
        if not is_here or memory is None or memory.status == "deleted":
            if record.is_deleted and not forced:
                return None
            is_ours = memory is None or is_here or record.author == THIS_HOME or memory.project in self.projects
            # A colleague's memory that the user moved to a private project stays on the server.
            return OutgoingMemory(record, None, memory) if is_ours else None
        local = server_documents.local_digest(memory)
        if (local == record.local and not forced) or not server_documents.is_shareable(memory, frozenset((record.project,))):
            return None
        try:
            document = server_documents.document_to_send(memory, record.withheld)
        except InvalidMemory as error:
            self.outcome.problems.append(error.message)
            return None
        outgoing = OutgoingMemory(record, document, memory, local)
        is_unchanged = outgoing.digest == record.shared
        if is_unchanged and not forced:
            return None
        if memory.trust == TEAM and (not is_unchanged or self.is_users_role):
            # The user's other machines must not take a colleague's text for the user's word.
            outgoing = OutgoingMemory(record, {**document, "trust": TEAM}, memory, local)
        return outgoing

    def _send_batch(self, project: str, batch: list[OutgoingMemory]) -> None:
        """Send a batch in one transaction. Its records are written before, too, since an answer can be lost."""
        if not batch:
            return
        for outgoing in batch:
            outgoing.record.sending = outgoing.digest
        self.state.put_records([outgoing.record for outgoing in batch])
        with self.server.transaction(), self.server.cursor() as cursor:
            cursor.execute(_STAGE)
            with cursor.copy("COPY pg_temp.subcog_staged (id, base, doc, content_hash, language) FROM STDIN") as copy:
                for outgoing in batch:
                    copy.write_row(_staging_row(outgoing))
            cursor.execute(_SEND, (project,))
            answers = {id_: (revision, is_deleted) for id_, revision, is_deleted in cursor.execute(_SENT, (project,))}
        note_latest(self.server, self.state)
        self.state.put_records([_record_after_send(outgoing, *answers[outgoing.record.id]) for outgoing in batch])
        deleted_count = sum(outgoing.document is None for outgoing in batch)
        self.outcome.deleted_there += deleted_count
        self.outcome.sent += len(batch) - deleted_count


def _staging_row(outgoing: OutgoingMemory) -> tuple[object, ...]:
    document = outgoing.document
    if document is None or outgoing.memory is None:
        return outgoing.record.id, outgoing.record.revision, None, None, "english"
    text = document["content"]
    languages = hash_content(text), language_of(text) or "english"
    return outgoing.record.id, outgoing.record.revision, outgoing.text, *languages


def _record_after_send(outgoing: OutgoingMemory, revision: int, is_deleted: bool) -> SyncRecord:
    record, memory = outgoing.record, outgoing.memory
    record.sending, record.missed = "", False
    document = outgoing.document or {}
    record.withheld = {name: pair for name, pair in record.withheld.items() if document.get(name) == pair[0]}
    if outgoing.document is None or memory is None or is_deleted:
        record.shared, record.local = "", ""
        record.revision = record.revision if outgoing.document is not None else revision  # The erasure is still to be fetched.
        return record
    record.revision = revision
    record.shared = outgoing.digest
    record.local, record.seq = outgoing.local, memory.seq
    if memory.trust != TEAM:
        record.author, record.bytes = THIS_HOME, 0
    is_whole = memory.content_hash == hash_content(outgoing.document["content"])
    record.vectors = "" if is_whole else memory.content_hash  # Its vectors would reveal the redacted text.
    return record
