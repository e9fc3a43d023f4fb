"""memsearch: the day files in which its hook summarises each turn of a session. A machine wrote all of them.

The layout is that of its plugin's `stop.sh` and of `memsearch compact`: `## Session HH:MM`, `### HH:MM`, bullets below.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping

from subcog_hooks.capture.sources.source_reading import SourceReading, project_of, read_source_text, split_at_headings
from subcog_hooks.capture.written_dates import parse_date_ms
from subcog_hooks.core.errors import UsageError
from subcog_hooks.store.memory import PENDING
from subcog_hooks.store.project import Project

MEMSEARCH = "memsearch"

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\.md$")
_TURN = re.compile(r"^#{2,3} (?:Session |Memory Compact )?(\d{2}:\d{2})[ \t]*$", re.MULTILINE)
_COMPACT = re.compile(r"^## Memory Compact ", re.MULTILINE)
_ANCHOR = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def default_path(environment: Mapping[str, str], here: Project | None) -> str:
    """Return the folder with its notes about the current project, "" outside of any."""
    folder = environment.get("MEMSEARCH_DIR") or (os.path.join(here.root, ".memsearch") if here else "")
    return os.path.join(folder, "memory") if folder else ""


def find_day_files(folder: str) -> list[str]:
    """Return its day files, oldest first."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if _DAY.fullmatch(name)]


def read_day_files(folder: str, here: Project | None) -> SourceReading:
    """Read its day files. Raises UsageError."""
    owner = project_of(os.path.abspath(folder)) or (here.identity if here else None)
    reading = SourceReading(MEMSEARCH, f"{owner}/" if owner else "")
    files = find_day_files(folder) or find_day_files(os.path.join(folder, "memory"))
    if not files:
        raise UsageError(f"{folder} has no day files of memsearch", "name the folder: subcog import --from memsearch FOLDER")
    reading.begin_store(folder)
    for file in files:
        if text_and_time := read_source_text(file, reading, inside=folder):
            _add_day(os.path.basename(file), text_and_time[0], owner, reading)
    return reading


def _add_day(name: str, text: str, owner: str | None, reading: SourceReading) -> None:
    seen: Counter[str] = Counter()
    for heading, body in split_at_headings(_TURN, text):
        time, summary = heading[1], _ANCHOR.sub("", body).strip()
        seen[time] += 1
        if summary.startswith("- Memory summary unavailable"):
            reading.left_out["is a summary that failed"] += 1
        elif summary:
            location = f"{name}#{time}#{seen[time]}"
            kind, at_ms = "summary" if _COMPACT.match(heading[0]) else "turn", parse_date_ms(f"{name[:10]} {time}") or 0
            reading.add_document(kind, location, summary, at_ms, owner, namespace="progress", trust="tool", status=PENDING)
