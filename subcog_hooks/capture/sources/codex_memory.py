"""Codex' memories: the handbook MEMORY.md that it writes about finished sessions, entry by entry.

The layout is that of `codex-rs/memories/write` of openai/codex. A block `# Task Group: …` has a line `applies_to: cwd=…`, tasks
that only link to recaps, and three sections of bullets. Recaps, raw notes and texts that Codex loads itself are skipped. A
MEMORY.md of another layout is imported by its headings.
"""

import os
import re
from collections.abc import Iterator, Mapping

from subcog_hooks.capture.sources.source_reading import SourceReading, owner_of, read_source_text, split_at_headings
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import leads_out
from subcog_hooks.store.memory import AGENT, hash_content

CODEX = "codex"
HANDBOOK = "MEMORY.md"

_GROUP = re.compile(r"^# Task Group:[ \t]*(.+)$", re.MULTILINE)
_FOLDER = re.compile(r"^applies_to:.*?\bcwd=([^;\n]+)", re.MULTILINE)
_HEADING = re.compile(r"^##[ \t]+(.+)$", re.MULTILINE)
_BULLET = re.compile(r"^- (.+(?:\n(?!- |#).+|\n(?=\n+[ \t]))*)", re.MULTILINE)  # with its indented paragraphs
_TASK = re.compile(r"\s*\[Task \d+\]")
_SECTIONS = {  # by the start of a heading: kind, namespace
    "user preferences": ("preference", "patterns"),
    "reusable knowledge": ("knowledge", "learnings"),
    "failures": ("failure", "learnings"),
}


def default_path(environment: Mapping[str, str]) -> str:
    """Return the folder of its memories."""
    folder = environment.get("CODEX_HOME") or os.path.join(os.path.expanduser("~"), ".codex")
    return os.path.join(folder, "memories")


def read_handbook(folder: str) -> SourceReading:
    """Read the entries of its handbook. folder: its memories. Raises UsageError."""
    reading = SourceReading(CODEX)
    file = os.path.join(folder, HANDBOOK)
    if not os.path.isfile(file):
        raise UsageError(f"{file} is not there", "name the folder: subcog import --from codex FOLDER")
    if leads_out(file, folder):
        raise UsageError(f"{file} is a link out of its folder", "name the folder that it leads to")
    reading.begin_store(file, default_path({}))
    text_and_time = read_source_text(file, reading)
    if text_and_time is None:
        raise UsageError(f"{file} {next(iter(reading.left_out))}", "look whether it is the file you mean")
    text, changed_ms = text_and_time
    for group, entry_folder, kind, namespace, entry_text in _parse_entries(text):
        owner = reading.repository or owner_of(entry_folder)
        if entry_folder and owner is None:
            reading.left_out[f"is of a folder that is not here ({entry_folder})"] += 1
            continue
        content = f"{group}: {entry_text}"
        location = f"{HANDBOOK}#{hash_content(content)[:12]}"  # entries have no names, and their order changes
        reading.add(kind, location, content, changed_ms, owner, namespace=namespace, trust=AGENT)
    if not _GROUP.search(text) and text.strip():
        reading.add_document("note", HANDBOOK, text.strip(), changed_ms, None, namespace="learnings", trust=AGENT)
    return reading


def _parse_entries(text: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield group, folder, kind, namespace and text of the handbook's bullets; its tasks only link to recaps."""
    for group, block in split_at_headings(_GROUP, text):
        folder_line = _FOLDER.search(block)
        folder = os.path.expanduser(folder_line[1].strip().strip("`\"'")) if folder_line else ""
        folder = folder if os.path.isabs(folder) else ""
        for heading, section in split_at_headings(_HEADING, block):
            name = heading[1].strip().lower()
            for kind, namespace in [value for start, value in _SECTIONS.items() if name.startswith(start)]:
                for bullet in _BULLET.finditer(section):
                    has_code = "```" in bullet[1]  # and its lines say something
                    whole = bullet[1].replace("\n  ", "\n") if has_code else " ".join(bullet[1].split())
                    if entry_text := _TASK.sub("", whole).strip():
                        yield group[1].strip(), folder, kind, namespace, entry_text
