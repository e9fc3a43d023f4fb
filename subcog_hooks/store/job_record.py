"""The record of the work at rest: what came of each job's last run, and when a session that begins is to start it again.

One small JSON file in the home, which may be deleted at any time. A damaged one is as good as none.
"""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.paths import PRIVATE_FILE
from subcog_hooks.core.regular_files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home

_FLAGS = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)  # a pipe in its place waits for nobody
MAX_RECORD_BYTES = 64 * 1024
MAX_TOLD = 300  # characters of what came of a run
DONE, RUN_FAILED, PUT_OFF, UNFINISHED = "done", "failed", "put off", "unfinished"  # put off: for want of room on the machine
OUTCOMES = (DONE, RUN_FAILED, PUT_OFF, UNFINISHED)
FARTHEST_S = 86_400.0  # a session looks again for what nobody has told of
UNDER_WAY = 0  # the next time of work that has not ended, or was killed


class LastRun:
    """The last run of a job. at: milliseconds since the epoch when it ended; told: what came of it, in one line."""

    __slots__ = ("at", "outcome", "told", "took_ms")

    def __init__(self, at: int, took_ms: int, outcome: str, told: str) -> None:
        self.at = at
        self.took_ms = took_ms
        self.outcome = outcome
        self.told = " ".join(told.split())[:MAX_TOLD]


class RestRecord:
    """The last runs by the names of their jobs. next_at: when a session is to start the work, milliseconds since the epoch;
    settings: the time of the settings' file that the last work was under, in nanoseconds."""

    __slots__ = ("next_at", "runs", "settings")

    def __init__(self, runs: dict[str, LastRun], next_at: int, settings: int) -> None:
        self.runs = runs
        self.next_at = next_at
        self.settings = settings


def read(home: Home) -> RestRecord:
    """Return the record; an empty one, whose work is due, where none can be read."""
    try:
        found = light_json.loads(read_regular(home.at_rest, MAX_RECORD_BYTES).decode())
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        return RestRecord({}, UNDER_WAY, -1)
    rows, next_at, settings = found.get("jobs"), found.get("next"), found.get("settings")
    runs = {name: run for name, row in rows.items() if (run := _run(row))} if isinstance(rows, dict) else {}
    return RestRecord(runs, next_at if isinstance(next_at, int) else UNDER_WAY, settings if isinstance(settings, int) else -1)


def _run(row: object) -> LastRun | None:
    if not isinstance(row, dict):
        return None
    at, took_ms, outcome, told = (row.get(name) for name in ("at", "took_ms", "outcome", "told"))
    if not (isinstance(at, int) and isinstance(took_ms, int) and isinstance(told, str)):
        return None
    return LastRun(at, took_ms, str(outcome), told) if outcome in OUTCOMES and 0 <= at < 10**15 else None


def write(home: Home, record: RestRecord) -> bool:
    """Put a record in the place of the one before. Return False where that one stays, as on a full disk: the next process does
    the work once more then."""
    jobs: Json = {
        name: {"at": run.at, "took_ms": run.took_ms, "outcome": run.outcome, "told": run.told}
        for name, run in record.runs.items()
    }
    text = light_json.dumps({"next": record.next_at, "settings": record.settings, "jobs": jobs})
    new = f"{home.at_rest}.new"  # the one at work writes alone, so that a killed one leaves no second file
    try:
        descriptor = os.open(new, _FLAGS, PRIVATE_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(new, home.at_rest)
    except OSError:
        return False
    return True


def settings_time(home: Home) -> int:
    """Return the time of the settings' file in nanoseconds, 0 where there is none."""
    try:
        return os.stat(home.config).st_mtime_ns
    except OSError:
        return 0


def is_due(home: Home, now_ms: int) -> bool:
    """Return whether a session that begins is to start the work: some of it is due, or the settings have changed since.

    A time that is too far away was written by a clock that has been put back.
    """
    record = read(home)
    return not 0 < record.next_at - now_ms <= FARTHEST_S * 1000 or record.settings != settings_time(home)
