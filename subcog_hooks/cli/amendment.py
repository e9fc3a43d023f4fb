"""Changes of stored memories: as a text in $EDITOR; made, replaced, forgotten and erased."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.duplicates import NearDuplicate, find_near_duplicates
from subcog_hooks.capture.import_changes import keeps_file_fields
from subcog_hooks.capture.jsonl import Removed, redact_memory
from subcog_hooks.cli.terminal import context, inputs
from subcog_hooks.cli.terminal.output import day, safe, terminal
from subcog_hooks.core import log
from subcog_hooks.core.errors import InvalidMemory, StoreError, SubcogError, UsageError
from subcog_hooks.core.files import create_private_file, make_private_folder
from subcog_hooks.core.paths import Home
from subcog_hooks.cues import condition_syntax
from subcog_hooks.store import index_writer, memory_checks
from subcog_hooks.store.memory import MAX_UNPINNED_PRIORITY, PERSON, Memory, now_ms
from subcog_hooks.store.memory_checks import next_change_date
from subcog_hooks.store.store import Store
from subcog_hooks.store.vector_store import VectorStore
from subcog_hooks.text.sanitise import cut

_HEADER = """\
# Fields above the dashes may be changed, the text is below them. An empty text changes nothing.
# Each trigger, path, condition and question has a line of its own: add lines, or take some away."""
_DASHES = "---"
MAX_SHOWN = 80  # characters of a changed value
_JOINED = ("tags", "keywords")  # Their entries share one line.
_STANDING = {"yes": True, "no": False, "": None}  # None: the memory's text decides.
# Each entry has its own line, as it may contain commas.
_REPEATED = {"trigger": "triggers", "path": "paths", "when": "when", "question": "questions"}


@contextmanager
def edit_in_editor(memory: Memory, origin: str = PERSON, *, keeps_status: bool = False) -> Iterator[dict[str, object]]:
    """Yield the fields that the person changes in $EDITOR. Raises UsageError, StoreError.

    The file lies in a folder of its own in the home, as editors put copies beside it. It is removed, except where the text that
    was written cannot be used: the error names its path. origin: the author of new questions; keeps_status: the status is left
    out of the text.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command and not terminal.interactive:
        raise UsageError("no editor is set, and no terminal is there", "give options, or set EDITOR")
    command = command or ("notepad" if os.name == "nt" else "vi")
    edits = context.home().edits
    fields = _shown_fields(memory)
    if keeps_status:
        del fields["status"]
    lines = [f"{name}: {line}" for name, shown in fields.items() for line in shown or [""]]
    make_private_folder(edits)
    with ExitStack() as cleanup:
        try:
            folder = tempfile.mkdtemp(prefix=f"{memory.id}-", dir=edits)
            cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
            path = os.path.join(folder, f"{memory.id}.md")
            create_private_file(path)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write("\n".join([_HEADER, *lines, _DASHES, memory.content]) + "\n")
        except OSError as error:
            hint = "check its permissions and the disk"
            raise UsageError(f"no file to edit can be made in {edits}: {error.strerror}", hint) from error
        try:
            done = subprocess.run([*_split_command(command, is_windows=os.name == "nt"), path], check=False)
            if done.returncode:
                raise UsageError(f"the editor ended with {done.returncode}", "nothing was changed")
            with open(path, "rb") as file_read:
                written = file_read.read()
        except (OSError, ValueError) as error:
            raise UsageError(f"the editor {command!r} failed: {error}", "set EDITOR") from error
        try:
            yield _read_changes(inputs.decode(written, "the edited text"), memory, fields, origin)
        except SubcogError as error:
            cleanup.pop_all()
            kept = f"nothing was changed; what you wrote is in {path}"
            raise type(error)(error.message, f"{error.hint}; {kept}" if error.hint else kept) from error


def _split_command(command: str, *, is_windows: bool) -> list[str]:
    """Return the words of a command line. Windows runs `code.cmd` only by its whole path.

    >>> _split_command(r'"C:\\Program Files\\Ed\\ed.exe" --wait', is_windows=True)
    ['C:\\\\Program Files\\\\Ed\\\\ed.exe', '--wait']
    """
    program, *arguments = shlex.split(command, posix=not is_windows)
    if is_windows:
        program, *arguments = (word.strip('"') for word in (program, *arguments))
    return [shutil.which(program) or program, *arguments]


def find_edit_folders(home: Home) -> list[str]:
    """Return the folders of texts that are being edited, or that a failed edit has left."""
    try:
        return [os.path.join(home.edits, name) for name in sorted(os.listdir(home.edits))]
    except OSError:
        return []


def describe_changes(before: Memory, after: Memory) -> list[str]:
    """Return a line for each field of a memory that an edit changed, with its old value; of a text with the new one alone."""
    old, new = (
        {
            **{name: "; ".join(lines) for name, lines in _shown_fields(memory).items()},
            "trust": memory.trust,
            "expires": "" if memory.expires_at is None else day(memory.expires_at),
        }
        for memory in (before, after)
    )
    lines = [f"{name}: {_shorten(new[name])} (before: {_shorten(old[name])})" for name in new if new[name] != old[name]]
    return lines + [f"text: {_shorten(after.content)}"] * (after.content != before.content)


def _shorten(text: str) -> str:
    return cut(safe(text), MAX_SHOWN) or "none"


def _shown_fields(memory: Memory) -> dict[str, list[str]]:
    """Return the lines of each field that can be edited: one line, or one for each entry of a field in `_REPEATED`."""
    standing = next(word for word, value in _STANDING.items() if value is memory.standing)
    fields: dict[str, Sequence[str]] = {
        "namespace": [memory.namespace],
        "status": [memory.status],
        "priority": [str(memory.priority)],
        "standing": [standing],
        **{name: [", ".join(getattr(memory, name))] for name in _JOINED},
        "trigger": memory.triggers,
        "path": memory.paths,
        "when": inputs.condition_texts(memory.when),
        "question": [question.text for question in memory.questions],
    }
    return {name: list(map(_one_line, lines)) for name, lines in fields.items()}


def _one_line(text: str) -> str:
    return text.strip() if text.isprintable() else " ".join(text.split())


def _read_changes(text: str, memory: Memory, before: Mapping[str, list[str]], origin: str) -> dict[str, object]:
    """Return the fields that a text changes. before: the lines of each field that the text began with."""
    if "\r\n" not in memory.content:
        text = text.replace("\r\n", "\n")  # The editor wrote line ends of its own.
    head, dashes, content = text.replace(f"\n{_DASHES}\r\n", f"\n{_DASHES}\n").partition(f"\n{_DASHES}\n")
    if not dashes:
        raise InvalidMemory("the line of dashes is gone")
    fields: dict[str, list[str]] = {name: [] for name in before}
    for line in head.split("\n"):
        if line.startswith("#") or not line.strip():
            continue
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or name not in fields:
            raise InvalidMemory(f"{name!r} is not a field that can be edited here")
        if name not in _REPEATED:
            fields[name] = [value]
        elif value:
            fields[name].append(value)
    changes = {
        _REPEATED.get(name, name): _parse_lines(name, lines, memory, origin)
        for name, lines in fields.items()
        if lines != before[name] and (lines or name in _REPEATED)  # Without its line, another field stays as it is.
    }
    if content.strip() and content.removesuffix("\n") not in (memory.content, memory.content.replace("\r\n", "\n")):
        changes["content"] = content.removesuffix("\n")
    return changes


def _parse_lines(name: str, lines: list[str], memory: Memory, origin: str) -> object:
    if name == "when":
        return condition_syntax.parse_conditions(lines)
    if name == "question":
        return memory_checks.questions_by(lines, origin, memory.questions)
    if name in _REPEATED:
        stored = {_one_line(entry): entry for entry in reversed(getattr(memory, _REPEATED[name]))}
        return tuple(dict.fromkeys(stored.get(line, line) for line in lines))  # An unchanged line is the stored entry.
    (text,) = lines
    if name == "priority":
        if not (text.isdecimal() and len(text) <= 3):
            raise InvalidMemory(f"priority is {text[:80]!r}", "expected a whole number, 0 to 100")
        return int(text)
    if name == "standing":
        if text not in _STANDING:
            raise InvalidMemory(f"standing is {text[:80]!r}", "expected yes, no, or nothing where its text is to tell")
        return _STANDING[text]
    return tuple(dict.fromkeys(filter(None, map(str.strip, text.split(","))))) if name in _JOINED else text


def _remove_folder(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(folder):
        raise StoreError(f"{folder} cannot be removed", "delete it")


def erase(store: Store, memories: Sequence[Memory]) -> None:
    """Erase memories from the store, its log, the index, the vectors and edited texts. Raises StoreError."""
    home, ids = store.home, [memory.id for memory in memories]
    store.purge(ids)
    with ExitStack() as cleanup:  # Each step runs even if another fails, the last one first.
        for folder in find_edit_folders(home):
            if os.path.basename(folder).rpartition("-")[0] in ids:
                cleanup.callback(_remove_folder, folder)
        cleanup.callback(store.overwrite_log)
        cleanup.callback(VectorStore.purge, home, [memory.seq for memory in memories])
        cleanup.callback(context.update_index_and_vectors, store)
        index_writer.rebuild_index(home, store, keep_predecessor=False)  # The old index still has the words.


def mark_forgotten(store: Store, memories: Sequence[Memory]) -> None:
    """Forget memories; their texts stay in the store. Raises StoreError."""
    store.modify([memory.id for memory in memories], lambda memory: memory.with_changes(status="deleted", updated_at=now_ms()))
    context.update_index_and_vectors(store)


def mark_superseded(store: Store, old: Memory, new: Memory) -> None:
    """Replace a memory by another, stored with it if it is new. Raises UsageError if the old one is forgotten or replaced."""
    added = [] if store.by_ids([new.id]) else [new]
    is_written = False
    while not is_written:
        since = store.revision()
        before = store.get(old.id)
        if before.status == "deleted":
            raise UsageError(f"{old.id} is forgotten, and stays so", f"to replace it: subcog edit {old.id} --status active")
        if before.status == "superseded" and before.superseded_by not in (None, new.id):
            raise UsageError(f"{old.id} is superseded by {before.superseded_by} already", "replace that one")
        after = before.with_changes(status="superseded", superseded_by=new.id, updated_at=now_ms())
        is_written = store.write_unless_changed(since, new=added, changed=[after])
    terminal.say(f"{old.id} is superseded by {new.id}")


def amend(before: Memory, change: Callable[[Memory], Memory], store: Store, removed: list[Removed]) -> Memory | None:
    """Store a changed memory and return it, None without an effect. removed: gets the removed secrets. Raises InvalidMemory."""
    return next((after for _, after in amend_all([before], change, store, removed)), None)


def amend_all(
    memories: Sequence[Memory], change: Callable[[Memory], Memory], store: Store, removed: list[Removed]
) -> list[tuple[Memory, Memory]]:
    """Change all of these memories or, after an error, none. Return each that the change affects, before and after."""

    def amend_stored(stored: Memory) -> Memory:
        amended, removal = redact_memory(change(stored), stored)
        removed.append(removal)
        if keeps_file_fields(stored, amended):
            return amended
        return amended.with_changes(updated_at=next_change_date(stored.updated_at))

    affected = []
    for memory in memories:
        after, unchanged = change(memory), jsonl.dump(memory)
        if jsonl.dump(after) != unchanged and jsonl.dump(redact_memory(after, memory)[0]) != unchanged:
            affected.append(memory)
    amended = store.modify([memory.id for memory in affected], amend_stored) if affected else []
    pairs = list(zip(affected, amended, strict=True))
    reworded = [after.id for before, after in pairs if after.content_hash != before.content_hash]
    try:
        with context.existing_state(context.home()) if reworded else nullcontext() as state:
            if state:  # Sessions that have had the old text get the new one.
                for id_ in reworded:  # Hand-overs are counted on; openings stay, since they teach.
                    state.run("UPDATE OR REPLACE ledger SET session = session || '/reworded' WHERE memory = ?", (id_,))
                    state.run("DELETE FROM pointers WHERE memory = ? AND opened_at IS NULL", (id_,))
    except StoreError as error:
        log.write_line(context.home(), f"sessions keep the old text of {', '.join(reworded)}: {error}")
    return pairs


def apply_edits(before: Memory, stored: Memory, edits: Mapping[str, object]) -> Memory:
    """Return a stored memory with the edits of its earlier version. Raises InvalidMemory, UsageError for edits meanwhile."""
    if any(getattr(stored, field) != getattr(before, field) for field in edits):
        raise UsageError(f"{stored.id} was changed since then, elsewhere", "edit it again")
    return apply_changes(stored, edits)


def apply_changes(memory: Memory, changes: Mapping[str, object]) -> Memory:
    """Return a memory with these changes. A memory that is no longer superseded loses its successor. Raises InvalidMemory."""
    if changes.get("status", "superseded") != "superseded":
        changes = {**changes, "superseded_by": None}
    after = memory.with_changes(**changes)
    if "priority" in changes and after.priority > MAX_UNPINNED_PRIORITY and not after.is_pinnable:
        raise InvalidMemory(
            f"priority is {after.priority} and trust is {after.trust}, which may have {MAX_UNPINNED_PRIORITY} at most",
            f"`subcog edit {memory.id} --priority {after.priority} --trust user` vouches for it",
        )
    return after


MAX_SIMILAR = 3  # memories in the remark to a person


def similar_to(memory: Memory, store: Store) -> list[NearDuplicate]:
    """Return the nearest active memories of the same audience; none where the index fails, which is printed."""
    try:
        return find_near_duplicates(memory, context.index_of(store), store)[:MAX_SIMILAR]
    except StoreError as error:
        terminal.say(f"similar memories were not checked ({error.message})")
        return []
