"""Memories of other programs: SQLite files (`stores.tsv` has their columns), Codex' handbook and basic-memory's notes.

The notes' layouts are those of `codex-rs/memories/write` of openai/codex, and `docs/NOTE-FORMAT.md` of
basicmachines-co/basic-memory 0.18.0.
"""

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from subcog_hooks.capture import markdown
from subcog_hooks.capture.importing import find_markdown_files
from subcog_hooks.capture.markdown_document import parse_date_ms, parse_status
from subcog_hooks.capture.repository_files import narrow_globs
from subcog_hooks.capture.sources import foreign_database, source_reading
from subcog_hooks.capture.sources.foreign_database import dict_value, list_value, milliseconds_value, tags_value, text_value
from subcog_hooks.capture.sources.source_reading import BY_AGENT, BY_MACHINE, BY_PERSON, SourceReading, data_folder, valid_tags
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import leads_out, read_regular, read_rows
from subcog_hooks.store import project
from subcog_hooks.store.memory import AGENT, PENDING, hash_content
from subcog_hooks.store.project import Project

CLAUDE_MEM, MCP_MEMORY, MEMPALACE, UPSTREAM = "claude-mem", "mcp-memory-service", "mempalace", "subcog"

_LAYOUT: defaultdict[tuple[str, str], dict[str, tuple[str, ...]]] = defaultdict(dict)
for _store, _role, _name, _words in read_rows(__file__, "stores.tsv"):
    _LAYOUT[_store, _role][_name] = tuple(_words.split())
_NAMESPACES = {
    **dict.fromkeys(("decision", "decisions"), "decisions"),
    **dict.fromkeys(("pattern", "convention", "preference", "preferences"), "patterns"),
    **dict.fromkeys(("security_note", "security_alert"), "security"),
    **dict.fromkeys(("reference", "context"), "context"),
    "task": "progress",
}


class Row(NamedTuple):
    """A row of a store. texts: the store's texts by id; here: the current project, None for a store of all projects."""

    values: Mapping[str, object]
    table: str
    texts: Mapping[object, str]
    here: Project | None

    def text(self, column: str) -> str:
        """Return a column as a text, "" if it is none."""
        return text_value(self.values, column)


class Note(NamedTuple):
    """A row as a memory. kind: the program's own; location: stable within the store; fields: author, namespace and others.

    owner: the identity of the memory's project, None for all of the person's projects.
    """

    kind: str
    location: str
    content: str
    fields: Mapping[str, object]
    owner: str | None = None


class ForeignStore(NamedTuple):
    """A program's store. file: its name in the program's usual folder, which `usual` returns; mover: a file and a member of it.

    convert: returns the memory of a row, or the reason to leave it out. is_of_project: it is read for the current project.
    """

    usual: Callable[[Mapping[str, str]], str]
    file: str
    convert: Callable[[Row], Note | str]
    mover: tuple[str, str] = ("", "")
    is_of_project: bool = False


def default_path(name: str, environment: Mapping[str, str]) -> str:
    """Return the path of a store on this system: moved by a variable, or by the settings in the program's usual folder."""
    store = STORES[name]
    usual = store.usual(environment)
    settings = source_reading.read_settings(os.path.join(usual, store.mover[0])) if store.mover[0] else {}
    values = settings.get("env", settings)
    moved = text_value(values, store.mover[1]) if isinstance(values, Mapping) else ""
    named = [value for variable in _LAYOUT[name, "variables"].get("-", ()) if (value := environment.get(variable))]
    place = next(iter(named), moved)
    return find_file(name, os.path.expanduser(place)) if place else os.path.join(usual, store.file)


def find_file(name: str, path: str) -> str:
    """Return the file of a store. path: the file, or its folder."""
    return os.path.join(path, os.path.basename(STORES[name].file)) if os.path.isdir(path) else path


def read_store(name: str, path: str, here: Project | None) -> SourceReading:
    """Read the memories of a program. path: its file or folder; here: the project of its memories. Raises UsageError."""
    reading = SourceReading(name, f"{here.identity}::" if here else "")  # A namesake project has its own notes.
    reading.is_whole = here is None
    file = find_file(name, path)
    tables, ended, times = (_LAYOUT[name, role] for role in ("table", "ended", "times"))
    more_columns = tuple(chain(*ended.values(), *times.values()))
    with foreign_database.open_database(file, reading, STORES[name].usual({})) as database:
        database.require_table(next(iter(tables)), "the other subcog" if name == UPSTREAM else name)
        texts: dict[object, str] = {}
        for table, (key, text) in _LAYOUT[name, "texts"].items():
            texts = {row.get(key): text_value(row, text) for row in database.select_rows(table, (key, text))}
        for table, columns in tables.items():
            select = _select_drawers if name == MEMPALACE else foreign_database.ForeignDatabase.select_rows
            for row in select(database, table, (*columns, *more_columns)):
                reasons = (reason for reason, ends in ended.items() if any(row.get(column) for column in ends))
                note = next(reasons, "") or STORES[name].convert(Row(row, table, texts, here))
                if isinstance(note, str):
                    reading.left_out[note] += 1
                elif not note.content:
                    reading.left_out["is empty"] += 1
                else:
                    add = reading.add_document if name == MEMPALACE else reading.add
                    at_ms = milliseconds_value(row, *times["-"])
                    add(note.kind, note.location, note.content, at_ms, note.owner, **note.fields)
    if name == CLAUDE_MEM and here and reading.rows:
        remark = "tells projects apart by the folder's name alone: notes about another"
        reading.remarks.append(f"{name} {remark} {os.path.basename(here.names[-1])} come, too")
    return reading


def _fields_of(kind: str, author: Mapping[str, str], tags: tuple[str, ...] = ()) -> dict[str, object]:
    return {"namespace": _NAMESPACES.get(kind, "learnings"), "tags": tags, **author}


MANUAL_SESSION = "manual-"  # prefix of the session of a note that a person stored
_EXCLUDED_KINDS = {"sensitive": "is marked sensitive there", "prompt": "is a prompt", "summary": "is a summary of a session"}


def _convert_observation(row: Row) -> Note | str:
    kind, item_kind = row.text("type"), row.text("kind")
    if reason := _EXCLUDED_KINDS.get(item_kind) or _EXCLUDED_KINDS.get(kind):
        return reason
    name = row.text("merged_into_project") or row.text("project") or row.texts.get(row.values.get("project_id"), "")
    names = [os.path.basename(folder) for folder in (row.here.root, row.here.names[-1])] if row.here else []
    if row.here is None or not (name in names or name.startswith(f"{names[-1]}/")):
        return f"is about {name or 'no project'}: import it there"
    is_persons = row.text("memory_session_id").startswith(MANUAL_SESSION) or item_kind == "manual"
    fields = _fields_of(kind, BY_PERSON if is_persons else BY_MACHINE)
    return Note(kind or "note", f"{row.table}/{row.values.get('id')}", observation_text(row.values), fields, row.here.identity)


def observation_text(values: Mapping[str, object]) -> str:
    """Return the text of an observation of claude-mem: its text, else title, narrative and facts.

    A title that only begins the narrative is dropped.

    >>> observation_text({"title": "Never deploy on...", "narrative": "Never deploy on a Friday.", "facts": "[]"})
    'Never deploy on a Friday.'
    """
    if whole := text_value(values, "text"):
        return whole
    title, narrative = text_value(values, "title"), text_value(values, "narrative")
    is_repeated = bool(title) and narrative.startswith(title.removesuffix("..."))
    return "\n".join(filter(None, ("" if is_repeated else title, narrative, *list_value(values, "facts"))))


_HARVEST_TAGS = ("session-harvest", "harvest:")  # prefixes of the tags of memories that were extracted from sessions
_GENERATED_TAGS = ({"cluster", "compressed"}, {"association", "discovered"}, {"auto-generated"})  # tags of summaries and links


def _convert_mcp_memory(row: Row) -> Note | str:
    tags = tuple(tag for tag in tags_value(row.values, "tags") if tag != "untagged")
    if dict_value(row.values, "metadata").get("superseded_by"):
        return "is superseded there"
    if "harvest-tracker" in tags:
        return "is a note of the program to itself"
    is_guessed = any(tag.startswith(_HARVEST_TAGS) for tag in tags) or any(made <= set(tags) for made in _GENERATED_TAGS)
    is_agents = any(tag.startswith("agent:") for tag in tags)
    kind = row.text("memory_type") or "note"
    fields = _fields_of(kind, BY_MACHINE if is_guessed else BY_AGENT if is_agents else BY_PERSON, tags)
    return Note(kind, row.text("content_hash") or str(row.values.get("id")), row.text("content"), fields)


_AUTOMATIC = ("auto-capture", "auto-captured", "pre-compact", "precompact")  # tags and sources of automatic memories


def _convert_upstream(row: Row) -> Note | str:
    status = row.text("status").lower() or "active"
    name, kind, domain = row.text("project_id"), row.text("namespace"), row.text("domain")
    if status not in ("active", PENDING):
        return f"is {status} there"
    if kind in ("help", "prompts"):
        return "is a help text or a prompt"
    if not name and domain == "project":
        return "is about a project that it does not name"
    tags = tags_value(row.values, "tags")
    is_caught = not {tag.lower() for tag in (*tags, row.text("source"))}.isdisjoint(_AUTOMATIC)
    fields: dict[str, object] = {
        "namespace": kind or "learnings",
        "tags": tags if domain in ("", "project", "user") else (*tags, domain),
        "paths": tuple(narrow_globs([row.text("file_path")])),
        "expires_at": milliseconds_value(row.values, "expires_at") or None,
        "trust": "tool" if is_caught else "import",
        "status": PENDING if is_caught else status,
    }
    identifier = row.values.get("id")
    content = row.text("content") or row.texts.get(identifier, "")  # Older versions keep it behind their full-text table alone.
    owner = project.resolve_identity(name) if name else None
    return Note(kind or "learnings", row.text("id") or str(identifier), content, fields, owner)


_MINED_ROOMS = ("decision", "preference")  # rooms of mined decisions and preferences; other mined drawers are pieces of files


def _select_drawers(
    database: foreign_database.ForeignDatabase, table: str, keys: tuple[str, ...]
) -> Iterator[Mapping[str, object]]:
    """Yield MemPalace's drawers: ChromaDB has an embedding for each piece, and a row for each key of an embedding."""
    ids = {row.get("id") for row in database.select_rows("collections", ("id",), ("name", ("mempalace_drawers",)))}
    rows = database.select_rows("segments", ("id", "collection"))
    segments = {row.get("id") for row in rows if row.get("collection") in ids}
    rows = database.select_rows("embeddings", ("id", "segment_id", "embedding_id"))
    names = {row.get("id"): text_value(row, "embedding_id") for row in rows if row.get("segment_id") in segments}
    pieces: defaultdict[object, dict[str, object]] = defaultdict(dict)
    for row in database.select_rows(table, ("id", "key", "string_value", "int_value"), ("key", keys)):
        if row.get("id") in names:
            value = row.get("string_value")
            pieces[row.get("id")][text_value(row, "key")] = row.get("int_value") if value is None else value
    drawers: defaultdict[str, list[dict[str, object]]] = defaultdict(list)
    for number, piece in pieces.items():
        drawers[text_value(piece, "parent_drawer_id") or names[number]].append(piece)
    for name, drawer in drawers.items():
        drawer.sort(key=lambda piece: str(piece.get("chunk_index", "")).zfill(9))
        text = "".join(str(piece.get("chroma:document") or "") for piece in drawer)  # They are cut without overlap.
        yield {**drawer[0], "name": name, "text": text}


def _convert_drawer(row: Row) -> Note | str:
    room = row.text("room")
    is_mined = row.text("added_by") == MEMPALACE or bool(row.text("ingest_mode"))
    if room == "_registry":
        return "is an entry of its register"
    if row.text("type") == "diary_entry" or room == "diary":
        return "is an entry of an agent's diary"
    if is_mined and not (row.text("extract_mode") == "general" and room in _MINED_ROOMS):
        return "is a piece of a file or of a talk"
    fields = _fields_of(room, BY_MACHINE if is_mined else BY_AGENT, valid_tags((row.text("wing"), room)))
    return Note(f"drawer in {room}" if room else "drawer", row.text("name"), row.text("text"), fields)


def _palace_folder(_: Mapping[str, str]) -> str:
    older = _find_in_home(".mempalace")
    is_older = any(os.path.exists(os.path.join(older, name)) for name in ("config.json", STORES[MEMPALACE].file))
    return older if is_older else _find_in_home(os.path.join(".config", "mempalace"))


STORES = {
    CLAUDE_MEM: ForeignStore(
        lambda _: _find_in_home(".claude-mem"),
        "claude-mem.db",
        _convert_observation,
        ("settings.json", "CLAUDE_MEM_DATA_DIR"),
        is_of_project=True,
    ),
    MCP_MEMORY: ForeignStore(  # It knows no XDG_DATA_HOME.
        lambda environment: data_folder({**environment, "XDG_DATA_HOME": ""}, "mcp-memory"),
        "sqlite_vec.db",
        _convert_mcp_memory,
    ),
    MEMPALACE: ForeignStore(
        _palace_folder, os.path.join("palace", "chroma.sqlite3"), _convert_drawer, ("config.json", "palace_path")
    ),
    UPSTREAM: ForeignStore(lambda environment: data_folder(environment, "subcog"), "index.db", _convert_upstream),
}


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
    return os.path.join(environment.get("CODEX_HOME") or _find_in_home(".codex"), "memories")


def _find_in_home(folder: str) -> str:
    return os.path.join(os.path.expanduser("~"), folder)


def read_handbook(folder: str) -> SourceReading:
    """Read Codex' handbook of finished sessions by its entries, in another layout by its headings. Raises UsageError."""
    reading = SourceReading(CODEX)
    file = os.path.join(folder, HANDBOOK)
    if not os.path.isfile(file):
        raise UsageError(f"{file} is not there", "name the folder: subcog import --from codex FOLDER")
    if leads_out(file, folder):
        raise UsageError(f"{file} is a link out of its folder", "name the folder that it leads to")
    reading.begin_store(file, codex_folder({}))
    text_and_time = source_reading.read_source_text(file, reading)
    if text_and_time is None:
        raise UsageError(f"{file} {next(iter(reading.left_out))}", "look whether it is the file you mean")
    text, changed_ms = text_and_time
    for group, entry_folder, kind, namespace, entry_text in _parse_entries(text):
        owner = reading.repository or source_reading.owner_of(entry_folder)
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
_NOTE_NAMESPACES = {"decision": "decisions", "pattern": "patterns", "preference": "patterns", "reference": "context"}


def list_note_folders(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the projects of basic-memory and their note folders. Raises UsageError."""
    file = os.path.join(environment.get("BASIC_MEMORY_CONFIG_DIR") or _find_in_home(".basic-memory"), "config.json")
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
        reading.begin_store(folder, _find_in_home(BASIC_MEMORY))
        owner = source_reading.project_of(folder)
        for file in find_markdown_files(folder):
            location = f"{name}/{os.path.relpath(file, folder)}".replace(os.sep, "/")
            if text_and_time := source_reading.read_source_text(file, reading, inside=folder):
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
    namespace = next((space for name, space in _NOTE_NAMESPACES.items() if name in kinds), "learnings")
    tags = valid_tags(tag.lstrip("#").strip() for tag in fields.get("tags", []))
    is_of_session = markdown.first_value(fields, "capture") in ("extractive", "summarized")  # A hook made it.
    author = BY_MACHINE if is_of_session else BY_AGENT
    reading.add_document(kind, location, content, at_ms, owner, namespace=namespace, tags=tags, **author)
