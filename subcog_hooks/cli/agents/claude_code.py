"""Claude Code: its settings' files, our plugin there, its version, and the commands of this installation.

A note may own permission rules there: `remember --ask-before` and `--deny` write them, and they go when the note ends.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial, reduce
from typing import NamedTuple

import subcog_hooks
from subcog_hooks.cli.agents import hook_entries
from subcog_hooks.cli.terminal import author, context
from subcog_hooks.cli.terminal.output import abbreviate_home, safe, terminal, visible
from subcog_hooks.core import child_environment, repository_variables
from subcog_hooks.core.errors import ConfigError, InvalidMemory, SubcogError, UsageError
from subcog_hooks.core.files import WholeFile, leads_out, read_regular
from subcog_hooks.core.paths import Home
from subcog_hooks.store.home_files import OwnedRule, change_rules, read_rules
from subcog_hooks.store.memory import Memory, now_ms
from subcog_hooks.store.store import Store

USER, PROJECT, LOCAL = "user", "project", "local"  # options for settings files; in the client a later one wins
MAX_SETTINGS = 8 * 1024 * 1024  # bytes; the client itself stalls on larger files
MAX_TRIES = 20  # to change settings that another program changes, too
PLUGIN = "subcog"
CONFIG_FOLDER = "CLAUDE_CONFIG_DIR"  # the variable for the client's own folder
TRIAL = """import os, sys
sys.path.append({folder!r})
import apsw, re2, sqlite_vec, tantivy, subcog_hooks
print(os.path.samefile(subcog_hooks.__file__, {file!r}))"""
TRIAL_S = 20.0
VERSION_S = 10.0  # seconds for the client to print its version
MIN_VERSION = (2, 1, 197)  # An older client does not know PostToolUseFailure, and drops all hooks beside an unknown event.


class Plugin(NamedTuple):
    """Our plugin in the client's files. version: "" for not installed; switches: whether each settings file enables it."""

    id: str
    version: str
    switches: Mapping[str, bool]

    @property
    def enabled_by(self) -> str | None:
        """Return the settings that enable it here; None when it is disabled."""
        name = next((name for name in (LOCAL, PROJECT, USER) if name in self.switches), None)
        return name if name is not None and self.switches[name] else None

    def runs_where(self, name: str) -> bool:
        """Return whether it runs wherever settings of this name hold. For the user's, a repository's switch does not count."""
        return self.switches.get(USER, False) if name == USER else self.enabled_by is not None


def settings_files() -> dict[str, str]:
    """Return the paths of Claude Code's settings by option; a project's only inside of one."""
    files = {USER: os.path.join(config_folder(), "settings.json")}
    if project := context.here():
        files[PROJECT] = os.path.join(project.root, ".claude", "settings.json")
        files[LOCAL] = os.path.join(project.root, ".claude", "settings.local.json")
    return files


def skills_folder(name: str) -> str:
    """Return the folder of Claude Code's skills beside these settings."""
    return os.path.join(os.path.dirname(settings_files()[name]), "skills")


def is_users_own(path: str) -> bool:
    """Return whether a settings file is the user's own. A file in the current repository may be the repository's."""
    project = context.here()
    return path == settings_files()[USER] and (project is None or leads_out(path, project.root))


def refuse_link_out(path: str, remedy: str = "replace the link by a file") -> None:
    """Raise UsageError for a file of the current project that is a link out of it, or into `.git`."""
    project = context.here()
    if project and (leads_out(path, project.root) or not leads_out(path, os.path.join(project.root, ".git"))):
        raise UsageError(visible(f"{path} leads out of the repository, to {os.path.realpath(path)}"), remedy)


def read_settings(path: str) -> str | None:
    """Return a settings file unchanged, line ends included; None when there is none. Raises ConfigError."""
    try:
        data = read_regular(path, MAX_SETTINGS + 1)
        if len(data) > MAX_SETTINGS:
            raise ConfigError(f"{path} is larger than {MAX_SETTINGS >> 20} MB", "correct it by hand")
        return data.decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "correct it by hand") from error


@contextmanager
def faults_named(fact: str) -> Iterator[None]:
    """Raise ConfigError where a text is no JSON of the expected form. fact: names the file and the form."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{fact}: {error}", "correct it by hand") from error


def change_settings(path: str, change: Callable[[str | None], str | None]) -> tuple[str | None, str | None]:
    """Change a settings file, and return its text before and after (None for no file). Raises ConfigError.

    change: returns the text after from that before. Where another program writes the file meanwhile, it gets the new text.
    """
    for _ in range(MAX_TRIES):
        before = read_settings(path)
        after = change(before)
        with suppress(_SettingsChangedError):
            if after != before:
                _write_settings(path, before, after)
            return before, after
    raise ConfigError(f"{path} is being changed by another program, and is left alone", "run the command again")


class _SettingsChangedError(Exception):
    """Another program has changed the settings since they were read."""


def _write_settings(path: str, before: str | None, after: str | None) -> None:
    """Write a settings file whole, with its mode, or remove it. Raises ConfigError, _SettingsChangedError."""
    target = os.path.realpath(path)  # a link into somebody's dotfiles stays a link

    def refuse_changed() -> None:
        if read_settings(path) != before:
            raise _SettingsChangedError

    try:
        if after is None:
            refuse_changed()
            os.unlink(target)
            return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with WholeFile(target) as whole:
            whole.file.write(after)
            if os.path.exists(target):
                shutil.copymode(target, whole.path)
            whole.file.flush()
            os.fsync(whole.file.fileno())  # A slow disk takes its time before the comparison, not after it.
            refuse_changed()
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", "check its permissions and the disk") from error


def list_plugins() -> list[Plugin]:
    """Return our plugin, once for each marketplace that it is installed or enabled from.

    A switch alone starts nothing: a repository can name a plugin of a marketplace that the user never added.
    """
    folder = os.path.join(config_folder(), "plugins")
    installed = object_in(_read_object(os.path.join(folder, "installed_plugins.json")), "plugins")
    marketplaces = _read_object(os.path.join(folder, "known_marketplaces.json"))
    versions: dict[str, str] = {}
    for id_, entries in installed.items():
        first = entries[0] if isinstance(entries, list) and entries else entries
        version = first.get("version") if isinstance(first, dict) else None
        versions[id_] = version if isinstance(version, str) else ""
    switches: dict[str, dict[str, bool]] = {id_: {} for id_ in versions if _is_ours(id_)}
    for name, path in settings_files().items():
        for id_, value in object_in(_read_object(path), "enabledPlugins").items():
            if _is_ours(id_) and (id_ in versions or id_.partition("@")[2] in marketplaces):
                switches.setdefault(id_, {})[name] = bool(value)
    return [Plugin(id_, versions.get(id_, ""), switches[id_]) for id_ in sorted(switches)]


def resolve_command(words: Sequence[str]) -> list[str] | None:
    """Return a command with its program's full path; None for none, and a relative path: a repository could have it."""
    program = words[0]
    if os.path.isabs(program):
        path = program if shutil.which(program) else None
    else:
        path = find_program(program) if os.path.basename(program) == program else None
    return [path, *words[1:]] if path else None


def executable() -> list[str]:
    """Return the command of this installation, as words: the console script's full path, else the interpreter's."""
    script = os.path.abspath(sys.argv[0])
    name = os.path.basename(script).lower()
    if name in ("subcog", "subcog.exe") and os.path.isfile(script):
        return [script]
    beside = find_program("subcog", [os.path.dirname(sys.executable)])
    return [beside] if beside else [sys.executable, "-P", "-m", "subcog_hooks"]  # -P: do not import from the current folder


def describe_old_client() -> str:
    """Return a message if the client on the PATH is too old for the hook, "" otherwise. The client is asked its version."""
    program = find_program("claude")
    if program is None:
        return ""
    printed = _output_of([program, "--version"], VERSION_S, child_environment.filter_environment(child_environment.FOR_CLIENT))
    numbers = printed.split(" ")[0].split(".")
    version = tuple(int(number) for number in numbers if number.isdigit())
    if len(version) != len(MIN_VERSION) or version >= MIN_VERSION:
        return ""
    texts = [".".join(map(str, numbers)) for numbers in (version, MIN_VERSION)]
    return f"Claude Code {texts[0]} is too old to run the hook; subcog needs {texts[1]} or later"


def hook_command() -> list[str]:
    """Return the command of this installation's hook, without the word `hook`.

    An isolated interpreter starts some milliseconds sooner than the console script, and heeds no variables. Where it would miss
    libraries, as in an editable installation, the script is used.
    """
    script = executable()
    folder = os.path.dirname(os.path.dirname(os.path.abspath(subcog_hooks.__file__)))
    if len(script) > 1:
        return script
    trial = [sys.executable, *hook_entries.ISOLATED, TRIAL.format(folder=folder, file=subcog_hooks.__file__)]
    is_complete = _output_of(trial, TRIAL_S) == "True"
    return hook_entries.isolated_command(sys.executable, folder, script[0]) if is_complete else script


def _output_of(command: list[str], timeout_s: float, environment: Mapping[str, str] | None = None) -> str:
    """Return the text that a program prints, "" where it fails."""
    try:
        run = subprocess.run(
            command, capture_output=True, timeout=timeout_s, stdin=subprocess.DEVNULL, check=True, env=environment
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return run.stdout.decode("ascii", "replace").strip()


def find_program(name: str, folders: Sequence[str] | None = None) -> str | None:
    """Return the full path of a program in `folders`, else on the PATH; never in the current folder, as Windows would."""
    absolute_folders = filter(os.path.isabs, os.get_exec_path() if folders is None else folders)
    path = shutil.which(name, path=os.pathsep.join(absolute_folders))
    return path if path and os.path.isabs(path) else None


def config_folder() -> str:
    """Return the client's own folder."""
    return os.environ.get(CONFIG_FOLDER) or os.path.join(os.path.expanduser("~"), ".claude")


def notes_folder() -> str:
    """Return the client's folder. Raises ConfigError where a repository sets it: it could be any folder."""
    if CONFIG_FOLDER in os.environ and (setter := repository_variables.find_setter(CONFIG_FOLDER)):
        raise ConfigError(f"{CONFIG_FOLDER} is set by {setter}", "a repository does not say where your notes are")
    return config_folder()


def _is_ours(id_: str) -> bool:
    return id_.partition("@")[0] == PLUGIN


def _read_object(path: str) -> Mapping[str, object]:
    """Return the object in a client's file; an empty one for an unreadable file, which the client ignores, too."""
    try:
        value = json.loads((read_settings(path) or "{}").removeprefix("\ufeff"))
    except (ConfigError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def object_in(values: object, key: str) -> Mapping[str, object]:
    """Return the object that is a member of another, an empty one for anything else."""
    value = values.get(key) if isinstance(values, dict) else None
    return value if isinstance(value, dict) else {}


PERMISSIONS = "permissions"  # in Claude Code's settings
ASK, DENY = "ask", "deny"  # the lists of rules there
HINT = 'give the beginning of one command, such as "git push*"'
# A rule matches the beginning of one simple command: no operators, assignments, quotes around a program, or escapes.
_COMMAND = re.compile(r"[\w./~@+-][\w./~@+*-]*(?: [^;&|<>()`\\]*)?")


def read_patterns(ask_before: Sequence[str] | None, deny: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return (list, pattern of commands) pairs. Raises UsageError for an agent, InvalidMemory for an inexpressible pattern."""
    given = [(ASK, pattern) for pattern in ask_before or ()] + [(DENY, pattern) for pattern in deny or ()]
    patterns = [(kind, " ".join(pattern.replace(":*", " *").split())) for kind, pattern in given]
    if patterns and author.is_agent():
        raise UsageError("only the person sets rules of Claude Code", "run this in a terminal of your own")
    for _, pattern in patterns:
        if not _COMMAND.fullmatch(pattern):
            raise InvalidMemory(f"no rule of Claude Code expresses {pattern[:80]!r}", HINT)
    return patterns


def rule_of(pattern: str) -> str:
    """Return the rule for commands that begin as a pattern says.

    >>> rule_of("git push*"), rule_of("git push")
    ('Bash(git push*)', 'Bash(git push *)')
    """
    return f"Bash({pattern})" if "*" in pattern else f"Bash({pattern} *)"


def trigger_of(pattern: str) -> str:
    r"""Return the trigger that brings a note beside such a command.

    >>> trigger_of("git push*"), trigger_of("rm -rf *"), trigger_of("kubectl * delete")
    ('\\bgit\\s+push', '\\brm\\s+\\-rf\\b', '\\bkubectl\\s+.*\\s+delete\\b')
    """
    words = pattern.removesuffix("*").split()
    is_open = pattern.endswith("*") and not pattern.endswith(" *")
    regex = r"\s+".join(".*".join(map(re.escape, word.split("*"))) for word in words)
    begins, ends = words[0][0].isalnum(), words[-1][-1].isalnum() and not is_open
    return r"\b" * begins + regex + r"\b" * ends


def add_rules(memory: Memory, patterns: Sequence[tuple[str, str]]) -> None:
    """Write rules into the person's settings. A stored memory owns the new rules. Raises ConfigError, StoreError."""
    if not patterns:
        return
    if not os.path.isdir(config_folder()):
        terminal.say(f"no rule is set: Claude Code has no settings in {config_folder()}; agents only get the note")
        return
    home, path = context.home(), settings_files()[USER]
    rules = [OwnedRule(memory.id, path, kind, rule_of(pattern)) for kind, pattern in patterns]
    before, _ = _change_settings(path, lambda text: reduce(_with_rule, rules, text))
    owned = {rule.place for rule in read_rules(home)}
    own = [rule for rule in rules if rule.place in owned or _with_rule(before, rule) != before]
    change_rules(home, lambda earlier: list(dict.fromkeys((*earlier, *own))))
    for rule in rules:
        fact = "until this note ends" if rule in own else "which had it before, so it stays when this note ends"
        terminal.say(f"{rule.kind}: {safe(rule.rule)} in {abbreviate_home(path)}, {fact}")
    terminal.say("it holds in all projects, in Claude Code alone; scripts, aliases and `bash -c` pass: `subcog help cues`")


def take_back_ended(home: Home) -> None:
    """Remove the rules of memories that have ended, and say so."""
    try:
        rules = read_rules(home)
        if not rules:
            return
        with Store.reader(home) as store:
            memory_of, now = store.by_ids([rule.memory for rule in rules]), now_ms()
        ended = [rule for rule in rules if rule.memory not in memory_of or not memory_of[rule.memory].is_live(now)]
        kept = {rule.place for rule in rules if rule not in ended}
        for rule in ended:
            if rule.place not in kept:
                _change_settings(rule.path, partial(remove_rules, [rule]))
                where = abbreviate_home(rule.path)
                terminal.say(f"{rule.kind}: {safe(rule.rule)} is taken out of {where}, as the note {rule.memory} has ended")
        if ended:
            change_rules(home, lambda rules: [rule for rule in rules if rule not in ended])
    except SubcogError as error:  # The next command tries again.
        terminal.say(f"a rule of a note that has ended stays: {error}")


def describe_rules(memory: Memory) -> str:
    """Return the rules that a memory owns, "" for none."""
    return ", ".join(f"{rule.kind}: {rule.rule}" for rule in read_rules(context.home()) if rule.memory == memory.id)


def _change_settings(path: str, change: Callable[[str | None], str | None]) -> tuple[str | None, str | None]:
    with faults_named(f"{path} has no rules as Claude Code writes them"):
        return change_settings(path, change)


def _with_rule(text: str | None, rule: OwnedRule) -> str:
    if text is None:
        return hook_entries.dump_json({PERMISSIONS: {rule.kind: [rule.rule]}})
    hook_entries.refuse_comments(text)
    return text if _find_rule(text, rule) else hook_entries.add_to_list(text, (PERMISSIONS, rule.kind), rule.rule)


def remove_rules(rules: Iterable[OwnedRule], text: str | None) -> str | None:
    """Return settings (None for no file) without these rules. Raises ValueError for invalid JSON."""
    for rule in rules:
        if text is not None and (element := _find_rule(text, rule)):
            path = [*hook_entries.find_path(text, PERMISSIONS, rule.kind), element]
            text = hook_entries.drop_emptied(text, hook_entries.remove_last(text, path), PERMISSIONS)
    return text


def _find_rule(text: str, rule: OwnedRule) -> hook_entries.Member | None:
    elements = hook_entries.list_elements(text, PERMISSIONS, rule.kind)
    return next((element for element in elements if element.value == rule.rule), None)
