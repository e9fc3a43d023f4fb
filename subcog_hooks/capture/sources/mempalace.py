"""MemPalace: the drawers that agents filed, and the valid facts of its graph. Pieces of files are left out.

It is read from ChromaDB's SQLite file without ChromaDB, as versions 3.11.0 and 1.5.9 write it. Its miner's drawers are pieces
of files or transcripts. Only its decisions and preferences are imported, and wait for review.
"""

import os
from collections import defaultdict
from collections.abc import Mapping

from subcog_hooks.capture.sources import foreign_database
from subcog_hooks.capture.sources.foreign_database import milliseconds_value, text_value
from subcog_hooks.capture.sources.source_reading import BY_AGENT, BY_MACHINE, SourceReading, read_settings, valid_tags
from subcog_hooks.core.errors import UsageError

MEMPALACE = "mempalace"
PALACE_FILE = "chroma.sqlite3"
PALACE_FOLDERS = ("MEMPALACE_PALACE_PATH", "MEMPALACE_PALACE", "MEMPAL_PALACE_PATH")  # the variables that move its folder

_MINER = "mempalace"  # the miner's name, which files pieces of files and transcripts
_MINED_ROOMS = {"decision": "decisions", "preference": "patterns"}  # rooms of mined decisions and preferences
_NAMESPACES = {"decisions": "decisions", "preferences": "patterns", **_MINED_ROOMS}
_TIMES = ("filed_at", "authored_at", "date")
_KEYS = ("chroma:document", *"wing room type added_by chunk_index parent_drawer_id extract_mode ingest_mode".split(), *_TIMES)
_FACT_COLUMNS = tuple("id subject predicate object valid_from valid_to source_file adapter_name extracted_at".split())


def _config_folder(environment: Mapping[str, str]) -> str:
    home = os.path.expanduser("~")
    older = os.path.join(home, ".mempalace")
    if folder_name := environment.get("MEMPALACE_CONFIG_DIR", "").strip():
        return os.path.expanduser(folder_name)
    if os.path.isfile(os.path.join(older, "config.json")) or os.path.isfile(os.path.join(older, "palace", PALACE_FILE)):
        return older
    convention = environment.get("XDG_CONFIG_HOME", "")
    return os.path.join(convention if os.path.isabs(convention) else os.path.join(home, ".config"), "mempalace")


def default_path(environment: Mapping[str, str]) -> str:
    """Return the folder of its palace."""
    for name in PALACE_FOLDERS:
        if folder_name := environment.get(name):
            return os.path.expanduser(folder_name)
    folder = _config_folder(environment)
    folder_name = text_value(read_settings(os.path.join(folder, "config.json")), "palace_path")
    return os.path.expanduser(folder_name or os.path.join(folder, "palace"))


def database_path(path: str) -> str:
    """Return the database of a palace. path: its folder, or the file itself."""
    return os.path.join(path, PALACE_FILE) if os.path.isdir(path) else path


def read_palace(path: str) -> SourceReading:
    """Read a palace. path: its folder, or its database. Raises UsageError."""
    reading = SourceReading(MEMPALACE)
    file = database_path(path)
    palace = os.path.dirname(os.path.abspath(file))
    graphs = [os.path.join(folder, "knowledge_graph.sqlite3") for folder in (palace, os.path.dirname(palace))]
    if not os.path.isfile(file):
        raise UsageError(f"{path} has no {PALACE_FILE}", "name the palace: subcog import --from mempalace FOLDER")
    _read_drawers(file, reading)
    if graph := next((graph for graph in graphs if os.path.isfile(graph)), None):
        _read_facts(graph, reading)
    return reading


def _read_drawers(file: str, reading: SourceReading) -> None:
    with foreign_database.open_database(file, reading, _config_folder({})) as database:
        database.require_table("embedding_metadata", MEMPALACE)
        ids = {row.get("id") for row in database.select_rows("collections", ("id",), ("name", ("mempalace_drawers",)))}
        segments = {
            row.get("id") for row in database.select_rows("segments", ("id", "collection")) if row.get("collection") in ids
        }
        embeddings = database.select_rows("embeddings", ("id", "segment_id", "embedding_id"))
        own = (row for row in embeddings if row.get("segment_id") in segments)
        names = {row.get("id"): text_value(row, "embedding_id") for row in own}
        drawers: defaultdict[object, dict[str, object]] = defaultdict(dict)
        for row in database.select_rows("embedding_metadata", ("id", "key", "string_value", "int_value"), ("key", _KEYS)):
            if row.get("id") in names:
                value = row.get("string_value")
                drawers[row.get("id")][text_value(row, "key")] = row.get("int_value") if value is None else value
    whole: defaultdict[str, list[dict[str, object]]] = defaultdict(list)
    for number, drawer in drawers.items():
        whole[text_value(drawer, "parent_drawer_id") or names[number]].append(drawer)
    for name, pieces in whole.items():
        _add_drawer(name, sorted(pieces, key=_chunk_number), reading)


def _chunk_number(piece: Mapping[str, object]) -> int:
    number = piece.get("chunk_index")
    return number if isinstance(number, int) else 0


def _add_drawer(name: str, pieces: list[dict[str, object]], reading: SourceReading) -> None:
    first = pieces[0]
    room = text_value(first, "room")
    is_mined = text_value(first, "added_by") == _MINER or bool(text_value(first, "ingest_mode"))
    content = "".join(str(piece.get("chroma:document") or "") for piece in pieces).strip()  # they are cut without overlap
    if room == "_registry":
        reading.left_out["is an entry of its register"] += 1
    elif text_value(first, "type") == "diary_entry" or room == "diary":
        reading.left_out["is an entry of an agent's diary"] += 1
    elif is_mined and not (text_value(first, "extract_mode") == "general" and room in _MINED_ROOMS):
        reading.left_out["is a piece of a file or of a talk"] += 1
    elif not content:
        reading.left_out["is empty"] += 1
    else:
        tags = valid_tags((text_value(first, "wing"), room))
        at_ms = milliseconds_value(first, *_TIMES)
        kind, namespace = f"drawer in {room}" if room else "drawer", _NAMESPACES.get(room, "learnings")
        author = BY_MACHINE if is_mined else BY_AGENT
        reading.add_document(kind, name, content, at_ms, None, namespace=namespace, tags=tags, **author)


def _read_facts(file: str, reading: SourceReading) -> None:
    with foreign_database.open_database(file, reading, _config_folder({})) as database:
        names = {row.get("id"): text_value(row, "name") for row in database.select_rows("entities", ("id", "name"))}
        for row in database.select_rows("triples", _FACT_COLUMNS):
            if text_value(row, "valid_to"):
                reading.left_out["holds no longer there"] += 1
                continue
            subject, target = (names.get(row.get(side)) or text_value(row, side) for side in ("subject", "object"))
            fact = " ".join(f"{subject} {text_value(row, 'predicate').replace('_', ' ')} {target}".split())
            is_mined = bool(text_value(row, "source_file") or text_value(row, "adapter_name"))
            since = text_value(row, "valid_from")
            at_ms = milliseconds_value(row, "valid_from", "extracted_at")
            fact += f" (since {since})" if since else ""
            author = BY_MACHINE if is_mined else BY_AGENT
            reading.add("fact", f"triples/{text_value(row, 'id')}", fact, at_ms, None, namespace="context", **author)
