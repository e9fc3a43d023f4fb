"""The changes that an import makes to the store, and its report."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.jsonl import clean_content, redact_memory
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.store.memory import (
    ACTIVE,
    AGENT,
    FILE,
    IMPORTED,
    MAX_UNPINNED_PRIORITY,
    PENDING,
    SECTION_PREFIX,
    UNDATED,
    USER,
    Memory,
    hash_content,
    now_ms,
)
from subcog_hooks.store.project import Project, git_folders, parse_config, read_or_empty
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import audience_of

MAX_FIRST = 20  # memories that a report holds with their content


class ImportProblem(NamedTuple):
    """A line, section or file that is not imported."""

    location: str
    message: str


@dataclass(slots=True)
class ImportReport:
    """The plan of an import, and its result: the memories that it adds, changes, archives, leaves and refuses.

    lost: live memories that the imported part has no more; kept: the numbers of memories that stay, by folder that is empty or
    unreadable; files: the Markdown files that were read.

    The next four fields are of one chunk: memories by id, rows with the text of another live memory, and ids of sections that
    the user has forgotten.
    """

    lost: list[Memory] = field(default_factory=list)
    kept: Counter[str] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)

    new: dict[str, Memory] = field(default_factory=dict)
    changed: dict[str, Memory] = field(default_factory=dict)
    copies: list[tuple[str, jsonl.Row]] = field(default_factory=list)
    forgotten_ids: list[str] = field(default_factory=list)

    added: int = 0
    replaced: int = 0
    archived: int = 0
    skipped: int = 0
    set_aside: int = 0  # added memories that the file itself calls ended
    forgotten: int = 0  # memories of JSONL that stay forgotten
    withheld: int = 0  # added memories of files or teammates without their cues and questions
    removed: Counter[str] = field(default_factory=Counter)  # secrets and private spans by kind
    problems: list[ImportProblem] = field(default_factory=list)
    first: list[tuple[str, str]] = field(default_factory=list)  # location and content of the first new and changed memories
    remarks: list[str] = field(default_factory=list)  # on files that were read in another way than usual
    unknown: set[str] = field(default_factory=set)  # names of fields without a meaning

    def refuse(self, location: str, message: str) -> None:
        self.problems.append(ImportProblem(location, message))

    def include(self, chunk: Self) -> None:
        """Add the outcome of a chunk that was written."""
        for name in _COUNTED:
            total = getattr(self, name)
            total += getattr(chunk, name)
            setattr(self, name, total)
        for name in _UNITED:
            setattr(self, name, getattr(self, name) | getattr(chunk, name))
        del self.first[MAX_FIRST:]


_COUNTED = "added replaced archived skipped set_aside forgotten withheld kept removed problems first".split()
_UNITED = ("unknown",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The options of an import.

    project, root: the owner of Markdown files, and the folder from which they are named; names: all names of that project.
    lacks_files: files may be missing at `root` without being gone; other_roots: its other worktrees and clones. trusted:
    `--trust user`. is_repositorys: the project's repository holds the files, so they give texts about it alone. keeps_users:
    memories that the user wrote or vouched for stay. waits: an agent imports unasked, so changes wait. loaded: the real paths
    of files that the client loads by itself. first_commit_ms: the time of a file's first commit by its name from the root.
    """

    project: str | None = None
    root: str | None = None
    names: tuple[str, ...] = ()
    lacks_files: bool = False
    other_roots: tuple[str, ...] = ()
    trusted: bool = False
    is_repositorys: bool = False
    replace: bool = False
    dry_run: bool = False
    first_commit_ms: Callable[[str], int] = lambda _: UNDATED
    keeps_users: bool = False
    waits: bool = False
    loaded: frozenset[str] = frozenset()

    @property
    def may_return(self) -> bool:
        """Whether forgotten texts come back."""
        return self.replace and not self.keeps_users


def is_linked_worktree(here: Project) -> bool:
    """Return whether a project's root is not its repository's main worktree. A bare repository has none."""
    main = here.names[-1]
    return here.root != main and os.path.lexists(os.path.join(main, ".git"))


def may_lack_files(here: Project) -> bool:
    """Return whether files can be missing at a root without being gone: in a linked worktree or a sparse checkout."""
    files = [os.path.join(folder, name) for folder in git_folders(here.root) for name in ("config", "config.worktree")]
    sparse = ("core", "", "sparsecheckout", "true")
    return is_linked_worktree(here) or any(sparse in parse_config(read_or_empty(file)) for file in files)


# the status of a record -> the status of its memories
HIDDEN_STATUSES = {"superseded": "superseded", "deprecated": "archived", "rejected": "archived"}
_FILE_FIELDS = ("content", "namespace", "tags", "status")  # fields of a section that its file determines
_USER_FIELDS = ("keywords", "triggers", "paths", "when", "questions", "standing", "priority", "expires_at")
_COPIED_FIELDS = ("paths", "triggers", "when", "standing")
# Titles of rule files that several tools read. They say nothing about the text below.
_RULE_TITLES = ("AGENTS", "AGENTS.md", "CLAUDE", "CLAUDE.md", "GEMINI", "GEMINI.md", "copilot-instructions", ".cursorrules")


def plan_changes(chunk: list[tuple[str, jsonl.Row]], store: Store | None, options: ImportOptions) -> ImportReport:
    """Return the changes that a chunk of rows makes, before any is written."""
    existing = store.by_ids([row.memory.id for _, row in chunk if row.has_id]) if store else {}
    texts = {id_: memory.content_hash for id_, memory in existing.items()}
    unseen = [
        (location, row) for location, row in chunk if row.is_section and texts.get(row.memory.id) != row.memory.content_hash
    ]
    forgotten = _find_forgotten(unseen, store, options.names) if store and unseen and not options.may_return else frozenset()
    time_ms = now_ms()
    plan = ImportReport()
    written: dict[str, list[Memory]] = defaultdict(list)  # by the content's hash
    for location, row in sorted(chunk, key=lambda entry: entry[1].memory.id not in existing):
        plan.unknown.update(row.unknown)
        try:
            memory, removed = redact_memory(row.memory)
            plan.removed.update(dict(removed))
            before = plan.new.get(memory.id) or plan.changed.get(memory.id) or existing.get(memory.id)
            memory = _clamp_dates(memory, before, time_ms)
            if memory.id in forgotten:
                plan.skipped += 1
                plan.forgotten_ids.append(memory.id)
            elif before is None:
                if not row.has_id and _find_same(memory, {memory.content}, written, store):
                    plan.skipped += 1
                    continue
                if row.is_section and _is_copy(memory, written, store, options):
                    plan.copies.append((location, row))
                    continue
                plan.new[memory.id] = _with_import_status(memory, options)
                written[memory.content_hash].append(plan.new[memory.id])
                plan.withheld += row.is_withheld
            elif _changes_nothing(before, memory, row, options):
                is_deleted = before.status == "deleted" and memory.status != "deleted" and not row.is_section
                plan.forgotten += is_deleted
                plan.skipped += not is_deleted
            else:
                is_new = memory.id in plan.new
                if not (is_new and (options.replace or row.is_section)):
                    memory = _choose_replacement(before, memory, row, options)
                memory = _with_import_status(memory, options)
                written[before.content_hash] = [other for other in written[before.content_hash] if other.id != memory.id]
                written[memory.content_hash].append(memory)
                (plan.new if is_new else plan.changed)[memory.id] = memory
        except InvalidMemory as error:
            plan.refuse(location, str(error))
    locations = {row.memory.id: location for location, row in chunk}
    plan.added, plan.replaced = len(plan.new), len(plan.changed)
    plan.set_aside = sum(memory.status in HIDDEN_STATUSES.values() for memory in plan.new.values())
    plan.first = [(locations[memory.id], memory.content) for memory in (*plan.new.values(), *plan.changed.values())]
    return plan


def section_file(section: Memory) -> str:
    """Return the name of a section's file, as `importing.name_in_sources` writes it."""
    return section.source.rpartition(":")[0]


def _find_forgotten(unseen: list[tuple[str, jsonl.Row]], store: Store, names: Sequence[str]) -> frozenset[str]:
    """Return the sections that the user has forgotten: purged, as a whole document, or under another name of their file."""
    sections = {row.memory.id: location for location, row in unseen}
    files = {id_: location.partition("#")[0] for id_, location in sections.items() if "#" in location}
    wholes = {id_: SECTION_PREFIX + hash_content(file)[:12] for id_, file in files.items()}
    documents = store.by_ids(list(wholes.values()))
    forgotten_ids = store.purged_sections([*sections, *wholes.values()])
    forgotten_ids |= {id_ for id_, memory in documents.items() if memory.status == "deleted"}
    forgotten = {id_ for id_ in sections if id_ in forgotten_ids or wholes.get(id_) in forgotten_ids}
    deleted = [memory for memory in store.all(("deleted",)) if memory.id.startswith(SECTION_PREFIX)]

    def text_of(section: Memory) -> tuple[str | None, str]:
        owner = names[0] if section.project in names else section.project
        text = clean_content(section.content)
        return owner, text.partition("\n\n")[2] or text  # The heading can be the file's name.

    forgotten_texts = set(map(text_of, deleted))
    return frozenset(forgotten | {row.memory.id for _, row in unseen if text_of(row.memory) in forgotten_texts})


def _with_import_status(memory: Memory, options: ImportOptions) -> Memory:
    if options.keeps_users and memory.trust == IMPORTED:
        memory = memory.with_changes(trust=AGENT)
    return memory.with_changes(status=PENDING) if options.waits and memory.status == "active" else memory


def _clamp_dates(memory: Memory, before: Memory | None, time_ms: int) -> Memory:
    """Return the memory with today, or the date of its first import, in place of future dates."""
    if memory.written_at <= time_ms:
        return memory
    created = memory.created_at if memory.created_at <= time_ms else min(time_ms, before.created_at if before else time_ms)
    updated = created if is_untouched(memory) else min(time_ms, memory.updated_at)
    return memory.with_changes(created_at=created, updated_at=updated)


def _changes_nothing(before: Memory, memory: Memory, row: jsonl.Row, options: ImportOptions) -> bool:
    """Return whether a row changes nothing. A section that the user has forgotten or superseded stays so."""
    if before.status == PENDING:
        memory = _with_import_status(memory, options)
    if memory.trust == FILE and not (options.trusted or row.is_section) and before.content_hash == memory.content_hash:
        return True  # a file's line removes nothing from the stored memory
    if row.is_section and before.status == "active" and memory.status == PENDING:
        memory = memory.with_changes(status="active")  # an accepted section does not wait again
    if options.replace:
        return jsonl.dump(before) == jsonl.dump(_update_section(before, memory) if row.is_section else memory)
    if not row.is_section:
        return before.content_hash == memory.content_hash
    if stays_away(before):
        return True
    is_edited = before.content_hash == memory.content_hash and not is_untouched(before)
    return is_edited or all(getattr(before, name) == getattr(memory, name) for name in _FILE_FIELDS)


def _choose_replacement(before: Memory, memory: Memory, row: jsonl.Row, options: ImportOptions) -> Memory:
    is_edited = row.is_section and not is_untouched(before)
    is_decided = before.trust == USER or before.status == "deleted" or (before.status == PENDING and not options.waits)
    if options.keeps_users and (is_decided or is_edited):
        raise InvalidMemory(f"{memory.id} is the person's own, or was changed by them", "ask them, then give --as-user")
    if options.waits and before.status == "active":
        raise InvalidMemory(f"{memory.id} is another by now, and an agent imports it unasked", "the person imports it again")
    if is_edited and not options.replace:
        raise InvalidMemory(f"{memory.id} was edited since it was imported", "use --replace to take the file's text")
    if row.is_section:
        return _update_section(before, memory)
    if options.is_repositorys and before.project not in options.names:
        raise InvalidMemory(f"the id {memory.id} is taken in another project", "give the line another id")
    if not options.replace:
        raise InvalidMemory(f"the id {memory.id} is taken by another content", "use --replace to overwrite it")
    return memory


def _update_section(before: Memory, section: Memory) -> Memory:
    """Return a section with its file's text and the user's additions. Trust in the old text does not hold for a new one."""
    fields = {name: getattr(section, name) for name in (*_FILE_FIELDS, "source", "created_at", "updated_at", "superseded_by")}
    after = before.with_changes(**fields)
    is_another_text = before.content_hash != section.content_hash
    if before.status == "active" and after.status == PENDING and not is_another_text:
        after.status = "active"  # the acceptance holds for this text, not for the file's next one
    if section.trust == "user" or is_another_text:
        after.trust = section.trust
    if not after.is_pinnable:
        after.priority = min(after.priority, MAX_UNPINNED_PRIORITY)
    return after


def stays_away(section: Memory) -> bool:
    """Return whether no file brings a section back: the user has forgotten or superseded it."""
    return section.status == "deleted" or section.superseded_by is not None


def is_untouched(section: Memory) -> bool:
    """Return whether a memory's text is still its file's: imports and `keeps_file_fields` leave both times equal."""
    return section.updated_at == section.created_at


def keeps_file_fields(before: Memory, after: Memory) -> bool:
    """Return whether a change, such as accepting it, leaves a section's file fields alone: its file still updates it then."""
    names = (*_USER_FIELDS, "status") if (before.status, after.status) == (PENDING, ACTIVE) else _USER_FIELDS
    as_before = after.with_changes(**{name: getattr(before, name) for name in names})
    return before.id.startswith(SECTION_PREFIX) and jsonl.dump(as_before) == jsonl.dump(before)


def _is_copy(memory: Memory, written: Mapping[str, list[Memory]], store: Store | None, options: ImportOptions) -> bool:
    """Return whether a live memory says the same as a section, for its audience and with its cues."""
    live = ("active", PENDING) if options.waits else ("active",)
    return memory.status == "active" and any(
        other.id != memory.id
        and other.status in live
        and other.trust in (memory.trust, USER)
        and all(getattr(other, name) == getattr(memory, name) for name in _COPIED_FIELDS)
        for other in _find_same(memory, _texts_of_copies(memory.content), written, store)
    )


def _find_same(memory: Memory, texts: set[str], written: Mapping[str, list[Memory]], store: Store | None) -> list[Memory]:
    """Return the memories, stored or in `written`, that say one of these texts to the audience of `memory`."""
    hashes = [hash_content(text) for text in texts]
    others = [other for content_hash in hashes for other in written.get(content_hash, ())]
    others += [other for content_hash in hashes for other in (store.by_hash(content_hash) if store else ())]
    audience = audience_of(memory.scope, memory.project)
    return [other for other in others if audience_of(other.scope, other.project) == audience]


def _texts_of_copies(content: str) -> set[str]:
    """Return the texts of copies of a section, also in other tools' rule files.

    >>> "CLAUDE > Build\\n\\nRun make." in _texts_of_copies("AGENTS > Build\\n\\nRun make.")
    True
    """
    title, below = re.split(r"(?= > |\n|\Z)", content, maxsplit=1)
    return {other + below for other in (_RULE_TITLES if title in _RULE_TITLES else (title,))}
