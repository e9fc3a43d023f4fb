"""Texts that Claude Code loads into the context itself: CLAUDE.md files with their imports, and rules.

They are stored to be searched and compared, and not injected again where the client has loaded them. So a memory's origin names
the folder in which a session must begin for the client to load it: `claude:…:context:PROJECT::FOLDER::…`, from the project's
root, "" for the root itself. The client's page on memory describes how files and rules are found.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from glob import escape, iglob
from typing import NamedTuple

from subcog_hooks.capture import markdown
from subcog_hooks.capture.repository_files import ask_description
from subcog_hooks.capture.sections import document_of
from subcog_hooks.capture.sources.source_reading import SourceReading, project_of, read_settings, read_source_text, walk_folders
from subcog_hooks.clients.description import slug_of
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.files import leads_out
from subcog_hooks.store import project
from subcog_hooks.store.memory import AGENT, FILE, IN_CONTEXT, Memory
from subcog_hooks.store.project import Project

CLAUDE_MD = "CLAUDE.md"
CLAUDE_FOLDER = ".claude"
MAX_HOPS = 4  # imports in a row, from a file to the last imported one
MAX_IMPORTS = 50  # files that one CLAUDE.md imports

_USER = "user"  # in place of a project's name
_RULE = "rule:"  # prefix of the location of a rule with globs
_PROJECT_FILES = (CLAUDE_MD, f"{CLAUDE_FOLDER}/{CLAUDE_MD}", "CLAUDE.local.md")
_IMPORT = re.compile(r"(?<!\S)@(\S+)")
_PATH_ENDINGS = ".,;:!?)'\""
_HEADING = re.compile(r"^#.*$", re.MULTILINE)
_WORD = re.compile(r"\w")


class ContextRoot(NamedTuple):
    """A folder with texts that the client loads. name: prefix of locations; owner: None for all of the person's projects.

    widest: imports must not leave it; rules: the folder of rules; wanted: the only file or folder to read, with its imports.
    """

    root: str
    name: str
    owner: str | None
    widest: str
    rules: str
    wanted: str | None = None

    def wants(self, file: str) -> bool:
        """Return whether a file is to be read."""
        return self.wanted is None or not leads_out(file, self.wanted)

    def find_claude_md(self, reading: SourceReading) -> Iterator[tuple[str, str]]:
        """Yield the folders in which the client loads a CLAUDE.md, from the root, each with a path where it may lie."""
        if self.owner is None:
            yield "", os.path.join(self.root, CLAUDE_MD)
            return
        for folder, _ in walk_folders(self.root, reading=reading):
            for name in _PROJECT_FILES:
                yield folder, os.path.join(self.root, folder, name)


def user_root(config: str, wanted: str | None = None) -> ContextRoot:
    """Return the folder of the texts that hold for all of the person's sessions. config: the client's folder."""
    return ContextRoot(config, _USER, None, os.path.expanduser("~"), os.path.join(config, "rules"), wanted)


def project_root(root: str, owner: str, wanted: str | None = None) -> ContextRoot:
    """Return the folder of the texts that hold in a project. owner: its identity."""
    return ContextRoot(root, owner, owner, root, os.path.join(root, CLAUDE_FOLDER, "rules"), wanted)


def read_context(root: ContextRoot, reading: SourceReading) -> None:
    """Add the texts that the client loads from a folder."""
    reading.looked_in += [context_prefix(root.name), f"{_RULE}{root.name}::"]
    for folder, first in root.find_claude_md(reading):
        is_wanted = root.wants(first)
        for file, (text, changed_ms) in _follow_imports(first, root, reading if is_wanted else SourceReading("")):
            if is_wanted or root.wants(file):
                location = context_location(root.name, folder, _display_path(file, root.root))
                _add_text(root, location, text, changed_ms, reading)
    for rule in filter(root.wants, _find_rules(root.rules)):
        name = _display_path(rule, root.root)
        location = context_location(root.name, "", name)
        if leads_out(rule, root.root) and leads_out(rule, root.widest):
            reading.left_out["is a link out of its folder"] += 1
        elif text_and_time := read_source_text(rule, reading, location):
            fields, body = markdown.parse_front_matter(text_and_time[0])
            if fields.get("paths"):
                location = f"{_RULE}{root.name}::{name}"
            _add_text(root, location, markdown.drop_comments(body), text_and_time[1], reading)


def find_context_files(root: ContextRoot) -> Iterator[str]:
    """Yield the files that `read_context` would read."""
    unread = SourceReading("")
    for _, first in root.find_claude_md(unread):
        yield from (file for file, _ in _follow_imports(first, root, unread))
    yield from _find_rules(root.rules)


def context_location(owner_name: str, folder: str, name: str) -> str:
    """Return the location of a text that the client loads in a folder. owner_name: the project, or another owner."""
    return f"{context_prefix(owner_name)}{folder}::{name}"


def context_prefix(owner_name: str) -> str:
    """Return the prefix of all locations of a project."""
    return f"{IN_CONTEXT.removeprefix(':')}{owner_name}::"


def is_from_path(memory: Memory, path: str, config: str, root: str) -> bool:
    """Return whether a file in `path` had the text of such a memory. config: the client's folder; root: of the project."""
    owner_name, _, name = document_of(memory).rpartition("::")
    is_users = owner_name.partition("::")[0].endswith(f":{_USER}")
    return not leads_out(os.path.join(config if is_users else root, name), path)


def _follow_imports(file: str, root: ContextRoot, reading: SourceReading) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield a file and its imports, each once, with the text without comments and imports, and the time of its last change."""
    queue, seen = [(file, 0)], set[str]()
    while queue and len(seen) < MAX_IMPORTS:
        file, hops = queue.pop(0)
        real_path = os.path.realpath(file)
        if real_path in seen or not os.path.isfile(real_path):
            continue
        seen.add(real_path)
        if leads_out(file, root.widest) and (hops or leads_out(file, root.root)):
            reading.left_out["is outside of the folder that imports it" if hops else "is a link out of its folder"] += 1
        elif text_and_time := read_source_text(file, reading):
            text = markdown.drop_comments(text_and_time[0])
            imports = {name: os.path.join(os.path.dirname(file), os.path.expanduser(name)) for name in find_imports(text)}
            existing = {f"@{name}" for name, imported in imports.items() if os.path.isfile(imported)}
            # The model gets the file in place of a line that is nothing but its import.
            kept = [line for line in text.split("\n") if line.lstrip(" \t-*").rstrip() not in existing]
            yield file, ("\n".join(kept), text_and_time[1])
            if hops < MAX_HOPS:
                queue += [(imported, hops + 1) for imported in imports.values()]


def _add_text(root: ContextRoot, location: str, text: str, changed_ms: int, reading: SourceReading) -> None:
    if has_words(text):
        kind = "of CLAUDE.md and rules"
        reading.add_document(kind, location, text, changed_ms, root.owner, namespace="patterns", trust=FILE)
    else:
        reading.left_out["says nothing itself"] += 1


def has_words(text: str) -> bool:
    """Return whether a Markdown text says anything beside its headings."""
    return bool(_WORD.search(_HEADING.sub("", text)))


def find_imports(text: str) -> list[str]:
    """Return the paths that a file imports, as written; code imports nothing.

    >>> find_imports("See @docs/style.md and `@not/this.md`, mail to a@b.org.")
    ['docs/style.md']
    """
    paths = [match.group(1).rstrip(_PATH_ENDINGS) for match in _IMPORT.finditer(markdown.read_prose(text))]
    return list(dict.fromkeys(name for name in paths if name.isprintable()))


def _display_path(file: str, root: str) -> str:
    relative = os.path.relpath(file, root)
    return (file if relative.startswith(os.pardir) else relative).replace(os.sep, "/")


def _find_rules(folder: str) -> list[str]:
    return sorted(
        os.path.join(parent, name)
        for parent, _, names in os.walk(folder)
        for name in names
        if name.lower().endswith(".md") and os.path.isfile(os.path.join(parent, name))
    )


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
    """Read all of the client's notes, or those of the folder `only`, and the texts that it loads itself. Raises UsageError."""
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
        reading.looked_in += [f"{os.path.basename(sessions)}/", context_prefix(os.path.basename(sessions))]
        if os.path.isdir(folder):
            _read_folder(folder, config, reading)
    if configured := configured_folder(config):
        reading.looked_in += [f"{_SHARED_NAME}/", context_prefix(_SHARED_NAME)]
        _read_notes(configured, _SHARED_NAME, None, reading)
    for root in _context_roots(config, here):
        read_context(root, reading)
    return reading


def read_loaded_files(config: str, here: Project | None, path: str) -> tuple[SourceReading, frozenset[str]]:
    """Read the texts of a file, or below a folder, that the client loads by itself. Return also the real paths of its files."""
    reading = SourceReading(CLAUDE, f"{_label_folder(config)}:")
    roots = [user_root(config, path), *([project_root(here.root, here.identity, path)] if here else [])]
    files = (file for root in roots for file in find_context_files(root))
    wanted = frozenset(os.path.realpath(file) for file in files if not leads_out(file, path))
    for root in roots:
        read_context(root, reading)
    return reading, wanted


def _label_folder(config: str) -> str:
    """Return the client's folder for origins, so that a memory of another client's folder is not taken for lost."""
    home = os.path.expanduser("~")
    inside = os.path.relpath(config, home) if config.startswith(os.path.join(home, "")) else ""
    return (f"~/{inside}" if inside else config).replace(os.sep, "/").replace(":", "")


def _context_roots(config: str, here: Project | None) -> list[ContextRoot]:
    return [user_root(config), *(project_root(root, owner) for owner, root in find_project_roots(config, here).items())]


def find_loaded_files(config: str, here: Project | None = None) -> Iterator[str]:
    """Yield the CLAUDE.md files and rules that `read_claude_memory` would read, with their imports."""
    for root in _context_roots(config, here):
        yield from find_context_files(root)


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
        reading.unread += [f"{slug}/", context_prefix(slug)]
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
    if leads_out(index, folder) or not os.path.isfile(index) or not (text_and_time := read_source_text(index, reading)):
        return
    text, changed_ms = text_and_time
    size, parts = 0, {True: "", False: ""}
    for number, line in enumerate(text.splitlines(keepends=True)):
        size += len(line.encode())
        if not _POINTER.match(line):
            parts[number < INDEX_LINES and size <= INDEX_BYTES] += line
    loaded, own = context_location(name, "", INDEX), f"{name}/{INDEX}"
    for location, part in ((loaded, parts[True]), (own, parts[False])):
        if has_words(part):
            reading.add_document("index", location, part.strip(), changed_ms, owner, namespace="context", trust=AGENT)


def _add_topic(location: str, text: str, changed_ms: int, owner: str | None, reading: SourceReading) -> None:
    fields, body = markdown.parse_front_matter(text)
    kind = (markdown.first_value(fields, "type") or "note").lower()
    description, body = markdown.add_description(fields, body)
    content = body.strip()
    if not content:
        reading.left_out["is empty"] += 1
        return
    topic_owner = None if kind == "user" else owner  # about the person, wherever they work
    more = {"namespace": _NAMESPACES.get(kind, "learnings"), "trust": AGENT, "questions": ask_description(description, AGENT)}
    standing = True if kind == "feedback" else None
    reading.add_document(kind, location, content, changed_ms, topic_owner, standing=standing, **more)


def find_topic_files(folder: str) -> Iterator[str]:
    """Yield the files of an auto memory folder that the client does not load by itself."""
    for parent, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(SUFFIX) and name != INDEX:
                yield os.path.join(parent, name)


def find_folder(sessions: str) -> str | None:
    """Return the folder of a project's sessions: as their transcripts name it, else the only path with this name."""
    slug = os.path.basename(sessions)[:MAX_SLUG]
    for transcript in filter(os.path.isfile, sorted(iglob(os.path.join(escape(sessions), "*.jsonl")))):
        with suppress(OSError), open(transcript, encoding="utf-8", errors="replace") as file:
            for _ in range(MAX_TRANSCRIPT_LINES):
                line = file.readline(MAX_TRANSCRIPT_LINE)
                with suppress(ValueError, RecursionError):
                    row = json.loads(line) if '"cwd"' in line else None
                    folder = row.get("cwd") if isinstance(row, dict) else None
                    # A session can go on in another folder.
                    if isinstance(folder, str) and os.path.isabs(folder) and slug_of(folder)[:MAX_SLUG] == slug:
                        return folder
    return _folder_by_slug(os.path.basename(sessions))  # Claude Code deletes transcripts after 30 days.


def _folder_by_slug(slug: str) -> str | None:
    matches: list[str] = []
    entries_left = MAX_COMPARED_NAMES
    folders = [("/", slug)] if os.name != "nt" and len(slug) < MAX_SLUG else []
    for folder, rest in folders:  # The list grows meanwhile.
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        entries_left -= len(names)
        if entries_left < 0:
            return None
        for name in names:
            dashed, path = "-" + slug_of(name), os.path.join(folder, name)
            if rest == dashed and os.path.isdir(path):
                matches.append(path)
            elif rest.startswith(f"{dashed}-") and os.path.isdir(path):
                folders.append((path, rest[len(dashed) :]))
    return matches[0] if len(matches) == 1 else None
