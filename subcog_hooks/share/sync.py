"""Synchronisation with the team's server: what changed there comes here, then what changed here goes there, batch by batch.

The order of versions is that in which they reach the server. Every step can be cut off and done again: a batch is stored, then
noted, and what is noted is never ahead of what is stored.

Of a memory that was changed on both sides the version here gives way to nothing: it is sent, and so is the later one. The
server keeps the other beside it (`schema`, the trigger `stamp`).

A memory of one's own that a colleague changes is kept beside the new version, on this machine alone. Nothing of one's own is
purged by others.
"""

from __future__ import annotations

import json
import os

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.share import batch as share_batch
from subcog_hooks.share import server_documents
from subcog_hooks.share.batch import Batch
from subcog_hooks.share.server_schema import KEPT_OWN, LOST, MAX_DOCUMENT
from subcog_hooks.share.synced import NOTHING, RULES, Known, ShareState
from subcog_hooks.store.lock import ProcessLock
from subcog_hooks.store.memory import TEAM, Memory, hash_content, now_ms, team_source
from subcog_hooks.text.languages import language_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subcog_hooks.core.paths import Home
    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.server_documents import Document
    from subcog_hooks.share.server_schema import TeamTables
    from subcog_hooks.store.store import Store

    Progress = Callable[[int], None]

BATCH = 1_000  # memories sent or fetched at once: what a kill costs
BATCH_BYTES = 8_000_000  # of documents fetched at once
MAX_OF_AUTHOR = 200_000_000  # bytes of memories that are taken of one colleague
BYTES_BESIDE = 500  # of a memory here, beside its document: or a colleague's millions of short ones would count for nothing
LOCK = "share.lock"
SYNC_LOCK_WAIT_MS = 60_000  # for another process of this home that synchronises
_UNSEEN = 0  # below every revision: what the server has is another version
_NOBODY = ""  # the author of what this home has sent
_RULES_VERSION = 1  # of what counts here of a colleague's memory; a later one is applied to what is here

_SINCE = """
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


class SyncOutcome:
    """The result of a synchronisation.

    sent, deleted_there, fetched, deleted_here: memories; overruled: of these the user's own, which a colleague has changed or
    deleted; judged_anew: colleagues' memories of which something else counts now; lost: ids of versions that lost a conflict,
    as they arrived here; left: by author, how many of a colleague's are not taken, since there is too much; problems: a line
    for each memory that could not be sent or stored; refused: projects of which the role may send nothing; was_restored: the
    server had lost what was seen there; is_read_only: nothing can be sent.
    """

    __slots__ = (
        "deleted_here",
        "deleted_there",
        "fetched",
        "is_read_only",
        "judged_anew",
        "left",
        "lost",
        "overruled",
        "problems",
        "refused",
        "sent",
        "was_restored",
    )

    def __init__(self) -> None:
        self.sent = 0
        self.deleted_there = 0
        self.fetched = 0
        self.deleted_here = 0
        self.overruled = 0
        self.judged_anew = 0
        self.lost: list[str] = []
        self.left: dict[str, int] = {}
        self.problems: list[str] = []
        self.refused: list[str] = []
        self.was_restored = False
        self.is_read_only = False

    @property
    def has_changed_here(self) -> bool:
        return bool(self.fetched or self.deleted_here or self.judged_anew)


class Leaving:
    """One memory on its way to the server. document: None where it is deleted there; local: the memory's fingerprint here.

    written: the document as JSON, "" for none; digest: its fingerprint.
    """

    __slots__ = ("digest", "document", "known", "local", "memory", "written")

    def __init__(self, known: Known, document: Document | None, memory: Memory | None, local: str = "") -> None:
        self.known = known
        self.document = document
        self.memory = memory
        self.local = local
        self.written = "" if document is None else server_documents.written(document)
        self.digest = server_documents.digest_of_written(self.written) if self.written else "deleted"


def locked(home: Home, wait_ms: int = SYNC_LOCK_WAIT_MS) -> ProcessLock:
    """Return the lock that keeps other processes of this home from synchronising. Entered, it raises StoreBusy."""
    return ProcessLock(os.path.join(home.root, LOCK), wait_ms, "synchronising with the team")


class Sync:
    """One synchronisation of a home with a server.

    projects: the shared ones; cues_from: the colleagues whose memories may have cues; progress: told of each batch. The caller
    holds `locked`.
    """

    def __init__(
        self,
        store: Store,
        state: ShareState,
        connection: Connection,
        found: TeamTables,
        projects: Sequence[str],
        cues_from: frozenset[str] = frozenset(),
        progress: Progress | None = None,
    ) -> None:
        self.store = store
        self._state = state
        self._server = connection
        self._found = found
        self._projects = projects
        self._cues_from = cues_from
        self._progress = progress or (lambda _: None)
        self._over = state.bytes_by_author(BYTES_BESIDE)
        self.outcome = SyncOutcome()
        self.arrived: list[Memory] = []  # with vectors that may be on the server

    def run(self) -> SyncOutcome:
        """Fetch, then send. Raises StoreError; psycopg's errors, after which it can be done again."""
        self._state.meet(self._found.server)
        self._settle_arriving()
        self._notice_restored_server()
        self._apply_rules()
        for project in self._projects:
            looked = self._state.progress(project)[1]
            if looked != NOTHING and not self.store.has_revision(looked):  # the store was put back from a backup
                self._state.drop(self._state.every(project))
                self._state.note_fetched(project, 0)
                self._state.note_looked(project, NOTHING)
        while self._fetch_all():
            pass
        if self._found.may_write:
            self._send_all()
            self._fetch_all()  # what was sent is passed over, and versions that lost to it come
        self.outcome.is_read_only = not self._found.may_write
        return self.outcome

    def _settle_arriving(self) -> None:
        """Decide of what a cut-off run was about to store whether it did: what is here since then was made from it."""
        arriving = self._state.arriving()
        there = self.store.by_ids([known.id for known in arriving])
        self._state.drop([known for known in arriving if known.id not in there])
        for known in arriving:
            known.local = ""
        self._state.put([known for known in arriving if known.id in there])

    def _apply_rules(self) -> None:
        """Judge colleagues' memories anew where the user lets others have cues than before, or an earlier version took them."""
        rules = json.dumps([_RULES_VERSION, sorted(self._cues_from)])
        if self._state.noted(RULES) == rules:
            return
        for project in self._projects:
            theirs = [known for known in self._state.every(project) if known.author and not known.is_deleted]
            for start in range(0, len(theirs), BATCH):
                self._judge_anew(theirs[start : start + BATCH])
        self._state.note(RULES, rules)

    def _judge_anew(self, theirs: Sequence[Known]) -> None:
        there = self.store.by_ids([known.id for known in theirs])
        judged = [(known, memory) for known in theirs if (memory := self._judge_memory(known, there.get(known.id)))]
        self._state.put([known for known, _ in judged])  # first: a field that is withheld would count as changed here
        self.store.update([memory for _, memory in judged])
        self.outcome.judged_anew += len(judged)

    def _judge_memory(self, known: Known, memory: Memory | None) -> Memory | None:
        """Return a colleague's memory as it would arrive now, None for no difference. `known` gets the fields withheld."""
        if memory is None or memory.trust != TEAM or self._is_dirty(known, memory):
            return None
        is_ahead = max(memory.created_at, memory.updated_at) > now_ms()
        if not (known.withheld or server_documents.cues_of(memory) or is_ahead):
            return None
        try:
            arrived = server_documents.merged(
                self._arriving(known, known.author, server_documents.with_withheld(memory, known.withheld)), memory
            )
        except InvalidMemory:
            return None
        local = server_documents.local_digest(arrived.memory)
        if local == server_documents.local_digest(memory):
            return None
        known.local, known.withheld = local, {name: list(pair) for name, pair in arrived.withheld.items()}
        return arrived.memory

    def _arriving(self, known: Known, author: str, document: Document) -> server_documents.Arrived:
        return server_documents.arriving(
            known.project, known.id, author, document, brings_cues=author in self._cues_from, now=now_ms()
        )

    # a database that was put back

    def _notice_restored_server(self) -> None:
        """Mark all that is known here as to be sent, where the server has lost what was seen there."""
        _, revision, token = self._state.server()
        if (
            not token
            or self._server.execute(
                "SELECT 1 FROM subcog.pushes WHERE revision = %s AND token = %s", (revision, token)
            ).fetchone()
        ):
            return
        self.outcome.was_restored = True
        if self._found.may_write:
            self._server.execute("SELECT subcog.lift(%s)", (revision,))
        unharmed = self._unharmed_revision()
        for project in dict.fromkeys((*self._projects, *self._state.projects())):  # those that were shared once, too
            rows = self._server.execute("SELECT id, revision, base, author FROM subcog.memories WHERE project = %s", (project,))
            there = {id_: (revision_, base, author) for id_, revision_, base, author in rows.fetchall()}
            known = self._state.every(project)
            behind = [one for one in known if self._was_lost(one, there.get(one.id), unharmed)]
            self._state.put([*behind, *self._without_vectors(project, known)])
            self._state.note_fetched(project, 0)

    def _without_vectors(self, project: str, known: Sequence[Known]) -> list[Known]:
        """Return what was sent from here and has no vectors on the server any more, marked so."""
        if not self._found.has_vectors:
            return []
        rows = self._server.execute("SELECT id, content_hash FROM subcog.vectors WHERE project = %s AND part = 0", (project,))
        there = set(rows.fetchall())
        gone = [one for one in known if one.vectors and one.author == _NOBODY and (one.id, one.vectors) not in there]
        for one in gone:
            one.vectors = ""
        return gone

    def _unharmed_revision(self) -> int:
        """Return the latest revision that was seen there of which the server still knows: up to it nothing was lost."""
        seen = self._state.seen()
        rows = self._server.execute(
            "SELECT max(revision) FROM subcog.pushes JOIN unnest(%s::bigint[], %s::uuid[]) AS seen (revision, token)"
            " USING (revision, token)",
            ([revision for revision, _ in seen], [token for _, token in seen]),
        ).fetchall()
        return rows[0][0] or 0

    def _was_lost(self, known: Known, there: tuple[int, int | None, str] | None, unharmed: int) -> bool:
        """Return whether the server has lost the version that is known here, which is marked to be sent then.

        there: revision, base and author of what the server has now. After a backup was put back, others may have written
        revisions of the same numbers.
        """
        if known.revision is None:
            return False
        revision, base, author = there or (None, None, "")
        if revision is not None and revision > unharmed:  # perhaps written after the backup was put back
            is_same = revision == known.revision and author == (known.author or self._found.role)
            if known.revision <= unharmed or is_same or base == known.revision:
                return False
            known.revision = _UNSEEN  # so that the server keeps it beside this one
        elif revision is None or revision < known.revision:
            known.revision = revision
        else:
            return False
        known.missed = self._found.may_write
        if not known.missed:  # who can not send takes the server's word
            known.revision = None
        return True

    # from there

    def _fetch_all(self) -> bool:
        """Fetch what is new there. Return whether there was anything."""
        until = share_batch.note_latest(self._server, self._state)
        reached: dict[str, int | None] = dict(
            self._server.execute(
                "SELECT name, (SELECT max(revision) FROM subcog.memories WHERE project = name) FROM unnest(%s::text[]) AS name",
                (list(self._projects),),
            ).fetchall()
        )
        has_fetched = False
        for project in self._projects:
            while (after := self._state.progress(project)[0]) < min(reached[project] or 0, until):
                values = {
                    "project": project,
                    "after": after,
                    "until": until,
                    "limit": BATCH,
                    "most": 2 * MAX_DOCUMENT,
                    "bytes": BATCH_BYTES,
                    "over": [author for author, count in self._over.items() if count > MAX_OF_AUTHOR],
                }
                rows = self._server.execute(_SINCE, values).fetchall()
                if not rows:
                    break
                has_fetched |= self._take(project, [_ServerRow(*row) for row in rows])
                self._state.note_fetched(project, rows[-1][1])
                self._progress(len(rows))
        return has_fetched

    def _take(self, project: str, rows: list[_ServerRow]) -> bool:
        """Store what came, then note it. Return whether anything of it was not known."""
        known = self._state.find(project, [row.id for row in rows])
        rows = [row for row in rows if row.id not in known or row.revision > (known[row.id].revision or 0)]
        if not rows:
            return False  # mostly what was sent from here
        self._read_documents(project, rows)
        ids = [row.id for row in rows]
        local = self.store.by_ids(ids)
        elsewhere = self._state.elsewhere(project, ids)
        changed = Batch(self._state.overrulings(ids))
        for row in rows:
            if row.is_stale:  # it comes once more, with its later revision
                continue
            if row.id.startswith(KEPT_OWN):  # such a version is on this machine alone
                self._leave_out(row, InvalidMemory("its id cannot be used here"))
                continue
            one = known.get(row.id) or Known(project, row.id)
            memory = local.get(row.id)
            if row.is_left:
                self.outcome.left[row.author] = self.outcome.left.get(row.author, 0) + 1
            elif memory is not None and memory.project != project and not self._may_move(one, memory, elsewhere):
                if memory.project not in self._projects:
                    self.outcome.problems.append(f"{row.id} is the id of a memory of your own, so the team's is left out")
            elif row.document is None:
                self._delete_here(row, one, memory, changed)
            else:
                self._put_here(row, one, memory, changed)
        self._state.put(changed.about_to_arrive())
        self._state.note_overruled(changed.overruled.values())  # before it is: who does it again finds it done already
        changed.write(self.store)
        self._state.put([*changed.noted(), *changed.kept])
        self.outcome.fetched += len(changed.new) + len(changed.changed)
        self.outcome.deleted_here += len(changed.deleted) + len(changed.purged)
        self.outcome.overruled += changed.count
        self.outcome.lost += [memory.id for memory in changed.new.values() if memory.id.startswith(LOST)]
        self.arrived += [*changed.new.values(), *changed.changed.values()]
        return True

    def _read_documents(self, project: str, rows: list[_ServerRow]) -> None:
        ids = [row.id for row in rows if not row.is_left]
        there = {id_: (revision, document) for id_, revision, document in self._server.execute(_DOCUMENTS, (project, ids))}
        for row in rows:
            if not row.is_left:
                revision, row.document = there.get(row.id, (0, None))
                row.is_stale = revision != row.revision

    def _may_move(self, known: Known, memory: Memory, elsewhere: dict[str, Known]) -> bool:
        """Return whether a memory that lies in another project here is the one that a colleague moved to this one."""
        other = elsewhere.get(memory.id)
        is_ours = known.revision is not None and not known.is_deleted  # it was here, and was moved away on this side
        return not is_ours and other is not None and other.project == memory.project and not self._is_dirty(other, memory)

    def _is_dirty(self, known: Known, memory: Memory | None) -> bool:
        """Return whether a memory was changed here since it was last equal to the server's."""
        if memory is None or memory.project != known.project or memory.status == "deleted":
            return known.missed or not known.is_deleted
        if known.local == server_documents.local_digest(memory):
            return known.missed
        try:
            return known.missed or server_documents.digest(server_documents.leaving(memory, known.withheld)) != known.shared
        except InvalidMemory:
            return True

    def _delete_here(self, row: _ServerRow, known: Known, memory: Memory | None, changed: Batch) -> None:
        is_here = memory is not None and memory.status != "deleted" and memory.project == known.project
        if known.revision is not None and is_here and self._is_dirty(known, memory) and not row.is_erased:
            known.missed = True
            changed.kept.append(known)
            return
        known.revision, known.shared, known.sending, known.missed, known.bytes = row.revision, "", "", False, 0
        known.withheld = {}
        if known.seq == 0 and memory is None:  # it never was here: a colleague could fill the disk with deletions
            return
        if memory is not None and memory.project == known.project:
            is_theirs = row.author != self._found.role
            if row.is_erased and memory.trust == TEAM and not (is_theirs and self._is_own(memory)):
                changed.purged.append(memory.id)
            elif is_here:
                changed.deleted[memory.id] = memory.with_changes(status="deleted", updated_at=now_ms())
            if is_theirs:
                is_own = is_here and self._is_own(memory)
                changed.note_deleted(memory, row.author, is_erased=row.is_erased, is_own=is_own)
        changed.kept.append(known)

    def _put_here(self, row: _ServerRow, known: Known, memory: Memory | None, changed: Batch) -> None:
        assert row.document is not None
        try:
            document = server_documents.read(row.document)
        except InvalidMemory as error:
            self._leave_out(row, error)
            return
        is_forgotten = memory is not None and memory.project == known.project and memory.status == "deleted"
        if is_forgotten and known.revision is None:
            known.revision = row.revision  # forgotten here, of which the team knows nothing: it stays so here alone
            changed.kept.append(known)
            return
        there = server_documents.digest(document)
        is_here = memory is not None and memory.project == known.project and memory.status != "deleted"
        if memory is not None and is_here and self._is_equal(memory, known, there):
            if known.revision is None and memory.trust == TEAM:
                known.author, known.bytes = row.author, row.bytes
            known.revision, known.shared, known.sending, known.missed = row.revision, there, "", False
            known.local, known.seq = server_documents.local_digest(memory), memory.seq
            changed.kept.append(known)
            return
        if known.revision is not None and self._is_dirty(known, memory):
            if there == known.sending:  # our own, of which the answer was lost
                known.revision, known.shared, known.sending = row.revision, there, ""
            known.missed = True
            changed.kept.append(known)
            return
        if known.sending and memory is not None and known.sending == there:  # the same, before anything was known of it
            known.revision, known.shared, known.sending, known.missed = row.revision, there, "", True
            changed.kept.append(known)
            return
        try:
            arrived = self._arriving(known, row.author, document)
        except InvalidMemory as error:
            self._leave_out(row, error)
            return
        if memory is not None:
            arrived = server_documents.merged(arrived, memory)
            self._keep_beside(row, known, memory, arrived.memory, changed)
        known.revision, known.sending, known.missed = row.revision, "", False
        known.author, known.bytes, known.vectors = row.author, row.bytes, ""
        known.withheld = {name: list(pair) for name, pair in arrived.withheld.items()}
        self._over[row.author] = self._over.get(row.author, 0) + row.bytes + BYTES_BESIDE
        if memory is not None and server_documents.local_digest(arrived.memory) == (
            local := server_documents.local_digest(memory)
        ):
            known.local, known.seq = local, memory.seq
            known.shared = server_documents.digest(server_documents.with_withheld(memory, known.withheld))
            changed.kept.append(known)
        else:
            changed.take(arrived.memory, known, is_new=memory is None)

    def _is_own(self, memory: Memory) -> bool:
        """Return whether a memory is the user's word: as this home has it, or by the user's role from another machine."""
        return memory.trust != TEAM or memory.source == team_source(server_documents.shown_author(self._found.role))

    def _keep_beside(self, row: _ServerRow, known: Known, memory: Memory, after: Memory, changed: Batch) -> None:
        """Keep a memory beside `after`, which takes its place, where it may be the later version or is the user's own."""
        is_moved, is_deleted = after.project != memory.project, memory.status == "deleted"
        is_same = not is_moved and server_documents.says_the_same(after, memory)
        is_unknown = known.revision is None and not (is_moved or is_deleted or is_same)
        if is_unknown:
            changed.put_aside(memory)
        if not self._is_own(memory):
            return
        if row.author != self._found.role:
            changed.take_over(memory, after, row.author, self.store, is_same=is_same, is_kept=is_unknown)
            return
        comes_no_more = (
            memory.trust != TEAM and server_documents.cues_of(memory) and server_documents.is_anothers(after, memory)
        )
        if comes_no_more and not is_unknown and (is_moved or not is_deleted):  # by the user, on another machine
            changed.keep(memory)

    def _leave_out(self, row: _ServerRow, error: InvalidMemory) -> None:
        self.outcome.problems.append(f"{row.id} by {server_documents.shown_author(row.author)}: {error.message}")

    def _is_equal(self, memory: Memory, known: Known, there: str) -> bool:
        try:
            return server_documents.digest(server_documents.leaving(memory, known.withheld)) == there
        except InvalidMemory:
            return False

    # to there

    def _send_all(self) -> None:
        from psycopg.errors import InsufficientPrivilege  # an extra: without it this module loads all the same

        for project in self._projects:
            try:
                self._send_project(project)
            except InsufficientPrivilege:  # row-level security: the other projects are sent
                self.outcome.refused.append(project)

    def _send_project(self, project: str) -> None:
        looked = self._state.progress(project)[1]
        until = self.store.revision()
        self._send_unfinished(project)
        if looked < until:
            self._send_changed(project, looked, until)
            self._state.note_looked(project, until)

    def _send_unfinished(self, project: str) -> None:
        unfinished = self._state.unfinished(project)
        for start in range(0, len(unfinished), BATCH):
            part = unfinished[start : start + BATCH]
            local = self.store.by_ids([known.id for known in part])
            self._send(project, [one for known in part if (one := self._leaving(known, local.get(known.id), forced=True))])

    def _send_changed(self, project: str, looked: int, until: int) -> None:
        from_seq = 0
        while chunk := self.store.changes(looked, until, from_seq, BATCH):
            from_seq = chunk[-1].seq + 1
            known = self._state.find(project, [memory.id for memory in chunk])
            self._send(
                project,
                [
                    one
                    for memory in chunk
                    if memory.project == project or memory.id in known
                    if (one := self._leaving(known.get(memory.id) or Known(project, memory.id), memory))
                ],
            )
            self._progress(len(chunk))
        purged = self.store.purged_after(looked)
        for start in range(0, len(purged), BATCH):
            gone = [known for known in self._state.of_seqs(purged[start : start + BATCH]) if known.project == project]
            there = self.store.by_ids([known.id for known in gone])
            self._send(project, [one for known in gone if (one := self._leaving(known, there.get(known.id)))])

    def _leaving(self, known: Known, memory: Memory | None, *, forced: bool = False) -> Leaving | None:
        """Return what is to be sent of a memory, None for nothing. forced: even where it has not changed."""
        is_here = memory is not None and memory.scope == "project" and memory.project == known.project
        if not is_here or memory is None or memory.status == "deleted":
            if known.is_deleted and not forced:
                return None
            is_ours = memory is None or is_here or known.author == _NOBODY or memory.project in self._projects
            return Leaving(known, None, memory) if is_ours else None  # a colleague's, taken into one's own: it stays there
        local = server_documents.local_digest(memory)
        if (local == known.local and not forced) or not server_documents.may_leave(memory, frozenset((known.project,))):
            return None
        try:
            document = server_documents.leaving(memory, known.withheld)
        except InvalidMemory as error:
            self.outcome.problems.append(error.message)
            return None
        leaving = Leaving(known, document, memory, local)
        return leaving if leaving.digest != known.shared or forced else None

    def _send(self, project: str, batch: list[Leaving]) -> None:
        """Send a batch in one transaction, and note it. What is being sent is noted before: an answer can be lost."""
        if not batch:
            return
        for one in batch:
            one.known.sending = one.digest
        self._state.put([one.known for one in batch])
        with self._server.transaction(), self._server.cursor() as cursor:
            cursor.execute(_STAGE)
            with cursor.copy("COPY pg_temp.subcog_staged (id, base, doc, content_hash, language) FROM STDIN") as copy:
                for one in batch:
                    copy.write_row(_staged(one))
            cursor.execute(_SEND, (project,))
            answers = {id_: (revision, is_deleted) for id_, revision, is_deleted in cursor.execute(_SENT, (project,))}
        share_batch.note_latest(self._server, self._state)
        self._state.put([_noted(one, *answers[one.known.id]) for one in batch])
        gone = sum(one.document is None for one in batch)
        self.outcome.deleted_there += gone
        self.outcome.sent += len(batch) - gone


class _ServerRow:
    """One memory as the server has it. is_left: it is too large, or its author has sent too much; is_stale: it has changed
    since the server was asked for it."""

    __slots__ = ("author", "bytes", "document", "id", "is_erased", "is_left", "is_stale", "revision")

    def __init__(self, id: str, revision: int, author: str, is_erased: bool, bytes: int, is_left: bool) -> None:
        self.id = id
        self.revision = revision
        self.author = author
        self.is_erased = is_erased
        self.bytes = bytes
        self.is_left = is_left
        self.is_stale = False
        self.document: str | None = None  # as JSON; None: it is deleted


def _staged(one: Leaving) -> tuple[object, ...]:
    document = one.document
    if document is None or one.memory is None:
        return one.known.id, one.known.revision, None, None, "english"
    return (
        one.known.id,
        one.known.revision,
        one.written,
        hash_content(document["content"]),
        language_of(document["content"]) or "english",
    )


def _noted(one: Leaving, revision: int, is_deleted: bool) -> Known:
    """Return what is known of a memory that the server has taken. is_deleted: it was erased there for good."""
    known, memory = one.known, one.memory
    known.sending, known.missed = "", False
    document = one.document or {}
    known.withheld = {name: pair for name, pair in known.withheld.items() if document.get(name) == pair[0]}
    if one.document is None or memory is None or is_deleted:
        known.shared, known.local = "", ""
        known.revision = known.revision if one.document is not None else revision  # that it was erased is still to come
        return known
    known.revision = revision
    known.shared = one.digest
    known.local, known.seq = one.local, memory.seq
    if memory.trust != TEAM:
        known.author, known.bytes = _NOBODY, 0
    is_whole = memory.content_hash == hash_content(one.document["content"])
    known.vectors = "" if is_whole else memory.content_hash  # its vectors know of what was redacted
    return known
