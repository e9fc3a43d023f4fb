"""basic-memory: Markdown notes that agents write and people edit, in the folders that its configuration names as projects.

The format is that of `docs/NOTE-FORMAT.md` of basicmachines-co/basic-memory, as its version 0.18.0 writes it. A note that a
hook made of a session is a machine's; the others are an agent's.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping

from subcog_hooks.capture import markdown
from subcog_hooks.capture.import_files import markdown_files
from subcog_hooks.capture.sources.source_reading import SourceReading, identity_of, read_text
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import leads_out, read_regular
from subcog_hooks.store import project
from subcog_hooks.store.memory import AGENT, MAX_ENTRY, MAX_LIST, PENDING

BASIC_MEMORY = "basic-memory"
BASIC_MEMORY_FOLDER = "BASIC_MEMORY_CONFIG_DIR"  # the variable by which its configuration is moved
MAX_CONFIG = 1_000_000  # bytes

_OF_A_HOOK = ("extractive", "summarized")  # values of `capture`
_RELATION = re.compile(r"^[ \t]*- [^\n\[]*\[\[[^\]\n]*\]\][^\n]*(?:\n|\Z)", re.MULTILINE)
_EMPTY_HEADING = re.compile(r"^#{2,6} (?:Relations|Observations)[ \t]*\n*(?=#|\Z)", re.MULTILINE)
_OBSERVATION = re.compile(r"^[ \t]*- \[([A-Za-z][\w -]*)\] ", re.MULTILINE)
_NAMESPACES = {"decision": "decisions", "pattern": "patterns", "preference": "patterns", "reference": "context"}


def folders(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return its projects, each with the folder of its notes, of those that are there. Raises UsageError."""
    folder = environment.get(BASIC_MEMORY_FOLDER) or os.path.join(os.path.expanduser("~"), ".basic-memory")
    file = os.path.join(folder, "config.json")
    try:
        said = json.loads(read_regular(file, MAX_CONFIG).decode("utf-8-sig"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{file} can not be read: {error}", "name the folder: subcog import --from basic-memory FOLDER"
        ) from error
    named = said.get("projects") if isinstance(said, dict) else None
    found = list(_named_folders(named)) if isinstance(named, dict) else []
    return [(name, path) for name, path in found if os.path.isdir(path)]


def _named_folders(named: dict[object, object]) -> Iterator[tuple[str, str]]:
    """Yield projects and folders: newer versions write `{"path": …}` where older ones write the path."""
    for name, value in named.items():
        path = value.get("path") if isinstance(value, dict) else value
        if isinstance(name, str) and isinstance(path, str):
            yield name, os.path.abspath(os.path.expanduser(path))


def read(environment: Mapping[str, str], only: str | None = None) -> SourceReading:
    """Return the notes of all of its projects. only: one folder of notes instead. Raises UsageError."""
    reading = SourceReading(BASIC_MEMORY)
    reading.is_whole = only is None
    found = [(os.path.basename(os.path.abspath(only)), os.path.abspath(only))] if only else folders(environment)
    if not found or (only and not os.path.isdir(only)):
        where = only or "its configuration"
        raise UsageError(f"{where} has no notes of basic-memory", "name the folder: subcog import --from basic-memory FOLDER")
    for name, folder in found:
        reading.begin_store(folder, os.path.join(os.path.expanduser("~"), BASIC_MEMORY))
        owner = identity_of(project.find_project(folder))
        for file in markdown_files(folder):
            place = f"{name}/{os.path.relpath(file, folder)}".replace(os.sep, "/")
            if leads_out(file, folder):
                reading.left_out["is a link out of its folder"] += 1
            elif held := read_text(file, reading):
                _add_note(place, *held, owner, reading)
    return reading


def _add_note(place: str, text: str, changed: int, owner: str | None, reading: SourceReading) -> None:
    fields, body = markdown.front_matter(text)
    kind = _value(fields, "type").lower() or "note"
    content = _EMPTY_HEADING.sub("", _RELATION.sub("", body)).strip()
    told = re.sub(r"^#[^\n]*\n*", "", content).strip()
    if markdown.read_status(_value(fields, "status")) in markdown.ENDED:
        reading.left_out["is replaced or rejected by its own words"] += 1
        return
    if not told:
        reading.left_out["is empty"] += 1
        return
    is_hooks = _value(fields, "capture") in _OF_A_HOOK
    title = _value(fields, "title")
    tags = [tag.lstrip("#").strip() for tag in fields.get("tags", [])]
    kinds = {kind, *(found[1].lower() for found in _OBSERVATION.finditer(content))}
    reading.add_document(
        kind,
        place,
        content if content.startswith("# ") or not title else f"# {title}\n\n{content}",
        markdown.milliseconds_since_epoch(_value(fields, "modified") or _value(fields, "created")) or changed,
        owner,
        namespace=next((space for name, space in _NAMESPACES.items() if name in kinds), "learnings"),
        tags=tuple(dict.fromkeys(tag for tag in tags if 0 < len(tag) <= MAX_ENTRY))[:MAX_LIST],
        trust="tool" if is_hooks else AGENT,
        status=PENDING if is_hooks else "active",
    )


def _value(fields: Mapping[str, list[str]], name: str) -> str:
    return next(iter(fields.get(name, [])), "")
