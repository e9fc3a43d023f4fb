"""Claude Code's memory: the notes that it writes about projects, and the texts of `claude_context`.

It does not load topic files again. It loads the beginning of MEMORY.md, their index, into each session. The client's page on
memory describes the layout. A project's folder has the name of its path, with dashes for all characters but letters and digits.
"""

import json
import os
import re
from collections.abc import Iterator

from subcog_hooks.capture import markdown
from subcog_hooks.capture.sources import claude_context
from subcog_hooks.capture.sources.source_reading import SourceReading, project_of, read_settings, read_source_text
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import leads_out
from subcog_hooks.store import project
from subcog_hooks.store.memory import AGENT
from subcog_hooks.store.project import Project

CLAUDE = "claude"
INDEX = "MEMORY.md"
INDEX_LINES, INDEX_BYTES = 200, 25_000  # the part that the client loads into each session
SUFFIX = ".md"
MAX_SLUG = 200  # characters; a longer name ends in a meaningless number
MAX_TRANSCRIPT_LINES = 50  # lines of a transcript in which its session's folder is looked for
MAX_TRANSCRIPT_LINE = 100_000  # characters of such a line
MAX_COMPARED_NAMES = 20_000  # folder entries that are compared with a name

_NAMESPACES = {"user": "context", "feedback": "patterns", "project": "context", "reference": "context"}
_SHARED_NAME = "shared"  # in place of a project's name: the folder in the settings
_POINTER = re.compile(r"\s*[-*]\s+\[[^\]]*\]\([^)\s:]+\.md\)")  # a link to a file beside it


def find_memory_folders(config: str) -> list[str]:
    """Return the folders of auto memory of all projects. config: the client's folder."""
    return [folder for sessions in _find_session_folders(config) if os.path.isdir(folder := os.path.join(sessions, "memory"))]


def _find_session_folders(config: str) -> list[str]:
    projects = os.path.join(config, "projects")
    try:
        return [folder for name in sorted(os.listdir(projects)) if os.path.isdir(folder := os.path.join(projects, name))]
    except OSError:
        return []


def read_claude_memory(config: str, only: str | None = None, here: Project | None = None) -> SourceReading:
    """Read the client's folder, and the texts that it loads by itself. Raises UsageError.

    config: the client's folder; only: one folder of auto memory instead of all; here: a project in which the client may not
    have run yet.
    """
    reading = SourceReading(CLAUDE, f"{_label_folder(config)}:")
    if only:
        if not os.path.isdir(only):
            raise UsageError(f"{only} is no folder", "name the folder of the notes: subcog import --from claude FOLDER")
        reading.is_whole = False
        reading.begin_store(only, config)
        _read_folder(os.path.abspath(only), config, reading)
        return reading
    for sessions in _find_session_folders(config):
        folder = os.path.join(sessions, "memory")
        reading.looked_in += [f"{os.path.basename(sessions)}/", claude_context.context_prefix(os.path.basename(sessions))]
        if os.path.isdir(folder):
            _read_folder(folder, config, reading)
    if configured := configured_folder(config):
        reading.looked_in += [f"{_SHARED_NAME}/", claude_context.context_prefix(_SHARED_NAME)]
        _read_notes(configured, _SHARED_NAME, None, reading)
    claude_context.read_user_context(config, reading)
    for owner, root in find_project_roots(config, here).items():
        claude_context.read_project_context(root, owner, reading)
    return reading


def read_loaded_files(config: str, here: Project | None, path: str) -> tuple[SourceReading, frozenset[str]]:
    """Read the texts of a file, or below a folder, that the client loads by itself. Return also the real paths of its files."""
    reading = SourceReading(CLAUDE, f"{_label_folder(config)}:")
    files = [*claude_context.find_user_files(config), *(claude_context.find_project_files(here.root) if here else ())]
    wanted = frozenset(os.path.realpath(file) for file in files if not leads_out(file, path))
    claude_context.read_user_context(config, reading, path)
    if here:
        claude_context.read_project_context(here.root, here.identity, reading, path)
    return reading, wanted


def _label_folder(config: str) -> str:
    """Return the client's folder for origins, so that a memory of another client's folder is not taken for lost."""
    home = os.path.expanduser("~")
    inside = os.path.relpath(config, home) if config.startswith(os.path.join(home, "")) else ""
    return (f"~/{inside}" if inside else config).replace(os.sep, "/").replace(":", "")


def find_loaded_files(config: str, here: Project | None = None) -> Iterator[str]:
    """Yield the CLAUDE.md files and rules that `read_claude_memory` would read, with their imports."""
    yield from claude_context.find_user_files(config)
    for root in find_project_roots(config, here).values():
        yield from claude_context.find_project_files(root)


def find_files(config: str) -> Iterator[str]:
    """Yield all files that `read_claude_memory` would read."""
    for folder in [*find_memory_folders(config), *filter(None, [configured_folder(config)])]:
        yield from find_topic_files(folder)
        yield os.path.join(folder, INDEX)
    yield from find_loaded_files(config)


def configured_folder(config: str) -> str | None:
    """Return the folder for all notes in the person's own settings, None for none. A repository's could name any folder."""
    value = read_settings(os.path.join(config, "settings.json")).get("autoMemoryDirectory")
    folder = os.path.expanduser(value) if isinstance(value, str) else ""
    return folder if os.path.isabs(folder) and os.path.isdir(folder) else None


def find_project_roots(config: str, also: Project | None = None) -> dict[str, str]:
    """Return the repositories in which the client was used, by identity: the main worktree, else the first."""
    roots_by_identity = {also.identity: also.root} if also else {}
    for sessions in _find_session_folders(config):
        folder = find_folder(sessions)
        here = project.find_project(folder) if folder and os.path.isdir(folder) else None
        if here and (here.identity not in roots_by_identity or here.root == here.names[-1]):
            roots_by_identity[here.identity] = here.root
    return roots_by_identity


def _read_folder(folder: str, config: str, reading: SourceReading) -> None:
    slug = os.path.basename(os.path.dirname(folder))
    if leads_out(folder, config) and leads_out(folder, os.path.dirname(folder)):
        reading.left_out["is a link out of the client's folder"] += 1
        return
    session_folder = None if reading.repository else find_folder(os.path.dirname(folder))
    owner: str | None = reading.repository
    if session_folder:  # Outside of a repository the notes are about the folder.
        owner = project_of(session_folder) or os.path.realpath(session_folder)
    if not owner:
        reading.unread += [f"{slug}/", claude_context.context_prefix(slug)]
        for _ in find_topic_files(folder):
            reading.left_out[f"is of a folder that is not known here ({slug})"] += 1
    else:
        _read_notes(folder, slug, owner, reading)


def _read_notes(folder: str, name: str, owner: str | None, reading: SourceReading) -> None:
    for file in find_topic_files(folder):
        location = f"{name}/{os.path.relpath(file, folder)}".replace(os.sep, "/")
        if text_and_time := read_source_text(file, reading, location, inside=folder):
            _add_topic(location, *text_and_time, owner, reading)
    index = os.path.join(folder, INDEX)
    if not leads_out(index, folder) and os.path.isfile(index) and (text_and_time := read_source_text(index, reading)):
        _add_index(name, *text_and_time, owner, reading)


def _add_index(owner_name: str, text: str, changed_ms: int, owner: str | None, reading: SourceReading) -> None:
    size, parts = 0, {True: "", False: ""}
    for number, line in enumerate(text.splitlines(keepends=True)):
        size += len(line.encode())
        if not _POINTER.match(line):
            parts[number < INDEX_LINES and size <= INDEX_BYTES] += line
    loaded, own = claude_context.context_location(owner_name, "", INDEX), f"{owner_name}/{INDEX}"
    for location, part in ((loaded, parts[True]), (own, parts[False])):
        if claude_context.has_words(part):
            reading.add_document("index", location, part.strip(), changed_ms, owner, namespace="context", trust=AGENT)


def _add_topic(location: str, text: str, changed_ms: int, owner: str | None, reading: SourceReading) -> None:
    fields, body = markdown.parse_front_matter(text)
    kind = next(iter(fields.get("type", [])), "note").lower()
    description = next(iter(fields.get("description", [])), "")
    content = body.strip()
    if description and description.rstrip(".").lower() not in content.lower():
        content = f"{description}\n\n{content}".strip()
    if not content:
        reading.left_out["is empty"] += 1
        return
    topic_owner = None if kind == "user" else owner  # about the person, wherever they work
    fields_of_kind = {"namespace": _NAMESPACES.get(kind, "learnings"), "trust": AGENT}
    standing = True if kind == "feedback" else None
    reading.add_document(kind, location, content, changed_ms, topic_owner, standing=standing, **fields_of_kind)


def find_topic_files(folder: str) -> Iterator[str]:
    """Yield the files of an auto memory folder that the client does not load by itself."""
    for parent, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(SUFFIX) and name != INDEX:
                yield os.path.join(parent, name)


def find_folder(sessions: str) -> str | None:
    """Return the folder of a project's sessions: from its transcripts, else the only path with this name."""
    return _folder_by_transcripts(sessions) or _folder_by_slug(os.path.basename(sessions))


def _folder_by_transcripts(sessions: str) -> str | None:
    slug = os.path.basename(sessions)
    try:
        names = [name for name in os.listdir(sessions) if name.endswith(".jsonl")]
    except OSError:
        return None
    for transcript in (os.path.join(sessions, name) for name in sorted(names)):
        if not os.path.isfile(transcript):  # reading a named pipe would block
            continue
        for folder in _folders_in_transcript(transcript):
            if project.slug_of(folder)[:MAX_SLUG] == slug[:MAX_SLUG]:  # a session can go on in another folder
                return folder
    return None


def _folders_in_transcript(transcript: str) -> Iterator[str]:
    try:
        with open(transcript, encoding="utf-8", errors="replace") as file:
            for _ in range(MAX_TRANSCRIPT_LINES):
                line = file.readline(MAX_TRANSCRIPT_LINE)
                if '"cwd"' not in line:
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(row, dict) and isinstance(folder := row.get("cwd"), str) and os.path.isabs(folder):
                    yield folder
    except OSError:
        return


def _folder_by_slug(slug: str) -> str | None:
    matches: list[str] = []
    entries_left = MAX_COMPARED_NAMES

    def search_below(folder: str, rest: str) -> None:
        nonlocal entries_left
        try:
            names = os.listdir(folder)
        except OSError:
            return
        for name in names:
            entries_left -= 1
            dashed = "-" + project.slug_of(name)
            if entries_left < 0 or not rest.startswith(dashed):
                continue
            path = os.path.join(folder, name)
            if rest == dashed and os.path.isdir(path):
                matches.append(path)
            elif rest[len(dashed) :].startswith("-") and os.path.isdir(path):
                search_below(path, rest[len(dashed) :])

    if os.name != "nt" and len(slug) < MAX_SLUG:
        search_below("/", slug)
    return matches[0] if len(matches) == 1 and entries_left >= 0 else None
