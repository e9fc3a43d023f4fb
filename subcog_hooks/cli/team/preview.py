"""A dry run: what would leave for the team's server is shown before it does."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from subcog_hooks.cli.support import session
from subcog_hooks.cli.support.output import counted, safe, terminal
from subcog_hooks.errors import InvalidMemory
from subcog_hooks.memory.model import Memory
from subcog_hooks.memory.store import Store
from subcog_hooks.sharing import documents
from subcog_hooks.sharing.known import Known, ShareState

SHOWN_IN_DRY_RUN = 5  # memories, and what is wrong with others
_STATUSES = ("active", "superseded", "archived")


def show(projects: Sequence[str], agreed: Sequence[str] = (), *, is_whole: bool = False) -> None:
    """Show what would be sent of projects, as it would be sent: of a lot the first, unless `is_whole`.

    agreed: those of which only changes are.
    """
    most = sys.maxsize if is_whole else SHOWN_IN_DRY_RUN
    with session.reading() as store, ShareState.open(session.home()) as state:
        for name in projects:
            known = {one.id: one for one in state.every(name)} if name in agreed else {}
            ready, refused = _leaving_of(store, name, known) if store else ([], [])
            gone = _count_gone(store, known) if store else 0
            deleted = f", and that {counted(gone, 'memory was', 'memories were')} forgotten or taken out" if gone else ""
            terminal.say(f"{safe(name)}: {counted(len(ready), 'memory', 'memories')} would leave, redacted once more{deleted}")
            for memory, document in ready[:most]:
                terminal.say(f"  {memory.id} {safe(str(document['content']))[:100]}")
            if len(ready) > most:
                terminal.say(f"  and {len(ready) - most} more; `subcog share sync --dry-run --all` shows them")
            for problem in refused[:most]:
                terminal.say(f"  left out: {safe(problem)}")


def _leaving_of(
    store: Store, project: str, known: Mapping[str, Known]
) -> tuple[list[tuple[Memory, documents.Document]], list[str]]:
    """Return what would be sent of a project, and what is wrong with the rest. known: by id, what the server has already."""
    ready, refused = [], []
    for memory in store.all(_STATUSES):
        before = known.get(memory.id)
        if not documents.may_leave(memory, frozenset((project,))) or (before and _is_settled(memory, before)):
            continue
        try:
            ready.append((memory, documents.leaving(memory, before.withheld if before else None)))
        except InvalidMemory as error:
            refused.append(error.message)
    return ready, refused


def is_waiting(memory: Memory, before: Known | None, project: str) -> bool:
    """Return whether a memory would be sent, or its end. before: what the server has of it."""
    if documents.may_leave(memory, frozenset((project,))):
        return before is None or not _is_settled(memory, before)
    return before is not None and not before.is_deleted and _is_gone(before, memory)


def _is_settled(memory: Memory, before: Known) -> bool:
    return before.local == documents.local_digest(memory) and not before.missed and not before.sending


def _count_gone(store: Store, known: Mapping[str, Known]) -> int:
    """Return how many memories are on the server and are no longer shared from here."""
    shared = [one for one in known.values() if not one.is_deleted]
    there = store.by_ids([one.id for one in shared])
    return sum(_is_gone(one, there.get(one.id)) for one in shared)


def _is_gone(known: Known, memory: Memory | None) -> bool:
    if memory is None or memory.status == "deleted":
        return True
    is_elsewhere = memory.scope != "project" or memory.project != known.project
    return is_elsewhere and not known.author  # a colleague's, taken into one's own, stays there
