"""A hook that was called: where and in which session, and the files that answering it needs."""

import os

from subcog_hooks.errors import StoreCorrupt
from subcog_hooks.hooks.payload import TRIAL, session_of, text_of
from subcog_hooks.memory import project
from subcog_hooks.memory.model import now_ms
from subcog_hooks.memory.store import Store, audiences_of
from subcog_hooks.settings import loading
from subcog_hooks.state import ledger
from subcog_hooks.state.compiled_settings import CompiledSettings
from subcog_hooks.state.connection import State, put_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from subcog_hooks.cues.conditions import Scalar
    from subcog_hooks.deadline import Deadline
    from subcog_hooks.memory.model import Memory
    from subcog_hooks.memory.project import Project
    from subcog_hooks.paths import Home
    from subcog_hooks.settings.loading import Settings

PRINT_MS = 5.0  # what rendering and writing need at the end

_left_open: list[State | Store] = []  # closing the last connection checkpoints and deletes the WAL: 2 ms each time


class Occasion:
    """What one call of the hook is about.

    here: the project it happened in; session: "" when the client names none; at: when, in milliseconds since the epoch.
    """

    __slots__ = ("_facts", "_store", "at", "deadline", "here", "home", "payload", "session", "settings", "state")

    def __init__(
        self,
        payload: "Mapping[str, object]",
        session: str,
        here: "Project | None",
        settings: "Settings",
        state: State,
        home: "Home",
        deadline: "Deadline",
    ) -> None:
        self.payload = payload
        self.session = session
        self.here = here
        self.settings = settings
        self.state = state
        self.home = home
        self.deadline = deadline
        self.at = now_ms()
        self._store: Store | None = None
        self._facts: dict[str, Scalar] | None = None

    @property
    def store(self) -> Store:
        """The memories, opened when they are first asked for. Raises StoreError."""
        if self._store is None:
            self._store = Store.reader(self.home, max(1.0, self.deadline.left_ms() - PRINT_MS))
            _left_open.append(self._store)
        return self._store

    @property
    def audiences(self) -> tuple[str, ...]:
        """Whose memories may be handed over."""
        return audiences_of(*self.here.names) if self.here else audiences_of()

    @property
    def is_trial(self) -> bool:
        """Whether `subcog doctor` tries the hook: neither `why` nor `stats` is to tell of it."""
        return self.session.startswith(TRIAL)

    def given(self) -> set[str]:
        """The ids of the memories that the session has been given. Raises StoreError."""
        return ledger.given(self.state, self.session) if self.session else set()

    def facts(self) -> "dict[str, Scalar]":
        """What conditions are judged by, as it was when this was first asked. Raises StoreError."""
        if self._facts is None:
            from subcog_hooks.hooks import facts  # where some memory has conditions

            self._facts = facts.of_session(self.payload, self.here, self.state, self.at)
        return self._facts

    def holds(self, memory: "Memory") -> bool:
        """Whether all conditions of a memory hold; it is handed over only then. Raises StoreError."""
        if not memory.when:
            return True
        from subcog_hooks.cues import conditions  # as above

        return conditions.holds(memory.when, self.facts())

    def log(self, message: str) -> None:
        log(self.home, message)


def opened(payload: "Mapping[str, object]", home: "Home", deadline: "Deadline") -> Occasion | None:
    """What a payload is about, None where there are no memories yet. Raises StoreError."""
    if not os.path.exists(home.memories_db):
        return None
    folder = text_of(payload, "cwd")
    here = project.find(folder) if os.path.isabs(folder) else None
    state = State.open(home, max(1.0, deadline.left_ms() - PRINT_MS))
    _left_open.append(state)
    settings = loading.load(home, here.root if here else None, CompiledSettings(state))
    for problem in settings.problems:
        log(home, problem)
    return Occasion(payload, session_of(payload), here, settings, state, home, deadline)


def with_sound_state(home: "Home", answer: "Callable[[], None]") -> None:
    """Answer a hook; where state.db turns out to be damaged, once more with a new one. Raises StoreError."""
    try:
        answer()
    except StoreCorrupt as error:
        if home.state_db not in error.message:
            raise
        log(home, f"{error.message}; it is put aside and made anew, without the ledger and a pause")
        put_aside(home)
        answer()


def log(home: "Home", message: str) -> None:
    from subcog_hooks import log as file  # only when there is something to say

    file.write(home, message)
