"""memsearch: the day files in which its hook summarises each turn of a session. All of it is a machine's word.

The layout is that of its plugin's `stop.sh` and of `memsearch compact`: `## Session HH:MM`, `### HH:MM`, bullets below.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from subcog_hooks.capture.sources.source_reading import SourceReading, identity_of, read_text
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import leads_out
from subcog_hooks.store import project
from subcog_hooks.store.memory import PENDING
from subcog_hooks.store.project import Project

MEMSEARCH = "memsearch"
MEMSEARCH_FOLDER = "MEMSEARCH_DIR"  # the variable by which it is moved

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})\.md$")
_TURN = re.compile(r"^#{2,3} (?:Session |Memory Compact )?(\d{2}:\d{2})[ \t]*$", re.MULTILINE)
_COMPACT = re.compile(r"^## Memory Compact ", re.MULTILINE)
_ANCHOR = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FAILED = "- Memory summary unavailable"


def default_path(environment: Mapping[str, str], here: Project | None) -> str:
    """Return the folder that has its notes about the project at hand, "" outside of any."""
    folder = environment.get(MEMSEARCH_FOLDER) or (os.path.join(here.root, ".memsearch") if here else "")
    return os.path.join(folder, "memory") if folder else ""


def day_files(folder: str) -> list[str]:
    """Return its day files, the oldest first."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if _DAY.fullmatch(name)]


def read(folder: str, here: Project | None) -> SourceReading:
    """Return what its day files hold. Raises UsageError."""
    owner = identity_of(project.find_project(os.path.abspath(folder)) or here)
    reading = SourceReading(MEMSEARCH, f"{owner}/" if owner else "")
    files = day_files(folder) or day_files(os.path.join(folder, "memory"))
    if not files:
        raise UsageError(f"{folder} has no day files of memsearch", "name the folder: subcog import --from memsearch FOLDER")
    reading.begin_store(folder)
    for file in files:
        if leads_out(file, folder):
            reading.left_out["is a link out of its folder"] += 1
        elif found := read_text(file, reading):
            _add_day(os.path.basename(file), found[0], owner, reading)
    return reading


def _add_day(name: str, text: str, owner: str | None, reading: SourceReading) -> None:
    seen: Counter[str] = Counter()
    for time, kind, told in _turns(text):
        seen[time] += 1
        if told.startswith(_FAILED):
            reading.left_out["is a summary that failed"] += 1
        elif told:
            place = f"{name}#{time}#{seen[time]}"
            at = _milliseconds(name, time)
            reading.add_document(kind, place, told, at, owner, namespace="progress", trust="tool", status=PENDING)


def _turns(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the turns of a day: the time, whether it is a turn or a summary of many, and its text."""
    headings = list(_TURN.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    for heading, end in zip(headings, ends, strict=False):  # a day can have no turn
        kind = "summary" if _COMPACT.match(heading[0]) else "turn"
        yield heading[1], kind, _ANCHOR.sub("", text[heading.end() : end]).strip()


def _milliseconds(name: str, time: str) -> int:
    """Return when a turn was; its file says the day and its heading the time, in a zone that neither names."""
    try:
        return int(datetime.strptime(f"{name[:10]} {time}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        return 0
