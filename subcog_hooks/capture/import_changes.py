"""The changes that an import makes to the store, and its report."""

from __future__ import annotations

from collections import Counter

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.compose import Removed, cleaned, storable
from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.cues import globs, triggers
from subcog_hooks.redaction.redact import redact
from subcog_hooks.store.cue_tables import Room
from subcog_hooks.store.memory import FILE, MAX_UNPINNED_PRIORITY, PENDING, SECTION_PREFIX, USER, Memory, hash_content, now_ms
from subcog_hooks.store.store import Store, audience_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subcog_hooks.capture.compose import Removed


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
        self.withheld = 0  # of the added: a file's or a colleague's word, whose cues and questions were left out


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


_OF_THE_FILE = ("content", "namespace", "tags", "status")  # fields of a section that its file determines
_OF_THE_USER = (  # and those of which it says nothing
    *("keywords", "triggers", "paths", "when", "questions", "standing", "priority", "expires_at"),
)
_PATTERNS = {"triggers": triggers.check, "paths": globs.check}


class Changes:
    """The changes that a chunk's rows ask for, before anything of it is written."""

    __slots__ = ("changed", "new", "problems", "removed", "skipped", "unknown", "withheld")

    def __init__(self) -> None:
        self.new: dict[str, Memory] = {}
        self.changed: dict[str, Memory] = {}
        self.problems: list[Problem] = []
        self.removed: list[Removed] = []
        self.skipped = 0
        self.unknown: set[str] = set()
        self.withheld = 0


def changes_by(chunk: list[tuple[str, jsonl.Row]], store: Store | None, options: Options) -> Changes:
    existing = store.by_ids([row.memory.id for _, row in chunk if row.has_id]) if store else {}
    unseen = [(place, row) for place, row in chunk if row.is_section and row.memory.id not in existing]
    may_return = options.replace and not options.keeps_users
    forgotten = _forgotten(unseen, store) if store and unseen and not may_return else frozenset()
    room = store.trigger_room() if store else Room(used=0)
    now = now_ms()
    found = Changes()
    hashes: set[tuple[str, str]] = set()
    for place, row in chunk:
        found.unknown.update(row.unknown)
        try:
            memory, gone, left_out = _held(row.memory)
            found.removed.append(gone)
            found.problems += [Problem(place, f"{error}; the rest of it is kept", is_entry=True) for error in left_out]
            before = found.new.get(memory.id) or found.changed.get(memory.id) or existing.get(memory.id)
            memory = _clamp_dates(memory, before, now)
            if before is None:
                if memory.id in forgotten or (not row.has_id and _is_known(memory, hashes, store)):
                    found.skipped += 1
                    continue
                room.reserve(memory, before)
                found.new[memory.id] = _as_stored(memory, options)
                found.withheld += row.is_withheld
            elif _is_same(before, memory, row, options):
                found.skipped += 1
            elif memory.id in found.new and (options.replace or row.is_section):
                room.reserve(memory, before)
                found.new[memory.id] = memory
            else:
                replacement = _replacement(before, memory, row, options)
                room.reserve(replacement, before)
                found.changed[memory.id] = _as_stored(replacement, options)
        except InvalidMemory as error:
            found.problems.append(Problem(place, str(error)))
    return found


def _forgotten(unseen: list[tuple[str, jsonl.Row]], store: Store) -> frozenset[str]:
    """Return the ids of those sections that the user has forgotten, though the store has none of these ids.

    It was purged, or has another place by now: a part of the document that was forgotten whole, or a file of another name.
    """
    sections = {row.memory.id: place for place, row in unseen}
    wholes = {
        id_: SECTION_PREFIX + hash_content(place.partition("#")[0])[:12] for id_, place in sections.items() if "#" in place
    }
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
    return memory.with_changes(status=PENDING) if options.waits and memory.status == "active" else memory


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


def _clamp_dates(memory: Memory, before: Memory | None, now: int) -> Memory:
    """Return the memory with today in place of dates that lie ahead, or the date on which it came before."""
    if max(memory.created_at, memory.updated_at) <= now:
        return memory
    created = memory.created_at if memory.created_at <= now else min(now, before.created_at if before else now)
    updated = created if is_untouched(memory) else min(now, memory.updated_at)
    return memory.with_changes(created_at=created, updated_at=updated)


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
    return memory.with_changes(**kept), faults


def _is_same(before: Memory, memory: Memory, row: jsonl.Row, options: Options) -> bool:
    """Return whether a row brings nothing new. A section that the user has forgotten or superseded stays so."""
    if before.status == PENDING:
        memory = _as_stored(memory, options)
    if memory.trust == FILE and not row.is_section and before.content_hash == memory.content_hash:
        return not _brings_cues(before, memory, options)  # a file's word takes nothing away from what is here
    if row.is_section and before.status == "active" and memory.status == PENDING:
        memory = memory.with_changes(status="active")  # what the person has let through does not wait again
    if options.replace:
        return jsonl.dump(before) == jsonl.dump(_updated(before, memory) if row.is_section else memory)
    if not row.is_section:
        return before.content_hash == memory.content_hash and not _brings_cues(before, memory, options)
    if before.status == "deleted" or before.superseded_by is not None:
        return True
    return all(getattr(before, field) == getattr(memory, field) for field in _OF_THE_FILE) or (
        before.content_hash == memory.content_hash and not is_untouched(before)
    )


def _brings_cues(before: Memory, memory: Memory, options: Options) -> bool:
    """Return whether the person now vouches for a file whose memory is here without its cues, and untouched."""
    if not options.trusted or before.trust != FILE or memory.trust != FILE:
        return False
    is_as_it_came = is_untouched(before) or before.updated_at == memory.updated_at
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
    if options.keeps_users and not is_untouched(before):
        raise InvalidMemory(f"{memory.id} was changed by the person", "ask the person, then give --as-user")
    if not options.replace and not is_untouched(before):
        raise InvalidMemory(f"{memory.id} was edited since it was imported", "use --replace to take the file's text")
    return _updated(before, memory)


def _updated(before: Memory, section: Memory) -> Memory:
    """Return a section as its file has it now, with all that the user has added. Who vouched for a text has not for another."""
    fields = {
        field: getattr(section, field) for field in (*_OF_THE_FILE, "source", "created_at", "updated_at", "superseded_by")
    }
    after = before.with_changes(**fields)
    is_another_text = before.content_hash != section.content_hash
    if before.status == "active" and after.status == PENDING and not (is_another_text and section.trust == FILE):
        after.status = "active"  # the person has let it through, if not for whatever a repository's file says next
    if section.trust == "user" or is_another_text:
        after.trust = section.trust
    if not after.is_pinnable:
        after.priority = min(after.priority, MAX_UNPINNED_PRIORITY)
    return after


def is_untouched(section: Memory) -> bool:
    """Return whether a memory's text is still its file's: imports leave both times equal, and so does `adds_to_section`."""
    return section.updated_at == section.created_at


def adds_to_section(before: Memory, after: Memory) -> bool:
    """Return whether a change of a Markdown section leaves alone what its file says.

    As long as `updated_at` is not moved then, the file goes on to update it.
    """
    as_before = after.with_changes(**{field: getattr(before, field) for field in _OF_THE_USER})
    return before.id.startswith(SECTION_PREFIX) and jsonl.dump(as_before) == jsonl.dump(before)


def _is_known(memory: Memory, hashes: set[tuple[str, str]], store: Store | None) -> bool:
    """Return whether the same audience has exactly this content already. Only rows without an id are asked."""
    key = (memory.content_hash, audience_of(memory.scope, memory.project))
    if key in hashes:
        return True
    hashes.add(key)
    same = store.by_hash(memory.content_hash) if store else []
    return any(audience_of(other.scope, other.project) == key[1] for other in same)
