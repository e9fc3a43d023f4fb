"""Previews shared memories, finds their lost versions (`share status`), and undoes colleagues' changes (`share restore`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import count_memories, pluralize, safe, terminal
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.share import server_documents
from subcog_hooks.share.server_documents import document_with_withheld
from subcog_hooks.share.server_schema import KEPT_OWN_PREFIX, LOST_PREFIX
from subcog_hooks.share.synced import CHANGED, ERASED, Overruling, ShareState, SyncRecord
from subcog_hooks.store.memory import TEAM, IdMaker, Memory, colleague_in, now_ms
from subcog_hooks.store.memory_checks import next_change_date
from subcog_hooks.store.store import Store

MAX_PREVIEW = 5  # memories and problems
MAX_LOST = 1_000  # latest versions that lost a conflict
MAX_KEPT = 100_000  # own versions that are stored beside a colleague's
_STATUSES = ("active", "superseded", "archived")


def show_preview(projects: Sequence[str], agreed: Sequence[str] = (), max_shown: int | None = MAX_PREVIEW) -> None:
    """Print the memories as they would be sent; of the `agreed` projects, the changed ones alone. max_shown: None for all."""
    with context.reading() as store, ShareState.open(context.home()) as state:
        for name in projects:
            on_server = {record.id: record for record in state.project_records(name)} if name in agreed else {}
            ready, refused = [], []
            for memory in store.all(_STATUSES) if store else ():
                known = on_server.get(memory.id)
                is_new = not known or known.local != server_documents.local_digest(memory) or known.missed or known.sending
                if is_new and server_documents.is_shareable(memory, name):
                    try:
                        document = server_documents.document_to_send(memory, known.withheld if known else {})
                        ready.append(f"{memory.id} {safe(str(document['content']))[:100]}")
                    except InvalidMemory as error:
                        refused.append(error.message)
            stored = store.by_ids(list(on_server)) if store else {}
            gone = sum(not record.is_deleted and _is_gone(record, stored.get(id_)) for id_, record in on_server.items())
            also = f", and that {pluralize(gone, 'memory was', 'memories were')} forgotten or taken out" if gone else ""
            terminal.say(f"{safe(name)}: {count_memories(len(ready))} would leave, redacted once more{also}")
            for line in ready[:max_shown]:
                terminal.say(f"  {line}")
            if max_shown and len(ready) > max_shown:
                terminal.say(f"  and {len(ready) - max_shown} more; `subcog share sync --dry-run` shows them")
            for problem in refused[:max_shown]:
                terminal.say(f"  left out: {safe(problem)}")


def _is_gone(record: SyncRecord, memory: Memory | None) -> bool:
    """Return whether a memory on the server was deleted here, or has left its project; a colleague's that was moved stays."""
    if memory is None or memory.status == "deleted":
        return True
    return not record.author and (memory.scope != "project" or memory.project != record.project)


def find_lost_versions(store: Store, projects: Sequence[str]) -> list[Memory]:
    """Return the versions of memories of these projects that lost a conflict, the newest first."""
    versions = store.newest_with_prefix(LOST_PREFIX, MAX_LOST)
    return [memory for memory in versions if memory.status == "superseded" and memory.project in projects]


class OwnChange(NamedTuple):
    """A colleague's change or deletion of one's own memory.

    by: the colleague's name; kind: of `Overruling`; before: one's own version, or the memory itself after a deletion; fields:
    the changed fields; status, superseded_by: their earlier values.
    """

    id: str
    by: str
    kind: str
    before: Memory
    fields: tuple[str, ...]
    status: str
    superseded_by: str | None


def find_own_changes(store: Store, state: ShareState) -> list[OwnChange]:
    """Return colleagues' changes of one's own memories, except memories restored or edited since."""
    notes = state.overrulings()
    versions = [memory for prefix in (KEPT_OWN_PREFIX, LOST_PREFIX) for memory in store.newest_with_prefix(prefix, MAX_KEPT)]
    kept: dict[str, Memory] = {}  # the latest own version beside each memory
    for memory in sorted(versions, key=lambda memory: memory.updated_at):
        # A version that lost a conflict counts where the other version is known to be a colleague's.
        is_own = memory.id.startswith(KEPT_OWN_PREFIX) or (memory.trust != TEAM and memory.superseded_by in notes)
        if is_own and memory.status == "superseded" and memory.superseded_by:
            kept[memory.superseded_by] = memory
    stored = store.by_ids([*notes, *kept])
    changes = (_change_of_own(id_, notes.get(id_), stored.get(id_), kept.get(id_)) for id_ in sorted({*notes, *kept}))
    return [change for change in changes if change]


def _change_of_own(id_: str, note: Overruling | None, memory: Memory | None, kept: Memory | None) -> OwnChange | None:
    """Return a colleague's change of one's own memory, None where it is settled.

    note: the record of the change; memory: the current version; kept: one's own version beside it.
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
        old, new = ({**document_with_withheld(version, {}), "project": version.project} for version in (before, memory))
        names = sorted({*old, *new} - {"updated_at", "trust", "status", "superseded_by"})
        fields = tuple([name for name in names if (old.get(name) or None) != (new.get(name) or None)])
        fields += ("status",) if memory.status != status else ()
        is_theirs = memory.trust == TEAM or note is None
        is_open = bool(fields) and memory.status != "deleted" and (is_theirs or is_as_left)
    else:
        is_open = memory.status == "deleted" and (is_as_left or kind == ERASED)
    by = server_documents.shown_author(note.author) if note else (memory and colleague_in(memory.noted)) or "a colleague"
    return OwnChange(id_, by, kind, before, fields, status, superseded_by) if is_open else None


def restore_own(changes: Sequence[OwnChange], store: Store, state: ShareState) -> list[Memory]:
    """Restore memories as they were before changes; an erased id stays erased, so its memory gets a new one. Return them."""
    ids = IdMaker()
    restored: list[Memory] = []
    for change in changes:
        original = change.before.with_changes(id=change.id, status=change.status, superseded_by=change.superseded_by)
        if change.kind == ERASED:
            restored += store.add([original.with_changes(id=ids.new(), seq=0, updated_at=now_ms())])
        else:
            restored.append(original.with_changes(updated_at=next_change_date(store.get(change.id).updated_at)))
            store.update(restored[-1:])
        if change.before.id != change.id:
            store.modify([change.before.id], lambda kept: kept.with_changes(status="deleted", updated_at=now_ms()))
        state.forget_overrulings([change.id])
    return restored
