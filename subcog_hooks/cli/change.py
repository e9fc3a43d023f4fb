"""`subcog edit`, `forget` and `supersede`."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from typer import Argument, Option

from subcog_hooks.capture.jsonl import Removed, sum_removed
from subcog_hooks.cli import amendment, embedding, past_sessions
from subcog_hooks.cli.amendment import edit_in_editor
from subcog_hooks.cli.commands import AsUser, Texts, namespace_option, project_option, status_option, tag_option
from subcog_hooks.cli.terminal import author, context, inputs
from subcog_hooks.cli.terminal.output import count_memories, nothing_found, pluralize, safe, terminal
from subcog_hooks.core.errors import NoMemory, UsageError
from subcog_hooks.cues import condition_syntax
from subcog_hooks.episodes import episode_store
from subcog_hooks.episodes.episode_store import EpisodeStore
from subcog_hooks.redaction.redact import describe_removed
from subcog_hooks.share.server_schema import KEPT_OWN_PREFIX, LOST_PREFIX
from subcog_hooks.store import memory_checks
from subcog_hooks.store.memory import AGENT, EPISODE_PREFIX, STATUSES, Memory, now_ms
from subcog_hooks.store.store import Store

MAX_VERSIONS = 100_000  # versions of other memories that are searched
ALL_PROJECTS: Mapping[str, object] = {"scope": "user", "project": None, "branch": None}

_Ids = Annotated[list[str], Argument(metavar="ID...", help="The ids of the memories, or their beginnings.")]


def _replacing(flag: str, metavar: str, name: str) -> Any:
    return Option(flag, metavar=metavar, help=f"{name}. They replace all old ones, as with --tag.")


def edit(
    ids: _Ids,
    content: Annotated[str | None, Option(metavar="TEXT", help="The new text, or - to read it from standard input.")] = None,
    namespace: Annotated[str | None, namespace_option("The new namespace.")] = None,
    tag: Annotated[
        Texts, tag_option("A tag, given several times for several. They replace all old tags; '' removes them.")
    ] = None,
    keyword: Annotated[Texts, _replacing("--keyword", "WORD", "A keyword")] = None,
    trigger: Annotated[Texts, _replacing("--trigger", "REGEX", "A trigger")] = None,
    path: Annotated[Texts, _replacing("--path", "GLOB", "A glob of files")] = None,
    question: Annotated[Texts, _replacing("--question", "TEXT", "A question that it answers")] = None,
    when: Annotated[Texts, _replacing("--when", "CONDITION", "A condition")] = None,
    standing: Annotated[
        bool | None, Option("--standing/--no-standing", help="Say that it holds in every session, or that it does not.")
    ] = None,
    priority: Annotated[int | None, Option(metavar="NUMBER", min=0, max=100, help="The new priority.")] = None,
    trust: Annotated[
        str | None, Option(metavar="user", help="Vouch for it yourself, so that it may have a priority of 90 or more.")
    ] = None,
    status: Annotated[str | None, status_option("The new status: " + ", ".join(STATUSES) + ".")] = None,
    project: Annotated[str | None, project_option("Move it to this project; `here` is the project of this folder.")] = None,
    user: Annotated[bool, Option("--user", help="Make it count in all your projects.")] = False,
    expires: Annotated[
        str | None, Option(metavar="DATE", help="Forget it on this date, after days such as 30d, or never.")
    ] = None,
    as_user: AsUser = False,
) -> None:
    """Change memories: by the options given, or one in $EDITOR. An agent needs --as-user for the person's own memories.

    Example: subcog edit 1m7x59 --tag auth --tag spa
    """
    if trust not in (None, "user"):
        raise UsageError(f"--trust is {trust!r}", "expected user")
    if trust:
        author.require_person("--trust user says that the person vouches for it", as_user=as_user)
    inputs.refuse_several({"--user": user, "--project": project is not None})
    given: dict[str, object] = {
        "content": None if content is None else inputs.text_of([content]),
        "namespace": namespace,
        "tags": _option_values(tag),
        "keywords": _option_values(keyword),
        "triggers": _option_values(trigger),
        "paths": _option_values(path),
        "when": condition_syntax.parse_conditions(_option_values(when) or ()) if when is not None else None,
        "standing": standing,
        "priority": priority,
        "trust": trust,
        "status": status,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if project is not None or user:
        changes |= ALL_PROJECTS if user else {"scope": "project", "project": author.names_of(project or "")[0]}
    if expires is not None:
        changes["expires_at"] = None if expires == "never" else inputs.read_expiry(expires, now_ms())
    if question is not None:
        changes["questions"] = _option_values(question) or ()
    if len(ids) > 1 and (content is not None or not changes):
        raise UsageError("a new text is for one memory", "give one id, or options for all of them")
    _edit_memories(ids, changes, status, as_user=as_user)


def _edit_memories(ids: list[str], changes: Mapping[str, object], status: str | None, *, as_user: bool) -> None:
    """Change memories by the fields given, one in the editor without any."""
    asked_by = author.origin(as_user=as_user)
    removed: list[Removed] = []

    def change(stored: Memory, edits: Mapping[str, object] | None = None) -> Memory:
        if edits is not None:
            after = amendment.apply_edits(memories[0], stored, edits)
        else:
            fields = dict(changes)
            if isinstance(texts := fields.get("questions"), tuple):
                fields["questions"] = memory_checks.questions_by(texts, asked_by, stored.questions)
            after = amendment.apply_changes(stored, fields)
        is_agents = author.is_agent() and not as_user and after.content_hash != stored.content_hash
        return after.with_changes(trust=AGENT) if is_agents else after

    with context.writing() as store:
        memories = context.find_memories(store, ids)
        author.require_consent(memories, as_user=as_user, status=status)
        for memory in memories:
            author.require_storing_rights(memory, as_user=as_user)
        if changes:
            edited = amendment.amend_all(memories, change, store, removed)
        else:
            with edit_in_editor(memories[0], asked_by) as edits:
                edited = amendment.amend_all(memories, partial(change, edits=edits), store, removed)
        if not edited:
            terminal.say("nothing changed")
            return
        context.update_index_and_vectors(store)
        for before, after in edited:
            if context.audience(before) != context.audience(after):
                _report_move(after, store)
    if sum_removed(removed):
        terminal.say(describe_removed(sum_removed(removed)))
    for before, after in edited:
        terminal.result(after.id)
        for line in amendment.describe_changes(before, after):
            terminal.say(f"  {line}")
    embedding.start_background_jobs()


def _option_values(values: list[str] | None) -> tuple[str, ...] | None:
    return None if values is None else () if values == [""] else tuple(values)


def forget(
    ids: Annotated[list[str] | None, Argument(metavar="ID...", help="The ids of the memories, or their beginnings.")] = None,
    session: Annotated[
        str | None, Option(metavar="ID", help="Purge all that can be searched of this past session, which is not read again.")
    ] = None,
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
    as_user: AsUser = False,
) -> None:
    """Forget memories. `subcog edit ID --status active` brings one back, unless you give --purge.
    You are asked before memories are purged. An agent needs --as-user for the person's own memories.
    What `search --sessions` finds is always purged, by the id of the exchange or by --session.

    Example: subcog forget 1m7x59 1m7x60
    """
    ids = ids or []
    if session is not None or any(id_.startswith(EPISODE_PREFIX) for id_ in ids):
        _forget_episodes(ids, session, yes=yes, as_user=as_user)
        return
    if not ids:
        raise UsageError("no id was given", "`subcog list` shows the ids")
    purge = purge or everywhere
    with context.writing() as store:
        memories = context.find_memories(store, ids)
        lost_versions: list[Memory] = []
        if everywhere:
            from subcog_hooks.cli.team import sharing  # it loads psycopg

            sharing.require_shared(memories)
            lost_versions = _find_kept_versions(store, memories, LOST_PREFIX)
        kept_versions = _find_kept_versions(store, [*memories, *lost_versions], KEPT_OWN_PREFIX) if purge else []
        author.require_consent([*memories, *lost_versions, *kept_versions], as_user=as_user)
        if purge and not yes:
            _confirm_purge([*memories, *kept_versions], count_memories(len(memories) + len(kept_versions)))
        memories += lost_versions
        if everywhere:
            sharing.erase_on_server(memories)  # the server first: if it fails, the command can be repeated
        memories += kept_versions
        if purge:
            amendment.erase(store, memories)
        else:
            amendment.mark_forgotten(store, [memory for memory in memories if memory.status != "deleted"])
    for memory in memories:
        forgotten = "already forgotten" if memory.status == "deleted" else "forgotten"
        terminal.say(f"{'purged' if purge else forgotten}: {memory.id} {safe(memory.content)[:80]}")


def _forget_episodes(ids: list[str], session: str | None, *, yes: bool, as_user: bool) -> None:
    """Purge episodes of past sessions, and all of a session, which is then not read again."""
    inputs.refuse_several({"--session": session is not None, "an id": bool(ids)})
    author.require_person("exchanges of past sessions are purged for good", as_user=as_user)
    if not episode_store.exists(context.home()):
        raise NoMemory("no past session can be searched here", past_sessions.READ_THEM)
    with EpisodeStore.writer(context.home()) as store:
        names = store.ids_of_session(session) if session is not None else ids
        episodes = context.find_memories(store, names)
        if not episodes:
            raise NoMemory(
                f"nothing is kept of a session {safe(session or '')[:80]!r}", "`search --sessions --json` names them"
            )
        if not yes:
            _confirm_purge(episodes, pluralize(len(episodes), "exchange"))
        if session is not None:
            store.never_read(session)
        amendment.erase(store, episodes)
    for episode in episodes:
        terminal.say(f"purged: {episode.id} {safe(episode.content)[:80]}")


def _find_kept_versions(store: Store, memories: list[Memory], prefix: str) -> list[Memory]:
    """Return the versions kept beside these memories, with ids of this prefix. Their texts may be the same."""
    ids = {memory.id for memory in memories}
    versions = store.newest_with_prefix(prefix, MAX_VERSIONS)
    return [version for version in versions if version.superseded_by in ids and version.id not in ids]


def _confirm_purge(memories: list[Memory], count: str) -> None:
    if not terminal.interactive:
        raise UsageError(f"purging {count} cannot be undone", "give --yes")
    for memory in memories:
        terminal.say(f"  {memory.id} {safe(memory.content)[:80]}")
    if not terminal.confirm(f"Purge {count} for good?"):
        raise nothing_found("nothing was purged")


def supersede(
    old: Annotated[str, Argument(metavar="OLD", help="The id of the memory that is no longer true.")],
    new: Annotated[str, Argument(metavar="NEW", help="The id of the memory that replaces it.")],
    as_user: AsUser = False,
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
        if not after.is_live(now_ms()):
            status = "expired" if after.status == "active" else after.status
            raise UsageError(f"{after.id} is {status}, so agents would be given neither", "review it, or edit its status first")
        amendment.mark_superseded(store, before, after)
        context.update_index_and_vectors(store)
    embedding.start_background_jobs()


def _report_move(memory: Memory, store: Store) -> None:
    owner = safe(memory.project) if memory.project else "all your projects"
    terminal.say(f"{memory.id} is for {owner} now: {safe(memory.content)[:80]}")
    if memory.paths and memory.project is None:
        terminal.say(f"it still comes at {', '.join(map(safe, memory.paths))}, now in every project")
    for near in amendment.similar_to(memory, store):
        terminal.say(f"there already, {near.likeness}: {near.memory.id} {safe(near.memory.content)[:80]}")
