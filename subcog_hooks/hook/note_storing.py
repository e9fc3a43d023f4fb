"""Storing a note that the person has typed as a prompt, and the words by which the person is told.

A tenth of a second of imports, most of it for the redaction of secrets: loaded once a prompt is surely a note.
"""

from __future__ import annotations

from subcog_hooks.capture.compose import cleaned
from subcog_hooks.capture.duplicates import near_duplicates
from subcog_hooks.embed import spaces
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.redaction.leaks import mask
from subcog_hooks.redaction.redact import describe
from subcog_hooks.store import index_sync
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import IdMaker, Memory, now_ms
from subcog_hooks.store.store import Store, audience_of
from subcog_hooks.text.sanitise import cut, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.paths import Home

MAX_NEAR_SHOWN = 2  # memories that are nearly the same
MAX_INDEXED_ANEW = 1_000  # memories of which a missing index is made while the person waits
SHOWN_UNITS = 160  # of each, in UTF-16 units
CLEARING = "if your line stands below again: Ctrl-U clears it"  # as 2.1.329 has it, and 2.1.197 not
STORE_WAIT_MS = 1_000.0  # for another process that writes
UNCERTAIN = "subcog: the time was over while the note was being stored; `subcog list` shows whether it is there"


def store_note(text: str, owner: str | None, home: Home, prepare: Callable[[str], None]) -> str:
    """Store a note of the person; return the message for the person. Raises StoreError, InvalidMemory.

    prepare: sets the message for the case that the process is ended while the note is being stored.
    """
    now = now_ms()
    memory, removed = cleaned(
        Memory(
            id=IdMaker().new(),
            content=text,
            scope="project" if owner else "user",
            project=owner,
            created_at=now,
            updated_at=now,
        )
    )
    with Store.writer(home, STORE_WAIT_MS) as store:
        for same in store.by_hash(memory.content_hash):
            if audience_of(same.scope, same.project) == audience_of(memory.scope, memory.project) and same.is_live(now):
                return f"subcog: already remembered as {same.id}\n{CLEARING}"
        likenesses = _likenesses(memory, home, store)  # not after it is stored: then the answer is all that counts
        prepare(UNCERTAIN)
        store.add([memory])
    return "\n".join(_message(memory, describe(removed), likenesses))


def follow(home: Home, log: Callable[[str], None]) -> None:
    """Bring index and vectors up to date, as far as there is time. The note is safe, and the person has been told."""
    try:
        with Store.reader(home, STORE_WAIT_MS) as store:
            if sum(store.counts().values()) > MAX_INDEXED_ANEW:
                LexicalIndex.open(home)  # raises where all of it would have to be made anew
            index_sync.catch_up(home, store)
            spaces.open_following(home, store, PACKAGED).close()
    except Exception as error:  # noqa: BLE001 - the next command does it
        log(f"index or vectors will follow a typed note with the next command: {error}")


def _likenesses(memory: Memory, home: Home, store: Store) -> list[str]:
    """Return what is nearly the same, or says the opposite, in lines; of what the index knows by now."""
    try:
        similar = near_duplicates(memory, LexicalIndex.open(home), store)[:MAX_NEAR_SHOWN]
    except Exception:  # noqa: BLE001 - an index that is missing or damaged keeps no note away
        return []
    lines = [f"{near.likeness}: {near.memory.id} {_shown(near.memory.content)}" for near in similar]
    if similar:
        lines.append(f"if it takes the place of that: subcog supersede {similar[0].memory.id} {memory.id}")
    return lines


def _shown(text: str) -> str:
    return cut(one_line(mask(text)), SHOWN_UNITS)


def _message(memory: Memory, removed: str, likenesses: list[str]) -> list[str]:
    owner = one_line(memory.project) if memory.project else "all your projects"
    kept = f"subcog: remembered as {memory.id} in {memory.namespace} of {owner}; it comes when a prompt is about it"
    return [
        kept,
        f"  {_shown(memory.content)}",
        *filter(None, (removed,)),
        *likenesses,
        f"to undo: subcog forget {memory.id}",
        CLEARING,
    ]
