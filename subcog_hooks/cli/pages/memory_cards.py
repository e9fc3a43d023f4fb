"""Memories as the cards of a page: their text, a sentence about each, and their other fields."""

from subcog_hooks.cli.listing import cue_rows, priority_text
from subcog_hooks.cli.support.inventory import Inventory
from subcog_hooks.cli.support.output import day, pluralize
from subcog_hooks.cli.support.page import Card, visible_text
from subcog_hooks.store.memory import PENDING, UNDATED, Memory

_OWNERS = {"user": "all your projects", "org": "your organisation"}
_STATES = {PENDING: "waiting", "superseded": "replaced", "deleted": "forgotten"}
_UNUSED = "not used for a year"


def make_cards(memories: list[Memory], contents: Inventory) -> list[Card]:
    """Return a card for each memory."""
    unused = {memory.id for why, memory in contents.stale() if why == _UNUSED}
    return [_make_card(memory, contents, is_unused=memory.id in unused) for memory in memories]


def _state_of(memory: Memory, contents: Inventory) -> str:
    if memory.status == "active" and not memory.is_live(contents.now):
        return "expired"
    return _STATES.get(memory.status, memory.status)


def _make_card(memory: Memory, contents: Inventory, *, is_unused: bool) -> Card:
    state = _UNUSED if is_unused else _state_of(memory, contents)
    standing = "" if memory.standing is None else "yes" if memory.standing else "no"
    others = [("standing", standing), ("priority", priority_text(memory)), ("source", memory.source)]
    details = [*cue_rows(memory), *others]
    return Card(
        id=memory.id,
        text=memory.content,
        about=_describe(memory, contents, state),
        state=state,
        project=memory.project or memory.scope,
        namespace=memory.namespace,
        created=memory.created_at,
        given=contents.sessions_of(memory),
        details=[row for row in details if row[1]],
    )


def _describe(memory: Memory, contents: Inventory, state: str) -> str:
    date = "" if memory.created_at == UNDATED else f" on {day(memory.created_at)}"
    author = f", {memory.noted.removeprefix('noted ')}" if memory.noted else ""
    owner = memory.project or _OWNERS.get(memory.scope, memory.scope)
    sentences = [f"Noted{date} under {visible_text(memory.namespace)}, for {visible_text(owner)}{author}."]
    if state == "expired" and memory.expires_at is not None:
        sentences.append(f"Expired on {day(memory.expires_at)}.")
    if memory.superseded_by:
        sentences.append(f"Replaced by {memory.superseded_by}.")
    use = contents.use.by_id.get(memory.id)
    if use:
        sentences.append(f"Given to {pluralize(use.sessions, 'session')}, last on {day(use.last_at)}.")
    elif memory.is_live(contents.now):
        sentences.append("Not given to a session yet.")
    return " ".join(sentences)
