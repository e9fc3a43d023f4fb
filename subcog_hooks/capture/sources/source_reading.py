"""The contents of a source, as they are read: memories, folders and remarks."""

from __future__ import annotations

import os
from collections import Counter

from subcog_hooks.capture import import_files, markdown
from subcog_hooks.capture.import_files import MAX_MARKDOWN, MAX_MARKDOWN_LINES
from subcog_hooks.capture.jsonl import Row
from subcog_hooks.core.accepted_homes import account_folder, is_inside, is_users_own
from subcog_hooks.core.errors import UsageError
from subcog_hooks.core.regular_files import NotRegular, leads_out, read_regular
from subcog_hooks.store import project
from subcog_hooks.store.memory import FILE, PENDING, SECTION_PREFIX, Memory, hash_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from subcog_hooks.store.project import Project

MOST_FOLDERS = 5_000  # of a project, that are looked through
DEEPEST = 6  # folders below the root
PASSED_OVER = frozenset(("node_modules", "venv", "vendor", "dist", "build", "target", "__pycache__"))


def folders_below(root: str, hidden: AbstractSet[str] = frozenset()) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders of a project, from its root and "" for that, each with the names of its regular files and links.

    Left out are dependencies, what a build has made, other repositories and worktrees, and hidden folders but for those named.
    No link is followed.
    """
    left = MOST_FOLDERS
    for parent, below, names in os.walk(root):
        relative = os.path.relpath(parent, root).replace(os.sep, "/")
        folder = "" if relative == os.curdir else relative
        left -= 1
        if left < 0:
            return
        if folder and (".git" in below or ".git" in names):
            below.clear()
            continue
        yield folder, [name for name in sorted(names) if os.path.isfile(os.path.join(parent, name))]
        depth = folder.count("/") + 1 if folder else 0
        wanted = [name for name in sorted(below) if name not in PASSED_OVER and (name in hidden or not name.startswith("."))]
        below[:] = wanted if depth < DEEPEST else []


IN_REPOSITORY = "@"  # stands between a source's name and the repository that its store lies in

_LEFT_TO_REPOSITORY = ("namespace", "tags", "expires_at")  # fields that a repository's file chooses


class SourceReading:
    """The rows of a source, and what is to be said about it.

    origin: begins what its memories say of where they come from; rows: each behind its place; left_out: how often, by reason;
    kinds: how many memories of each kind of the source's own; files: the Markdown files among it that are read as by `subcog
    import FILE`; remarks: what the person should know before they trust it.

    What an earlier import took and is not among the rows is gone where `is_whole`: from the places that begin as one of
    `looked_in` (none: from all of this origin), and do not begin as one of `unread`.

    repository: the identity of the repository that the store at hand lies in, "" for a store of the person's own. Whoever can
    write there chooses all fields of its memories: they are about that repository alone, are a file's word, and wait.
    """

    __slots__ = (
        *("_name", "_origins", "_within", "files", "is_whole", "kinds", "left_out", "looked_in", "origin", "remarks"),
        *("repository", "rows", "unread"),
    )

    def __init__(self, name: str, within: str = "") -> None:
        """name: of the source; within: the part of it that is read, where there are several."""
        self._name = name
        self._origins: set[str] = set()
        self._within = within
        self.origin = f"{name}:{within}"
        self.rows: list[tuple[str, Row]] = []
        self.left_out: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.is_whole = True
        self.files: set[str] = set()
        self.remarks: list[str] = []
        self.looked_in: list[str] = []
        self.unread: list[str] = []
        self.repository = ""

    def begin_store(self, path: str, usual: str = "") -> None:
        """Set the store of the memories that are added next. Raises UsageError for a link out of its repository.

        path: its file or folder; usual: the person's own folder for it, which holds no repository's store.
        """
        self.repository = repository_of(path, usual)
        self.origin = f"{self._name}:{self._within}"
        if self.repository:  # the same place can stand for another memory in another store
            self.origin = f"{self._name}{IN_REPOSITORY}{self.repository.replace(':', '')}:"
            remark = f"what lies in {self.repository} is about that repository alone"
            self.remarks += [] if remark in self.remarks else [remark]
        self._origins.add(self.origin)

    def has_lost(self, source: str) -> bool:
        """Return whether a memory of this origin, which is not among the rows, is gone from where it was taken."""
        return self.is_whole and self._begins_as(source, self.looked_in or [""]) and not self._begins_as(source, self.unread)

    def _begins_as(self, source: str, places: list[str]) -> bool:
        """Return whether a memory of this source is of a store that was read, and from one of these places."""
        return any(source.startswith(origin + place) for origin in self._origins or {self.origin} for place in places)

    def add(self, kind: str, place: str, content: str, at: int, owner: str | None, **fields: object) -> None:
        """Add a memory. place: where it stands in the source, which names it for ever; at: milliseconds since the epoch;
        owner: the project's identity, None for all projects."""
        origin = self.origin + place
        if self.repository:
            owner = self.repository
            fields = {name: value for name, value in fields.items() if name in _LEFT_TO_REPOSITORY}
            fields |= {"trust": FILE, "status": PENDING}
        memory = Memory(id=SECTION_PREFIX + hash_content(origin)[:12], content=content)
        values = {
            "scope": "project" if owner else "user",
            "project": owner,
            "source": f"{origin}:1",
            "created_at": at,
            "updated_at": at,
        }
        self.rows.append((origin, Row(memory.with_changes(**values, **fields), has_id=True, is_section=True)))
        self.kinds[kind] += 1

    def add_file(self, place: str, text: str, changed: int, owner: str | None) -> None:
        """Add a Markdown file by its headings, with the ids that `subcog import FILE` gives its sections: it is there once."""
        self.files.add(place)
        for row in import_files.sections_of(text, place, changed, owner):
            self.rows.append((place, row))
            self.kinds[row.memory.namespace if row.memory.status == "active" else row.memory.status] += 1

    def add_document(self, kind: str, place: str, text: str, at: int, owner: str | None, **fields: object) -> None:
        """Add a document: whole where it fits into one memory, else a memory for each of its sections."""
        if len(text) <= markdown.MAX_SECTION:
            self.add(kind, place, text.strip(), at, owner, **fields)
            return
        title = os.path.splitext(os.path.basename(place))[0]
        seen: Counter[str] = Counter()
        for section in markdown.split(text, title=title):
            heading = "/".join(section.heading_path)
            seen[heading] += 1
            self.add(kind, f"{place}#{heading}#{seen[heading]}", section.content, at, owner, **fields)


def read_text(path: str, reading: SourceReading, place: str | None = None) -> tuple[str, int] | None:
    """Return the text of a file and when it was changed (milliseconds since the epoch); None, and why not, where it is none.

    place: where it stands in the source: what was taken from there before is not gone, only unread; without one, nothing is.
    """
    found = _text_of(path, reading)
    if found is None and place is None:
        reading.is_whole = False
    elif found is None and place is not None:
        reading.unread.append(place)
    return found


def _text_of(path: str, reading: SourceReading) -> tuple[str, int] | None:
    try:
        raw = read_regular(path, MAX_MARKDOWN + 1)
        changed = int(os.stat(path).st_mtime * 1000)
    except OSError as error:
        reading.left_out["is no regular file" if isinstance(error, NotRegular) else f"can not be read: {error.strerror}"] += 1
        return None
    if len(raw) > MAX_MARKDOWN:
        reading.left_out[f"has more than {MAX_MARKDOWN:,} bytes"] += 1
        return None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        reading.left_out["is not UTF-8"] += 1
        return None
    if text.count("\n") > MAX_MARKDOWN_LINES:
        reading.left_out[f"has more than {MAX_MARKDOWN_LINES:,} lines"] += 1
        return None
    return text, changed


def repository_of(path: str, usual: str = "") -> str:
    """Return the identity of the repository that a store lies in, "" for a store of the person's own.

    It is the person's own in its usual folder, and in a repository that holds the person's whole home. Raises UsageError for a
    link that leads out of a repository.
    """
    named, real = os.path.abspath(path), os.path.realpath(path)
    around = _root_around(named)
    if around and not _is_persons(named, usual, around) and leads_out(path, around):
        raise UsageError(f"{path} is a link out of its repository", "name the file that it leads to")
    found = project.find_project(real if os.path.isdir(real) else os.path.dirname(real))
    return found.identity if found and not _is_persons(named, usual, found.root) else ""


def _root_around(path: str) -> str:
    """Return the nearest folder above a path that is a repository, no link followed; "" for none."""
    folder = os.path.dirname(path)
    while not os.path.lexists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return folder


def _is_persons(path: str, usual: str, root: str) -> bool:
    """Return whether a path in a repository is the person's own, as far as no repository can have set `~`."""
    try:
        is_usual = os.path.join(path, "").startswith(os.path.join(os.path.abspath(usual), "")) if usual else False
        return (is_usual and is_users_own(os.path.expanduser("~"))) or is_inside(account_folder(), root)
    except OSError:  # the system does not know this user
        return False


def identity_of(here: Project | None) -> str | None:
    """Return a project's identity, None outside of any."""
    return here.identity if here else None
