"""The served report: memories as cards, and a person's changes, made as `edit`, `forget` and `review` make them."""

from collections.abc import Callable, Mapping

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.compose import Removed, sum_removed
from subcog_hooks.cli import editor, embedding, inventory
from subcog_hooks.cli.agents import permission_rules
from subcog_hooks.cli.amendment import amend, apply_edits, mark_forgotten
from subcog_hooks.cli.inventory import Inventory
from subcog_hooks.cli.listing import cue_rows, priority_text
from subcog_hooks.cli.page.report_page import Card, Page, card_fields, visible_text
from subcog_hooks.cli.proposals import waiting
from subcog_hooks.cli.terminal import context
from subcog_hooks.cli.terminal.output import day, pluralize
from subcog_hooks.core.errors import UsageError
from subcog_hooks.redaction.redact import describe_removed
from subcog_hooks.store.memory import PENDING, UNDATED, Memory, hash_content
from subcog_hooks.store.store import Store

_OWNERS = {"user": "all your projects", "org": "your organisation"}
_STATES = {PENDING: "waiting", "superseded": "replaced", "deleted": "forgotten"}
_UNUSED = "not used for a year"


class ServedReport:
    """A report that is served. build: makes its page; figures: its names and values above."""

    def __init__(self, build: Callable[[Inventory], Page], figures: Callable[[Inventory], list[tuple[str, str]]]) -> None:
        self._build = build
        self._figures = figures

    def make_page(self) -> Page:
        """Return the page as the store is now. Raises NoMemory, StoreError."""
        return self._build(inventory.load_inventory())

    def read_memory(self, id_: str) -> dict[str, object]:
        """Return the text and fields of a memory to edit. Raises NoMemory, StoreError."""
        with context.reading() as store:
            memory = _get_memory(store, id_)
        return {"content": memory.content, "fields": editor.form_fields(memory), "version": _version_of(memory)}

    def change(self, request: Mapping[str, object]) -> dict[str, object]:
        """Make a change, and return a message, the changed cards and the figures. Raises SubcogError."""
        action, id_ = request.get("action"), request.get("id")
        if not isinstance(id_, str):
            raise UsageError("the change names no memory", "load the page again")
        if not isinstance(action, str) or action not in _CHANGES:
            raise UsageError("the change is none that this page makes", "load the page again")
        with context.writing() as store:
            memory = _get_memory(store, id_)
            message = _CHANGES[action](store, memory, request)
        permission_rules.take_back_ended(context.home())
        embedding.start_background_jobs()
        contents = inventory.load_inventory()
        with context.reading() as store:
            changed = list(store.by_ids([id_]).values()) if store else []
        cards = [card_fields(card) for card in make_cards(changed, contents)]
        return {"message": message, "cards": cards, "figures": [value for _, value in self._figures(contents)]}


def _get_memory(store: Store | None, id_: str) -> Memory:
    if store is None:
        context.require_store(id_)
    assert store is not None
    return store.get(id_)


def _version_of(memory: Memory) -> str:
    return hash_content(jsonl.dump(memory))


def _keep(store: Store, memory: Memory, _request: Mapping[str, object]) -> str:
    waiting.accept(store, [waiting.find_pending(store, memory.id)])
    return "Kept. Your agents are given it from now on."


def _drop(store: Store, memory: Memory, _request: Mapping[str, object]) -> str:
    waiting.reject(store, [waiting.find_pending(store, memory.id)])
    return "Dropped."


def _forget(store: Store, memory: Memory, _request: Mapping[str, object]) -> str:
    mark_forgotten(store, [memory])
    return "Forgotten. No agent is given it any more."


def _restore(store: Store, memory: Memory, request: Mapping[str, object]) -> str:
    status = PENDING if request.get("status") == PENDING else "active"
    is_changed, _ = _amend(store, memory, {"status": status})
    if not is_changed:
        return "Nothing changed."
    if status == PENDING:
        return "Waits for review again."
    return "Brought back."


def _edit(store: Store, memory: Memory, request: Mapping[str, object]) -> str:
    content, fields = request.get("content"), request.get("fields")
    if not isinstance(content, str) or not content.strip():
        raise UsageError("the text is empty", "write it, or forget the memory")
    if not isinstance(fields, dict) or fields.keys() != editor.form_fields(memory).keys():
        raise UsageError("the form lacks a field", "load the page again")
    if request.get("version") != _version_of(memory):
        raise UsageError(f"{memory.id} was changed since then, elsewhere", "copy your text, and load the page again")
    changes = editor.read_form({name: str(value) for name, value in fields.items()}, content, memory)
    is_changed, removed = _amend(store, memory, changes) if changes else (False, "")
    return f"{'Saved.' if is_changed else 'Nothing changed.'} {removed}".strip()


def _amend(store: Store, memory: Memory, changes: Mapping[str, object]) -> tuple[bool, str]:
    """Change a memory. Return whether it differs now, and a note of the secrets taken out."""
    removed: list[Removed] = []
    after = amend(memory, lambda stored: apply_edits(memory, stored, changes), store, removed)
    if after is not None:
        context.update_index_and_vectors(store)
    return after is not None, describe_removed(sum_removed(removed)) if sum_removed(removed) else ""


_CHANGES: dict[str, Callable[[Store, Memory, Mapping[str, object]], str]] = {
    "keep": _keep,
    "drop": _drop,
    "forget": _forget,
    "restore": _restore,
    "edit": _edit,
}


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
