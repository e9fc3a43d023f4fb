"""One call of the hook: its project and session, and the files that an answer needs. It holds no verdicts."""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreCorrupt
from subcog_hooks.core.records import record
from subcog_hooks.hook.payload import TRIAL, session_of, text_of
from subcog_hooks.settings import defaults, loading
from subcog_hooks.store import project, sessions
from subcog_hooks.store.memory import IdMaker, is_from_instructions, now_ms
from subcog_hooks.store.state import MADE_ANEW, CompiledSettings, State, discard
from subcog_hooks.store.store_reader import StoreReader, audiences_of
from subcog_hooks.store.verdicts import OPEN, START

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home
    from subcog_hooks.cues.conditions import Scalar
    from subcog_hooks.embed.static_encoder import StaticEncoder
    from subcog_hooks.recall.hits import Eligibility, Hit
    from subcog_hooks.settings.defaults import Settings
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.project import Project
    from subcog_hooks.store.vector_reader import VectorReader

MAX_LOGGED_FAULTS = 3  # faults of the settings in one line; `doctor` names all
MIN_LOADED = 0.05  # No hit of a lower relevance is told or pointed at.
MAX_AGENT = 64  # characters of the id of a subagent
PRINT_MS = 5.0  # Rendering and writing need this time at the end.
MIN_WAIT_MS = 20.0  # The hook waits this long for a writing process, even where no time is left.

# Files that calls in this process leave open: closing the last connection checkpoints and deletes the WAL, 2 ms each time.
left_open: list[State | StoreReader | VectorReader | StaticEncoder] = []


def close_left_open() -> None:
    """Close the files that calls in this process have left open, where the process goes on."""
    while left_open:
        left_open.pop().close()


class Stages:
    """The finished stages. rows: name and milliseconds of each."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._spent_ms = 0.0
        self.rows: list[tuple[str, float]] = []

    def end(self, name: str) -> None:
        """End the stage of this name, which began at the end of the stage before."""
        spent_ms = self._deadline.spent_ms()
        self.rows.append((name, round(spent_ms - self._spent_ms, 2)))
        self._spent_ms = spent_ms


@record
class HookCall:
    """One call of the hook.

    session: "" when the client names none; here: the project of its folder, None outside of any; now_ms: its time, since the
    epoch; id: of its verdict; stages: their durations.
    """

    payload: Mapping[str, object]
    session: str
    here: Project | None
    settings: Settings
    state: State
    home: Home
    deadline: Deadline

    def __post_init__(self) -> None:
        self.now_ms = now_ms()
        self.id = IdMaker().new(self.now_ms)
        self.stages = Stages(self.deadline)
        self._eligible: Eligibility | None = None
        self._store: StoreReader | None = None
        self._facts: dict[str, Scalar] | None = None
        self._shown_texts: str | None = None

    @property
    def store(self) -> StoreReader:
        """The memories, opened at the first use. Raises StoreError."""
        if self._store is None:
            self._store = StoreReader.reader(self.home, max(MIN_WAIT_MS, self.deadline.left_ms() - PRINT_MS))
            left_open.append(self._store)
        return self._store

    @property
    def eligible(self) -> Eligibility:
        """The filter of memories that may be handed over, as of the first use. Raises StoreError."""
        if self._eligible is None:
            self._eligible = self.eligible_to(self.with_parents(self.here))
        return self._eligible

    def with_parents(self, owner: Project | None) -> tuple[Project, ...]:
        """Return a project and, where the settings want it, the parents of a submodule; () for outside of any."""
        if owner is None or owner.parent is None:
            return (owner,) if owner else ()
        return owner.with_parents() if self.settings[defaults.PARENTS] else (owner,)

    def eligible_to(self, projects: Iterable[Project]) -> Eligibility:
        """Return the filter of memories that may be handed over in these projects. Raises StoreError."""
        from subcog_hooks.recall import hits  # A prompt that asks for nothing does not need it.

        names = [name for owner in projects for name in owner.names] or project.names_of(None, text_of(self.payload, "cwd"))
        audiences = audiences_of(*names)
        return hits.Eligibility(audiences, self.now_ms, self.given_ids(), self.holds)

    @property
    def project(self) -> str:
        """The name of the project, "" outside of any."""
        return self.here.identity if self.here else ""

    @property
    def is_trial(self) -> bool:
        """Return whether `subcog doctor` tries the hook. `why` and `report` leave such calls out."""
        return self.session.startswith(TRIAL)

    @property
    def ledger_key(self) -> str:
        """The key of the ledger: the session, or its subagent, which has a context of its own."""
        agent = text_of(self.payload, "agent_id")[:MAX_AGENT]
        return f"{self.session}/{agent}" if agent and self.session else self.session

    def given_ids(self) -> AbstractSet[str]:
        """Return the ids of the memories that the session, or its subagent, has been given. Raises StoreError."""
        return sessions.find_given(self.state, self.ledger_key) if self.session else set()

    def facts(self) -> dict[str, Scalar]:
        """Return the facts for conditions, as of the first use. Raises StoreError."""
        if self._facts is None:
            from subcog_hooks.hook import facts  # Only a store with conditions needs it.

            self._facts = facts.session_facts(self.payload, self.here, self.state, self.now_ms)
        return self._facts

    def holds(self, memory: Memory) -> bool:
        """Return whether all conditions of a memory hold. Raises StoreError."""
        if not memory.when:
            return True
        from subcog_hooks.cues import conditions  # Few memories have conditions.

        return conditions.conditions_hold(memory.when, self.facts())

    def shows_itself(self, content: str) -> bool:
        """Return whether the client itself puts this text before the model of the session."""
        from subcog_hooks.hook import facts  # Few memories are from such files.

        if self._shown_texts is None:
            self._shown_texts = facts.read_shown_texts(self.payload, self.here)
        return facts.shows(self._shown_texts, content)

    def mark_loaded(self, hits: Iterable[Hit]) -> None:
        """Mark the hits that the client itself puts before the model. Asking for the client's files takes 1.5 ms."""
        for hit in hits:
            if hit.relevance >= MIN_LOADED and is_from_instructions(hit.memory.source):
                hit.is_loaded = self.shows_itself(hit.memory.content)

    def log(self, message: str) -> None:
        """Write a line to the log."""
        log(self.home, message)


def open_call(payload: Mapping[str, object], home: Home, deadline: Deadline) -> HookCall | None:
    """Return the call of a payload, None where there are no memories yet. Raises StoreError."""
    if not os.path.exists(home.memories_db):
        return None
    stages = Stages(deadline)
    stages.end(START)
    folder = text_of(payload, "cwd")
    here = project.find_project(folder) if os.path.isabs(folder) else None
    busy_ms = max(MIN_WAIT_MS, deadline.left_ms() - PRINT_MS)
    state = State.open_in_any_case(home, busy_ms, lambda fault: log(home, fault))
    left_open.append(state)
    settings = loading.load(home, here.root if here else None, CompiledSettings(state))
    if faults := (*settings.problems, *settings.ignored):
        more = f"; and {len(faults) - MAX_LOGGED_FAULTS} more" if len(faults) > MAX_LOGGED_FAULTS else ""
        log(home, "; ".join(faults[:MAX_LOGGED_FAULTS]) + more)
    call = HookCall(payload, session_of(payload), here, settings, state, home, deadline)
    call.stages = stages
    stages.end(OPEN)
    return call


def with_sound_state(home: Home, answer: Callable[[], None]) -> None:
    """Answer a hook. Where state.db is damaged, delete it and answer once more. Raises StoreError."""
    try:
        answer()
    except StoreCorrupt as error:
        if home.state_db not in error.message:
            raise
        log(home, f"{error.message}; {MADE_ANEW}")
        discard(home)
        answer()


def log(home: Home, message: str) -> None:
    from subcog_hooks.core import log as file  # Most calls log nothing.

    file.write_line(home, message)
