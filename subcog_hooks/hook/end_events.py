"""Stop, PreCompact, SessionEnd: note a session's last activity. Nothing is printed, since the model would read it."""

from __future__ import annotations

import os

from subcog_hooks.core.errors import StoreBusy
from subcog_hooks.hook.payload import session_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.core.deadline import Deadline
    from subcog_hooks.core.paths import Home
    from subcog_hooks.store.state import State

MIN_WAIT_MS = 5.0  # The hook waits this long for another writer, even where no time is left.
EVENTS = ("Stop", "PreCompact", "SessionEnd")

_left_open: list[State] = []  # Closing the last connection checkpoints and deletes the WAL: 2 ms each time.


def note_session_activity(payload: dict[str, object], home: Home, deadline: Deadline) -> None:
    """Note that the session is active, unless another process is writing. Raises StoreError."""
    session = session_of(payload)
    if not session or not os.path.exists(home.state_db):
        return
    from subcog_hooks.store import sessions
    from subcog_hooks.store.memory import now_ms
    from subcog_hooks.store.state import State

    state = State.open(home, max(MIN_WAIT_MS, deadline.left_ms()))
    _left_open.append(state)
    try:
        state.begin_briefly()
    except StoreBusy:
        return
    sessions.note_activity(state, session, now_ms())
    state.commit()
