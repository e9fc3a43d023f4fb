"""A server that was restored from a backup: the versions that it has lost are found, to be sent again."""

from __future__ import annotations

from subcog_hooks.share.batch import THIS_HOME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from subcog_hooks.share.server_connection import Connection
    from subcog_hooks.share.server_schema import TeamTables
    from subcog_hooks.share.synced import ShareState, SyncRecord

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
