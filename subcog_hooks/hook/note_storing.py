"""Store a note that the person has typed as a prompt, and compose the confirmation.

The imports take a tenth of a second, most of it for the redaction of secrets: they are loaded for a certain note only.
"""

from __future__ import annotations

from subcog_hooks.capture.duplicates import find_near_duplicates
from subcog_hooks.capture.jsonl import redact_note
from subcog_hooks.embed import models
from subcog_hooks.embed.space import PACKAGED
from subcog_hooks.redaction.masking import mask_secrets
from subcog_hooks.redaction.redact import describe_removed
from subcog_hooks.store import index_writer
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import USER, IdMaker, Memory, now_ms
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of
from subcog_hooks.text import actions
from subcog_hooks.text.sanitise import cut, one_line
from subcog_hooks.text.standing_rules import is_standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from subcog_hooks.core.paths import Home

MAX_NEAR_SHOWN = 2  # similar memories in the confirmation
MAX_INDEXED_ANEW = 1_000  # A missing index of more memories is not rebuilt while the person waits.
MAX_EXCERPT_UNITS = 160  # UTF-16 units of a memory in the confirmation
MAX_REST_UNITS = 500  # UTF-16 units of the part behind a stored note
MAX_EARLIER = 5  # newest memories that a note may begin with
GLUED_SECONDS = 300  # the age up to which a note may still stand in the client's input
STORE_WAIT_MS = 1_000.0  # for another writing process
UNCERTAIN_MESSAGE = "subcog: the time was over while the note was being stored; `subcog list` shows whether it is there"


def store_note(text: str, owner: str | None, home: Home, prepare: Callable[[str], None]) -> str:
    """Store a note of the person; return the message for the person. Raises StoreError, InvalidMemory.

    prepare: sets the message for the case that the process is ended while the note is being stored.
    """
    now = now_ms()
    memory, removed = redact_note(
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
                return f"subcog: already remembered as {same.id}"
        if glued := _glued_message(text, memory, store):
            return glued
        similar_lines = _similar_note_lines(memory, home, store)  # Once it is stored, the answer comes first.
        prepare(UNCERTAIN_MESSAGE)
        store.add([memory])
    return "\n".join(_confirmation_lines(memory, describe_removed(removed), similar_lines))


def update_index(home: Home, log: Callable[[str], None]) -> None:
    """Bring index and vectors up to date, as far as there is time. The note is stored, and the person has the answer."""
    try:
        with Store.reader(home, STORE_WAIT_MS) as store:
            if sum(store.counts().values()) > MAX_INDEXED_ANEW:
                LexicalIndex.open(home)  # It raises where the whole index must be rebuilt.
            index_writer.bring_up_to_date(home, store)
            models.open_vectors(home, store, PACKAGED).close()
    except Exception as error:  # noqa: BLE001 - the next command does it
        log(f"index or vectors will follow a typed note with the next command: {error}")


def _glued_message(text: str, memory: Memory, store: Store) -> str:
    """Return the answer to a note that begins with one stored just now, "" for any other.

    Claude Code 2.1.329 leaves a typed note in its input, and the next prompt is typed behind it.
    """
    audience = Filter(audiences=(audience_of(memory.scope, memory.project),))
    for earlier in store.select(audience, MAX_EARLIER):
        seconds = (memory.created_at - earlier.created_at) // 1_000
        if earlier.trust == USER and seconds <= GLUED_SECONDS and memory.content.startswith(earlier.content):
            rest = _excerpt(text[len(earlier.content) :], MAX_REST_UNITS)
            return (
                f"subcog: not stored: it begins with {earlier.id}, stored {seconds} seconds ago\n"
                f"for the agent? Send the rest by itself: {rest}"
            )
    return ""


def _similar_note_lines(memory: Memory, home: Home, store: Store) -> list[str]:
    """Return lines about memories that are nearly the same or say the opposite, as far as the index has them."""
    try:
        similar = find_near_duplicates(memory, LexicalIndex.open(home), store)[:MAX_NEAR_SHOWN]
    except Exception:  # noqa: BLE001 - an index that is missing or damaged keeps no note away
        return []
    lines = [f"{near.likeness}: {near.memory.id} {_excerpt(near.memory.content)}" for near in similar]
    if similar:
        lines.append(f"if it takes the place of that: subcog supersede {similar[0].memory.id} {memory.id}")
    return lines


def _excerpt(text: str, max_units: int = MAX_EXCERPT_UNITS) -> str:
    return cut(one_line(mask_secrets(text)), max_units)


def _confirmation_lines(memory: Memory, removed: str, similar_lines: list[str]) -> list[str]:
    owner = one_line(memory.project) if memory.project else "all your projects"
    ruled = actions.actions_of_rule(memory.content) if is_standing(None, memory.content) else ()
    governed = dict.fromkeys(map(actions.describe_action, ruled))
    at_action = f", or when the agent is about to {' or '.join(governed)}" if governed else ""
    return [
        f"subcog: remembered as {memory.id} in {memory.namespace} of {owner}; it comes when a prompt is about it{at_action}",
        f"  {_excerpt(memory.content)}",
        *filter(None, (removed,)),
        *similar_lines,
        f"to undo: subcog forget {memory.id}",
    ]
