"""The record of the background jobs: the result of each job's last run, and the time when they are due again.

One small JSON file in the home, which may be deleted at any time. A damaged one counts as none.
"""

from __future__ import annotations

import os

from subcog_hooks.core import light_json
from subcog_hooks.core.files import PRIVATE_FILE, read_regular
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.core.light_json import Json
    from subcog_hooks.core.paths import Home

_FLAGS = os.O_CREAT | os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0)
MAX_RECORD_BYTES = 64 * 1024
MAX_RESULT = 300  # characters
DONE, RUN_FAILED, PUT_OFF, UNFINISHED = "done", "failed", "put off", "unfinished"  # put off: the machine is busy
OUTCOMES = (DONE, RUN_FAILED, PUT_OFF, UNFINISHED)
FARTHEST_S = 86_400.0  # seconds; a session starts the jobs at least this often
UNDER_WAY = 0  # the next time while jobs run, or after they were killed


class LastRun:
    """The last run of a job. ended_ms: when it ended, milliseconds since the epoch; result: its outcome in one line."""

    __slots__ = ("ended_ms", "outcome", "result", "took_ms")

    def __init__(self, ended_ms: int, took_ms: int, outcome: str, result: str) -> None:
        self.ended_ms = ended_ms
        self.took_ms = took_ms
        self.outcome = outcome
        self.result = " ".join(result.split())[:MAX_RESULT]


@record
class JobRecord:
    """The last runs by the names of their jobs.

    next_at: when a session is to start the jobs, milliseconds since the epoch; settings: the mtime of the settings' file at the
    last run, in nanoseconds.
    """

    runs: dict[str, LastRun]
    next_at: int
    settings: int


def read_record(home: Home) -> JobRecord:
    """Return the record; an empty record, whose jobs are due, where none can be read."""
    try:
        content = light_json.loads(read_regular(home.job_record, MAX_RECORD_BYTES).decode())
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict):
        return JobRecord({}, UNDER_WAY, -1)
    rows, next_at, settings = content.get("jobs"), content.get("next"), content.get("settings")
    runs = {name: run for name, row in rows.items() if (run := _parse_run(row))} if isinstance(rows, dict) else {}
    return JobRecord(runs, next_at if isinstance(next_at, int) else UNDER_WAY, settings if isinstance(settings, int) else -1)


def _parse_run(row: object) -> LastRun | None:
    if not isinstance(row, dict):
        return None
    ended_ms, took_ms, outcome, result = (row.get(name) for name in ("at", "took_ms", "outcome", "told"))
    if not (isinstance(ended_ms, int) and isinstance(took_ms, int) and isinstance(result, str)):
        return None
    return LastRun(ended_ms, took_ms, str(outcome), result) if outcome in OUTCOMES and 0 <= ended_ms < 10**15 else None


def write_record(home: Home, record: JobRecord) -> bool:
    """Replace the record. Return False on failure, as on a full disk: the next process repeats the jobs then."""
    jobs: Json = {
        name: {"at": run.ended_ms, "took_ms": run.took_ms, "outcome": run.outcome, "told": run.result}
        for name, run in record.runs.items()
    }
    text = light_json.dumps({"next": record.next_at, "settings": record.settings, "jobs": jobs})
    new = f"{home.job_record}.new"  # only the process with the lock writes, so a killed one leaves no second file
    try:
        descriptor = os.open(new, _FLAGS, PRIVATE_FILE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(new, home.job_record)
    except OSError:
        return False
    return True


def find_settings_time(home: Home) -> int:
    """Return the mtime of the settings' file in nanoseconds, 0 where there is none."""
    try:
        return os.stat(home.config).st_mtime_ns
    except OSError:
        return 0


def is_due(home: Home, now_ms: int) -> bool:
    """Return whether a new session is to start the jobs: one is due, or the settings have changed.

    A time that is too far ahead was written by a clock that has been put back.
    """
    record = read_record(home)
    return not 0 < record.next_at - now_ms <= FARTHEST_S * 1000 or record.settings != find_settings_time(home)
