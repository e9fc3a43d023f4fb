"""`subcog edit`, `forget` and `supersede`: changing memories that are there."""

import os
import shlex
import subprocess
import tempfile
from typing import Annotated

import typer

from subcog_hooks.capture import jsonl
from subcog_hooks.capture.compose import cleaned
from subcog_hooks.capture.redact import describe
from subcog_hooks.cli import session
from subcog_hooks.cli.output import safe, terminal
from subcog_hooks.cli.remember import expiry
from subcog_hooks.errors import InvalidMemory, UsageError
from subcog_hooks.memory.model import STATUSES, Memory, now_ms

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
    priority: Annotated[int | None, typer.Option("--priority", min=0, max=100, help="The new priority.")] = None,
    expires: Annotated[str | None, typer.Option("--expires", help="A date, days such as 30d, or never.")] = None,
) -> None:
    """Change a memory: in $EDITOR, or by the options alone.

    Example: subcog edit 01hx3k --tag auth --tag spa
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
                ("priority", priority),
            )
            if value is not None
        }
        if expires:
            changes["expires_at"] = None if expires == "never" else expiry(expires, now_ms())
        after = before.replaced(**changes) if changes else _in_editor(before)
        after, removed = cleaned(after)
        if jsonl.dump(after) == jsonl.dump(before):
            terminal.say("nothing changed")
            return
        store.update([after.replaced(updated_at=max(now_ms(), before.updated_at + 1))])
        session.follow(store)
    if removed:
        terminal.say(describe(removed))
    terminal.result(after.id)


def forget(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The ids, or beginnings of them.")],
    purge: Annotated[bool, typer.Option("--purge", help="Overwrite the text on disk too: it can not be brought back.")] = False,
) -> None:
    """Forget memories. Without --purge, `subcog edit ID --status active` brings one back.

    Example: subcog forget 01hx3k 01hx4m
    """
    with session.writing() as store:
        memories = [session.find(store, id_) for id_ in ids]
        if purge:
            store.purge([memory.id for memory in memories])
        else:
            now = now_ms()
            store.update([memory.replaced(status="deleted", updated_at=max(now, memory.updated_at)) for memory in memories])
        session.follow(store)
    for memory in memories:
        terminal.say(f"{'purged' if purge else 'forgotten'}: {memory.id} {safe(memory.content)[:80]}")


def supersede(
    old: Annotated[str, typer.Argument(help="The id of the memory that no longer holds.")],
    new: Annotated[str, typer.Argument(help="The id of the memory that takes its place.")],
) -> None:
    """Mark one memory as superseded by another: it stays in the store and is no longer handed over.

    Example: subcog supersede 01hx3k 01hx4m
    """
    with session.writing() as store:
        before, after = session.find(store, old), session.find(store, new)
        if before.id == after.id:
            raise UsageError(f"{before.id} can not supersede itself", "give two ids")
        if after.superseded_by == before.id:
            raise UsageError(f"{after.id} is itself superseded by {before.id}", "swap them, or edit the status first")
        store.update(
            [before.replaced(status="superseded", superseded_by=after.id, updated_at=max(now_ms(), before.updated_at))]
        )
        session.follow(store)
    terminal.say(f"{before.id} is superseded by {after.id}")


def _in_editor(memory: Memory) -> Memory:
    """The memory as the user left it in $EDITOR. Raises UsageError when the editor fails."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if os.name == "nt" else "vi")
    descriptor, path = tempfile.mkstemp(prefix=f"subcog-{memory.id}-", suffix=".md")  # mode 0600
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(_written(memory))
        try:
            done = subprocess.run([*shlex.split(command, posix=os.name != "nt"), path], check=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"the editor {command!r} can not be started: {error}", "set EDITOR") from error
        if done.returncode:
            raise UsageError(f"the editor ended with {done.returncode}", "nothing was changed")
        with open(path, encoding="utf-8", errors="replace") as file:
            return _read(file.read(), memory)
    finally:
        os.unlink(path)


def _written(memory: Memory) -> str:
    lines = [_HEADER, f"namespace: {memory.namespace}", f"status: {memory.status}", f"priority: {memory.priority}"]
    lines += [f"{name}: {', '.join(getattr(memory, name))}" for name in ("tags", "keywords")]
    return "\n".join([*lines, _DASHES, memory.content]) + "\n"


def _read(text: str, memory: Memory) -> Memory:
    head, dashes, content = text.partition(f"\n{_DASHES}\n")
    if not dashes:
        raise InvalidMemory("the line of dashes is gone", "nothing was changed; edit it again")
    changes: dict[str, object] = {}
    for line in head.splitlines():
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if line.startswith("#") or not line.strip():
            continue
        if not colon or name not in ("namespace", "status", "priority", "tags", "keywords"):
            raise InvalidMemory(f"{name!r} is not a field that can be edited here", "nothing was changed; edit it again")
        if name == "priority":
            if not value.isdecimal():
                raise InvalidMemory(f"priority is {value!r}", "expected 0 to 100; nothing was changed")
            changes[name] = int(value)
        elif name in ("tags", "keywords"):
            changes[name] = tuple(dict.fromkeys(entry.strip() for entry in value.split(",") if entry.strip()))
        else:
            changes[name] = value
    if not content.strip():
        return memory
    stripped = content.removesuffix("\n")
    if stripped != memory.content:
        changes["content"] = stripped
    return memory.replaced(**changes)
