"""`subcog init` and `uninstall`: the hook in the settings of Claude Code or another agent, and the skills."""

import difflib
import functools
from collections.abc import Callable, Sequence
from typing import Annotated

import typer
from typer import Option

from subcog_hooks.cli import setup
from subcog_hooks.cli.agents import claude_code, hook_entries, inspection, other_agents, skills
from subcog_hooks.cli.config import write_setting
from subcog_hooks.cli.proposals import learning_runs
from subcog_hooks.cli.terminal import author, context, inputs
from subcog_hooks.cli.terminal.output import abbreviate_home, nothing_found, terminal, visible
from subcog_hooks.clients.description import Client
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, ConfigError, UsageError
from subcog_hooks.core.paths import Home, find_home
from subcog_hooks.core.repository_variables import is_accepted_home, record_path, remember_home
from subcog_hooks.settings.defaults import CLAUDE, KEPT_SESSIONS, NOT_READ
from subcog_hooks.store.home_files import LOCK_WAIT_MS, OwnedRule, ProcessLock, change_rules, read_rules

MAX_REPEATED = 60  # characters of a line in a diff that came before

_User = Annotated[bool, Option("--user", help="Use your own settings, which count in every project (the default).")]
_Project = Annotated[
    bool, Option("--project", help="Use this project's shared .claude/settings.json; it calls `subcog` from the PATH.")
]
_Local = Annotated[bool, Option("--local", help="Use this project's .claude/settings.local.json, which is yours alone.")]
_For = Annotated[
    str, Option("--for", metavar="AGENT", help=f"Use your own settings of another agent: {', '.join(other_agents.CLIENTS)}.")
]


def init(
    for_: _For = CLAUDE,
    user: _User = False,
    project: _Project = False,
    local: _Local = False,
    no_skills: Annotated[bool, Option("--no-skills", help="Register the hook alone, and bring no skills.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show each changed line of the settings, and change nothing.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Say yes to all questions.")] = False,
    no: Annotated[bool, Option("--no", help="Write the hook and the skills, and say no to all other questions.")] = False,
) -> None:
    """Register the hook with Claude Code or another agent. On a terminal it asks before it writes.
    The rest of the agent's settings stays as it is. It asks once about subcog's own background work; `subcog setup` asks what
    is open.

    The agent gets skills to store your statements and to look up notes. In Claude Code you call them, and others, as
    /subcog-remember and so on. The client asks you before anything is stored.

    Where the plugin runs the hook already, nothing is registered: it would run twice.

    Example: subcog init --dry-run
    """
    inputs.refuse_several({"--yes": yes, "--no": no})
    inputs.refuse_several({"--for": for_ != CLAUDE, "--user": user, "--project": project, "--local": local})
    asks = terminal.interactive and not (yes or no or dry_run)
    if for_ != CLAUDE:
        _register_elsewhere(other_agents.find_client(for_), with_skills=not no_skills, dry_run=dry_run, asks=asks)
        return
    scope, path = _choose_settings(project=project, local=local)
    if message := claude_code.describe_old_client():
        raise ConfigError(message, "run `claude update`")
    plugin = next((plugin.id for plugin in claude_code.list_plugins() if plugin.runs_where(scope)), None)
    if plugin is None:
        _register(path, scope, with_skills=not no_skills, dry_run=dry_run, asks=asks)
    else:
        if not dry_run:
            _prepare_home()
        terminal.say(
            f"not registered: the plugin {visible(plugin)} runs the hook already, and it would run twice; "
            f"`claude plugin disable {visible(plugin)}` switches the plugin off"
        )
    if not dry_run:
        if remark := inspection.inspect_registration().double:
            terminal.say(remark)
        setup.ask_once(yes=yes, no=no)
        terminal.say("`subcog setup` shows and changes what subcog does by itself")


def _register(path: str, scope: str, *, with_skills: bool, dry_run: bool, asks: bool) -> None:
    """Write the hook and the skills, and say so in a line each. asks: first ask whether to write. Raises typer.Exit."""
    # A shared file names nobody's own folders.
    command = ["subcog"] if scope == claude_code.PROJECT else claude_code.hook_command()

    def change(text: str | None) -> str:
        with claude_code.faults_named(f"{path} is not a JSON object with hooks as Claude Code writes them"):
            return hook_entries.add_hook(text, command)

    all_skills = _find_skills(scope) if with_skills else []  # A link that leads out is refused before anything is written.
    is_new = _agree_on(path, change, "hook", all_skills, dry_run=dry_run, asks=asks)
    if not is_new:
        terminal.say(f"{abbreviate_home(path)} has the hook already")
    elif not dry_run:
        claude_code.change_settings(path, change)
        terminal.say(f"{abbreviate_home(path)}: has the hook at prompts, tool calls and sessions")
    skills.bring_skills(all_skills, "/", dry_run=dry_run)
    if is_new and not dry_run:
        terminal.say(f"{abbreviate_home(context.home().root)}: keeps your memories; nothing else is changed")
        terminal.say("new sessions of Claude Code use it; `subcog doctor` tries it out")
        if remark := inspection.path_remark():
            terminal.say(remark)


def _agree_on(
    path: str, change: Callable[[str | None], str], kind: str, all_skills: Sequence[skills.Skill], *, dry_run: bool, asks: bool
) -> bool:
    """Show the change of settings or ask for it, and make the home. Return whether there is one. Raises typer.Exit for a no."""
    before = claude_code.read_settings(path)  # Now: programs have found the command, and another may have written it meanwhile.
    after = change(before)
    if dry_run:
        _show_change(path, before or "", after)
    if asks:
        parts = [f"the {kind} into {abbreviate_home(path)}"] * (after != before)
        parts += [f"skills into {abbreviate_home(skill.folder)}" for skill in skills.find_unwritten(all_skills)[:1]]
        if parts and not terminal.confirm(f"Write {' and '.join(parts)}?", default=True):
            raise nothing_found("nothing was written")
    if not dry_run:
        _prepare_home()
    return after != before


def uninstall(
    for_: _For = CLAUDE,
    user: _User = False,
    project: _Project = False,
    local: _Local = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Show the change without making it.")] = False,
) -> None:
    """Take the hook out of an agent's settings. The file is then as it was before `init`: the rules of notes and the
    skills are gone, too. Your memories stay. With the last agent, what is kept of past sessions goes.

    Example: subcog uninstall
    """
    inputs.refuse_several({"--for": for_ != CLAUDE, "--user": user, "--project": project, "--local": local})
    if for_ != CLAUDE:
        client = other_agents.find_client(for_)
        has_hook = _put_back(client.settings.path, functools.partial(other_agents.remove_hook, client), dry_run=dry_run)
        if not (skills.take_skills_away(other_agents.find_skills(client), dry_run=dry_run) or has_hook):
            raise nothing_found(f"{client.settings.path} does not have the {client.kind}")
        return
    scope, path = _choose_settings(project=project, local=local)
    home = context.home()
    rules = [rule for rule in read_rules(home) if rule.path == path]
    has_hook = _put_back(path, functools.partial(_remove_hook, path, rules), dry_run=dry_run)
    if rules and not dry_run:
        change_rules(home, lambda owned: [rule for rule in owned if rule not in rules])
    if not has_hook:
        terminal.say(f"{path} does not have the hook")
    has_removed = _remove_skills(scope, dry_run=dry_run)
    others = other_agents.find_clients(has_hook=True)
    if not (others or dry_run) and scope == claude_code.USER and learning_runs.remove_sessions(home):
        write_setting(KEPT_SESSIONS, NOT_READ)
        terminal.say("past sessions can no longer be searched: sessions.db is deleted")
    for client in others:
        terminal.say(f"{client.title} still has the {client.kind}; `subcog uninstall --for {client.name}` takes it out")
    if not has_hook and not has_removed:
        raise typer.Exit(EXIT_NOTHING_FOUND)


def _remove_hook(path: str, rules: Sequence[OwnedRule], before: str | None) -> str | None:
    with claude_code.faults_named(f"{path} is not JSON"):
        before = claude_code.remove_rules(rules, before)
        if before is None:
            return None
        hook_entries.refuse_comments(before)
        return hook_entries.remove_hook(before)


def _put_back(path: str, change: Callable[[str | None], str | None], *, dry_run: bool) -> bool:
    """Write settings without the hook, or remove their file. Return whether they had it. Raises ConfigError."""
    if dry_run:
        before = claude_code.read_settings(path)
        after = change(before)
        _show_change(path, before or "", after or "")
        return after != before
    before, after = claude_code.change_settings(path, change)
    if after != before:
        state = "removed," if after is None else "is"
        terminal.say(f"{path} {state} as it was before; your memories stay in {context.home().root}")
    return after != before


def _register_elsewhere(client: Client, *, with_skills: bool, dry_run: bool, asks: bool) -> None:
    command = other_agents.command_for(client)
    all_skills = other_agents.find_skills(client) if with_skills else []
    change = functools.partial(other_agents.add_hook, client, command)
    _agree_on(client.settings.path, change, client.kind, all_skills, dry_run=dry_run, asks=asks)
    if dry_run:
        skills.bring_skills(all_skills, other_agents.SIGN, dry_run=True)
        return
    other_agents.register(client, command, all_skills)
    if remark := inspection.path_remark():
        terminal.say(remark)


def _remove_skills(scope: str, *, dry_run: bool) -> bool:
    """Remove our skills beside these settings. Return whether there were any. Raises ConfigError."""
    try:
        all_skills = _find_skills(scope)
    except UsageError as error:
        terminal.say(f"{error.message}; no skills are looked for there")
        return False
    return skills.take_skills_away(all_skills, dry_run=dry_run)


def _find_skills(scope: str) -> list[skills.Skill]:
    """Return our skills beside these settings. Raises UsageError for a link that leads out of a repository."""
    if scope == claude_code.LOCAL:
        return []
    folder = claude_code.skills_folder(scope)
    if scope == claude_code.USER:
        return skills.find_skills(folder, skills.agent_command())
    for path in (folder, *(skills.path_of(name, folder) for name in skills.SKILLS)):
        claude_code.refuse_link_out(path, "replace the link, or give --no-skills")
    return skills.find_skills(folder, "subcog")


def _choose_settings(*, project: bool, local: bool) -> tuple[str, str]:
    """Return the name and the path of the settings that the options name. Raises UsageError."""
    scope = claude_code.PROJECT if project else claude_code.LOCAL if local else claude_code.USER
    path = claude_code.settings_files().get(scope)
    if path is None:
        raise UsageError("this folder is in no repository", "go to the project, or use --user")
    if scope != claude_code.USER:
        claude_code.refuse_link_out(path)
    return scope, path


def _prepare_home() -> None:
    """Make the home, let a person accept it, and check a store in it. Raises StoreError."""
    is_person = terminal.interactive and not author.is_agent()
    home = Home.find() if is_person else context.home()
    home.create()
    if context.has_store(context.home()):
        with context.writing():  # A store that cannot be used is told now.
            pass
    if not is_person:
        if ignored := find_home()[1]:
            terminal.say_once(ignored)
    elif not is_accepted_home(home.root):
        with ProcessLock(f"{record_path()}.lock", LOCK_WAIT_MS, "accepting a home"):
            remember_home(home.root)
        terminal.say(f"{home.root} is accepted: the hook uses it, also where a file of a repository names it")


def _show_change(path: str, before: str, after: str) -> None:
    shown: set[str] = set()
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=2):
        is_repeated = len(line) > MAX_REPEATED and line in shown
        text = f"{line[:MAX_REPEATED]}… as above" if is_repeated else line
        terminal.pieces((visible(text), {"+": "green", "-": "red"}.get(line[:1], "")))
        shown.add(line)
