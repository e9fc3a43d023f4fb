"""`subcog share`: a team's memory on PostgreSQL. Only these commands load psycopg."""

import os
from collections.abc import Sequence
from typing import Annotated

import typer
from typer import Argument, Option

from subcog_hooks.cli import embedding
from subcog_hooks.cli.commands import AsUser, Texts, project_option, run_alone
from subcog_hooks.cli.team import share_status, sharing
from subcog_hooks.cli.terminal import author, context, output
from subcog_hooks.cli.terminal.output import day, nothing_found, pluralize, safe, terminal
from subcog_hooks.core.errors import ConfigError, NotAgreedTo, ServerError, UsageError
from subcog_hooks.settings.defaults import SHARE_URL, Settings
from subcog_hooks.settings.sources import KEYS
from subcog_hooks.share import server_connection, server_documents, server_schema
from subcog_hooks.share.sending import SyncOutcome
from subcog_hooks.share.sync import sync_lock
from subcog_hooks.share.synced import CHANGED, ERASED, ShareState
from subcog_hooks.store.memory_checks import format_time
from subcog_hooks.store.project import resolve_identity

MAX_LEFT_OUT = 5

commands = typer.Typer(
    help="Share memories of chosen projects with a team. Its own PostgreSQL server keeps them. `subcog help sharing` tells all."
    "\n\nExample: subcog share"
)

_Yes = Annotated[bool, Option("--yes", "-y", help="Do it without a question.")]


@commands.command()
def init(
    url: Annotated[
        str | None,
        Argument(
            metavar="URL",
            help="The server: postgresql://USER@HOST/DATABASE, or service=NAME; the setting share.url without it. No password: "
            "libpq finds it in ~/.pgpass or its service file.",
        ),
    ] = None,
    project: Annotated[
        Texts, project_option("A project to share, given several times for several; without it, this folder's.")
    ] = None,
    grant: Annotated[Texts, Option(metavar="ROLE", help="A role that may read and write the team's memories.")] = None,
    grant_read: Annotated[Texts, Option(metavar="ROLE", help="A role that may read them.")] = None,
    yes: _Yes = False,
) -> None:
    """Make or check the team's tables on a server, and share projects there. It shows its changes first, and asks. Each role
    with rights reads all projects of the team.

    Example: subcog share init postgresql://ada@db.example.com/team --grant bob
    """
    settings = context.settings()
    address = str(KEYS[SHARE_URL].from_text(url)) if url else sharing.url_of(settings)
    projects = [_require_shareable(author.names_of(name)[0]) for name in project or ([author.HERE] if context.here() else [])]
    sharing.drop_ignored_variables()
    with server_connection.open_connection(address) as server, server_connection.raise_server_errors(address):
        parameters = server_connection.connection_settings(address)
        schema = server_schema.read_tables(server)
        plan = server_schema.plan_setup(server, schema, writers=grant or (), readers=grant_read or ())
        if (
            not server_connection.is_local(parameters)
            and server_connection.tls_mode(parameters) not in server_connection.VERIFYING
        ):
            terminal.say("no certificate proves that it is your server, only your password does: see `subcog help sharing`")
        if plan:
            terminal.say(f"on {server_connection.server_address(address)}, as {safe(schema.role)}, subcog will make:")
            for step, _ in plan:
                terminal.say(f"  {safe(step)}")
            _confirm("Make it?", "nothing was made", yes=yes)
            server_schema.run_plan(server, plan)
        schema = server_schema.require_tables(server)
        if not schema.has_vectors:
            terminal.say("the server has no pgvector: `search --team` compares words alone; vectors are made on each machine")
    from subcog_hooks.cli.config import write_setting  # it loads tomlkit

    shared = list(dict.fromkeys((*sharing.projects_of(settings), *projects)))
    if shared:
        write_setting(sharing.PROJECTS, ", ".join(shared))
    write_setting(SHARE_URL, address)
    if url:
        with ShareState.open(context.home()) as state:
            if state.forget_other_agreements(server_connection.server_identity(address), schema.server):
                terminal.say("this is another server: nothing is sent until `subcog share sync` has shown you the memories")
    terminal.result(f"{server_connection.server_address(address)} has version {schema.version} of the team's tables")
    if shared:
        terminal.say(f"shared: {', '.join(map(safe, shared))}; `subcog share sync` begins")
    else:
        terminal.say("no project is shared yet: `subcog share init` in its folder shares it, or `--project NAME`")


@commands.command()
def sync(
    dry_run: Annotated[bool, Option("--dry-run", help="Show the memories that would leave. Send nothing.")] = False,
    yes: _Yes = False,
    as_user: AsUser = False,
) -> None:
    """Send changes of memories to the team, and fetch the team's. The first time it shows the memories that would leave, and
    asks. --yes does not accept another server than before: `subcog share init URL` chooses a new server.

    Example: subcog share sync --dry-run
    """
    settings = context.settings()
    url, projects = sharing.url_of(settings), sharing.projects_of(settings)
    for name in sharing.names_in(settings, sharing.PROJECTS):
        _require_shareable(resolve_identity(name))
    if not projects:
        raise UsageError("no project is shared", "`subcog share init` in one of its folders, or set share.projects")
    if dry_run:
        share_status.show_preview(projects, _agreed_projects(settings), max_shown=None)
        return
    with ShareState.open(context.home()) as state:
        agreed = sharing.agreed_projects(state, settings)
        new = [name for name in projects if name not in agreed]
        is_another = state.is_agreed_elsewhere(new, server_connection.server_identity(url))
        change = sharing.not_agreed(url) if is_another else None
    if new:
        _ask_agreement(settings, new, change, yes=yes, as_user=as_user)
    try:
        outcome = _synchronise_projects(settings, projects)
    except NotAgreedTo as error:
        _ask_agreement(settings, projects, error, yes=yes, as_user=as_user)
        outcome = _synchronise_projects(settings, projects)
    _print_outcome(outcome)
    embedding.start_background_jobs()


def _ask_agreement(
    settings: Settings, projects: Sequence[str], change: NotAgreedTo | None, *, yes: bool, as_user: bool
) -> None:
    """Show the memories that would leave for the server, and store the person's agreement. Raises UsageError, typer.Exit.

    change: another server was agreed to before. `--yes` does not agree to a new server: `change` is raised then.
    """
    if change and yes:
        raise change
    if change:
        terminal.say(safe(change.message))
    url = sharing.url_of(settings)
    share_status.show_preview(projects)
    author.require_person("the person agrees to what leaves", as_user=as_user)
    question = f"Share {', '.join(map(safe, projects))} with {safe(server_connection.server_address(url))}?"
    _confirm(question, "nothing was sent", yes=yes, hint=change.hint if change else "give --yes")
    server_identity = server_connection.server_identity(url)
    with ShareState.open(context.home()) as state:
        for name in projects:
            state.agree(name, server_identity)


def _synchronise_projects(settings: Settings, projects: tuple[str, ...]) -> SyncOutcome:
    with output.track_items("synchronising", None) as advance:
        return sharing.synchronise(context.home(), settings, projects, advance=advance)


@commands.command()
def status(as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False) -> None:
    """Show the shared projects, the last synchronisation, and versions of memories that lost to a later one.

    It reads this machine alone: the server may be away. The exit code is 1 when nothing is shared.

    Example: subcog share status
    """
    settings = context.settings()
    url, projects = str(settings[SHARE_URL]), sharing.projects_of(settings)
    if not url or not projects:
        raise nothing_found("nothing is shared; `subcog share init` in a project's folder begins")
    agreed = _agreed_projects(settings)
    with ShareState.open(context.home()) as state, context.reading() as store:
        counts = {name: state.counts(name) for name in projects}
        synced, failure = state.read_note(sharing.SYNCED), state.read_note(sharing.FAILURE)
        synced_at = format_time(int(synced)) if synced else None
        changes, lost_versions = [], []
        if store:
            changes = share_status.find_own_changes(store, state)
            lost_versions = share_status.find_lost_versions(store, projects)
    if as_json:
        changed = [change for change in changes if change.kind == CHANGED]
        gone = [change for change in changes if change.kind != CHANGED]
        rows = [
            {"project": name, "sent": own, "fetched": theirs, "agreed": name in agreed}
            for name, (own, theirs) in counts.items()
        ]
        record = {
            "server": url,
            "synced_at": synced_at,
            "failure": failure or None,
            "projects": rows,
            "lost": [{"id": lost.id, "superseded_by": lost.superseded_by, "noted": lost.noted} for lost in lost_versions],
            "deleted": [{"id": own.id, "by": own.by, "erased": own.kind == ERASED} for own in gone],
            "changed": [{"id": own.id, "by": own.by, "fields": list(own.fields), "kept": own.before.id} for own in changed],
        }
        terminal.json(record)
        return
    terminal.result(f"server: {url}")
    terminal.result(f"synchronised: {synced_at or 'never'}")
    if failure:
        terminal.result(f"the last synchronisation failed: {failure}")
    for name, (own, theirs) in counts.items():
        remark = "" if name in agreed else "; waits for the first `subcog share sync`"
        terminal.result(f"{safe(name)}: {own} from here, {theirs} from colleagues{remark}")
    for memory in lost_versions:
        noted_by = f", {memory.noted}" if memory.noted else ""
        version = f"{memory.id} {day(memory.updated_at)}{noted_by}: {safe(memory.content)[:80]}"
        terminal.result(f"lost to {memory.superseded_by}: {version}")
    _print_own_changes(changes)
    if lost_versions:
        terminal.say("`subcog edit LOST --status active` brings such a version back; `subcog forget LOST` settles it")


run_alone(commands, status)


def _print_own_changes(changes: Sequence[share_status.OwnChange]) -> None:
    for change in changes:
        text = safe(change.before.content)[:80]
        if change.kind == CHANGED:
            fields = ", ".join(change.fields)
            terminal.result(f"changed by {change.by}: {change.id} ({fields}), before: {text} [kept as {change.before.id}]")
        else:
            terminal.result(f"{'erased for all' if change.kind == ERASED else 'deleted'} by {change.by}: {change.id} {text}")
    if changes:
        terminal.say("`subcog share restore ID` takes such a change or deletion back, `--by NAME` all of a colleague's")
        terminal.say("`subcog forget ID` settles a kept version, `subcog forget --purge ID` a deletion")


@commands.command()
def restore(
    ids: Annotated[
        Texts, Argument(metavar="ID...", help="Memories that `subcog share status` names as changed, deleted or erased.")
    ] = None,
    by: Annotated[str | None, Option("--by", metavar="NAME", help="All changes and deletions by this colleague.")] = None,
) -> None:
    """Take back colleagues' changes and deletions of your own memories: each is as it was before.

    `subcog share sync` sends them again. A memory that was erased for all gets another id.

    Example: subcog share restore --by eve
    """
    if bool(ids) == bool(by):
        raise UsageError("no memory is named", "name memories, or a colleague by --by")
    with sync_lock(context.home()), context.writing() as store, ShareState.open(context.home()) as state:
        changes = share_status.find_own_changes(store, state)
        named, colleague = set(ids or ()), server_documents.shown_author(by) if by else None
        chosen = [change for change in changes if change.by == colleague or named & {change.id, change.before.id}]
        if unknown := named.difference(*[(change.id, change.before.id) for change in chosen]):
            hint = "`subcog share status` names what was changed"
            raise UsageError(f"no colleague has changed or deleted {safe(min(unknown))!r}", hint)
        if not chosen:
            raise nothing_found(f"{safe(by or '')} has not changed or deleted any memory of yours")
        restored = share_status.restore_own(chosen, store, state)
        context.update_index_and_vectors(store)
    for change, memory in zip(chosen, restored, strict=True):
        terminal.result(memory.id)
        if memory.id != change.id:
            terminal.say(f"{change.id} was erased for all; it is {memory.id} from now on")
    terminal.say(f"{pluralize(len(restored), 'memory is', 'memories are')} as before; `subcog share sync` sends that")
    embedding.start_background_jobs()


@commands.command()
def off(yes: _Yes = False) -> None:
    """End sharing. Memories stay where they are, here and on the server.

    Example: subcog share off
    """
    settings = context.settings()
    if not settings[SHARE_URL]:
        raise nothing_found("nothing is shared")
    _confirm("Stop sharing? Memories stay here and on the server.", "sharing goes on", yes=yes)
    from subcog_hooks.cli.config import write_setting  # it loads tomlkit

    for key in (SHARE_URL, sharing.PROJECTS):
        write_setting(key, None)
    with ShareState.open(context.home()) as state:
        state.forget_everything()
    terminal.say("sharing is off; `subcog help sharing` says how to delete the data on the server")


def _agreed_projects(settings: Settings) -> tuple[str, ...]:
    """Return the projects that may leave for this server without a question, none if that is unknown."""
    with ShareState.open(context.home()) as state:
        try:
            return sharing.agreed_projects(state, settings)
        except (ServerError, ConfigError):  # psycopg or the service is missing
            return ()


def _print_outcome(outcome: SyncOutcome) -> None:
    parts = [f"sent {outcome.sent}", f"fetched {outcome.fetched}"]
    parts += [f"deleted there {outcome.deleted_there}"] if outcome.deleted_there else []
    parts += [f"deleted here {outcome.deleted_here}"] if outcome.deleted_here else []
    terminal.result(", ".join(parts))
    if outcome.is_read_only:
        terminal.say("your role may only read there: nothing was sent")
    if outcome.overruled:
        whose = pluralize(outcome.overruled, "memory of yours was", "memories of yours were")
        terminal.say(f"{whose} changed or deleted by colleagues; `subcog share status` names them")
    if outcome.lost:
        terminal.say(f"{pluralize(len(outcome.lost), 'version')} lost to a later one; `subcog share status` shows them")
    for problem in outcome.problems[:MAX_LEFT_OUT]:
        terminal.say(f"left out: {safe(problem)}")
    if len(outcome.problems) > MAX_LEFT_OUT:
        terminal.say(f"and {len(outcome.problems) - MAX_LEFT_OUT} more were left out")


def _require_shareable(name: str) -> str:
    """Return a project's identity. Raises UsageError without a remote: colleagues' clones have other paths."""
    if os.path.isabs(name):
        raise UsageError(f"{name} has no remote, so colleagues' clones are another project", "give the repository a remote")
    if "," in name:  # The setting with the shared projects would name two others.
        raise UsageError(f"{name} has a comma in its name", "rename the repository's remote")
    return name


def _confirm(question: str, otherwise: str, *, yes: bool, hint: str = "give --yes") -> None:
    """Ask for a yes. Raises UsageError with the hint if nobody can be asked, typer.Exit after a no."""
    if yes:
        return
    if not terminal.interactive:
        raise UsageError(f"nobody can be asked: {question}", hint)
    if not terminal.confirm(question):
        raise nothing_found(otherwise)
