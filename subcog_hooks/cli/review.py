"""`subcog review`: memories that wait for the person's word: found, shown one after the other, accepted or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from typer import Option

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.duplicates import Difference, NearDuplicate, group_copies
from subcog_hooks.capture.import_changes import keeps_file_fields
from subcog_hooks.capture.sources import catalogue
from subcog_hooks.capture.sources.source_reading import IN_REPOSITORY
from subcog_hooks.cli import embedding
from subcog_hooks.cli.amendment import amend, apply_changes, apply_edits, edit_in_editor, mark_forgotten, similar_to
from subcog_hooks.cli.commands import AsUser, Texts, id_option
from subcog_hooks.cli.proposals import learning_runs
from subcog_hooks.cli.terminal import author, context, inputs, output
from subcog_hooks.cli.terminal.output import ACCENT, DIM, day, owner_label, pluralize, redact_line, safe, terminal
from subcog_hooks.core.deadline import Pace
from subcog_hooks.core.errors import SubcogError, UsageError
from subcog_hooks.core.paths import Home
from subcog_hooks.hook import brief
from subcog_hooks.learn.proposals import is_from_session, is_written_by_model, session_id
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store import learned
from subcog_hooks.store.memory import AUTHOR_PHRASES, PENDING, WRITTEN_BY_MODEL, Memory, now_ms
from subcog_hooks.store.memory_checks import next_change_date
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter

REPLACES = "it has changed since"  # how a memory contradicts one that a model says it replaces
UNUSED_DAYS = 120
UNUSED_MS = UNUSED_DAYS * learning_runs.DAY_MS
_ADD_NEWS = "INSERT OR IGNORE INTO news VALUES (?)"  # The next session's start shows the line.


class Settlement(NamedTuple):
    """A change made by the person. message: a summary; before, after: the changed memories."""

    message: str
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


def find_waiting(store: Store, since_ms: int) -> list[Memory]:
    """Return the waiting memories: the surest first, then the oldest.

    since_ms: their earliest date, milliseconds since the epoch; with one, active memories from sessions come, too.
    """
    pending = store.select(Filter(statuses=(PENDING,), include_expired=True))[::-1]
    records = learning_runs.load_proposal_records()
    if since_ms:
        noted = [memory for memory in store.by_ids(list(records)).values() if memory.is_live(now_ms())]
        pending = [memory for memory in (*pending, *noted) if memory.created_at >= since_ms]
    return sorted(pending, key=lambda memory: -records[memory.id].certainty if memory.id in records else 0.0)


def find_pending(store: Store, id_: str) -> Memory:
    """Return the waiting memory with this id or prefix. Raises NoMemory, UsageError."""
    memory = context.find_memory(store, id_)
    if memory.status != PENDING:
        raise UsageError(f"{memory.id} does not wait, it is {memory.status}", "`subcog review --list` shows those that do")
    return memory


def source_of(memory: Memory) -> str:
    """Describe the source of a memory in a few words.

    >>> source_of(Memory(id="a", content="x", trust="agent")), source_of(Memory(id="a", content="x", source="adr/0001.md"))
    ('noted by an agent', 'adr/0001.md')
    """
    if is_written_by_model(memory):
        return f"{WRITTEN_BY_MODEL}, from session {session_id(memory)}"
    if is_from_session(memory):
        return f"said in session {session_id(memory)}"
    return memory.source or AUTHOR_PHRASES.get(memory.trust, "noted by you")


def store_of(memory: Memory) -> str:
    """Return the program that a memory was imported from, with the repository's name; "" for none.

    >>> store_of(Memory(id="a", content="x", source="mempalace@github.com/acme/shop:b-1:1"))
    'mempalace@github.com/acme/shop'
    """
    name = memory.source.partition(":")[0]
    return name if name.partition(IN_REPOSITORY)[0] in catalogue.SOURCE_NAMES else ""


def _origin_of(memory: Memory) -> str:
    return session_id(memory) if is_from_session(memory) else store_of(memory) or source_of(memory)


def accept(store: Store, memories: Sequence[Memory], copies: Sequence[Memory] = ()) -> Settlement:
    """Activate waiting memories, supersede the memories that they replace, and forget copies. Raises StoreError, UsageError."""
    _require_waiting(store, [*memories, *copies])
    replaced: dict[str, Mapping[str, object]] = {
        old.id: {"status": "superseded", "superseded_by": memory.id}
        for memory in memories
        if (old := find_replaced(memory, store))
    }
    return settle(store, _with_status("active", memories) | replaced | _with_status("deleted", copies), "kept")


def find_replaced(memory: Memory, store: Store) -> Memory | None:
    """Return the active memory that a waiting one replaces, as the model said. Raises StoreError."""
    with context.existing_state(context.home()) as state:
        rows = state.run("SELECT replaced FROM replacements WHERE memory = ?", (memory.id,)) if state else []
    return next((old for old in store.by_ids([id_ for (id_,) in rows]).values() if old.is_live(now_ms())), None)


def find_near(memory: Memory, store: Store) -> list[NearDuplicate]:
    """Return the active memories that a waiting one replaces, resembles or contradicts. Raises StoreError."""
    near = [similar for similar in similar_to(memory, store) if similar.memory.id != memory.id]
    old = find_replaced(memory, store)
    if old is None:
        return near
    difference = Difference(REPLACES, is_contradiction=True)
    return [NearDuplicate(old, 1.0, difference), *(similar for similar in near if similar.memory.id != old.id)]


def reject(store: Store, memories: Sequence[Memory]) -> Settlement:
    """Forget waiting memories, as `forget` does. Raises StoreError, UsageError."""
    _require_waiting(store, memories)
    return settle(store, _with_status("deleted", memories), "dropped")


def _with_status(status: str, memories: Sequence[Memory]) -> dict[str, Mapping[str, object]]:
    return {memory.id: {"status": status} for memory in memories}


def undo(store: Store, change: Settlement) -> None:
    """Restore the memories of a change. Raises StoreError, UsageError where one has changed since."""
    for after in change.after:
        if jsonl.dump(store.get(after.id)) != jsonl.dump(after):
            raise UsageError(f"{after.id} was changed since then, elsewhere", "it stays as it is")
    originals = {before.id: before for before in change.before}

    def restore(stored: Memory) -> Memory:
        original = originals[stored.id]
        if keeps_file_fields(original, stored):
            return original
        return original.with_changes(updated_at=next_change_date(stored.updated_at))

    store.modify(list(originals), restore)
    context.update_index_and_vectors(store)


def _require_waiting(store: Store, memories: Sequence[Memory]) -> None:
    for memory in memories:
        if (stored := store.get(memory.id)).status != memory.status:
            raise UsageError(f"{memory.id} is {stored.status} by now", "another process was quicker")


def settle(store: Store, changes: Mapping[str, Mapping[str, object]], message: str) -> Settlement:
    """Make changes by memory id, all or none. Raises StoreError, InvalidMemory."""
    before = tuple(store.get(id_) for id_ in changes)

    def change(old: Memory) -> Memory:
        new = apply_changes(old, changes[old.id])
        return new if keeps_file_fields(old, new) else new.with_changes(updated_at=next_change_date(old.updated_at))

    after = store.modify(list(changes), change)
    context.update_index_and_vectors(store)
    return Settlement(message, before, tuple(after))


def end_unwanted(home: Home, _: Pace) -> str:
    """Forget proposals that nobody has answered in 30 days, and archive a model's notes that nothing has used in 120.

    The next session's start says so. Return a summary, "" for none. Raises StoreError.
    """
    with context.existing_state(home) as state, context.reading() as readable:
        if not state or not readable:
            return ""
        old = readable.by_ids(learned.find_old_proposals(state, now_ms())).values()
        waiting = [memory for memory in old if memory.status == PENDING]
        notes = [memory for memory in readable.select(Filter()) if is_written_by_model(memory)]
        unused_ids: set[str] = set()
        for project in {memory.project for memory in notes if memory.project}:
            unused_ids.update(brief.find_unused(state, project, now_ms(), UNUSED_MS))
        unused = [memory for memory in notes if memory.id in unused_ids and memory.updated_at < now_ms() - UNUSED_MS]
    if not waiting and not unused:
        return ""
    with context.writing() as store, context.open_state() as state:
        if waiting:
            mark_forgotten(store, waiting)
            dropped = f"{pluralize(len(waiting), 'proposal')} dropped, which nobody has answered in 30 days"
            state.run(_ADD_NEWS, (dropped,))
        if unused:
            settle(store, _with_status("archived", unused), "archived")
            ids = " ".join(memory.id for memory in unused)
            line = f"{pluralize(len(unused), 'note')} archived, which nothing has used in {UNUSED_DAYS} days; "
            state.run(_ADD_NEWS, (f"{line}`subcog edit --status active {ids}` brings back",))
    return f"{len(waiting)} dropped, {len(unused)} archived"


KEYS = ("k keep, d drop, e edit and keep, n leave it for later, u undo, q quit", "K keep, D drop all of its session or source")
ALL_OF_SOURCE = ("K", "D")  # keys
MAX_QUESTIONS = 7  # memories that a run asks about
SETTLED_BY = "only the person keeps or drops waiting memories"
PREVIEW_CHARACTERS = 120  # of a neighbour


def review(
    as_list: Annotated[bool, Option("--list", help="List the waiting memories, a line each.")] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print the waiting memories as one JSON array, with similar memories.")
    ] = False,
    as_jsonl: Annotated[bool, Option("--jsonl", help="Print the same as JSON, an object a line.")] = False,
    accept: Annotated[Texts, id_option("--accept", "Keep this memory; may be given several times.")] = None,
    reject: Annotated[Texts, id_option("--reject", "Drop this memory; may be given several times.")] = None,
    since: Annotated[
        str | None,
        Option("--since", metavar="AGE", help="Only memories of the last 12h, 7d or 8w, with active memories from sessions."),
    ] = None,
    as_user: AsUser = False,
) -> None:
    """Ask about the surest waiting memories: keep, edit or drop. Until then none is given to the agent.

    Each is shown with its source, its copies and similar memories. A dropped memory is forgotten; `u` undoes the last step.
    Unanswered proposals from sessions are dropped after 30 days. The exit code is 1 when nothing waits.

    Example: subcog review --list
    """
    inputs.refuse_several({"settling": bool(accept or reject), "--list": as_list, "--json": as_json, "--jsonl": as_jsonl})
    if accept or reject:
        _settle_all(accept or [], reject or [], as_user=as_user)
        return
    is_data = as_json or as_jsonl
    is_in_terminal = terminal.interactive and not as_list and not is_data
    if is_in_terminal:
        author.require_person(SETTLED_BY, as_user=as_user)
    since_ms = learning_runs.time_of_age(since, now_ms())
    with context.reading() as store:
        memories = find_waiting(store, since_ms) if store else []
        if store and is_data:
            terminal.rows([_row_of(memory, store) for memory in memories], as_json=as_json, as_jsonl=as_jsonl)
    if not memories:
        raise output.nothing_found("nothing waits for review")
    if is_in_terminal:
        _ReviewSession(memories).run()
    elif not is_data:
        for memory in memories:
            origin = safe(f"{memory.namespace} of {owner_label(memory)}, {source_of(memory)}")
            about = f"  {day(memory.created_at)}  {origin}  "
            terminal.pieces((memory.id, ACCENT), (about, DIM), (redact_line(memory.content), ""))
        if not as_list:
            terminal.say("`subcog review` asks for each in a terminal; --accept ID and --reject ID settle it here")


def _settle_all(accepted: Sequence[str], rejected: Sequence[str], *, as_user: bool) -> None:
    """Keep and drop memories by id, all or none. Raises NoMemory, UsageError."""
    author.require_person(SETTLED_BY, as_user=as_user)
    with context.writing() as store:
        kept = [find_pending(store, id_) for id_ in dict.fromkeys(accepted)]
        dropped = [find_pending(store, id_) for id_ in dict.fromkeys(rejected)]
        if both := {memory.id for memory in kept} & {memory.id for memory in dropped}:
            raise UsageError(f"{', '.join(sorted(both))} cannot be kept and dropped", "name it once")
        accept(store, kept, dropped)
    for verb, memories in (("kept", kept), ("dropped", dropped)):
        for memory in memories:
            terminal.say(f"{verb}: {memory.id} {redact_line(memory.content)[:80]}")
    embedding.start_background_jobs()


def _row_of(memory: Memory, store: Store) -> dict[str, object]:
    near = [
        {
            "id": similar.memory.id,
            "content": redact(similar.memory.content).text,
            "share": round(similar.share, 2),
            "contradiction": similar.contradiction,
        }
        for similar in find_near(memory, store)
    ]
    row = {**json.loads(jsonl.dump(memory)), "content": redact(memory.content).text}
    return {**row, "from": source_of(memory), "near": near}


class _ReviewSession:
    def __init__(self, memories: list[Memory]) -> None:
        self._memories = memories
        self._questions: list[list[Memory]] = []  # a memory, and its copies
        self._position = 0
        self._steps: list[tuple[int, Settlement]] = []  # positions and changes, for undo
        self._records = learning_runs.load_proposal_records()

    @property
    def _settled(self) -> set[str]:
        changed = {memory.id for _, change in self._steps for memory in change.before}
        return changed & {memory.id for memory in self._memories}

    def run(self) -> None:
        """Ask about each memory until all are settled or the person quits."""
        _say_keys()
        with context.reading() as store:
            assert store is not None
            self._questions = group_copies(self._memories, context.index_of(store))[:MAX_QUESTIONS]
        try:
            while self._position < len(self._questions):
                memory = self._questions[self._position][0]
                if memory.id in self._settled:
                    self._position += 1
                elif not self._ask_about(memory):
                    return
        finally:  # also after Ctrl-C: settled memories stay settled
            left = len(self._memories) - len(self._settled)
            terminal.say(f"{len(self._settled)} settled, {left} still wait" + "; `subcog review` goes on" * (left > 0))
            if self._settled:
                embedding.start_background_jobs()

    def _ask_about(self, memory: Memory) -> bool:
        """Show a memory, and apply the person's answer. Return whether to go on."""
        with context.reading() as store:
            near = find_near(memory, store) if store else []
        self._show_memory(memory, near)
        while True:
            key = inputs.next_key()
            if key == "q":
                return False
            if key in ("n", " "):
                self._position += 1
                return True
            try:
                if key == "u":
                    if self._undo():
                        return True
                    continue
                change = self._apply_key(key, memory)
            except SubcogError as error:
                terminal.complain(str(error))
                continue
            if change is None:
                _say_keys()
                continue
            self._steps.append((self._position, change))
            terminal.result(f"   {change.message}")
            self._position += 1
            return True

    def _apply_key(self, key: str, memory: Memory) -> Settlement | None:
        copies = self._questions[self._position][1:]
        with context.writing() as store:
            if key == "k":
                return accept(store, [memory], copies)
            if key == "d":
                return reject(store, [memory, *copies])
            if key in ALL_OF_SOURCE:
                open_memories = [candidate for candidate in self._memories if candidate.id not in self._settled]
                same = [candidate for candidate in open_memories if _origin_of(candidate) == _origin_of(memory)]
                change = (accept if key == "K" else reject)(store, same)
                name = store_of(memory) or source_of(memory)
                return change._replace(message=f"{change.message}: all {len(same)} {name}")
            if key != "e":
                return None
            with edit_in_editor(memory, keeps_status=True) as edits:
                kept = {**edits, "status": "active"}
                after = amend(memory, lambda stored: apply_edits(memory, stored, kept), store, []) if edits else None
            if after is None:
                terminal.say("nothing changed; it still waits")
                return None
            context.update_index_and_vectors(store)
            return Settlement("changed and kept", (memory,), (after,))

    def _undo(self) -> bool:
        if not self._steps:
            terminal.say("there is nothing to undo")
            return False
        with context.writing() as store:
            undo(store, self._steps[-1][1])
        self._position, _ = self._steps.pop()
        terminal.result("   undone")
        return True

    def _show_memory(self, memory: Memory, near: Sequence[NearDuplicate]) -> None:
        terminal.result("")
        position = f"{self._position + 1} of {len(self._questions)}"
        terminal.pieces((position, ACCENT), (f"  {redact_line(memory.content)}", ""), indent=3)
        project = owner_label(memory).rpartition("/")[2]
        origin = safe(f"{source_of(memory)}, {day(memory.created_at)}, {memory.namespace} of {project}")
        terminal.pieces((f"   {origin}  {memory.id}", DIM))
        if is_from_session(memory):
            for name, text in learning_runs.review_notes(memory, self._records.get(memory.id)):
                terminal.pieces((f"   {name}: ", DIM), (safe(text), ""))
        cues = ("file", memory.paths), ("trigger", memory.triggers), ("tag", memory.tags), ("keyword", memory.keywords)
        for name, values in (("asked", [question.text for question in memory.questions]), *cues):
            if values:
                terminal.pieces((f"   {name}: ", DIM), (" | ".join(map(safe, values)), ""))
        for copy in self._questions[self._position][1:]:
            terminal.pieces(("   copy: ", DIM), (f"{copy.id} {redact_line(copy.content)[:PREVIEW_CHARACTERS]}", ""))
        for similar in near:
            preview = f"{similar.memory.id} {redact_line(similar.memory.content)[:PREVIEW_CHARACTERS]}"
            terminal.pieces((f"   {similar.likeness}: ", DIM), (preview, ""))


def _say_keys() -> None:
    for line in KEYS:
        terminal.say(line)
