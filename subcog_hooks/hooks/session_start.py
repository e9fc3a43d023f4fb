"""SessionStart: after a compaction the session may hear its memories again, which went with the rest. It prints nothing.

`clear` starts a session with an id of its own, and a resumed one still has what it was given.
"""

import os

from subcog_hooks.hooks.payload import session_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.deadline import Deadline
    from subcog_hooks.paths import Home

COMPACT = "compact"
LOG_MS = 20.0  # what it takes to say that another process has the file


def respond(payload: dict[str, object], home: "Home", deadline: "Deadline") -> None:
    """Forget the session's ledger if it was compacted. Raises StoreError."""
    session = session_of(payload)
    if text_of(payload, "source") != COMPACT or not session or not os.path.exists(home.state_db):
        return
    from subcog_hooks.state import State  # SQLite is loaded only when there is something to forget

    State.open(home, max(1.0, deadline.left_ms() - LOG_MS)).forget_ledger(session)
