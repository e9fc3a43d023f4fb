"""Importing many memories: in chunks, so that no other process waits; a line that does not hold stops only itself."""

import os
import sys
from collections import Counter
from itertools import islice

from subcog_hooks.capture import jsonl, markdown
from subcog_hooks.capture.compose import Removed, cleaned, safe_id, storable, total
from subcog_hooks.cues import globs, triggers
from subcog_hooks.errors import InvalidMemory, UsageError
from subcog_hooks.memory.cue_tables import Room
from subcog_hooks.memory.model import FILE, MAX_UNPINNED_PRIORITY, PENDING, SECTION, USER, IdMaker, Memory, hash_content, now_ms
from subcog_hooks.memory.store import Filter, Store, audience_of
from subcog_hooks.redaction.redact import redact
from subcog_hooks.regular_files import NotRegular, leads_out, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from typing import TextIO

CHUNK = 1_000  # memories in one transaction: some 50 ms of the write lock
MAX_MARKDOWN = 4_000_000  # bytes of a Markdown file; the longest changelogs have one million
MAX_LINES = 2_000_000_000  # bytes of a JSONL file, which is read line by line: a million long memories
MAX_LINE = 8_000_000  # characters of one line: the longest content, written in escapes
ATTEMPTS = 3  # of a chunk, when another process gets in between
JSONL_SUFFIXES = (".jsonl", ".ndjson", ".json")
MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx")
_OF_THE_FILE = ("content", "namespace", "tags", "status")  # fields of a section that its file determines
_OF_THE_USER = (  # and those of which it says nothing
    *("keywords", "triggers", "paths", "when", "questions", "standing", "priority", "expires_at"),
)
_PATTERNS = {"triggers": triggers.check, "paths": globs.check}
_STATUSES = {"superseded": "superseded", "deprecated": "archived", "rejected": "archived", "obsolete": "archived"}
SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", "target", ".tox"))


class Problem:
    """Something in the source that was not taken, with its place.

    is_entry: it is a trigger or a path, and the rest of its line was taken.
    """

    __slots__ = ("is_entry", "message", "place")

    def __init__(self, place: str, message: str, *, is_entry: bool = False) -> None:
        self.place = place
        self.message = message
        self.is_entry = is_entry


class Report:
    """The result of an import."""

    __slots__ = (
        "added",
        "archived",
        "files",
        "hidden",
        "owners",
        "problems",
        "removed",
        "replaced",
        "set_aside",
        "skipped",
        "unknown",
        "withheld",
    )

    def __init__(self) -> None:
        self.added = 0
        self.archived = 0
        self.set_aside = 0  # of the added: what the file itself calls superseded or rejected
        self.files: set[str] = set()  # the Markdown files that were read
        self.hidden: dict[str, tuple[str, str]] = {}  # by file: the title and status of what is hidden from now on
        self.owners: Counter[str] = Counter()
        self.replaced = 0
        self.skipped = 0
        self.problems: list[Problem] = []
        self.removed: Removed = ()
        self.unknown: set[str] = set()
        self.withheld = 0  # of the added: a file's word, whose cues and questions were left out


class Options:
    """The options of an import. trusted: `--trust user`; keeps_users: what the user wrote or vouched for is left as it is;
    waits: an agent imports, unasked, so that what is new or changed waits for the person.

    project, root: whose Markdown it is, and where its files are named from; names: all names of that project.
    """

    __slots__ = ("dry_run", "keeps_users", "names", "project", "replace", "root", "trusted", "waits")

    def __init__(
        self,
        *,
        project: str | None = None,
        root: str | None = None,
        names: tuple[str, ...] = (),
        trusted: bool = False,
        replace: bool = False,
        dry_run: bool = False,
        keeps_users: bool = False,
        waits: bool = False,
    ) -> None:
        self.waits = waits
        self.keeps_users = keeps_users
        self.project = project
        self.root = root
        self.names = names
        self.trusted = trusted
        self.replace = replace
        self.dry_run = dry_run


def run(path: str, store: Store | None, options: Options, progress: "Callable[[int], None]") -> Report:
    """Import a JSONL file, a Markdown file or a folder of Markdown. `progress` is told how many rows each chunk had.

    path: one that `check_source` lets through. store: None where there is none yet and nothing will be written (`--dry-run`).
    Raises UsageError when the path can not be read, StoreError when the store can not be written; what was
    committed before stays.
    """
    report = Report()
    rows = _rows(path, options, report)
    imported: set[str] = set()
    while chunk := list(islice(rows, CHUNK)):
        _take(chunk, store, options, report)
        for _, row in chunk:
            if row.is_section:
                imported.add(row.memory.id)
        progress(len(chunk))
    if store and report.files:
        _archive_what_is_gone(store, imported, report.files, options, report)
    return report


def run_reading(
    rows: "Sequence[tuple[str, jsonl.Row]]",
    has_lost: "Callable[[str], bool]",
    files: "AbstractSet[str]",
    store: Store | None,
    options: Options,
    progress: "Callable[[int], None]",
) -> Report:
    """Import what a source held, as `run` does.

    has_lost: tells by a memory's origin whether it would be among the rows if it were still there: those that an earlier import
    took are archived. files: the Markdown files that were read as `run` reads them:
    sections that are no longer in them are archived. Raises StoreError.
    """
    report = Report()
    there = {row.memory.id for _, row in rows}
    for start in range(0, len(rows), CHUNK):
        chunk = list(rows[start : start + CHUNK])
        _take(chunk, store, options, report)
        progress(len(chunk))
    if store and files:
        _archive_what_is_gone(store, there, files, options, report)
    if store:
        _archive(
            [
                memory
                for memory in store.all(("active", PENDING))
                if memory.id.startswith(SECTION) and memory.id not in there and has_lost(memory.source)
            ],
            store,
            options,
            report,
        )
    return report


def _archive(gone: "Sequence[Memory]", store: Store, options: Options, report: Report) -> None:
    """Archive what is no longer where it was taken from, and that nobody has changed here."""
    kept = [one for one in gone if _is_untouched(one) and not (options.keeps_users and one.trust == USER)]
    report.archived += len(kept)
    if kept and not options.dry_run:
        store.update([memory.replaced(status="archived") for memory in kept])


def _archive_what_is_gone(
    store: Store, imported: "AbstractSet[str]", files: "AbstractSet[str]", options: Options, report: Report
) -> None:
    """Archive the sections that an earlier import took from these files and that are in them no longer.

    That a project has got a remote, and so another name, is no reason to have its sections twice. What the user has edited
    stays, and an archived one that the user brings back stays too: an edit moves `updated_at`.
    """
    names = options.names or ((options.project,) if options.project else ())
    audiences = tuple(audience_of("project", name) for name in names) or ("user",)
    gone = [
        memory
        for memory in store.select(Filter(audiences=audiences, statuses=("active",)))
        if memory.id.startswith(SECTION) and memory.id not in imported and _file_of(memory) in files
    ]
    _archive(gone, store, options, report)


def _file_of(section: Memory) -> str:
    return section.source.rpartition(":")[0]


def check_source(path: str) -> None:
    """Check that `path` is something that can be imported. Raises UsageError otherwise."""
    if path == "-" or os.path.isdir(path):
        return
    if not os.path.exists(path):
        raise UsageError(f"{path} does not exist", "give a .jsonl file, a .md file or a folder")
    if not os.path.isfile(path):
        return  # a pipe that the user has named, such as <(command)
    if not path.lower().endswith((*MARKDOWN_SUFFIXES, *JSONL_SUFFIXES)):
        raise UsageError(f"{path} is neither JSONL nor Markdown by its name", "give a .jsonl file, a .md file or a folder")
    if not path.lower().endswith(MARKDOWN_SUFFIXES) and (size := os.path.getsize(path)) > MAX_LINES:
        raise UsageError(f"{path} has {size:,} bytes, at most {MAX_LINES:,} are read", "split it")


def count_lines(path: str) -> int | None:
    """Return how many rows a JSONL file has, for a progress bar; None for Markdown."""
    if not os.path.isfile(path) or path.lower().endswith(MARKDOWN_SUFFIXES):  # a pipe can be read once only
        return None
    lines = 0
    try:
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                lines += block.count(b"\n")
    except OSError:
        return None
    return lines


def _rows(path: str, options: Options, report: Report) -> "Iterator[tuple[str, jsonl.Row]]":
    """Yield each row with its place; problems go to the report."""
    if os.path.isdir(path):
        found = False
        for file in markdown_files(path):
            found = True
            if leads_out(file, path):
                shown = os.path.relpath(file, path).replace(os.sep, "/")
                report.problems.append(Problem(shown, "is a link that leads out of the folder; it was left out"))
            else:
                yield from _sections(file, options, report)
        if not found:
            raise UsageError(f"{path} holds no Markdown", "give a folder of .md files, or a .jsonl file")
    elif path.lower().endswith(MARKDOWN_SUFFIXES):
        yield from _sections(path, options, report)
    else:
        yield from _lines(path, options, report)


def _lines(path: str, options: Options, report: Report) -> "Iterator[tuple[str, jsonl.Row]]":
    ids, now = IdMaker(), now_ms()
    name = "standard input" if path == "-" else os.path.basename(path)
    source = sys.stdin.fileno() if path == "-" else path
    try:
        with open(source, encoding="utf-8-sig", errors="surrogateescape", newline="\n", closefd=path != "-") as file:
            for number, line in enumerate(_whole_lines(file, name), 1):
                if not line.strip():
                    continue
                place = f"{name} line {number}"
                try:
                    if len(line) > MAX_LINE:
                        raise InvalidMemory(f"the line has more than {MAX_LINE:,} characters", "split it")
                    _check_utf8(line)
                    yield place, _with_safe_id(jsonl.parse(line, ids.new, now, trusted=options.trusted), report)
                except InvalidMemory as error:
                    report.problems.append(Problem(place, str(error)))
    except OSError as error:
        raise UsageError(f"{path} can not be read: {error.strerror}", "give a .jsonl file, a .md file or a folder") from error


def _whole_lines(file: "TextIO", name: str) -> "Iterator[str]":
    """Return the lines of a file; of one that is too long, MAX_LINE + 1 characters. Raises UsageError after MAX_LINES."""
    read = 0
    while line := file.readline(MAX_LINE + 1):
        rest = line
        while rest and not rest.endswith("\n") and read <= MAX_LINES:
            read += len(rest)
            rest = file.readline(MAX_LINE)
        read += len(rest)
        if read > MAX_LINES:
            raise UsageError(f"{name} has more than {MAX_LINES:,} characters", "split it")
        yield line


def _with_safe_id(row: jsonl.Row, report: Report) -> jsonl.Row:
    """Return the row with an id that holds no secret: it is looked up before the rest of the memory is redacted."""
    if row.has_id and (name := safe_id(row.memory.id)) != row.memory.id:
        row.memory = row.memory.replaced(id=name)
        report.removed = total([report.removed, (("id", 1),)])
    return row


def place_of(file: str, root: str | None) -> str:
    """Return how a Markdown file is named in ids and sources: from the project's root, else by its full path."""
    path = os.path.realpath(file)
    inside = root is not None and path.startswith(os.path.join(root, ""))
    return (os.path.relpath(path, root) if inside else path).replace(os.sep, "/")


def _check_utf8(line: str) -> None:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidMemory(f"not UTF-8 at character {error.start + 1}", "convert the file") from error


def markdown_files(folder: str) -> "Iterator[str]":
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(MARKDOWN_SUFFIXES):
                yield os.path.join(parent, name)


def _sections(file: str, options: Options, report: Report) -> "Iterator[tuple[str, jsonl.Row]]":
    """Yield the sections of a Markdown file, each with an id that follows from its place: importing again adds nothing."""
    shown = place_of(file, options.root)
    try:
        raw = read_regular(file, MAX_MARKDOWN + 1)
        status = os.stat(file)
        if len(raw) > MAX_MARKDOWN:
            fault = f"has {status.st_size:,} bytes, at most {MAX_MARKDOWN:,} are read; split it"
            report.problems.append(Problem(shown, fault))
            return
        text = raw.decode("utf-8-sig")
        modified = int(status.st_mtime * 1000)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, NotRegular) else error
        report.problems.append(Problem(shown, f"can not be read: {reason}"))
        return
    report.files.add(shown)
    for row in sections_of(text, shown, modified, options.project, trusted=options.trusted):
        yield f"{shown} line {row.memory.source.rpartition(':')[2]}", row


def sections_of(text: str, shown: str, modified: int, project: str | None, *, trusted: bool = False) -> "Iterator[jsonl.Row]":
    """Yield the sections of a Markdown document as memories with ids that follow from their places.

    shown: the file's name from the project's root; modified: milliseconds since the epoch, where the document has no date;
    trusted: the person vouches for it.
    """
    title = os.path.splitext(os.path.basename(shown))[0]
    document = markdown.read(text, title=title)
    seen: dict[str, int] = {}
    for section in document.sections:
        key = "\x00".join((project or "", shown, *section.heading_path))
        seen[key] = seen.get(key, 0) + 1
        memory = Memory(
            id=SECTION + hash_content(f"{key}\x00{seen[key]}")[:12],
            content=section.content,
            namespace=document.namespace,
            scope="project" if project else "user",
            project=project,
            tags=document.tags,
            source=f"{shown}:{section.line}",
            status=_STATUSES.get(document.status, "active"),
            trust=USER if trusted else FILE,
            created_at=document.date or modified,
            updated_at=document.date or modified,
        )
        yield jsonl.Row(memory, True, is_section=True)


class _Outcome:
    """The outcome of a chunk's rows, before anything of it is written."""

    __slots__ = ("changed", "new", "problems", "removed", "skipped", "unknown", "withheld")

    def __init__(self) -> None:
        self.new: dict[str, Memory] = {}
        self.changed: dict[str, Memory] = {}
        self.problems: list[Problem] = []
        self.removed: list[Removed] = []
        self.skipped = 0
        self.unknown: set[str] = set()
        self.withheld = 0


def _take(chunk: "list[tuple[str, jsonl.Row]]", store: Store | None, options: Options, report: Report) -> None:
    """Write one chunk. Another process may import the same rows: then they are looked at once more."""
    for attempt in range(ATTEMPTS):
        found = _compared(chunk, store, options)
        try:
            if store and not options.dry_run:
                store.add(found.new.values())
                store.update(found.changed.values())
        except UsageError:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        break
    report.added += len(found.new)
    report.set_aside += sum(memory.status in _STATUSES.values() for memory in found.new.values())
    for memory in (*found.new.values(), *found.changed.values()):
        if memory.status in _STATUSES.values() and memory.id.startswith(SECTION):
            report.hidden[_file_of(memory)] = (memory.content.partition("\n")[0].partition(" > ")[0], memory.status)
    report.owners.update(memory.project or memory.scope for memory in found.new.values())
    report.replaced += len(found.changed)
    report.skipped += found.skipped
    report.problems += found.problems
    report.removed = total([report.removed, *found.removed])
    report.unknown |= found.unknown
    report.withheld += found.withheld


def _compared(chunk: "list[tuple[str, jsonl.Row]]", store: Store | None, options: Options) -> _Outcome:
    existing = store.by_ids([row.memory.id for _, row in chunk if row.has_id]) if store else {}
    unseen = [(place, row) for place, row in chunk if row.is_section and row.memory.id not in existing]
    may_return = options.replace and not options.keeps_users
    forgotten = _forgotten(unseen, store) if store and unseen and not may_return else frozenset()
    room = store.room() if store else Room(used=0)
    found = _Outcome()
    hashes: set[tuple[str, str]] = set()
    for place, row in chunk:
        found.unknown.update(row.unknown)
        try:
            memory, gone, left_out = _held(row.memory)
            found.removed.append(gone)
            found.problems += [Problem(place, f"{error}; the rest of it is kept", is_entry=True) for error in left_out]
            before = found.new.get(memory.id) or found.changed.get(memory.id) or existing.get(memory.id)
            if before is None:
                if memory.id in forgotten or (not row.has_id and _is_known(memory, hashes, store)):
                    found.skipped += 1
                    continue
                room.take(memory, before)
                found.new[memory.id] = _as_stored(memory, options)
                found.withheld += row.is_withheld
            elif _is_same(before, memory, row, options):
                found.skipped += 1
            elif memory.id in found.new and (options.replace or row.is_section):
                room.take(memory, before)
                found.new[memory.id] = memory
            else:
                replacement = _replacement(before, memory, row, options)
                room.take(replacement, before)
                found.changed[memory.id] = _as_stored(replacement, options)
        except InvalidMemory as error:
            found.problems.append(Problem(place, str(error)))
    return found


def _forgotten(unseen: "list[tuple[str, jsonl.Row]]", store: Store) -> frozenset[str]:
    """Return the ids of those sections that the user has forgotten, though the store has none of these ids.

    It was purged, or has another place by now: a part of the document that was forgotten whole, or a file of another name.
    """
    sections = {row.memory.id: place for place, row in unseen}
    wholes = {id_: SECTION + hash_content(place.partition("#")[0])[:12] for id_, place in sections.items() if "#" in place}
    known = store.by_ids(list(wholes.values()))
    gone = store.purged_sections([*sections, *wholes.values()])
    gone |= {id_ for id_, memory in known.items() if memory.status == "deleted"}
    found = {id_ for id_ in sections if id_ in gone or wholes.get(id_) in gone}
    for _, row in unseen:
        if row.memory.id not in found:
            program = row.memory.source.partition(":")[0]
            same = store.forgotten_with(row.memory.content_hash)
            if any(other.source.partition(":")[0] == program for other in same):
                found.add(row.memory.id)
    return frozenset(found)


def _as_stored(memory: Memory, options: Options) -> Memory:
    """Return a memory with the status that it gets by who imports it."""
    return memory.replaced(status=PENDING) if options.waits and memory.status == "active" else memory


def _held(memory: Memory) -> tuple[Memory, Removed, list[InvalidMemory]]:
    """Return the memory as it can be stored, what was removed from it, and the faults of triggers and paths left out.

    Raises InvalidMemory for any other fault, and where the memory would come more often without them: at the start of each
    session, or wherever its conditions hold.
    """
    try:
        return (*cleaned(memory), [])
    except InvalidMemory:
        kept, faults = _without_faults(memory)
        is_wider = not (kept.triggers or kept.paths) and (memory.when or memory.is_pinnable)
        if not faults or is_wider:
            raise
        return (*cleaned(kept), faults)


def _without_faults(memory: Memory) -> tuple[Memory, list[InvalidMemory]]:
    """Return a memory without the triggers and paths that this version refuses, and the reasons.

    Those with a secret go unnamed.
    """
    faults: list[InvalidMemory] = []
    kept: dict[str, object] = {}
    for field, check in _PATTERNS.items():
        entries = []
        for entry in map(storable, getattr(memory, field)):
            try:
                if not redact(entry).removed:
                    check(entry)
                entries.append(entry)
            except InvalidMemory as error:
                faults.append(error)
        kept[field] = tuple(entries)
    return memory.replaced(**kept), faults


def _is_same(before: Memory, memory: Memory, row: jsonl.Row, options: Options) -> bool:
    """Return whether a row brings nothing new. A section that the user has forgotten or superseded stays so."""
    if before.status == PENDING:
        memory = _as_stored(memory, options)
    if memory.trust == FILE and not row.is_section and before.content_hash == memory.content_hash:
        return not _brings_cues(before, memory, options)  # a file's word takes nothing away from what is here
    if row.is_section and before.status == "active" and memory.status == PENDING:
        memory = memory.replaced(status="active")  # what the person has let through does not wait again
    if options.replace:
        return jsonl.dump(before) == jsonl.dump(_updated(before, memory) if row.is_section else memory)
    if not row.is_section:
        return before.content_hash == memory.content_hash and not _brings_cues(before, memory, options)
    if before.status == "deleted" or before.superseded_by is not None:
        return True
    return all(getattr(before, field) == getattr(memory, field) for field in _OF_THE_FILE) or (
        before.content_hash == memory.content_hash and not _is_untouched(before)
    )


def _brings_cues(before: Memory, memory: Memory, options: Options) -> bool:
    """Return whether the person now vouches for a file whose memory is here without its cues, and untouched."""
    if not options.trusted or before.trust != FILE or memory.trust != FILE:
        return False
    is_as_it_came = _is_untouched(before) or before.updated_at == memory.updated_at
    return is_as_it_came and any(getattr(before, field) != getattr(memory, field) for field in jsonl.PUSHING)


def _replacement(before: Memory, memory: Memory, row: jsonl.Row, options: Options) -> Memory:
    """Return what takes the place of `before`. Raises InvalidMemory unless --replace, or the file itself, allows it."""
    if options.keeps_users and before.trust == USER:
        raise InvalidMemory(f"{memory.id} is the person's own", "ask the person, then give --as-user")
    if options.keeps_users and (before.status == "deleted" or (before.status == PENDING and not options.waits)):
        raise InvalidMemory(f"{memory.id} waits for the person, or was forgotten", "ask the person, then give --as-user")
    if options.waits and before.status == "active":
        raise InvalidMemory(f"{memory.id} is another by now, and an agent imports it unasked", "the person imports it again")
    if not row.is_section:
        if options.replace or _brings_cues(before, memory, options):
            return memory
        raise InvalidMemory(f"the id {memory.id} is taken by another content", "use --replace to overwrite it")
    if options.keeps_users and not _is_untouched(before):
        raise InvalidMemory(f"{memory.id} was changed by the person", "ask the person, then give --as-user")
    if not options.replace and not _is_untouched(before):
        raise InvalidMemory(f"{memory.id} was edited since it was imported", "use --replace to take the file's text")
    return _updated(before, memory)


def _updated(before: Memory, section: Memory) -> Memory:
    """Return a section as its file has it now, with all that the user has added. Who vouched for a text has not for another."""
    fields = {
        field: getattr(section, field) for field in (*_OF_THE_FILE, "source", "created_at", "updated_at", "superseded_by")
    }
    after = before.replaced(**fields)
    if before.status == "active" and after.status == PENDING:
        after.status = "active"  # the person has let it through
    if section.trust == "user" or before.content_hash != section.content_hash:
        after.trust = section.trust
    if not after.is_pinnable:
        after.priority = min(after.priority, MAX_UNPINNED_PRIORITY)
    return after


def _is_untouched(section: Memory) -> bool:
    """Return whether a memory's text is still its file's: imports leave both times equal, and so does `adds_to_section`."""
    return section.updated_at == section.created_at


def adds_to_section(before: Memory, after: Memory) -> bool:
    """Return whether a change of a Markdown section leaves alone what its file says.

    As long as `updated_at` is not moved then, the file goes on to update it.
    """
    as_before = after.replaced(**{field: getattr(before, field) for field in _OF_THE_USER})
    return before.id.startswith(SECTION) and jsonl.dump(as_before) == jsonl.dump(before)


def _is_known(memory: Memory, hashes: set[tuple[str, str]], store: Store | None) -> bool:
    """Return whether the same audience has exactly this content already. Only rows without an id are asked."""
    key = (memory.content_hash, audience_of(memory.scope, memory.project))
    if key in hashes:
        return True
    hashes.add(key)
    same = store.by_hash(memory.content_hash) if store else []
    return any(audience_of(other.scope, other.project) == key[1] for other in same)
