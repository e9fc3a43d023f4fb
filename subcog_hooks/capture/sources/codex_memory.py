"""Codex' memories: the handbook MEMORY.md that it writes about finished sessions, entry by entry.

The layout is that of `codex-rs/memories/write` of openai/codex: blocks `# Task Group: …` with a line `applies_to: cwd=…`, tasks
that only point to recaps, and three sections of bullets. What it puts before its own model, its recaps and its raw notes are
left alone. A MEMORY.md of any other layout comes by its headings.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from subcog_hooks.capture.sources.source_reading import SourceReading, identity_of, read_text
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import leads_out
from subcog_hooks.store import project
from subcog_hooks.store.memory import AGENT, hash_content

CODEX = "codex"
CODEX_FOLDER = "CODEX_HOME"  # the variable by which its folder is moved
HANDBOOK = "MEMORY.md"

_GROUP = re.compile(r"^# Task Group:[ \t]*(.+)$", re.MULTILINE)
_FOLDER = re.compile(r"^applies_to:.*?\bcwd=([^;\n]+)", re.MULTILINE)
_HEADING = re.compile(r"^##[ \t]+(.+)$", re.MULTILINE)
_BULLET = re.compile(r"^- (.+(?:\n(?!- |#).+)*)", re.MULTILINE)
_TASK = re.compile(r"\s*\[Task \d+\]")
_SECTIONS = {  # by the start of a heading: kind, namespace
    "user preferences": ("preference", "patterns"),
    "reusable knowledge": ("knowledge", "learnings"),
    "failures": ("failure", "learnings"),
}


class _Entry(NamedTuple):
    group: str
    folder: str
    kind: str
    namespace: str
    text: str


def default_path(environment: Mapping[str, str]) -> str:
    """Return where its memories are."""
    folder = environment.get(CODEX_FOLDER) or os.path.join(os.path.expanduser("~"), ".codex")
    return os.path.join(folder, "memories")


def read(folder: str) -> SourceReading:
    """Return the entries of its handbook. folder: its memories. Raises UsageError."""
    reading = SourceReading(CODEX)
    file = os.path.join(folder, HANDBOOK)
    if not os.path.isfile(file):
        raise UsageError(f"{file} is not there", "name the folder: subcog import --from codex FOLDER")
    if leads_out(file, folder):
        raise UsageError(f"{file} is a link out of its folder", "name the folder that it leads to")
    reading.begin_store(file, default_path({}))
    found = read_text(file, reading)
    if found is None:
        raise UsageError(f"{file} {next(iter(reading.left_out))}", "look whether it is the file you mean")
    text, changed = found
    for entry in _entries(text):
        owner = reading.repository or _owner_of(entry.folder)
        if entry.folder and owner is None:
            reading.left_out[f"is of a folder that is not here ({entry.folder})"] += 1
            continue
        content = f"{entry.group}: {entry.text}"
        place = f"{HANDBOOK}#{hash_content(content)[:12]}"  # entries have no names, and their order changes
        reading.add(entry.kind, place, content, changed, owner, namespace=entry.namespace, trust=AGENT)
    if not _GROUP.search(text) and text.strip():
        reading.add_document("note", HANDBOOK, text.strip(), changed, None, namespace="learnings", trust=AGENT)
    return reading


def _owner_of(folder: str) -> str | None:
    """Return the identity of the project in a folder, the folder itself outside of any; None where it is not there."""
    if not folder or not os.path.isdir(folder):
        return None
    return identity_of(project.find_project(folder)) or os.path.realpath(folder)


def _entries(text: str) -> Iterator[_Entry]:
    """Yield the bullets of the handbook's sections; what its tasks list are pointers."""
    for group, block in _split_at(_GROUP, text):
        named = _FOLDER.search(block)
        folder = os.path.expanduser(named[1].strip().strip("`\"'")) if named else ""
        for heading, section in _split_at(_HEADING, block):
            known = next((known for start, known in _SECTIONS.items() if heading.lower().startswith(start)), None)
            if known:
                for bullet in _BULLET.finditer(section):
                    told = _TASK.sub("", " ".join(bullet[1].split())).strip()
                    if told:
                        yield _Entry(group, folder if os.path.isabs(folder) else "", *known, told)


def _split_at(heading: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Yield what stands below each heading, with that heading's text."""
    found = list(heading.finditer(text))
    ends = [later.start() for later in found[1:]] + [len(text)]
    for match, end in zip(found, ends, strict=False):  # there can be none
        yield match[1].strip(), text[match.end() : end]
