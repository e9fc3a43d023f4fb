"""`subcog edit`, `forget` and `supersede`: changing memories that are there."""

import os
import shlex
import subprocess
import tempfile
from contextlib import ExitStack
from typing import Annotated

import typer

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.compose import Removed, cleaned, total
from subcog_hooks.capture.redact import describe
from subcog_hooks.cli import embedding, session
from subcog_hooks.cli.output import safe, terminal
from subcog_hooks.cli.remember import expiry
from subcog_hooks.errors import InvalidMemory, SubcogError, UsageError
from subcog_hooks.memory import sync
from subcog_hooks.memory.model import STATUSES, Memory, now_ms
from subcog_hooks.memory.project import identity_of
from subcog_hooks.memory.store import Store
from subcog_hooks.memory.vectors import VectorStore

_HEADER = "# Fields above the dashes may be changed, the text is below them. An empty text changes nothing."
_DASHES = "---"


def register(app: typer.Typer) -> None:
    app.command()(edit)
    app.command()(forget)
    app.command()(supersede)


def edit(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The id, or the beginning of one.")],
    content: Annotated[str | None, typer.Option("--content", help="The new text, instead of opening $EDITOR.")] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", "-s", help="The new namespace.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="The new tags, in place of all old ones.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="The new status: " + ", ".join(STATUSES) + ".")] = None,
    project: Annotated[
        str | None, typer.Option("--project", help="Move it to this project; `here` is the one at hand.")
    ] = None,
    user: Annotated[bool, typer.Option("--user", help="Move it to all your projects.")] = False,
    expires: Annotated[str | None, typer.Option("--expires", help="A date, days such as 30d, or never.")] = None,
) -> None:
    """Change a memory: in $EDITOR, or by the options alone.

    Example: subcog edit 1m7x59 --tag auth --tag spa
    """
    with session.writing() as store:
        before = session.find(store, id_)
        changes: dict[str, object] = {
            name: value
            for name, value in (
                ("content", content),
                ("namespace", namespace),
                ("tags", tuple(tag) if tag is not None else None),
                ("status", status),
            )
            if value is not None
        }
        if project or user:
            changes |= _owner(project, user=user)
        if expires:
            changes["expires_at"] = None if expires == "never" else expiry(expires, now_ms())
        removed: list[Removed] = []
        if changes:
            after = _apply(before, changes, store, removed)
        else:
            with _Editor(before) as edited:
                after = _apply(before, edited, store, removed)
        if after is None:
            terminal.say("nothing changed")
            return
        session.follow(store)
    if total(removed):
        terminal.say(describe(total(removed)))
    terminal.result(after.id)
    embedding.afterwards()


def _apply(before: Memory, changes: dict[str, object], store: Store, removed: list[Removed]) -> Memory | None:
    """The memory after the changes, which are made to it as it is by now; None when they change nothing."""

    def change(stored: Memory) -> Memory:
        after, gone = cleaned(_changed(stored, changes))
        removed.append(gone)
        return after.replaced(updated_at=max(now_ms(), stored.updated_at + 1))

    if not changes or jsonl.dump(cleaned(_changed(before, changes))[0]) == jsonl.dump(before):
        return None
    return store.modify([before.id], change)[0]


def _changed(memory: Memory, changes: dict[str, object]) -> Memory:
    """A memory with these changes; one that is no longer superseded forgets by what."""
    if changes.get("status", "superseded") != "superseded":
        changes = {**changes, "superseded_by": None}
    return memory.replaced(**changes)


def _owner(project: str | None, *, user: bool) -> dict[str, object]:
    if user:
        if project:
            raise UsageError("--user and --project exclude each other", "give one of them")
        return {"scope": "user", "project": None}
    at = session.here() if project == "here" else None
    if project == "here" and at is None:
        raise UsageError("this folder is in no project", "name the project, or go there")
    return {"scope": "project", "project": at.identity if at else identity_of(project or "")}


def forget(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The ids, or beginnings of them.")],
    purge: Annotated[bool, typer.Option("--purge", help="Overwrite the text on disk too: it can not be brought back.")] = False,
) -> None:
    """Forget memories. Without --purge, `subcog edit ID --status active` brings one back.

    Example: subcog forget 1m7x59 1m7x60
    """
    with session.writing() as store:
        memories = list({memory.id: memory for memory in (session.find(store, id_) for id_ in ids)}.values())
        if purge:
            store.purge([memory.id for memory in memories])
            with ExitStack() as then:  # from the last to the first, each whatever becomes of the others
                then.callback(store.overwrite_log)
                then.callback(VectorStore.purge, session.home(), [memory.seq for memory in memories])
                then.callback(session.follow, store)
                sync.rebuild(session.home(), store, keep_predecessor=False)  # the old index still has the words
        else:
            store.modify(
                [memory.id for memory in memories], lambda memory: memory.replaced(status="deleted", updated_at=now_ms())
            )
            session.follow(store)
    for memory in memories:
        terminal.say(f"{'purged' if purge else 'forgotten'}: {memory.id} {safe(memory.content)[:80]}")


def supersede(
    old: Annotated[str, typer.Argument(help="The id of the memory that no longer holds.")],
    new: Annotated[str, typer.Argument(help="The id of the memory that takes its place.")],
) -> None:
    """Mark one memory as superseded by another: it stays in the store and is no longer handed over.

    Example: subcog supersede 1m7x59 1m7x60
    """
    with session.writing() as store:
        before, after = session.find(store, old), session.find(store, new)
        if before.id == after.id:
            raise UsageError(f"{before.id} can not supersede itself", "give two ids")
        if after.superseded_by == before.id and after.status == "superseded":
            raise UsageError(f"{after.id} is itself superseded by {before.id}", "swap them, or edit the status first")
        store.modify(
            [before.id], lambda memory: memory.replaced(status="superseded", superseded_by=after.id, updated_at=now_ms())
        )
        session.follow(store)
    terminal.say(f"{before.id} is superseded by {after.id}")
    embedding.afterwards()


class _Editor:
    """$EDITOR on a memory; entered, it gives what the user changed, by field.

    The file is removed when all went well; when anything failed, the user is told where it is. Raises UsageError.
    """

    __slots__ = ("_memory", "_path")

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        try:
            descriptor, self._path = tempfile.mkstemp(prefix=f"subcog-{memory.id}-", suffix=".md")  # mode 0600
            with open(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(_written(memory))
        except OSError as error:
            raise UsageError(
                f"no file to edit can be made: {error.strerror}", "set TMPDIR to a folder that can be written"
            ) from error

    def __enter__(self) -> dict[str, object]:
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
        try:
            done = subprocess.run([*shlex.split(command, posix=os.name != "nt"), self._path], check=False)
            if done.returncode:
                raise UsageError(f"the editor ended with {done.returncode}", "nothing was changed")
        except (OSError, ValueError) as error:
            os.unlink(self._path)
            raise UsageError(f"the editor {command!r} can not be started: {error}", "set EDITOR") from error
        except BaseException:
            os.unlink(self._path)
            raise
        try:
            with open(self._path, encoding="utf-8-sig", newline="") as file:
                return _read(file.read(), self._memory)
        except UnicodeDecodeError as error:
            raise InvalidMemory(f"the editor has not written UTF-8 at byte {error.start}", self._kept) from error
        except InvalidMemory as error:
            raise InvalidMemory(error.message, self._kept) from error

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SubcogError):
            raise type(error)(error.message, self._kept) from error
        os.unlink(self._path)

    @property
    def _kept(self) -> str:
        return f"nothing was changed; what you wrote is in {self._path}"


def _fields(memory: Memory) -> dict[str, str]:
    """The fields above the dashes, as they are written there."""
    lists = {name: ", ".join(" ".join(entry.split()) for entry in getattr(memory, name)) for name in ("tags", "keywords")}
    return {"namespace": memory.namespace, "status": memory.status, **lists}


def _written(memory: Memory) -> str:
    fields = [f"{name}: {value}" for name, value in _fields(memory).items()]
    return "\n".join([_HEADER, *fields, _DASHES, memory.content]) + "\n"


def _read(text: str, memory: Memory) -> dict[str, object]:
    """The fields that differ from what was written. Raises InvalidMemory."""
    if "\r\n" not in memory.content:
        text = text.replace("\r\n", "\n")  # the editor's own line ends
    head, dashes, content = text.replace(f"\n{_DASHES}\r\n", f"\n{_DASHES}\n").partition(f"\n{_DASHES}\n")
    if not dashes:
        raise InvalidMemory("the line of dashes is gone")
    before = _fields(memory)
    changes: dict[str, object] = {}
    for line in head.splitlines():
        name, colon, value = (part.strip() for part in line.partition(":"))
        if line.startswith("#") or not line.strip():
            continue
        if not colon or name not in before:
            raise InvalidMemory(f"{name!r} is not a field that can be edited here")
        if value == before[name]:
            continue
        is_list = name in ("tags", "keywords")
        changes[name] = tuple(dict.fromkeys(filter(None, map(str.strip, value.split(","))))) if is_list else value
    if content.strip() and content.removesuffix("\n") not in (memory.content, memory.content.replace("\r\n", "\n")):
        changes["content"] = content.removesuffix("\n")
    return changes
