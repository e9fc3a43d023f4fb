"""The contents of a source as its reader collects them: memories, folders and remarks."""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from subcog_hooks.capture import markdown
from subcog_hooks.capture.import_changes import ImportOptions, ImportReport
from subcog_hooks.capture.jsonl import Row
from subcog_hooks.capture.markdown import is_navigation
from subcog_hooks.capture.repository_files import find_holder, limit_to_repository, read_text_file
from subcog_hooks.capture.sections import LIVE, find_absence
from subcog_hooks.core.files import leads_out, read_regular
from subcog_hooks.store import project
from subcog_hooks.store.memory import AGENT, PENDING, SECTION_PREFIX, Memory, hash_content
from subcog_hooks.store.memory_checks import MAX_ENTRY, MAX_LIST
from subcog_hooks.store.store import Store

MAX_SEARCHED_FOLDERS = 5_000  # folders of a project that are searched
MAX_FOLDER_DEPTH = 6  # levels of folders below the root
MAX_SETTINGS = 8 * 1024 * 1024  # bytes; Claude Code stalls on more
SKIPPED_NAMES = frozenset(("node_modules", "venv", "vendor", "dist", "build", "target", "__pycache__"))


def walk_folders(
    root: str, hidden: AbstractSet[str] = frozenset(), reading: "SourceReading | None" = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders of a project from its root ("") down, each with the names of its regular files and links.

    Dependencies, build output, other repositories and hidden folders not in `hidden` are skipped. Links are followed from these
    alone, inside of the project and to each folder once. reading: is told of too many folders.
    """
    folders_left = MAX_SEARCHED_FOLDERS
    followed: set[str] = set()
    for parent, below, names in os.walk(root, followlinks=True):
        relative = os.path.relpath(parent, root).replace(os.sep, "/")
        folder = "" if relative == os.curdir else relative
        folders_left -= 1
        if folders_left < 0:
            if reading:
                reading.is_whole = False
                reading.remarks.append(f"{root} has more than {MAX_SEARCHED_FOLDERS:,} folders; the others were not searched")
            return
        if folder and (".git" in below or ".git" in names):
            below.clear()
            continue
        yield folder, [name for name in sorted(names) if os.path.isfile(os.path.join(parent, name))]
        depth = folder.count("/") + 1 if folder else 0
        wanted = [name for name in sorted(below) if name not in SKIPPED_NAMES and (name in hidden or not name.startswith("."))]
        is_hidden = not hidden.isdisjoint(folder.split("/"))
        below.clear()
        for name in wanted if depth < MAX_FOLDER_DEPTH else ():
            path = os.path.join(parent, name)
            if os.path.islink(path):
                real = os.path.realpath(path)
                if real in followed or leads_out(real, root) or not (is_hidden or name in hidden):
                    continue
                followed.add(real)
            below.append(name)


_TITLE_MARK = re.compile(r"\A#[ \t]+(?=\S)")
IN_REPOSITORY = "@"  # separates a source's name from the repository of its store

# trust and status of a memory by its author; a machine's waits
BY_PERSON, BY_AGENT = {"trust": "import", "status": "active"}, {"trust": AGENT, "status": "active"}
BY_MACHINE = {"trust": "tool", "status": PENDING}


@dataclass(slots=True)
class SourceReading:
    """The rows of a source, with counts and remarks.

    origin: prefix of its memories' origins; rows: each with its location; left_out, kinds: counts by reason, and by the
    source's own kinds; files: its Markdown files that are read as by `subcog import FILE`, in `folder`, with memories in
    `namespaces`; missing: the message and the remedy where nothing is there.

    If `is_whole`, a memory of an earlier import that is not among the rows is gone. That holds for locations with a prefix in
    `looked_in` (empty: all locations of the origin) and without one in `unread`.

    repository: the identity of the repository that holds the files, "" for the person's own; is_store: they are a program's
    store, whose memories then wait; store_ms: the time of its last change, for memories without a time.
    """

    name: str
    within: str = ""  # the part of the source that is read
    rows: list[tuple[str, Row]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    is_whole: bool = True
    files: set[str] = field(default_factory=set)
    folder: str = ""
    namespaces: tuple[str, ...] = ()
    missing: tuple[str, str] = ("there are no notes", "`subcog import --from list` says what there is")
    remarks: list[str] = field(default_factory=list)
    looked_in: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    repository: str = ""
    is_store: bool = False
    store_ms: int = 0
    origin: str = field(init=False)
    _origins: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.origin = f"{self.name}:{self.within}"

    def begin_store(self, path: str, usual: str = "") -> None:
        """Set the store of the next memories. usual: the person's own folder. Raises UsageError for a link that leads out."""
        holder = find_holder(path, usual)
        self.repository, self.is_store = holder.identity if holder else "", True
        self.store_ms = int(os.path.getmtime(path) * 1000) if os.path.exists(path) else 0
        self.origin = f"{self.name}:{self.within}"
        if self.repository:  # the same location can be another memory in another store
            self.origin = f"{self.name}{IN_REPOSITORY}{self.repository.replace(':', '')}:"
            remark = f"notes in {self.repository} are about that repository alone"
            self.remarks += [] if remark in self.remarks else [remark]
        self._origins.add(self.origin)

    def find_absence(self, store: Store | None, options: ImportOptions) -> ImportReport:
        """Return a report of the Markdown files that were read, and of the memories whose file or row is gone."""
        if store and self.folder:
            report = find_absence(store, self.folder, options, lambda memory: memory.namespace in self.namespaces)
        else:
            report = ImportReport()
        report.files = self.files
        for memory in store.all(LIVE) if store and self.is_whole and not self.folder else ():
            is_read = not self._has_prefix(memory.source, self.unread)
            if memory.id.startswith(SECTION_PREFIX) and is_read and self._has_prefix(memory.source, self.looked_in or [""]):
                report.lost.append(memory)
        return report

    def _has_prefix(self, source: str, prefixes: list[str]) -> bool:
        return any(source.startswith(origin + prefix) for origin in self._origins or {self.origin} for prefix in prefixes)

    def add(self, kind: str, location: str, content: str, at_ms: int, owner: str | None, **fields: object) -> None:
        """Add a memory. location: its stable name in the source; at_ms: since the epoch; owner: None for all projects."""
        origin = self.origin + location
        memory = Memory(id=SECTION_PREFIX + hash_content(origin)[:12], content=content)
        times = dict.fromkeys(("created_at", "updated_at"), at_ms or self.store_ms)
        scope = "project" if owner else "user"
        memory = memory.with_changes(scope=scope, project=owner, source=f"{origin}:1", **times, **fields)
        if self.repository:
            memory = limit_to_repository(memory, self.repository, () if self.is_store else memory.paths)
            memory.status = PENDING if self.is_store else memory.status
        self.rows.append((origin, Row(memory, has_id=True, is_section=True)))
        self.kinds[kind] += 1

    def add_document(self, kind: str, location: str, text: str, at_ms: int, owner: str | None, **fields: object) -> None:
        """Add a document: whole if it fits into one memory, else a memory for each of its sections.

        A short document of nothing but links is left out, unless it has paths: it may say where to read about these files.
        """
        if len(text.strip()) <= markdown.MAX_SECTION:
            if not fields.get("paths") and is_navigation(f"\n\n{text}"):
                self.left_out["has nothing but links"] += 1
            else:
                self.add(kind, location, _TITLE_MARK.sub("", text.strip()), at_ms, owner, **fields)
            return
        title = os.path.splitext(os.path.basename(location))[0]
        seen: Counter[str] = Counter()
        for section in markdown.cut_sections(markdown.split_parts(text, title=title)):
            heading = "/".join(section.heading_path)
            seen[heading] += 1
            self.add(kind, f"{location}#{heading}#{seen[heading]}", section.content, at_ms, owner, **fields)
            fields["questions"] = ()  # The first section alone answers the document's question.
            row = self.rows[-1][1]
            row.group = f"{self.origin}{location}#{heading}#"
            row.memory.source = f"{row.memory.source.removesuffix(':1')}:{section.line}"  # Sections stay in this order.


def read_source_text(
    path: str, reading: SourceReading, location: str | None = None, *, inside: str = "", of: str = "its folder"
) -> tuple[str, int] | None:
    """Return a file's text and the time of its last change (ms since the epoch); None, with the reason in `reading`.

    location: its memories then count as unread, not as gone; without it, none is gone. inside: the folder that no link may lead
    out of, "" for any; of: names it.
    """
    if inside and leads_out(path, inside):
        reading.left_out[f"is a link out of {of}"] += 1
        return None
    file_read = read_text_file(path)
    if not isinstance(file_read, str):
        text, changed_ms, remark = file_read
        reading.remarks += [f"{location or path} {remark}"] if remark else []
        return text, changed_ms
    reading.left_out[file_read] += 1
    if location is None:
        reading.is_whole = False
    else:
        reading.unread.append(location)
    return None


def read_settings(path: str) -> Mapping[str, object]:
    """Return the members of a JSON object in another program's file; none where it is unreadable or another value."""
    try:
        settings = json.loads(read_regular(path, MAX_SETTINGS).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def data_folder(environment: Mapping[str, str], program: str) -> str:
    """Return the usual folder for a program's data on this system."""
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", program)
    if sys.platform == "win32":
        return os.path.join(environment.get("LOCALAPPDATA", home), program)
    folder = environment.get("XDG_DATA_HOME", "")
    return os.path.join(folder if os.path.isabs(folder) else os.path.join(home, ".local", "share"), program)


def valid_tags(tags: Iterable[object]) -> tuple[str, ...]:
    """Return the texts among these that fit into a memory as tags, each once."""
    return tuple(dict.fromkeys(tag for tag in tags if isinstance(tag, str) and 0 < len(tag) <= MAX_ENTRY))[:MAX_LIST]


def project_of(folder: str) -> str | None:
    """Return the identity of the project that a folder lies in, None outside of any."""
    here = project.find_project(folder)
    return here.identity if here else None


def owner_of(folder: str) -> str | None:
    """Return the identity of a folder's project, outside of any the folder itself; None where no such folder is here."""
    is_here = os.path.isabs(folder) and os.path.isdir(folder)
    return project_of(folder) or os.path.realpath(folder) if is_here else None
