"""`subcog promote` and `demote`: a memory of one project for all of them, and back."""

from collections.abc import Mapping
from typing import Annotated

import typer

from subcog_hooks.cli.support import author, completion, embedding, ownership, session
from subcog_hooks.cli.support.amendment import amend, changed
from subcog_hooks.cli.support.output import safe, terminal
from subcog_hooks.cli.support.similar import similar_to
from subcog_hooks.memory.model import Memory
from subcog_hooks.memory.store import Store

FOR_ALL: Mapping[str, object] = {"scope": "user", "project": None, "branch": None}

_Ids = Annotated[
    list[str],
    typer.Argument(metavar="ID...", help="The ids of the memories, or their beginnings.", autocompletion=completion.ids),
]
_AsUser = Annotated[bool, typer.Option("--as-user", help=author.AS_USER_HELP)]


def register(app: typer.Typer) -> None:
    app.command()(promote)
    app.command()(demote)


def promote(ids: _Ids, as_user: _AsUser = False) -> None:
    """Move memories of a project to you: from now on they count in all your projects. An agent needs --as-user for
    the person's own memories.

    Example: subcog promote 1m7x59
    """
    _move(ids, FOR_ALL, as_user=as_user)


def demote(
    ids: _Ids,
    project: Annotated[
        str,
        typer.Option(
            "--project",
            metavar="NAME",
            help="The project; without it, this folder's.",
            autocompletion=completion.projects,
        ),
    ] = ownership.HERE,
    as_user: _AsUser = False,
) -> None:
    """Move memories to one project: from now on they count nowhere else. An agent needs --as-user
    for the person's own memories.

    Example: subcog demote 1m7x59 --project github.com/acme/shop
    """
    _move(ids, ownership.of_project(project), as_user=as_user)


def _move(ids: list[str], owner: Mapping[str, object], *, as_user: bool) -> None:
    with session.writing() as store:
        memories = list({memory.id: memory for memory in (session.find(store, id_) for id_ in ids)}.values())
        author.require_consent(memories, as_user=as_user)
        for memory in memories:
            author.require_say(memory, as_user=as_user)
        moved = [after for before in memories if (after := amend(before, lambda stored: changed(stored, owner), store, []))]
        if moved:
            session.follow(store)
        for memory in memories:
            if not any(after.id == memory.id for after in moved):
                terminal.say(f"{memory.id} is there already")
        for memory in moved:
            where = safe(memory.project) if memory.project else "all your projects"
            terminal.result(f"{memory.id} is for {where} now: {safe(memory.content)[:80]}")
            _tell_what_follows(memory, store)
    if moved:
        embedding.afterwards()


def _tell_what_follows(memory: Memory, store: Store) -> None:
    """Say what comes with the move: globs that now mean files elsewhere, and what is nearly there already."""
    if memory.paths and memory.project is None:
        terminal.say(f"it still comes at {', '.join(map(safe, memory.paths))}, now in every project")
    for one in similar_to(memory, store):
        terminal.say(f"there already, {one.likeness}: {one.memory.id} {safe(one.memory.content)[:80]}")
