"""`subcog edit`, `forget`, `supersede`, `promote` and `demote`."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Annotated

import typer
from typer import Argument, Option

from subcog_hooks.capture.compose import Removed, sum_removed
from subcog_hooks.cli import state
from subcog_hooks.cli.remember import read_expiry
from subcog_hooks.cli.support import author, completion, condition_inputs, context, embedding, stopping
from subcog_hooks.cli.support.amendment import amend, apply_changes, erase, similar_to
from subcog_hooks.cli.support.editor import Editor
from subcog_hooks.cli.support.output import pluralize, safe, terminal
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, UsageError
from subcog_hooks.redaction.redact import describe_removed
from subcog_hooks.share.server_schema import KEPT_OWN_PREFIX, LOST_PREFIX
from subcog_hooks.store import questions
from subcog_hooks.store.memory import AGENT, PENDING, STATUSES, Memory, now_ms
from subcog_hooks.store.store import Store

MAX_VERSIONS = 100_000  # versions of other memories that are searched
ALL_PROJECTS: Mapping[str, object] = {"scope": "user", "project": None, "branch": None}

_Ids = Annotated[
    list[str], Argument(metavar="ID...", help="The ids of the memories, or their beginnings.", autocompletion=completion.ids)
]
_AsUser = Annotated[bool, Option("--as-user", help=author.AS_USER_HELP)]


def edit(
    id_: Annotated[str, Argument(metavar="ID", help="The id of the memory, or its beginning.", autocompletion=completion.ids)],
    content: Annotated[str | None, Option("--content", metavar="TEXT", help="The new text.")] = None,
    namespace: Annotated[
        str | None, Option("--namespace", "-s", metavar="NAME", help="The new namespace.", autocompletion=completion.namespaces)
    ] = None,
    tag: Annotated[
        list[str] | None,
        Option(
            "--tag",
            "-t",
            metavar="TAG",
            help="A tag, given several times for several. They replace all old tags; '' removes them.",
            autocompletion=completion.tags,
        ),
    ] = None,
    keyword: Annotated[
        list[str] | None, Option("--keyword", metavar="WORD", help="A keyword. They replace all old ones, as with --tag.")
    ] = None,
    trigger: Annotated[
        list[str] | None, Option("--trigger", metavar="REGEX", help="A trigger. They replace all old ones, as with --tag.")
    ] = None,
    path: Annotated[
        list[str] | None, Option("--path", metavar="GLOB", help="A glob of files. They replace all old ones, as with --tag.")
    ] = None,
    question: Annotated[
        list[str] | None,
        Option("--question", metavar="TEXT", help="A question that it answers. They replace all old ones, as with --tag."),
    ] = None,
    no_questions: Annotated[bool, Option("--no-questions", help="Take all of its questions away.")] = False,
    when: Annotated[
        list[str] | None, Option("--when", metavar="CONDITION", help="A condition. They replace all old ones, as with --tag.")
    ] = None,
    standing: Annotated[
        bool | None, Option("--standing/--no-standing", help="Say that it holds in every session, or that it does not.")
    ] = None,
    priority: Annotated[int | None, Option("--priority", metavar="NUMBER", min=0, max=100, help="The new priority.")] = None,
    trust: Annotated[
        str | None,
        Option("--trust", metavar="user", help="Vouch for it yourself, so that it may have a priority of 90 or more."),
    ] = None,
    status: Annotated[
        str | None,
        Option(
            "--status",
            metavar="STATUS",
            help="The new status: " + ", ".join(STATUSES) + ".",
            autocompletion=completion.statuses,
        ),
    ] = None,
    project: Annotated[
        str | None,
        Option(
            "--project",
            metavar="NAME",
            help="Move it to this project; `here` is the project of this folder.",
            autocompletion=completion.projects,
        ),
    ] = None,
    user: Annotated[bool, Option("--user", help="Make it count in all your projects.")] = False,
    expires: Annotated[
        str | None, Option("--expires", metavar="DATE", help="Forget it on this date, after days such as 30d, or never.")
    ] = None,
    no_stop: Annotated[
        bool, Option("--no-stop", help="Let it stop no command any more (`remember --ask-before`, `--deny`).")
    ] = False,
    as_user: _AsUser = False,
) -> None:
    """Change a memory: by the options given, or in $EDITOR when there are none. An agent needs --as-user for
    the person's own memories.

    Example: subcog edit 1m7x59 --tag auth --tag spa
    """
    if trust not in (None, "user"):
        raise UsageError(f"--trust is {trust!r}", "expected user")
    if trust and author.is_agent() and not as_user:
        raise author.needs_consent("--trust user says that the person vouches for it")
    if question is not None and no_questions:
        raise UsageError("--question and --no-questions exclude each other", "give one of them")
    with context.writing() as store:
        before = context.find_memory(store, id_)
        author.require_consent([before], as_user=as_user, status=status)
        author.require_storing_rights(before, as_user=as_user)
        changes: dict[str, object] = {
            name: value
            for name, value in (
                ("content", content),
                ("namespace", namespace),
                ("tags", _option_values(tag)),
                ("keywords", _option_values(keyword)),
                ("triggers", _option_values(trigger)),
                ("paths", _option_values(path)),
                ("when", condition_inputs.parse_conditions(_option_values(when) or ()) if when is not None else None),
                ("standing", standing),
                ("priority", priority),
                ("trust", trust),
                ("status", status),
            )
            if value is not None
        }
        if project or user:
            changes |= _owner_fields(project, user=user)
        if question is not None or no_questions:
            texts = _option_values(question) or ()
            changes["questions"] = questions.questions_by(texts, author.origin(as_user=as_user), before.questions)
        if expires:
            changes["expires_at"] = None if expires == "never" else read_expiry(expires, now_ms())
        if namespace:
            context.note_unknown_namespaces(store, [namespace], is_given=True)
        removed: list[Removed] = []
        has_ended_stop = no_stop and stopping.remove_stops(before)
        with nullcontext(changes) if changes or no_stop else Editor(before, author.origin(as_user=as_user)) as given:
            after = amend(
                before, lambda stored: _lower_trust(stored, apply_changes(stored, given), as_user=as_user), store, removed
            )
        if after is None:
            if not has_ended_stop:
                terminal.say("nothing changed")
            return
        context.update_index_and_vectors(store)
    if sum_removed(removed):
        terminal.say(describe_removed(sum_removed(removed)))
    if after.when != before.when:
        state.warn_about_unset(after.when)
    terminal.result(after.id)
    embedding.start_background_jobs()


def _lower_trust(before: Memory, after: Memory, *, as_user: bool) -> Memory:
    is_agents = author.is_agent() and not as_user and after.content_hash != before.content_hash
    return after.with_changes(trust=AGENT) if is_agents else after


def _option_values(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else () if values == [""] else tuple(values)


def _owner_fields(project: str | None, *, user: bool) -> dict[str, object]:
    if not user:
        return author.project_fields(project or "")
    if project:
        raise UsageError("--user and --project exclude each other", "give one of them")
    return {"scope": "user", "project": None}


def forget(
    ids: _Ids,
    purge: Annotated[bool, Option("--purge", help="Erase the text from the disk too. It cannot be brought back.")] = False,
    everywhere: Annotated[
        bool,
        Option(
            "--everywhere",
            help="Purge it here, on the team's server and, when they next synchronise, on colleagues' machines that have it "
            "from there.",
        ),
    ] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Purge without a question.")] = False,
    as_user: _AsUser = False,
) -> None:
    """Forget memories. `subcog edit ID --status active` brings one back, unless you give --purge.
    You are asked before memories are purged. An agent needs --as-user for the person's own memories.

    Example: subcog forget 1m7x59 1m7x60
    """
    with context.writing() as store:
        memories = context.find_memories(store, ids)
        lost_versions: list[Memory] = []
        if everywhere:
            from subcog_hooks.cli.team import sharing  # it loads psycopg

            sharing.require_shared(memories)
            lost_versions = _find_kept_versions(store, memories, LOST_PREFIX)
        kept_versions = _find_kept_versions(store, [*memories, *lost_versions], KEPT_OWN_PREFIX) if purge or everywhere else []
        author.require_consent([*memories, *lost_versions, *kept_versions], as_user=as_user)
        if (purge or everywhere) and not yes:
            _confirm_purge([*memories, *kept_versions])
        memories += lost_versions
        if everywhere:
            sharing.erase_on_server(memories)  # the server first: if it fails, the command can be repeated
        memories += kept_versions
        if purge or everywhere:
            erase(store, memories)
        else:
            store.modify(
                [memory.id for memory in memories], lambda memory: memory.with_changes(status="deleted", updated_at=now_ms())
            )
            context.update_index_and_vectors(store)
    for memory in memories:
        terminal.say(f"{'purged' if purge or everywhere else 'forgotten'}: {memory.id} {safe(memory.content)[:80]}")


def _find_kept_versions(store: Store, memories: list[Memory], prefix: str) -> list[Memory]:
    """Return the versions kept beside these memories, with ids of this prefix. Their texts may be the same."""
    ids = {memory.id for memory in memories}
    versions = store.newest_with_prefix(prefix, MAX_VERSIONS)
    return [version for version in versions if version.superseded_by in ids and version.id not in ids]


def _confirm_purge(memories: list[Memory]) -> None:
    count = pluralize(len(memories), "memory", "memories")
    if not terminal.interactive:
        raise UsageError(f"{count} would be purged, which cannot be undone", "give --yes")
    for memory in memories:
        terminal.say(f"  {memory.id} {safe(memory.content)[:80]}")
    if not typer.confirm(f"Purge {count}? This cannot be undone.", err=True):
        terminal.say("nothing was purged")
        raise typer.Exit(EXIT_NOTHING_FOUND)


def supersede(
    old: Annotated[
        str, Argument(metavar="OLD", help="The id of the memory that is no longer true.", autocompletion=completion.ids)
    ],
    new: Annotated[str, Argument(metavar="NEW", help="The id of the memory that replaces it.", autocompletion=completion.ids)],
    as_user: _AsUser = False,
) -> None:
    """Replace one memory by another. The old one stays in the store, but the agent is no longer given it.
    An agent needs --as-user where the person wrote the old one.

    Example: subcog supersede 1m7x59 1m7x60
    """
    with context.writing() as store:
        before, after = context.find_memory(store, old), context.find_memory(store, new)
        if before.id == after.id:
            raise UsageError(f"{before.id} cannot supersede itself", "give two ids")
        author.require_consent([before], as_user=as_user)
        author.require_storing_rights(before, as_user=as_user)
        if after.status == PENDING:
            raise UsageError(f"{after.id} waits for `subcog review`, and replaces nothing until then", "review it first")
        if after.superseded_by == before.id and after.status == "superseded":
            raise UsageError(f"{after.id} is itself superseded by {before.id}", "swap them, or edit the status first")
        store.modify(
            [before.id], lambda memory: memory.with_changes(status="superseded", superseded_by=after.id, updated_at=now_ms())
        )
        context.update_index_and_vectors(store)
    terminal.say(f"{before.id} is superseded by {after.id}")
    embedding.start_background_jobs()


def promote(ids: _Ids, as_user: _AsUser = False) -> None:
    """Move memories of a project to you: from now on they count in all your projects. An agent needs --as-user for
    the person's own memories.

    Example: subcog promote 1m7x59
    """
    _move_memories(ids, ALL_PROJECTS, as_user=as_user)


def demote(
    ids: _Ids,
    project: Annotated[
        str,
        Option("--project", metavar="NAME", help="The project; without it, this folder's.", autocompletion=completion.projects),
    ] = author.HERE,
    as_user: _AsUser = False,
) -> None:
    """Move memories to one project: from now on they count nowhere else. An agent needs --as-user
    for the person's own memories.

    Example: subcog demote 1m7x59 --project github.com/acme/shop
    """
    _move_memories(ids, author.project_fields(project), as_user=as_user)


def _move_memories(ids: list[str], owner: Mapping[str, object], *, as_user: bool) -> None:
    with context.writing() as store:
        memories = context.find_memories(store, ids)
        author.require_consent(memories, as_user=as_user)
        for memory in memories:
            author.require_storing_rights(memory, as_user=as_user)
        moved = [after for memory in memories if (after := amend(memory, lambda old: apply_changes(old, owner), store, []))]
        if moved:
            context.update_index_and_vectors(store)
        for memory in memories:
            if not any(after.id == memory.id for after in moved):
                terminal.say(f"{memory.id} is there already")
        for memory in moved:
            where = safe(memory.project) if memory.project else "all your projects"
            terminal.result(f"{memory.id} is for {where} now: {safe(memory.content)[:80]}")
            _warn_after_move(memory, store)
    if moved:
        embedding.start_background_jobs()


def _warn_after_move(memory: Memory, store: Store) -> None:
    if memory.paths and memory.project is None:
        terminal.say(f"it still comes at {', '.join(map(safe, memory.paths))}, now in every project")
    for near in similar_to(memory, store):
        terminal.say(f"there already, {near.likeness}: {near.memory.id} {safe(near.memory.content)[:80]}")
