"""The sending half of a synchronisation: changes and vectors go to the team's server, batch by batch."""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import dataclass, field

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.share import server_documents
from subcog_hooks.share.synced import SyncRecord
from subcog_hooks.store.memory import TEAM, Memory, hash_content
from subcog_hooks.store.vector_reader import FIRST_QUESTION
from subcog_hooks.text.languages import language_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.server_documents import Document
    from subcog_hooks.share.server_schema import TeamTables
    from subcog_hooks.share.synced import ShareState
    from subcog_hooks.store.store import Store
    from subcog_hooks.store.vector_store import VectorStore

    Progress = Callable[[int], None]

BATCH_MEMORIES = 1_000  # memories sent or fetched at once; a kill loses at most one batch
THIS_HOME = ""  # the author of memories that this home has sent
UNSEEN_REVISION = 0  # below every revision: the server has another version

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

_REVISIONS = "SELECT id, revision FROM subcog.memories WHERE project = %s AND id = ANY(%s)"


@dataclass(slots=True)
class SyncOutcome:
    """The result of a synchronisation.

    sent, deleted_there, fetched, deleted_here: numbers of memories. overruled: changes and deletions of the user's own
    memories by colleagues. lost: ids of versions that lost a conflict, as they arrived here. problems: a line for each memory
    that could not be sent or stored.
    """

    sent: int = 0
    deleted_there: int = 0
    fetched: int = 0
    deleted_here: int = 0
    overruled: int = 0
    lost: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_read_only: bool = False


@dataclass(slots=True)
class Exchange:
    """A home and the server with which it is synchronised.

    projects: the shared projects. cues_from: the colleagues whose memories may have cues; the user's own role among them means
    that nobody else uses it, and that its memories from other machines are the user's word. progress: called with each batch's
    size. owners: the ids of memories that own a rule of Claude Code: no colleague changes or ends them.
    """

    store: Store
    state: ShareState
    server: Connection
    tables: TeamTables
    projects: Sequence[str]
    cues_from: frozenset[str] = frozenset()
    progress: Progress = lambda _: None
    owners: frozenset[str] = frozenset()
    outcome: SyncOutcome = field(init=False, default_factory=SyncOutcome)

    def is_users_role(self, author: str) -> bool:
        """Return whether the user says that a role is theirs alone, and this home uses it. The server names authors itself."""
        return author == self.tables.role and author in self.cues_from


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

    def record_after(self, revision: int, *, is_deleted: bool) -> SyncRecord:
        """Return the record after the server has answered with its revision."""
        record, memory, document = self.record, self.memory, self.document or {}
        record.sending, record.missed = "", False
        record.withheld = {name: pair for name, pair in record.withheld.items() if document.get(name) == pair[0]}
        if self.document is None or memory is None or is_deleted:
            record.shared, record.local = "", ""
            if self.document is None:  # else the erasure is still to be fetched
                record.revision = revision
            return record
        record.revision, record.shared = revision, self.digest
        record.local, record.seq = self.local, memory.seq
        if memory.trust != TEAM:
            record.author = THIS_HOME
        is_whole = memory.content_hash == hash_content(document["content"])
        record.vectors = "" if is_whole else memory.content_hash  # Its vectors would reveal the redacted text.
        return record


def send_changes(exchange: Exchange) -> None:
    """Send the changes of a home to the server, and sum them in the outcome."""
    store, state = exchange.store, exchange.state
    for project in exchange.projects:
        from_revision, until = state.progress(project)[1], store.revision()
        _send_records(exchange, project, state.records("project = ? AND (missed OR sending <> '')", project), forced=True)
        if from_revision >= until:
            continue
        from_seq = 0
        while chunk := store.changes(from_revision, until, from_seq, BATCH_MEMORIES):
            from_seq = chunk[-1].seq + 1
            records = state.records_by_id(project, [memory.id for memory in chunk])
            batch = [
                _prepare(exchange, records.get(memory.id) or SyncRecord(project, memory.id), memory)
                for memory in chunk
                if memory.project == project or memory.id in records
            ]
            _send_batch(exchange, project, list(filter(None, batch)))
            exchange.progress(len(chunk))
        purged = state.records("seq IN (SELECT value FROM json_each(?))", json.dumps(store.purged_after(from_revision)))
        _send_records(exchange, project, [record for record in purged if record.project == project])
        state.note_progress(project, "looked", until)


def _send_records(exchange: Exchange, project: str, records: Sequence[SyncRecord], *, forced: bool = False) -> None:
    for start in range(0, len(records), BATCH_MEMORIES):
        part = records[start : start + BATCH_MEMORIES]
        memories = exchange.store.by_ids([record.id for record in part])
        batch = [_prepare(exchange, record, memories.get(record.id), forced=forced) for record in part]
        _send_batch(exchange, project, list(filter(None, batch)))


def _prepare(exchange: Exchange, record: SyncRecord, memory: Memory | None, *, forced: bool = False) -> OutgoingMemory | None:
    """Return what is to be sent of a memory, None for nothing. forced: also where nothing has changed here."""
    is_here = memory is not None and memory.scope == "project" and memory.project == record.project
    if not is_here or memory is None or memory.status == "deleted":
        if record.is_deleted and not forced:
            return None
        is_ours = memory is None or is_here or record.author == THIS_HOME or memory.project in exchange.projects
        # A colleague's memory that the user moved to a private project stays on the server.
        return OutgoingMemory(record, None, memory) if is_ours else None
    local = server_documents.local_digest(memory)
    if (local == record.local and not forced) or not server_documents.is_shareable(memory, record.project):
        return None
    try:
        document = server_documents.document_to_send(memory, record.withheld)
    except InvalidMemory as error:
        exchange.outcome.problems.append(error.message)
        return None
    outgoing = OutgoingMemory(record, document, memory, local)
    is_unchanged = outgoing.digest == record.shared
    if is_unchanged and not forced:
        return None
    if memory.trust == TEAM and (not is_unchanged or exchange.is_users_role(exchange.tables.role)):
        # The user's other machines must not take a colleague's text for the user's word.
        outgoing = OutgoingMemory(record, {**document, "trust": TEAM}, memory, local)
    return outgoing


def _send_batch(exchange: Exchange, project: str, batch: list[OutgoingMemory]) -> None:
    """Send a batch in one transaction. Its records are written before, too, since an answer can be lost."""
    if not batch:
        return
    for outgoing in batch:
        outgoing.record.sending = outgoing.digest
    exchange.state.put_records([outgoing.record for outgoing in batch])
    with exchange.server.transaction(), exchange.server.cursor() as cursor:
        cursor.execute(_STAGE)
        with cursor.copy("COPY pg_temp.subcog_staged (id, base, doc, content_hash, language) FROM STDIN") as copy:
            for outgoing in batch:
                content = outgoing.document["content"] if outgoing.document else ""
                shared = (outgoing.text, hash_content(content)) if outgoing.document else (None, None)
                copy.write_row((outgoing.record.id, outgoing.record.revision, *shared, language_of(content) or "english"))
        cursor.execute(_SEND, (project,))
        answers = {id_: (revision, is_deleted) for id_, revision, is_deleted in cursor.execute(_SENT, (project,))}
    sent = []
    for outgoing in batch:
        revision, is_deleted = answers[outgoing.record.id]
        sent.append(outgoing.record_after(revision, is_deleted=is_deleted))
    exchange.state.put_records(sent)
    deleted_count = sum(outgoing.document is None for outgoing in batch)
    exchange.outcome.deleted_there += deleted_count
    exchange.outcome.sent += len(batch) - deleted_count


def mark_lost_versions(exchange: Exchange, project: str) -> None:
    """Mark the records of a project whose versions a restore from a backup has removed from the server. They are sent again.

    A restore removes the newest versions. So the comparison begins with the newest records, and ends at an unchanged batch.
    """
    below = sys.maxsize
    latest = "project = ? AND revision < ? ORDER BY revision DESC LIMIT ?"
    while records := exchange.state.records(latest, project, below, BATCH_MEMORIES):
        rows = exchange.server.execute(_REVISIONS, (project, [record.id for record in records])).fetchall()
        revisions = {id_: int(revision) for id_, revision in rows}
        below = records[-1].revision or 0
        lost = [record for record in records if (record.revision or 0) > revisions.get(record.id, 0)]
        if all(record.revision == revisions.get(record.id) for record in records):
            return
        for record in lost:
            record.revision, record.missed = revisions.get(record.id), True
        exchange.state.put_records(lost)


_STAGE_VECTORS = (
    "CREATE TEMP TABLE IF NOT EXISTS subcog_staged_vectors (id text, part smallint, content_hash text, embedding {type})"
    " ON COMMIT DELETE ROWS"
)
_CLEAR_VECTORS = (
    "DELETE FROM subcog.vectors USING (SELECT DISTINCT id FROM pg_temp.subcog_staged_vectors) AS sent"
    " WHERE vectors.project = %s AND vectors.id = sent.id"
)
_SEND_VECTORS = (
    "INSERT INTO subcog.vectors (project, id, part, model, content_hash, embedding)"
    " SELECT %s, id, part, %s, content_hash, embedding FROM pg_temp.subcog_staged_vectors"
)


def model_name() -> str:
    """Return the name of the packaged model and its recipe, as the vectors' rows have it."""
    return models.vector_makers(PACKAGED)[0]


def send_vectors(exchange: Exchange, vectors: VectorStore, project: str) -> None:
    """Send the final vectors of memories sent from here: int8, of the whole text and of its passages. Raises StoreError."""
    after_id = ""
    while part := exchange.state.without_vectors(project, after_id, BATCH_MEMORIES):
        after_id = part[-1].id
        memories = exchange.store.by_ids([record.id for record in part])
        ready = []
        for record in part:
            memory = memories.get(record.id)
            final = vectors.final_vectors(memory.content_hash) if memory else ()
            if memory and final and any(final[0]):
                ready.append((record, memory.content_hash, final[:FIRST_QUESTION]))
        if ready:
            with exchange.server.transaction(), exchange.server.cursor() as cursor:
                cursor.execute(_STAGE_VECTORS.format(type=exchange.tables.vector_type).encode())
                with cursor.copy("COPY pg_temp.subcog_staged_vectors FROM STDIN (FORMAT BINARY)") as copy:
                    copy.set_types(("text", "int2", "text", "bytea"))
                    for record, content_hash, final in ready:
                        for number, vector in enumerate(final):
                            # pgvector's binary form: the dimension, a zero, the numbers. A text costs both sides a third more.
                            binary = struct.pack(f">hh{len(vector)}f", len(vector), 0, *memoryview(vector).cast("b"))
                            copy.write_row((record.id, number, content_hash, binary))
                cursor.execute(_CLEAR_VECTORS, (project,))
                cursor.execute(_SEND_VECTORS, (project, model_name()))
            for record, content_hash, _ in ready:
                record.vectors = content_hash
            exchange.state.put_records([record for record, *_ in ready])
        exchange.progress(len(ready))
