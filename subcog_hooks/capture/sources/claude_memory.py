"""Claude Code's memory: the notes that it writes about projects by itself, and what `claude_context` finds of them.

It does not load topic files again. Of MEMORY.md, their index, it puts the beginning before the model in each session. The
layout is that of the client's page on memory; a project's folder is named after its path, whose characters but letters and
digits become dashes.
"""

import json
import os
import re
from collections.abc import Iterator

from subcog_hooks.capture import markdown
from subcog_hooks.capture.sources import claude_context
from subcog_hooks.capture.sources.source_reading import SourceReading, identity_of, read_text
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import leads_out, read_regular
from subcog_hooks.store import project
from subcog_hooks.store.memory import AGENT

CLAUDE = "claude"
INDEX = "MEMORY.md"
INDEX_LINES, INDEX_BYTES = 200, 25_000  # of it are before the model in each session
SUFFIX = ".md"
LONGEST_SLUG = 200  # characters; a longer name ends in a number that says nothing
LINES_LOOKED_AT = 50  # of a transcript, for the folder of its session
LONGEST_LINE = 100_000  # characters of one of them
LONGEST_SETTINGS = 8 * 1024 * 1024  # bytes; the client itself stalls on more
MOST_TRIED = 20_000  # entries of folders that are compared with a name

_NAMESPACES = {"user": "context", "feedback": "patterns", "project": "context", "reference": "context"}
_SHARED = "shared"  # in the place of a project's name: the folder that settings name
_POINTER = re.compile(r"\s*[-*]\s+\[[^\]]*\]\([^)\s:]+\.md\)")  # to a file beside it
_HEADING = re.compile(r"^#.*$", re.MULTILINE)
_WORD = re.compile(r"\w")


def folders(config: str) -> list[str]:
    """Return the folders of auto memory, of all projects. config: the client's own folder."""
    return [folder for sessions in _sessions(config) if os.path.isdir(folder := os.path.join(sessions, "memory"))]


def _sessions(config: str) -> list[str]:
    """Return the folders in which the client keeps the sessions of each project."""
    projects = os.path.join(config, "projects")
    try:
        return [folder for name in sorted(os.listdir(projects)) if os.path.isdir(folder := os.path.join(projects, name))]
    except OSError:
        return []


def read(config: str, only: str | None = None, *, by_itself: bool = False) -> SourceReading:
    """Return what the client's folder holds. Raises UsageError.

    config: that folder; only: one folder of auto memory instead of all. by_itself: nobody has seen what would come, so that
    nothing is standing.
    """
    reading = SourceReading(CLAUDE, f"{_called(config)}:")
    if only:
        if not os.path.isdir(only):
            raise UsageError(f"{only} is no folder", "name the folder of the notes: subcog import --from claude FOLDER")
        reading.is_whole = False
        reading.begin_store(only, config)
        _read_folder(os.path.abspath(only), config, reading, by_itself=by_itself)
        return reading
    if not os.path.isdir(os.path.join(config, "projects")):
        raise UsageError(f"{config} has no notes of Claude Code's own", "name the folder: subcog import --from claude FOLDER")
    for sessions in _sessions(config):
        folder = os.path.join(sessions, "memory")
        reading.looked_in += [f"{os.path.basename(sessions)}/", claude_context.beginning_of(os.path.basename(sessions))]
        if os.path.isdir(folder):
            _read_folder(folder, config, reading, by_itself=by_itself)
    if named := named_folder(config):
        reading.looked_in += [f"{_SHARED}/", claude_context.beginning_of(_SHARED)]
        _read_notes(named, _SHARED, None, reading, by_itself=by_itself)
    claude_context.read_persons(config, reading)
    for owner, root in roots(config).items():
        claude_context.read_project(root, owner, reading)
    return reading


def _called(config: str) -> str:
    """Return the client's folder as origins name it: what was taken from one is not gone because another has not got it."""
    home = os.path.expanduser("~")
    inside = os.path.relpath(config, home) if config.startswith(os.path.join(home, "")) else ""
    return (f"~/{inside}" if inside else config).replace(os.sep, "/").replace(":", "")


def loaded_files(config: str) -> Iterator[str]:
    """Yield the CLAUDE.md files and rules that `read` would read, with what they import."""
    yield from claude_context.persons_files(config)
    for root in roots(config).values():
        yield from claude_context.files_of(root)


def files_of(config: str) -> Iterator[str]:
    """Yield all files that `read` would read."""
    for folder in folders(config):
        yield from topic_files(folder)
        yield os.path.join(folder, INDEX)
    if named := named_folder(config):
        yield from topic_files(named)
        yield os.path.join(named, INDEX)
    yield from loaded_files(config)


def named_folder(config: str) -> str | None:
    """Return the folder that the person's own settings name for the notes of all projects, None where they name none.

    What a repository's settings name is not read: it could be any folder.
    """
    try:
        settings = json.loads(read_regular(os.path.join(config, "settings.json"), LONGEST_SETTINGS))
    except (OSError, ValueError, RecursionError):
        return None
    named = settings.get("autoMemoryDirectory") if isinstance(settings, dict) else None
    folder = os.path.expanduser(named) if isinstance(named, str) else ""
    return folder if os.path.isabs(folder) and os.path.isdir(folder) else None


def roots(config: str) -> dict[str, str]:
    """Return the repositories in which the client has been used, as far as they are known: each by its identity.

    Of several worktrees or clones of one project, the main worktree counts, else the first.
    """
    found: dict[str, str] = {}
    for sessions in _sessions(config):
        at = folder_of(sessions)
        here = project.find_project(at) if at and os.path.isdir(at) else None
        if here and (here.identity not in found or here.root == here.names[-1]):
            found[here.identity] = here.root
    return found


def _read_folder(folder: str, config: str, reading: SourceReading, *, by_itself: bool) -> None:
    """Add the notes about one project."""
    slug = os.path.basename(os.path.dirname(folder))
    if leads_out(folder, config) and leads_out(folder, os.path.dirname(folder)):
        reading.left_out["is a link out of the client's folder"] += 1
        return
    at = None if reading.repository else folder_of(os.path.dirname(folder))
    owner = reading.repository or (identity_of(project.find_project(at)) if at else None)
    if at and owner is None:
        owner = os.path.realpath(at)  # no repository: the client's notes are about this folder all the same
    if owner is None:
        reading.unread += [f"{slug}/", claude_context.beginning_of(slug)]
        for _ in topic_files(folder):
            reading.left_out[f"is of a folder that is not known here ({slug})"] += 1
    else:
        _read_notes(folder, slug, owner, reading, by_itself=by_itself)


def _read_notes(folder: str, name: str, owner: str | None, reading: SourceReading, *, by_itself: bool) -> None:
    """Add the topic files of a folder, and what its index says itself. name: begins their places."""
    for file in topic_files(folder):
        place = f"{name}/{os.path.relpath(file, folder)}".replace(os.sep, "/")
        if leads_out(file, folder):
            reading.left_out["is a link out of its folder"] += 1
        elif found := read_text(file, reading, place):
            _add_topic(place, *found, owner, reading, by_itself=by_itself)
    index = os.path.join(folder, INDEX)
    if not leads_out(index, folder) and os.path.isfile(index) and (found := read_text(index, reading)):
        _add_index(name, *found, owner, reading)


def _add_index(of: str, text: str, changed: int, owner: str | None, reading: SourceReading) -> None:
    """Add what MEMORY.md says itself: a line that points to a topic file says no more than that file."""
    at, parts = 0, {True: "", False: ""}
    for number, line in enumerate(text.splitlines(keepends=True)):
        at += len(line.encode())
        if not _POINTER.match(line):
            parts[number < INDEX_LINES and at <= INDEX_BYTES] += line
    for where, part in ((claude_context.place_of(of, "", INDEX), parts[True]), (f"{of}/{INDEX}", parts[False])):
        if _WORD.search(_HEADING.sub("", part)):
            reading.add_document("index", where, part.strip(), changed, owner, namespace="context", trust=AGENT)


def _add_topic(place: str, text: str, changed: int, owner: str | None, reading: SourceReading, *, by_itself: bool) -> None:
    fields, body = markdown.front_matter(text)
    kind = next(iter(fields.get("type", [])), "note").lower()
    said = next(iter(fields.get("description", [])), "")
    content = body.strip()
    if said and said.rstrip(".").lower() not in content.lower():
        content = f"{said}\n\n{content}".strip()
    if not content:
        reading.left_out["is empty"] += 1
        return
    is_persons = kind == "user"  # about the person, wherever they work
    reading.add_document(
        kind,
        place,
        content,
        changed,
        None if is_persons else owner,
        namespace=_NAMESPACES.get(kind, "learnings"),
        standing=True if kind == "feedback" and not by_itself else None,
        trust=AGENT,
    )


def topic_files(folder: str) -> Iterator[str]:
    """Yield the files of a folder of auto memory that the client does not load by itself."""
    for parent, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(SUFFIX) and name != INDEX:
                yield os.path.join(parent, name)


# ---- which folder a project's name stands for ------------------------------------------------------------------------------


def folder_of(sessions: str) -> str | None:
    """Return the folder that a project's sessions ran in: by its transcripts, else by the one path that has this name."""
    return _folder_by_transcripts(sessions) or _folder_by_slug(os.path.basename(sessions))


def _folder_by_transcripts(sessions: str) -> str | None:
    slug = os.path.basename(sessions)
    try:
        names = [name for name in os.listdir(sessions) if name.endswith(".jsonl")]
    except OSError:
        return None
    for transcript in (os.path.join(sessions, name) for name in sorted(names)):
        if not os.path.isfile(transcript):  # a named pipe would be waited for
            continue
        for at in _folders_in(transcript):
            if project.slug_of(at)[:LONGEST_SLUG] == slug[:LONGEST_SLUG]:  # a session can go on in another folder
                return at
    return None


def _folders_in(transcript: str) -> Iterator[str]:
    try:
        with open(transcript, encoding="utf-8", errors="replace") as file:
            for _ in range(LINES_LOOKED_AT):
                line = file.readline(LONGEST_LINE)
                if '"cwd"' not in line:
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(row, dict) and isinstance(at := row.get("cwd"), str) and os.path.isabs(at):
                    yield at
    except OSError:
        return


def _folder_by_slug(slug: str) -> str | None:
    """Return the only folder on this disk whose path has this name, None where there is none, or several."""
    found: list[str] = []
    left = MOST_TRIED

    def look(folder: str, rest: str) -> None:
        nonlocal left
        try:
            names = os.listdir(folder)
        except OSError:
            return
        for name in names:
            left -= 1
            dashed = "-" + project.slug_of(name)
            if left < 0 or not rest.startswith(dashed):
                continue
            path = os.path.join(folder, name)
            if rest == dashed and os.path.isdir(path):
                found.append(path)
            elif rest[len(dashed) :].startswith("-") and os.path.isdir(path):
                look(path, rest[len(dashed) :])

    if os.name != "nt" and len(slug) < LONGEST_SLUG:
        look("/", slug)
    return found[0] if len(found) == 1 and left >= 0 else None
