"""A call of the hook: where and in which session, and the files that answering it needs. What is decided is not kept here."""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreCorrupt
from subcog_hooks.hook.payload import TRIAL, session_of, text_of
from subcog_hooks.settings import loading
from subcog_hooks.store import ledger, project
from subcog_hooks.store.decision import OPEN, START
from subcog_hooks.store.memory import IdMaker, now_ms
from subcog_hooks.store.state import ASIDE, State, put_aside
from subcog_hooks.store.state_values import CompiledSettings
from subcog_hooks.store.store import Store, audiences_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from collections.abc import Set as AbstractSet

    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home
    from subcog_hooks.cues.conditions import Scalar
    from subcog_hooks.recall.hits import Eligibility
    from subcog_hooks.settings.loading import Settings
    from subcog_hooks.store.memory import Memory
    from subcog_hooks.store.project import Project

LOGGED_FAULTS = 3  # of the settings, in one line; `doctor` names all
PRINT_MS = 5.0  # what rendering and writing need at the end
LEAST_WAIT_MS = 20.0  # for a file that another process is writing, also where no time is left to wait

_left_open: list[State | Store] = []  # closing the last connection checkpoints and deletes the WAL: 2 ms each time


def close_left_open() -> None:
    """Close what calls in this process have left open: where it goes on, as after a dry run."""
    while _left_open:
        _left_open.pop().close()


class Stages:
    """The stages that are over. rows: each a name and its milliseconds."""

    __slots__ = ("_deadline", "_spent_ms", "rows")

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._spent_ms = 0.0
        self.rows: list[tuple[str, float]] = []

    def done(self, name: str) -> None:
        """End the stage of this name, which began when the one before it ended."""
        spent_ms = self._deadline.spent_ms()
        self.rows.append((name, round(spent_ms - self._spent_ms, 2)))
        self._spent_ms = spent_ms


class Occasion:
    """One call of the hook, and what it is about.

    here: the project it happened in; session: "" when the client names none; at: when, in milliseconds since the epoch; id: of
    the decision that it will be; stages: how long each took.
    """

    __slots__ = (
        "_eligible",
        "_facts",
        "_given",
        "_store",
        "at",
        "deadline",
        "here",
        "home",
        "id",
        "payload",
        "session",
        "settings",
        "stages",
        "state",
    )

    def __init__(
        self,
        payload: Mapping[str, object],
        session: str,
        here: Project | None,
        settings: Settings,
        state: State,
        home: Home,
        deadline: Deadline,
        given: AbstractSet[str] | None = None,
    ) -> None:
        """given: ids that the session is taken to have been given, for a dry run; None for what the ledger says."""
        self.payload = payload
        self.session = session
        self.here = here
        self.settings = settings
        self.state = state
        self.home = home
        self.deadline = deadline
        self.at = now_ms()
        self.id = IdMaker().new(self.at)
        self.stages = Stages(deadline)
        self._given = given
        self._eligible: Eligibility | None = None
        self._store: Store | None = None
        self._facts: dict[str, Scalar] | None = None

    @property
    def store(self) -> Store:
        """The memories, opened when they are first asked for. Raises StoreError."""
        if self._store is None:
            self._store = Store.reader(self.home, max(LEAST_WAIT_MS, self.deadline.left_ms() - PRINT_MS))
            _left_open.append(self._store)
        return self._store

    @property
    def eligible(self) -> Eligibility:
        """The filter of memories that may be handed over, as it was when this was first asked. Raises StoreError."""
        if self._eligible is None:
            self._eligible = self.eligible_to(self.here)
        return self._eligible

    def eligible_to(self, owner: Project | None) -> Eligibility:
        """Return which memories may be handed over to a project, None outside of any. Raises StoreError."""
        from subcog_hooks.recall import hits  # a prompt that asks for nothing has no use for it

        audiences = audiences_of(*owner.names) if owner else audiences_of()
        return hits.Eligibility(audiences, self.at, self.given(), self.holds)

    @property
    def project(self) -> str:
        """The name of the project, "" outside of any."""
        return self.here.identity if self.here else ""

    @property
    def is_trial(self) -> bool:
        """Return whether `subcog doctor` tries the hook: neither `why` nor `stats` is to tell of it."""
        return self.session.startswith(TRIAL)

    def given(self) -> AbstractSet[str]:
        """Return the ids of the memories that the session has been given. Raises StoreError."""
        if self._given is not None:
            return self._given
        return ledger.given_to(self.state, self.session) if self.session else set()

    def facts(self) -> dict[str, Scalar]:
        """Return what conditions are judged by, as it was when this was first asked. Raises StoreError."""
        if self._facts is None:
            from subcog_hooks.hook import facts  # where some memory has conditions

            self._facts = facts.session_facts(self.payload, self.here, self.state, self.at)
        return self._facts

    def holds(self, memory: Memory) -> bool:
        """Return whether all conditions of a memory hold; it is handed over only then. Raises StoreError."""
        if not memory.when:
            return True
        from subcog_hooks.cues import conditions  # as above

        return conditions.holds(memory.when, self.facts())

    def log(self, message: str) -> None:
        log(self.home, message)


def open_occasion(payload: Mapping[str, object], home: Home, deadline: Deadline) -> Occasion | None:
    """Return what a payload is about, None where there are no memories yet. Raises StoreError."""
    if not os.path.exists(home.memories_db):
        return None
    stages = Stages(deadline)
    stages.done(START)
    folder = text_of(payload, "cwd")
    here = project.find(folder) if os.path.isabs(folder) else None
    busy_ms = max(LEAST_WAIT_MS, deadline.left_ms() - PRINT_MS)
    state = State.open_in_any_case(home, busy_ms, lambda fault: log(home, fault))
    _left_open.append(state)
    settings = loading.load(home, here.root if here else None, CompiledSettings(state))
    if faults := (*settings.problems, *settings.ignored):
        more = f"; and {len(faults) - LOGGED_FAULTS} more" if len(faults) > LOGGED_FAULTS else ""
        log(home, "; ".join(faults[:LOGGED_FAULTS]) + more)
    occasion = Occasion(payload, session_of(payload), here, settings, state, home, deadline)
    occasion.stages = stages
    stages.done(OPEN)
    return occasion


def with_sound_state(home: Home, answer: Callable[[], None]) -> None:
    """Answer a hook; where state.db turns out to be damaged, once more with a new one. Raises StoreError."""
    try:
        answer()
    except StoreCorrupt as error:
        if home.state_db not in error.message:
            raise
        log(home, f"{error.message}; {ASIDE}")
        put_aside(home)
        answer()


def log(home: Home, message: str) -> None:
    from subcog_hooks.core import log as file  # only when there is something to say

    file.write(home, message)
