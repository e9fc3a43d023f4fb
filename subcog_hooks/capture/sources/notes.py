"""Notes in other programs' files: Codex' handbook and basic-memory.

The layouts are those of `codex-rs/memories/write` of openai/codex, and `docs/NOTE-FORMAT.md` of basicmachines-co/basic-memory
0.18.0.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping

from subcog_hooks.capture import markdown
from subcog_hooks.capture.importing import find_markdown_files
from subcog_hooks.capture.markdown_document import parse_status
from subcog_hooks.capture.sources.source_reading import (
    BY_AGENT,
    BY_MACHINE,
    SourceReading,
    owner_of,
    project_of,
    read_source_text,
    valid_tags,
)
from subcog_hooks.capture.written_dates import parse_date_ms
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.store.memory import AGENT, hash_content

CODEX, BASIC_MEMORY = "codex", "basic-memory"
HANDBOOK = "MEMORY.md"

_GROUP = re.compile(r"^# Task Group:[ \t]*(.+)$", re.MULTILINE)
_GROUP_FOLDER = re.compile(r"^applies_to:.*?\bcwd=([^;\n]+)", re.MULTILINE)
_HEADING = re.compile(r"^##[ \t]+(.+)$", re.MULTILINE)
_BULLET = re.compile(r"^- (.+(?:\n(?!- |#).+|\n(?=\n+[ \t]))*)", re.MULTILINE)  # with its indented paragraphs
_TASK = re.compile(r"\s*\[Task \d+\]")
_HANDBOOK_SECTIONS = {  # by the start of a heading: kind, namespace
    "user preferences": ("preference", "patterns"),
    "reusable knowledge": ("knowledge", "learnings"),
    "failures": ("failure", "learnings"),
}


def codex_folder(environment: Mapping[str, str]) -> str:
    """Return the folder of Codex' memories."""
    return os.path.join(environment.get("CODEX_HOME") or _in_home(".codex"), "memories")


def _in_home(folder: str) -> str:
    return os.path.join(os.path.expanduser("~"), folder)


def read_handbook(folder: str) -> SourceReading:
    """Read the handbook that Codex writes about finished sessions, entry by entry. folder: its memories. Raises UsageError.

    A handbook of another layout is read by its headings.
    """
    reading = SourceReading(CODEX)
    file = os.path.join(folder, HANDBOOK)
    if not os.path.isfile(file):
        raise UsageError(f"{file} is not there", "name the folder: subcog import --from codex FOLDER")
    if leads_out(file, folder):
        raise UsageError(f"{file} is a link out of its folder", "name the folder that it leads to")
    reading.begin_store(file, codex_folder({}))
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
    for group, block in _split_at_headings(_GROUP, text):
        folder_line = _GROUP_FOLDER.search(block)
        folder = os.path.expanduser(folder_line[1].strip().strip("`\"'")) if folder_line else ""
        folder = folder if os.path.isabs(folder) else ""
        for heading, section in _split_at_headings(_HEADING, block):
            name = heading[1].strip().lower()
            for kind, namespace in [value for start, value in _HANDBOOK_SECTIONS.items() if name.startswith(start)]:
                for bullet in _BULLET.finditer(section):
                    has_code = "```" in bullet[1]  # and its lines say something
                    whole = bullet[1].replace("\n  ", "\n") if has_code else " ".join(bullet[1].split())
                    if entry_text := _TASK.sub("", whole).strip():
                        yield group[1].strip(), folder, kind, namespace, entry_text


def _split_at_headings(heading: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each heading of a text, with the text up to the next one."""
    headings = list(heading.finditer(text))
    ends = [later.start() for later in headings[1:]] + [len(text)]
    for match, end in zip(headings, ends, strict=False):  # a text can have no heading
        yield match, text[match.end() : end]


MAX_CONFIG = 1_000_000  # bytes of basic-memory's configuration
_NAME_FOLDER = "name the folder: subcog import --from basic-memory FOLDER"
_RELATION = re.compile(r"^[ \t]*- [^\n\[]*\[\[[^\]\n]*\]\][ \t]*(?:\([^\n]*\)[ \t]*)?(?:\n|\Z)", re.MULTILINE)
_EMPTY_HEADING = re.compile(r"^#{2,6} (?:Relations|Observations)[ \t]*\n*(?=#|\Z)", re.MULTILINE)
_OBSERVATION = re.compile(r"^[ \t]*- \[([A-Za-z][\w -]*)\] ", re.MULTILINE)
_NAMESPACES = {"decision": "decisions", "pattern": "patterns", "preference": "patterns", "reference": "context"}


def list_note_folders(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the projects of basic-memory and their note folders. Raises UsageError."""
    file = os.path.join(environment.get("BASIC_MEMORY_CONFIG_DIR") or _in_home(".basic-memory"), "config.json")
    try:
        configuration = json.loads(read_regular(file, MAX_CONFIG).decode("utf-8-sig"))
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file} cannot be read: {error}", _NAME_FOLDER) from error
    projects = configuration.get("projects") if isinstance(configuration, dict) else None
    for name, value in projects.items() if isinstance(projects, dict) else ():
        path = value.get("path") if isinstance(value, dict) else value  # Older versions write the path alone.
        if isinstance(path, str):
            yield name, os.path.abspath(os.path.expanduser(path))


def read_basic_memory(environment: Mapping[str, str], only: str | None = None) -> SourceReading:
    """Read the notes that agents write and people edit, of all projects. only: one folder instead. Raises UsageError."""
    reading = SourceReading(BASIC_MEMORY)
    reading.is_whole = only is None
    path = os.path.abspath(only or "")
    note_folders = [(os.path.basename(path), path)] if only else list(list_note_folders(environment))
    if not any(os.path.isdir(folder) for _, folder in note_folders):
        raise UsageError(f"{only or 'its configuration'} has no notes of basic-memory", _NAME_FOLDER)
    for name, folder in note_folders:
        try:
            is_empty = not os.listdir(folder)
        except OSError:
            is_empty = True
        if is_empty:  # It cannot tell which notes are gone: its disk could be missing.
            reading.unread.append(f"{name}/")
            reading.remarks.append(f"{folder} is missing, empty or cannot be listed: memories from there stay")
            continue
        reading.begin_store(folder, _in_home(BASIC_MEMORY))
        owner = project_of(folder)
        for file in find_markdown_files(folder):
            location = f"{name}/{os.path.relpath(file, folder)}".replace(os.sep, "/")
            if text_and_time := read_source_text(file, reading, inside=folder):
                _add_note(location, *text_and_time, owner, reading)
    return reading


def _add_note(location: str, text: str, changed_ms: int, owner: str | None, reading: SourceReading) -> None:
    fields, body = markdown.parse_front_matter(text)
    kind, title = markdown.first_value(fields, "type").lower() or "note", markdown.first_value(fields, "title")
    content = _EMPTY_HEADING.sub("", _RELATION.sub("", body)).strip()
    if parse_status(markdown.first_value(fields, "status")).has_ended:
        reading.left_out["is replaced or rejected by its own words"] += 1
        return
    if not re.sub(r"^#[^\n]*\n*", "", content).strip():
        reading.left_out["is empty"] += 1
        return
    kinds = {kind, *(match[1].lower() for match in _OBSERVATION.finditer(content))}
    content = content if content.startswith("# ") or not title else f"# {title}\n\n{content}"
    at_ms = parse_date_ms(markdown.first_value(fields, "modified") or markdown.first_value(fields, "created")) or changed_ms
    namespace = next((space for name, space in _NAMESPACES.items() if name in kinds), "learnings")
    tags = valid_tags(tag.lstrip("#").strip() for tag in fields.get("tags", []))
    is_of_session = markdown.first_value(fields, "capture") in ("extractive", "summarized")  # A hook made it.
    author = BY_MACHINE if is_of_session else BY_AGENT
    reading.add_document(kind, location, content, at_ms, owner, namespace=namespace, tags=tags, **author)
