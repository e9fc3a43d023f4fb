"""`subcog statusline`: a line for Claude Code's status line: notes here and in the session, cut-off runs, an off hook."""

from __future__ import annotations

import os
import sys

from subcog_hooks.core import database, light_json
from subcog_hooks.core.paths import find_home
from subcog_hooks.hook.payload import session_of, text_of
from subcog_hooks.settings import loading
from subcog_hooks.store import project, sessions
from subcog_hooks.store.memory import now_ms
from subcog_hooks.store.state import SCHEMA, CompiledSettings, State, is_paused
from subcog_hooks.store.store_reader import StoreReader

MAX_PAYLOAD = 1 << 20  # bytes; the client sends some 2,000.
WAIT_MS = 20.0  # for another process that is writing
_COUNTS = """
SELECT count(DISTINCT memory), 'given' FROM ledger WHERE session IN (?, ?) AND verdict <> ''  -- not those that were opened
UNION ALL SELECT count(*), 'opened' FROM pointers WHERE session = ? AND opened_at IS NOT NULL
"""


def print_status() -> None:
    """Print the line for the payload on standard input, or nothing. Never raises: the client shows a failed command."""
    try:
        raw = b"" if os.isatty(0) else sys.stdin.buffer.read(MAX_PAYLOAD)
        payload = light_json.loads(raw.decode("utf-8", "replace")) if raw.strip() else {}
        if isinstance(payload, dict) and (line := _status_line(payload)):
            os.write(1, f"{line}\n".encode())
    except Exception:  # noqa: BLE001, S110 - it runs at every turn, and only shows
        pass


def _status_line(payload: dict[str, object]) -> str:
    """Return the line, "" where there are no memories yet. Raises StoreError."""
    workspace = payload.get("workspace")
    folder = text_of(workspace, "current_dir") if isinstance(workspace, dict) else ""
    folder = folder or text_of(payload, "cwd") or os.getcwd()
    home, _ = find_home(folder)
    if not os.path.exists(home.memories_db):
        return ""
    here = project.find_project(folder)
    with StoreReader.reader(home, WAIT_MS) as store:
        notes, waiting = store.count_active(here.names if here else ()), store.count_pending()
    state = None
    if os.path.exists(home.state_db):
        state = State(database.open_reader(home.state_db, SCHEMA, WAIT_MS), home.state_db, WAIT_MS)
    id_ = session_of(payload)
    counts = state.run(_COUNTS, (id_, id_ + sessions.CUT, id_)) if id_ and state else ()
    session = ", ".join(f"{count} {what}" for count, what in counts if count)
    waits = f"{waiting} {'waits' if waiting == 1 else 'wait'}" if waiting else ""
    cut_off = ""
    if id_ and state and os.path.exists(home.cut_offs):
        from subcog_hooks.store import past_runs  # Few runs are cut off.

        sql = "SELECT max(at) FROM verdicts WHERE session = ? AND event = 'UserPromptSubmit'"
        ((since_ms,),) = state.run(sql, (id_,))  # the last prompt that was not cut off
        cut_offs = past_runs.read_cut_offs(home, now_ms())
        count = sum(run.session == id_ and run.at_ms >= (since_ms or 0) for run in cut_offs)
        cut_off = f"{count} {'run' if count == 1 else 'runs'} cut off: this machine was busy" if count else ""
    settings = loading.load(home, here.root if here else None, CompiledSettings(state) if state else None)
    is_on = settings["surfacing.enabled"] and settings["search_intent.enabled"]
    off = "hook off" if not is_on else "paused" if state and is_paused(state, now_ms()) else ""
    return " · ".join(filter(None, (f"subcog {notes} {'note' if notes == 1 else 'notes'}", session, waits, cut_off, off)))
