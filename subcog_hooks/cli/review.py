"""`subcog review`: memories that wait for the person's word, one after the other."""

import json
from collections.abc import Sequence
from typing import Annotated

from typer import Option

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.duplicates import NearDuplicate, group_copies
from subcog_hooks.cli import embedding
from subcog_hooks.cli.amendment import amend, apply_edits, edit_in_editor
from subcog_hooks.cli.command_table import AsUser, Texts, id_option
from subcog_hooks.cli.proposals import learning_runs, waiting
from subcog_hooks.cli.proposals.waiting import Settlement
from subcog_hooks.cli.terminal import author, context
from subcog_hooks.cli.terminal.inputs import next_key
from subcog_hooks.cli.terminal.output import ACCENT, DIM, day, nothing_found, owner_label, redact_line, safe, terminal
from subcog_hooks.core.errors import SubcogError, UsageError
from subcog_hooks.learn.proposals import is_from_session, session_id
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store import Store

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
    if accept or reject:
        if as_list or as_json or as_jsonl:
            raise UsageError("--list, --json and --jsonl settle nothing", "leave them out, or --accept and --reject")
        _settle_all(accept or [], reject or [], as_user=as_user)
        return
    is_data = as_json or as_jsonl
    is_in_terminal = terminal.interactive and not as_list and not is_data
    if is_in_terminal:
        author.require_person(SETTLED_BY, as_user=as_user)
    since_ms = learning_runs.time_of_age(since, now_ms())
    with context.reading() as store:
        memories = waiting.find_waiting(store, since_ms) if store else []
        if store and is_data:
            terminal.rows([_row_of(memory, store) for memory in memories], as_json=as_json, as_jsonl=as_jsonl)
    if not memories:
        raise nothing_found("nothing waits for review")
    if is_in_terminal:
        _ReviewSession(memories).run()
    elif not is_data:
        for memory in memories:
            origin = safe(f"{memory.namespace} of {owner_label(memory)}, {waiting.source_of(memory)}")
            about = f"  {day(memory.created_at)}  {origin}  "
            terminal.pieces((memory.id, ACCENT), (about, DIM), (redact_line(memory.content), ""))
        if not as_list:
            terminal.say("`subcog review` asks for each in a terminal; --accept ID and --reject ID settle it here")


def _settle_all(accepted: Sequence[str], rejected: Sequence[str], *, as_user: bool) -> None:
    """Keep and drop memories by id, all or none. Raises NoMemory, UsageError."""
    author.require_person(SETTLED_BY, as_user=as_user)
    with context.writing() as store:
        kept = [waiting.find_pending(store, id_) for id_ in dict.fromkeys(accepted)]
        dropped = [waiting.find_pending(store, id_) for id_ in dict.fromkeys(rejected)]
        if both := {memory.id for memory in kept} & {memory.id for memory in dropped}:
            raise UsageError(f"{', '.join(sorted(both))} cannot be kept and dropped", "name it once")
        if kept:
            waiting.accept(store, kept)
        if dropped:
            waiting.reject(store, dropped)
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
        for similar in waiting.find_near(memory, store)
    ]
    row = {**json.loads(jsonl.dump(memory)), "content": redact(memory.content).text}
    return {**row, "from": waiting.source_of(memory), "near": near}


class _ReviewSession:
    def __init__(self, memories: list[Memory]) -> None:
        self._memories = memories
        self._questions: list[list[Memory]] = []  # a memory, and its copies
        self._position = 0
        self._steps: list[tuple[int, Settlement]] = []  # positions and changes, for undo
        self._settled: set[str] = set()
        self._records = learning_runs.load_proposal_records()

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
            more = "; `subcog review` goes on" if len(self._questions) == MAX_QUESTIONS == self._position else ""
            counts = f"{len(self._settled)} settled, {left} still wait{more}"
            terminal.say(counts if left else f"all {len(self._memories)} are settled")
            if self._settled:
                embedding.start_background_jobs()

    def _ask_about(self, memory: Memory) -> bool:
        """Show a memory, and apply the person's answer. Return whether to go on."""
        with context.reading() as store:
            near = waiting.find_near(memory, store) if store else []
        self._show_memory(memory, near)
        while True:
            key = next_key()
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
            self._settled |= self._waiting_ids_of(change)
            self._steps.append((self._position, change))
            terminal.result(f"   {change.message}")
            self._position += 1
            return True

    def _apply_key(self, key: str, memory: Memory) -> Settlement | None:
        copies = self._questions[self._position][1:]
        with context.writing() as store:
            if key == "k":
                return waiting.accept(store, [memory], copies)
            if key == "d":
                return waiting.reject(store, [memory, *copies])
            if key in ALL_OF_SOURCE:
                open_memories = [candidate for candidate in self._memories if candidate.id not in self._settled]
                same = [candidate for candidate in open_memories if waiting.is_of_same_source(candidate, memory)]
                change = (waiting.accept if key == "K" else waiting.reject)(store, same)
                name = waiting.store_of(memory) or waiting.source_of(memory)
                return change._replace(message=f"{change.message}: all {len(same)} {name}")
            return _edit_and_keep(memory, store) if key == "e" else None

    def _undo(self) -> bool:
        if not self._steps:
            terminal.say("there is nothing to undo")
            return False
        position, change = self._steps[-1]
        with context.writing() as store:
            waiting.undo(store, change)
        self._steps.pop()
        self._settled -= self._waiting_ids_of(change)
        self._position = position
        terminal.result("   undone")
        return True

    def _waiting_ids_of(self, change: Settlement) -> set[str]:
        return {memory.id for memory in self._memories} & {before.id for before in change.before}

    def _show_memory(self, memory: Memory, near: Sequence[NearDuplicate]) -> None:
        terminal.result("")
        position = f"{self._position + 1} of {len(self._questions)}"
        terminal.pieces((position, ACCENT), (f"  {redact_line(memory.content)}", ""), indent=3)
        source = waiting.source_of(memory)
        if is_from_session(memory):
            source = source.replace(session_id(memory), session_id(memory)[:8])
        project = owner_label(memory).rpartition("/")[2]
        origin = f"{safe(source)}, {day(memory.created_at)}, {safe(memory.namespace)} of {safe(project)}  {memory.id}"
        terminal.pieces((f"   {origin}", DIM))
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


def _edit_and_keep(memory: Memory, store: Store) -> Settlement | None:
    with edit_in_editor(memory, keeps_status=True) as edits:
        kept = {**edits, "status": "active"}
        after = amend(memory, lambda stored: apply_edits(memory, stored, kept), store, []) if edits else None
    if after is None:
        terminal.say("nothing changed; it still waits")
        return None
    context.update_index_and_vectors(store)
    return Settlement("changed and kept", (memory,), (after,))


def _say_keys() -> None:
    for line in KEYS:
        terminal.say(line)
