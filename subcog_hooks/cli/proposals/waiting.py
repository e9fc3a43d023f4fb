"""Memories that wait for review, accepted and refused."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.sources import catalogue
from subcog_hooks.capture.sources.source_reading import IN_REPOSITORY
from subcog_hooks.cli.decisions import lookup, trial
from subcog_hooks.cli.decisions.remedies import Rerun
from subcog_hooks.cli.proposals import learning_runs
from subcog_hooks.cli.support import author, context
from subcog_hooks.cli.support.amendment import changed, joined
from subcog_hooks.core.errors import StoreError, UsageError
from subcog_hooks.hook.payload import PROMPT_EVENT
from subcog_hooks.learn import proposals
from subcog_hooks.learn.fixes import TOOL_TRUST
from subcog_hooks.learn.turn_scores import COMMAND
from subcog_hooks.settings.defaults import LLM_LEARNS, NO_NOTES
from subcog_hooks.store import decision_log, state_values
from subcog_hooks.store.decision import INJECTED, Decision
from subcog_hooks.store.memory import AGENT, NOTED, PENDING, WRITTEN_BY_MODEL, Memory, move_date, now_ms
from subcog_hooks.store.state import State
from subcog_hooks.store.store import Filter, Store

KEEP_FROM, DROP_FROM = "capture.keep_from", "capture.drop_from"
PROMPTS_TRIED = 100  # prompts of before on which is tried what the memories would have done
JOINED = ("tags", "keywords", "triggers", "paths", "questions")  # what a memory takes over from one that goes into it


class Settlement(NamedTuple):
    """A change that was made at the person's word. before, after: every memory of it as it was, and as it is then."""

    said: str
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


def find_waiting(store: Store) -> list[Memory]:
    """Return what waits: what several sessions said, the most often said first, then the oldest first."""
    found = store.select(Filter(statuses=(PENDING,), include_expired=True))[::-1]
    said = learning_runs.how_said() if any(map(proposals.is_from_session, found)) else {}
    return sorted(found, key=lambda memory: -said[memory.id].sessions if memory.id in said else -1)


def find_one(store: Store, id_: str) -> Memory:
    """Return the memory that waits under this id, or its beginning. Raises NoMemory, UsageError."""
    memory = context.find(store, id_)
    if memory.status != PENDING:
        raise UsageError(f"{memory.id} does not wait, it is {memory.status}", "`subcog review --list` shows what does")
    return memory


def source_of(memory: Memory) -> str:
    """Return where a memory comes from, in a few words.

    >>> source_of(Memory(id="a", content="x", trust="agent")), source_of(Memory(id="a", content="x", source="adr/0001.md"))
    ('noted by an agent', 'adr/0001.md')
    """
    if proposals.is_written_by_model(memory):
        return f"{WRITTEN_BY_MODEL}, of what you said in session {proposals.session_of(memory)}"
    if proposals.is_from_session(memory) and memory.trust == TOOL_TRUST:
        return f"shown by session {proposals.session_of(memory)}"
    if proposals.is_from_session(memory):
        return f"said in session {proposals.session_of(memory)}"
    return memory.source or NOTED.get(memory.trust, "noted by you")


def importer_of(memory: Memory) -> str:
    """Return the name by which `import --from` has taken a memory, "" where it came another way.

    >>> importer_of(Memory(id="a", content="x", source="claude-mem:observations/3:1")), importer_of(Memory(id="a", content="x"))
    ('claude-mem', '')
    """
    name = memory.source.partition(":")[0]
    return name if name in catalogue.SOURCE_NAMES else ""


def store_of(memory: Memory) -> str:
    """Return the name of the program from whose store a memory was imported, "" for none; of a repository's with its name.

    >>> store_of(Memory(id="a", content="x", source="cass@github.com/acme/shop:b-1:1"))
    'cass@github.com/acme/shop'
    """
    name = memory.source.partition(":")[0]
    return name if name.partition(IN_REPOSITORY)[0] in catalogue.SOURCE_NAMES else ""


def is_of_same_source(one: Memory, other: Memory) -> bool:
    """Return whether two memories come from the same program, file or person."""
    name = store_of(one)
    return name == store_of(other) if name else source_of(one) == source_of(other)


def settled_sources(setting: str) -> list[str]:
    """Return the sources whose notes by machines are kept, or dropped, without a question. Raises ConfigError."""
    return [name for name in str(context.settings()[setting]).split(",") if name]


def would_come_to(waiting: Sequence[Memory]) -> tuple[int, Mapping[str, list[Decision]]]:
    """Return how many of the last prompts were tried, and to which of them each memory would have come, all being accepted.

    They are tried on a copy of the store. Raises StoreError, OSError.
    """
    found: dict[str, list[Decision]] = {memory.id: [] for memory in waiting}
    with lookup.opened() as state, trial.begun() as copy:
        of_prompts = decision_log.latest(state, decision_log.MAX_DECISIONS, event=PROMPT_EVENT)
        asked = {one.prompt: one for one in reversed(of_prompts) if one.prompt is not None}  # the latest of equal ones
        tried = list(asked.values())[-PROMPTS_TRIED:]
        if tried:
            copy.change_all([memory.id for memory in waiting], {"status": "active"})
        for one in tried:
            for id_ in _given(one, of_prompts, copy, state) & found.keys():
                found[id_].append(one)
    return len(tried), found


def _given(was: Decision, of_prompts: Sequence[Decision], copy: trial.Trial, state: State) -> set[str]:
    rerun = Rerun(was, set(), lookup.place_among(of_prompts, was), state)
    return {one.id for one in rerun.decide(copy.home).candidates if one.outcome == INJECTED}


# what becomes of them


def accept(store: Store, memories: Sequence[Memory]) -> Settlement:
    """Let memories be handed over from now on. Raises StoreError, UsageError."""
    _require_waiting(store, memories)
    return _apply(store, {memory.id: {"status": "active"} for memory in memories}, "kept")


def reject(store: Store, memories: Sequence[Memory]) -> Settlement:
    """Forget memories, as `forget` does. Raises StoreError, UsageError."""
    _require_waiting(store, memories)
    return _apply(store, {memory.id: {"status": "deleted"} for memory in memories}, "dropped")


def supersede(store: Store, memory: Memory, old: Memory) -> Settlement:
    """Let a memory take the place of one that is handed over. Raises StoreError, UsageError."""
    _require_waiting(store, [memory])
    _require_live(store, old)
    gone = {"status": "superseded", "superseded_by": memory.id}
    return _apply(store, {memory.id: {"status": "active"}, old.id: gone}, f"kept in the place of {old.id}")


def merge(store: Store, memory: Memory, into: Memory) -> Settlement:
    """Let a memory that is handed over take over what a waiting one comes by, and forget that one.

    Raises StoreError, UsageError, InvalidMemory.
    """
    _require_waiting(store, [memory])
    richer = joined(_require_live(store, into), {field: getattr(memory, field) for field in JOINED})
    return _apply(store, {memory.id: {"status": "deleted"}, into.id: richer}, f"merged into {into.id}")


def undo(store: Store, change: Settlement) -> None:
    """Make the memories of a change what they were before. Raises StoreError, UsageError where one is another by now."""
    for after in change.after:
        if jsonl.dump(store.get(after.id)) != jsonl.dump(after):
            raise UsageError(f"{after.id} was changed since then, elsewhere", "it stays as it is")
    were = {before.id: before for before in change.before}
    store.modify(list(were), lambda stored: were[stored.id].replaced(updated_at=move_date(stored.updated_at)))
    context.follow(store)


def _require_waiting(store: Store, memories: Sequence[Memory]) -> None:
    for memory in memories:
        if (stored := store.get(memory.id)).status != PENDING:
            raise UsageError(f"{memory.id} is {stored.status} by now", "another process was quicker")


def _require_live(store: Store, memory: Memory) -> Memory:
    stored = store.get(memory.id)
    if not stored.is_live(now_ms()):
        raise UsageError(f"{memory.id} is {stored.status} by now", "keep this one, or drop it")
    return stored


def _apply(store: Store, changes: Mapping[str, Mapping[str, object]], said: str) -> Settlement:
    """Make the changes of several memories, by id, at once."""
    before = tuple(store.get(id_) for id_ in changes)
    after = store.modify(
        list(changes), lambda stored: changed(stored, changes[stored.id]).replaced(updated_at=move_date(stored.updated_at))
    )
    context.follow(store)
    return Settlement(said, before, tuple(after))


ENOUGH = 5  # refusals in a row


class Refused:
    """A thing that is refused: a source of imports, the notes of agents, a model's, or a kind of what is said in sessions.

    told: in words; setting, value: by which it never comes again.
    """

    __slots__ = ("setting", "told", "value")

    def __init__(self, told: str, setting: str, value: str) -> None:
        self.told = told
        self.setting = setting
        self.value = value

    @property
    def name(self) -> str:
        return f"{self.setting} {self.value}"


def refused_kind_of(memory: Memory) -> Refused | None:
    """Return the source or kind of a memory that can be switched off, None where there is none."""
    if importer := importer_of(memory):
        return Refused(f"what a machine notes in {importer}", DROP_FROM, importer)
    if proposals.is_written_by_model(memory):
        return Refused("what a model writes of your sessions", LLM_LEARNS, "false")
    if proposals.is_from_session(memory):
        kind = _kind_of(memory)
        told = "each command that sessions show" if kind == COMMAND else f"each {kind} that is said in sessions"
        return Refused(told, learning_runs.NEVER, kind) if kind else None
    if memory.trust == AGENT:
        return Refused("what agents note", author.AGENT_SETTING, NO_NOTES)
    return None


def count_refusals(memories: Sequence[Memory], *, refused: bool) -> list[Refused]:
    """Note that memories were refused, or kept. Return what was refused five times in a row now, to be asked about once."""
    home = context.home()
    found = []
    try:
        state = State.open(home, learning_runs.STATE_BUSY_MS)
    except StoreError:
        return []  # it is only counted
    try:
        for memory in memories:
            one = refused_kind_of(memory)
            if one is None:
                continue
            if not refused:
                state_values.end_refusals(state, one.name)
            elif state_values.note_refusal(state, one.name) >= ENOUGH:
                state_values.end_refusals(state, one.name)  # whatever the answer is, the next question is five refusals away
                found.append(one)
    finally:
        state.close()
    return found


def take_back_refusals(memories: Sequence[Memory]) -> None:
    """Note that refusals were undone. Raises StoreError."""
    home = context.home()
    if not os.path.exists(home.state_db):
        return
    state = State.open(home, learning_runs.STATE_BUSY_MS)
    try:
        for one in filter(None, map(refused_kind_of, memories)):
            state_values.take_back_refusal(state, one.name)
    finally:
        state.close()


def refuse_kind(one: Refused) -> str:
    """Switch a source or kind off, and return the setting as it is then. Raises ConfigError."""
    from subcog_hooks.cli.config import write_setting  # with all that settings concern, for a question that is put once

    value = one.value
    if one.setting in (learning_runs.NEVER, DROP_FROM):
        named = [name for name in str(context.settings()[one.setting]).split(",") if name and name != one.value]
        value = ",".join([*named, one.value])
    write_setting(one.setting, value)
    return f"{one.setting} = {value}"


def _kind_of(memory: Memory) -> str:
    """Return the kind of what came from a session, "" where its transcript is gone."""
    if memory.trust == TOOL_TRUST:
        return COMMAND
    turn = learning_runs.turn_of(memory)
    again = proposals.propose(turn, "", memory.project) if turn else None
    return again.kind if again else ""
