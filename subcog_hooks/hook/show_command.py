"""Opening a memory that a line points at: permission to run the command that a block names, and its answer.

Permission is given for one exact command: our own executable, `show`, and ids that the session was given or pointed at. No
variable may put other code behind it.
"""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreError
from subcog_hooks.core.files import working_folder
from subcog_hooks.core.paths import find_agent, find_home
from subcog_hooks.hook.block import PROGRAM, SHOW, Entry, own_script, render_block, resolves_to_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from subcog_hooks.core.paths import Home
    from subcog_hooks.hook.call import HookCall
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.state import State

MAX_OPENED = 10  # memories by one command
MAX_ID = 64  # characters
MAX_UNITS = 25_000  # UTF-16 units; the client cuts a command's output at 30,000.
SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"  # The client sets it for the commands of its agent.
OPENING_WAIT_MS = 200.0
PERMISSION = (  # the hook's output that allows a command
    b'{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", '
    b'"permissionDecisionReason": "prints memories that subcog has pointed this session at"}}\n'
)
_ID = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def may_run_command(command: str, call: HookCall) -> bool:
    """Return whether a shell command opens memories of the session and does nothing else. Raises StoreError."""
    program, *words = command.split(" ")
    if words[:1] != [SHOW] or not are_ids(ids := words[1:]):
        return False
    own = own_script()
    if not own or not (resolves_to_own(program, own) if program == PROGRAM else program == own):
        return False
    from subcog_hooks.core.child_environment import may_run_other_code  # Few calls open a memory.

    return set(ids) <= _find_seen(call.state, call.session) and not may_run_other_code()


def are_ids(words: Sequence[object]) -> bool:
    """Return whether words are ids, and no more than one command opens."""
    return 0 < len(words) <= MAX_OPENED and all(
        isinstance(word, str) and 0 < len(word) <= MAX_ID and word[0] != "-" and _ID.issuperset(word) for word in words
    )


def print_memories(words: Sequence[str]) -> int | None:
    """Print memories to an agent in a block, and note that they were opened. Return the exit code.

    None leaves a person's command, and others, to the terminal: nothing is printed then.
    """
    if not find_agent() or words[:1] != [SHOW] or not are_ids(words[1:]):
        return None
    try:
        text = open_block(words[1:], working_folder(), os.environ.get(SESSION_VARIABLE, ""))
    except StoreError:
        return None  # The terminal reports the error.
    if not text:
        return None
    os.write(1, f"{text}\n".encode("utf-8", "replace"))
    return 0


def open_block(ids: Sequence[str], folder: str, session: str) -> str:
    """Return a block of memories, and note that the session has opened them. Raises StoreError.

    The text is "" unless all of them may be handed over in this folder. session: "" for none.
    """
    from subcog_hooks.store.memory import EPISODE_PREFIX, now_ms

    now = now_ms()
    if any(id_.startswith(EPISODE_PREFIX) for id_ in ids):
        return _open_episodes(list(dict.fromkeys(ids)), folder)
    entries = [
        Entry(memory.namespace, min(memory.created_at, now), memory.id, memory.content, memory.noted)
        for memory in _open_memories(list(dict.fromkeys(ids)), folder, session, now)
    ]
    return render_block(entries, attributes={}, max_units=MAX_UNITS, hard_cap=MAX_UNITS).text


def _open_episodes(ids: Sequence[str], folder: str) -> str:
    """Return the exchanges of past sessions, "" unless all of them are of this folder's project. Raises StoreError."""
    from subcog_hooks.episodes.episode_store import EpisodeStore, exists, open_exchange, render_exchange
    from subcog_hooks.store.store_reader import audience_of

    home, _ = find_home(folder)
    if not exists(home):
        return ""
    audiences = (*_audiences_in(folder, home), audience_of("project", folder))
    with EpisodeStore.reader(home) as store:
        episodes = store.by_ids(ids)
        if any(id_ not in episodes or audience_of("project", episodes[id_].project) not in audiences for id_ in ids):
            return ""
        return "\n".join(render_exchange(open_exchange(store, episodes[id_])) for id_ in ids)


def _open_memories(ids: Sequence[str], folder: str, session: str, now_ms: int) -> list[Memory]:
    """Return the memories of these ids, noted as opened; none unless all may be handed over here. Raises StoreError."""
    from subcog_hooks.store.store_reader import StoreReader, audience_of

    home, _ = find_home(folder)
    if not os.path.exists(home.memories_db):
        return []
    with StoreReader.reader(home) as store:
        memory_of = store.by_ids(ids)
    memories = [memory for id_ in ids if (memory := memory_of.get(id_)) is not None and memory.is_live(now_ms)]
    audiences = _audiences_in(folder, home)
    foreign = {memory.id for memory in memories if audience_of(memory.scope, memory.project) not in audiences}
    is_known = len(memories) == len(ids)
    if not session or not os.path.exists(home.state_db):
        return memories if is_known and not foreign else []
    return memories if is_known and _note_opened(home, session, ids, foreign, now_ms) else []


def _audiences_in(folder: str, home: Home) -> tuple[str, ...]:
    """Return the audiences whose memories may be handed over in a folder."""
    from subcog_hooks.store import project
    from subcog_hooks.store.store_reader import audiences_of

    here = project.find_project(folder)
    names = project.names_of(here, folder)
    if here and here.parent:
        from subcog_hooks.settings import defaults, loading  # Submodules are rare.

        if loading.load(home, here.root)[defaults.PARENTS]:
            names = tuple(name for owner in here.with_parents() for name in owner.names)
    return audiences_of(*names)


def _find_seen(state: State, session: str) -> set[str]:
    """Return the ids of the memories that this session and its subagents were given or pointed at."""
    sql = "SELECT memory FROM {} WHERE session >= ? AND session < ?"
    ends = _ends_with_subagents(session)
    return {id_ for table in ("ledger", "pointers") for (id_,) in state.run(sql.format(table), ends)}


def _ends_with_subagents(session: str) -> tuple[str, str]:
    """Return the ends of a session's key and those of its subagents, which begin with it and a slash."""
    return session, f"{session}0"  # The zero follows the slash.


def _note_opened(home: Home, session: str, ids: Sequence[str], foreign: AbstractSet[str], now_ms: int) -> bool:
    """Note that a session opens memories, unless it was never given or pointed at a foreign memory. Raises StoreError."""
    from subcog_hooks.store import sessions, verdicts
    from subcog_hooks.store.state import State

    state = State.open(home, OPENING_WAIT_MS)
    try:
        if not foreign <= _find_seen(state, session):
            return False
        state.begin(OPENING_WAIT_MS)
        sql = (
            "UPDATE pointers SET opened_at = ? "
            "WHERE session >= ? AND session < ? AND memory = ? AND opened_at IS NULL RETURNING memory"
        )
        if opened := [id_ for id_ in ids if state.run(sql, (now_ms, *_ends_with_subagents(session), id_))]:
            state.increase_counter(verdicts.OPENED_TOTAL, by=len(opened))
            sessions.record_given(state, session, opened, now_ms, "")
            sessions.note_used(state, session, opened, now_ms)
        state.commit()
    finally:
        state.close()
    return True
