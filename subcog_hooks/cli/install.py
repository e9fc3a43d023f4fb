"""`subcog init` and `uninstall`: the hook in Claude Code's settings, every other byte of the file as it was, and the skills."""

import difflib
import os
import shutil
from typing import Annotated

import typer

from subcog_hooks.cli.claude_code import claude_notes, client, hook_entries, registration, skills
from subcog_hooks.cli.proposals import learning_runs
from subcog_hooks.cli.support import context, embedding
from subcog_hooks.cli.support.output import counted, terminal, visible
from subcog_hooks.core.accepted_homes import is_accepted_home, is_in_repository, remember_home
from subcog_hooks.core.errors import EXIT_NOTHING_FOUND, ConfigError, UsageError
from subcog_hooks.core.whole_files import WholeFile
from subcog_hooks.hook.session import BRIEF_UNITS_SETTING as BRIEF_CHARACTERS
from subcog_hooks.settings.defaults import (
    COUNTED_AT_REST,
    DEFAULTS,
    LEARNED_AT_REST,
    NOT_LEARNED,
    NOTES_SETTING,
    SESSIONS_SETTING,
)

IN_AN_AGENT = "CLAUDECODE"  # the client sets it for the commands of its agent, whose variables a repository can set


def register(app: typer.Typer) -> None:
    app.command()(init)
    app.command()(uninstall)


def init(
    user: Annotated[
        bool, typer.Option("--user", help="Use your own settings, which count in every project (the default).")
    ] = False,
    project: Annotated[
        bool,
        typer.Option("--project", help="Use this project's shared .claude/settings.json; it calls `subcog` from the PATH."),
    ] = False,
    local: Annotated[
        bool, typer.Option("--local", help="Use this project's .claude/settings.local.json, which is yours alone.")
    ] = False,
    beside_plugin: Annotated[
        bool, typer.Option("--beside-plugin", help="Register the hook even if the plugin runs it already.")
    ] = False,
    no_skills: Annotated[bool, typer.Option("--no-skills", help="Register the hook alone, and bring no skills.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change without making it.")] = False,
) -> None:
    """Register the hook in Claude Code's settings, and show the change. The rest of the file stays as it is.
    On a terminal you are asked once whether sessions are to begin with a brief of your memories.

    The agent gets skills to store your statements and to look up notes. You call them, and others, as /subcog-remember and
    so on. The client asks you before anything is stored.

    Where the plugin runs the hook already, nothing is registered: it would run twice.

    Example: subcog init --dry-run
    """
    scope = _scope(user=user, project=project, local=local)
    path = _settings_file(scope)
    plugin = next((plugin.id for plugin in client.plugins() if plugin.runs_where(scope)), None)
    if plugin is not None and not beside_plugin:
        if not dry_run:
            _prepare_home()
        terminal.say(
            f"not registered: the plugin {visible(plugin)} runs the hook already, and it would run twice; "
            f"`claude plugin disable {visible(plugin)}` switches the plugin off, --beside-plugin registers it all the same"
        )
        if not dry_run:
            _ask_for_brief()
            _ask_for_notes()
            _ask_for_sessions()
        return
    before = client.read(path)
    command = ["subcog"] if project else client.hook_command()  # a shared file names no one's own folders
    try:
        if before is not None and not before.strip():
            raise ConfigError(f"{path} is empty", "delete it, or write {} into it")
        after = hook_entries.registered(before, command)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path} is not a JSON object with hooks as Claude Code writes them: {error}", "correct it by hand"
        ) from error
    if after != before:
        _show_change(path, before or "", after)
    if not dry_run:
        _prepare_home()
    if after == before:
        terminal.say(f"{path} has the hook already")
    elif not dry_run:
        _write(path, after)
        terminal.say(f"{path} written; new sessions of Claude Code use it (`subcog doctor` tries it out)")
        _say_how_to_open()
    if not no_skills:
        _bring_skills(scope, dry_run=dry_run)
    if not dry_run:
        _ask_for_brief()
        _ask_for_notes()
        _ask_for_sessions()


def _say_how_to_open() -> None:
    """Say so where agents do not find subcog by its name."""
    if remark := registration.path_remark():
        terminal.say(remark)


def uninstall(
    user: Annotated[
        bool, typer.Option("--user", help="Use your own settings, which count in every project (the default).")
    ] = False,
    project: Annotated[
        bool,
        typer.Option("--project", help="Use this project's shared .claude/settings.json; it calls `subcog` from the PATH."),
    ] = False,
    local: Annotated[
        bool, typer.Option("--local", help="Use this project's .claude/settings.local.json, which is yours alone.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change without making it.")] = False,
) -> None:
    """Take the hook out of Claude Code's settings. The file is then as it was before `init`, and the skills are gone.
    Your memories stay.

    Example: subcog uninstall
    """
    scope = _scope(user=user, project=project, local=local)
    path = _settings_file(scope)
    before = client.read(path)
    try:
        after = hook_entries.unregistered(before) if before is not None else before
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON: {error}", "correct it by hand") from error
    has_taken = _take_skills(scope, dry_run=dry_run)
    if after == before:
        terminal.say(f"{path} does not have the hook")
        if not has_taken:
            raise typer.Exit(EXIT_NOTHING_FOUND)
        return
    _show_change(path, before or "", after or "")
    if dry_run:
        return
    if after is None:
        os.unlink(os.path.realpath(path))
        terminal.say(f"{path} removed, as it was before; your memories stay in {context.home().root}")
    else:
        _write(path, after)
        terminal.say(f"{path} is as it was before; your memories stay in {context.home().root}")


def _bring_skills(scope: str, *, dry_run: bool) -> None:
    """Write our skills where the client looks for them beside these settings, and say so. Raises ConfigError, UsageError."""
    folder = client.skills_folder(scope)
    if folder is None:
        return
    program = "subcog" if scope == client.PROJECT else skills.command_of(client.executable())
    found = _found_skills(folder, program, scope)
    new = [skill for skill in found if skill.state in (skills.MISSING, skills.OLDER)]
    if new and not dry_run:
        skills.write(new)
    if new:
        names = ", ".join(skill.name for skill in new)
        terminal.say(f"{folder}: {'would get' if dry_run else 'has'} the skills {names} (/subcog-{new[0].name} and so on)")
    for skill in found:
        if skill.state in (skills.CHANGED, skills.FOREIGN):
            terminal.say(
                f"{skill.path} is left alone: {'you changed it' if skill.state == skills.CHANGED else 'it is not ours'}"
            )


def _take_skills(scope: str, *, dry_run: bool) -> bool:
    """Remove our skills beside these settings, and say so. Return whether there were any. Raises ConfigError, UsageError."""
    folder = client.skills_folder(scope)
    found = _found_skills(folder, "subcog", scope) if folder else []
    ours = [skill for skill in found if skill.state in (skills.SAME, skills.OLDER)]
    if ours:
        if not dry_run:
            skills.remove(ours)
        names = ", ".join(skill.name for skill in ours)
        terminal.say(f"{folder}: {'would lose' if dry_run else 'no longer has'} the skills {names}")
    for skill in found:
        if skill.state == skills.CHANGED:
            terminal.say(f"{skill.path} stays: you changed it")
    return bool(ours)


def _found_skills(folder: str, program: str, scope: str) -> list[skills.Skill]:
    """Return our skills as they are in a folder; in a repository, none of them may lead out of it."""
    if scope == client.PROJECT:
        client.refuse_link_out(folder)
        for name in skills.SKILLS:
            client.refuse_link_out(skills.path_of(name, folder))
    return skills.find_skills(folder, program)


def _scope(*, user: bool, project: bool, local: bool) -> str:
    """Return the name of the settings that the options choose. Raises UsageError."""
    if sum((user, project, local)) > 1:
        raise UsageError("--user, --project and --local exclude each other", "give one of them")
    return client.PROJECT if project else client.LOCAL if local else client.USER


def _settings_file(scope: str) -> str:
    """Return the path of these settings. Raises UsageError, also where it leads out of the repository."""
    files = client.settings_files()
    if scope not in files:
        raise UsageError("this folder is in no repository", "go to the project, or use --user")
    if scope != client.USER:
        client.refuse_link_out(files[scope])
    return files[scope]


def _prepare_home() -> None:
    """Make the home, and check a store that is in it. Raises StoreError.

    A home that lies in a repository, which the hook would leave alone, is accepted.
    """
    home = context.home()
    home.create()
    context.check_store()
    if not is_in_repository(home.root) or is_accepted_home(home.root):
        return
    if os.environ.get(IN_AN_AGENT):
        terminal.say(
            f"{home.root} lies in a repository, and this is an agent's shell, whose variables the repository can set; "
            "run `subcog init` in a terminal of your own, and the hook uses that home"
        )
        return
    remember_home(home.root)
    if is_accepted_home(home.root):
        terminal.say(f"{home.root} lies in a repository; it is accepted, and the hook uses it from now on")
    else:
        terminal.say(f"{home.root} lies in a repository, and so does your home folder: the hook will not use it")


def _ask_for_brief() -> None:
    """Ask whether sessions are to begin with a brief, where a person can be asked and has not said so yet."""
    if not terminal.interactive or context.settings().is_set(BRIEF_CHARACTERS):
        return
    from subcog_hooks.cli.config import keep  # with all that settings concern, for a question that is put once

    most = int(DEFAULTS[BRIEF_CHARACTERS])
    is_wanted = typer.confirm(
        f"Begin each session with a brief, the memories worth knowing whatever comes, in up to {most:,} characters?",
        default=True,
        err=True,
    )
    keep(BRIEF_CHARACTERS, most if is_wanted else 0)
    terminal.say(f"{BRIEF_CHARACTERS} = {most if is_wanted else 0}; `subcog config set` changes it")


def _ask_for_notes() -> None:
    """Ask whether Claude Code's own notes are to be taken over, where there are any and the person has not said so yet."""
    if not terminal.interactive or context.settings().is_set(NOTES_SETTING):
        return
    notes, projects, others = claude_notes.count()
    if not notes and not others:
        return
    from subcog_hooks.cli.config import keep  # as above

    is_wanted = typer.confirm(
        f"Take over what Claude Code itself has noted ({counted(notes, 'note')} about {counted(projects, 'project')}, "
        f"{counted(others, 'CLAUDE.md or rule', 'CLAUDE.md files and rules')}), now and when a session begins?",
        default=True,
        err=True,
    )
    keep(NOTES_SETTING, is_wanted)
    terminal.say(f"{NOTES_SETTING} = {str(is_wanted).lower()}; `subcog config set` changes it")
    if is_wanted and (report := claude_notes.take_over(context.home())):
        terminal.say(
            f"added {report.added}; `subcog list` shows them, `subcog import --from claude --dry-run` what was left out"
        )
        embedding.afterwards()


def _ask_for_sessions() -> None:
    """Ask whether what is typed in sessions is looked at, where there are sessions and the person has not said so yet."""
    if not terminal.interactive or context.settings().is_set(SESSIONS_SETTING):
        return
    found = learning_runs.found_all(None)
    if not found:
        return
    from subcog_hooks.cli.config import keep  # as above

    size = sum(one.size for one in found)
    terminal.say(
        f"What you typed in {counted(len(found), 'session')} of Claude Code ({size / 1e6:,.1f} MB) can become memories, when a "
        "session begins, in the background; all of it waits for `subcog review`, and stays on this machine."
    )
    asked = f"Look at it? {NOT_LEARNED} (no), {COUNTED_AT_REST} (only say how much there is), {LEARNED_AT_REST} (yes)"
    wanted = ""
    while wanted not in (NOT_LEARNED, COUNTED_AT_REST, DEFAULTS, LEARNED_AT_REST):
        wanted = str(typer.prompt(asked, default=COUNTED_AT_REST, err=True)).strip().lower()
    keep(SESSIONS_SETTING, wanted)
    changes = "`subcog config set` changes it, `subcog audit --learned` tells what it would do"
    terminal.say(f"{SESSIONS_SETTING} = {wanted}; {changes}")


def _write(path: str, text: str) -> None:
    target = os.path.realpath(path)  # a link into somebody's dotfiles stays a link
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with WholeFile(target) as whole:
            whole.file.write(text)
            if os.path.exists(target):
                shutil.copymode(target, whole.path)
    except OSError as error:
        raise ConfigError(f"{path} can not be written: {error.strerror}", "check its permissions and the disk") from error


def _show_change(path: str, before: str, after: str) -> None:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=2)
    for line in lines:
        style = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
        terminal.pieces((visible(line), style))
