"""Taking back colleagues' changes and deletions of one's own memories: here, and for all once that is sent."""

from collections.abc import Sequence

from subcog_hooks.cli.team.share_status import OwnChange
from subcog_hooks.memory.model import IdMaker, Memory, move_date, now_ms
from subcog_hooks.memory.store import Store
from subcog_hooks.sharing.known import ERASED, ShareState


def take_back(changes: Sequence[OwnChange], store: Store, state: ShareState) -> list[Memory]:
    """Put memories back as they were before these changes. Return them. Raises InvalidMemory, StoreError.

    An id that was erased for all does not come back there, so what had it gets another.
    """
    ids = IdMaker()
    restored = []
    for change in changes:
        restored.append(_add_anew(change, ids, store) if change.kind == ERASED else _put_back(change, store))
        if change.before.id != change.id:
            store.modify([change.before.id], lambda kept: kept.replaced(status="deleted", updated_at=now_ms()))
        state.settle([change.id])
    return restored


def _add_anew(change: OwnChange, ids: IdMaker, store: Store) -> Memory:
    return store.add([_as_before(change, id=ids.new(), seq=0, updated_at=now_ms())])[0]


def _put_back(change: OwnChange, store: Store) -> Memory:
    def undo(stored: Memory) -> Memory:
        return _as_before(change, id=stored.id, seq=stored.seq, updated_at=move_date(stored.updated_at))

    return store.modify([change.id], undo)[0]


def _as_before(change: OwnChange, **others: object) -> Memory:
    return change.before.replaced(status=change.status, superseded_by=change.superseded_by, **others)
