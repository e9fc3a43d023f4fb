"""Shell commands of a session: parse them, and pair failed attempts with their fixes."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from subcog_hooks.core.tables import read_words
from subcog_hooks.llm.disclosure import may_hold_secret
from subcog_hooks.redaction.redact import redact

MAX_COMMAND_LENGTH = 300  # characters of a command
MAX_CHANGED = 3  # changed words on either side
MAX_PREFIX = 5  # words put before a command, as in `docker compose exec web pytest`
MAX_CHANGED_WORD = 60  # characters of a changed word

_WORDS = read_words(__file__, "shell_commands.tsv")
READING_PROGRAMS, _EXCLUDED_PROGRAMS, _WRAPPERS = _WORDS["reading"], _WORDS["excluded"], _WORDS["wrappers"]
_READING_GIT_COMMANDS, _RUNNERS, _SHORT_LESSENING_OPTIONS = _WORDS["reading git"], _WORDS["runners"], _WORDS["short lessening"]
_LESSENING_OPTIONS = tuple(_WORDS["lessening"])
# options by which reading programs change files
_WRITING_OPTIONS = tuple("-i --in-place -delete -exec -ok -o --output -x --exec".split())
_SUBCOMMANDS = frozenset(("run", "compose", "exec", "tool", "task", "x", "dlx", "-m"))  # the program to run follows
_SECRET_NAMES = tuple("token secret key pass pwd cred auth url uri dsn cookie".split())  # parts of names of secret variables
_UNKNOWN_COMMAND = (  # messages of programs about an unknown command
    *("missing script", "no rule to make", "unknown command", "no such command", "is not a valid", "not a recognized"),
    *("is not recognized", "does not contain recipe", "no task named", "couldn't find a script", "unrecognized command"),
    "script not found",
)
_TO_DEV_NULL = re.compile(r"2>&1|[12&]?>\s*/dev/null")
_SEPARATOR = re.compile(r"\|\||&&|[|;&\n]")
_ENDINGS = re.compile(r"\s+(?:2>&1|2?>\s*/dev/null)\s*$")
_CD = re.compile(r"cd\s+(\S+)\s*&&\s*(.*)", re.DOTALL)
_EXPORT = re.compile(r"export\s+([A-Za-z_]\w*=(?:\$\([^()`;|&<>$\n]+\)|[^\s()`;|&<>$]+))\s*&&\s*(.*)", re.DOTALL)
_NOT_SIMPLE = re.compile(r"[|;<>&`$\n*{}()\\]|^\s*#")  # more than one simple command, or an expansion
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_WORD = re.compile(r"[a-z][a-z0-9_:-]*")


class Command(NamedTuple):
    """A simple command: the folder of its `cd`, its variables, its words."""

    folder: str
    variables: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def signature(self) -> tuple[str, ...]:
        """The command in a form for comparison, with sorted variables."""
        return (self.folder, *sorted(self.variables), *self.words)


class FormChange(NamedTuple):
    """The failed and the working form of a command. is_in_folder: the folder differs, so it counts where the first ran."""

    failed: str
    worked: str
    is_in_folder: bool = False


def read_command(text: str, folder: str = "") -> Command | None:
    """Parse a simple command; None for any other. folder: its working folder, which is removed from paths.

    >>> read_command("cd web && CI=1 npm test 2>&1")
    Command(folder='web', variables=('CI=1',), words=('npm', 'test'))
    >>> read_command("npm test | tail -5"), read_command("npm test || true"), read_command("echo $HOME")
    (None, None, None)
    """
    if len(text) > MAX_COMMAND_LENGTH:
        return None
    text = _ENDINGS.sub("", text.strip())
    into = _CD.fullmatch(text)
    goes_to, text = (into[1], into[2].strip()) if into else ("", text)
    exported = []
    while set_before := _EXPORT.fullmatch(text):
        exported.append(set_before[1])
        text = set_before[2].strip()
    if not text or _NOT_SIMPLE.search(text) or _NOT_SIMPLE.search(goes_to):
        return None
    try:
        words = [_relative_word(word, folder) for word in shlex.split(text)]
    except ValueError:
        return None
    count = next((index for index, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    if count == len(words):
        return None
    goes_to = _relative_word(goes_to.rstrip("/"), folder).strip("\"'")
    return Command("" if goes_to == "." else goes_to.removeprefix("./"), (*exported, *words[:count]), tuple(words[count:]))


def _relative_word(word: str, folder: str) -> str:
    for base, sign in ((folder.rstrip("/"), ""), (os.path.expanduser("~"), "~/")):
        if base and word.startswith(f"{base}/"):
            return sign + word[len(base) + 1 :] or "."
    return "." if folder and word == folder else word


def command_forms(command: Command) -> set[str]:
    """Return the forms by which a change can name this command, if it runs in place.

    >>> sorted(command_forms(read_command("npm run test --ci")))
    ['npm', 'npm run', 'npm run test', 'npm run test --ci']
    """
    if command.folder or command.variables:
        return set()
    plain = list(takewhile(lambda word: not _is_option(word), command.words))
    forms = {" ".join(plain[:length]) for length in range(1, min(len(plain), MAX_CHANGED + 1) + 1)}
    return forms | {" ".join([_base_form(command.words), *filter(_is_option, command.words)])}


def is_read_only(text: str) -> bool:
    """Return whether a line of commands only reads, so that no later command depends on it.

    >>> [is_read_only(text) for text in ("ls web | head -3 2>/dev/null", "git status && git log", "ls > all", "ls; make")]
    [True, True, False, False]
    """
    text = _TO_DEV_NULL.sub("", text)
    if len(text) > MAX_COMMAND_LENGTH or any(sign in text for sign in (">", "`", "$(", "<(")):
        return False
    return all(_is_read_only_command(part.split()) for part in _SEPARATOR.split(text) if part.strip())


def _is_read_only_command(words: Sequence[str]) -> bool:
    program, *rest = words
    if program == "command":
        return rest[:1] in (["-v"], ["-V"])
    if program == "git":
        return rest[:1] != [] and rest[0] in _READING_GIT_COMMANDS
    is_writing = program in ("sed", "find", "fd", "sort") and any(word.startswith(_WRITING_OPTIONS) for word in rest)
    return program in READING_PROGRAMS and not is_writing


def find_change(failed: Command, worked: Command, printed: str) -> FormChange | None:
    """Return the forms of a failed command and its fix; None for two different commands.

    printed: the failed command's output; it is searched, and not stored.

    >>> def change(failed, worked, printed=""):
    ...     return find_change(read_command(failed), read_command(worked), printed)
    >>> change("npm test", "pnpm test")[:2], change("pytest tests/a.py", "uv run pytest tests/a.py")[:2]
    (('npm test', 'pnpm test'), ('pytest', 'uv run pytest'))
    >>> change("npm install left-pad", "npm install left-pad --legacy-peer-deps")[:2]
    ('npm install', 'npm install --legacy-peer-deps')
    >>> change("npm test", "npm test"), change("pytest a.py", "pytest b.py"), change("pytest", "pytest -x")
    (None, None, None)
    """
    programs = {failed.words[0], worked.words[0]}
    if failed.signature == worked.signature or programs & (READING_PROGRAMS | _EXCLUDED_PROGRAMS | _WRAPPERS):
        return None
    printed = printed.lower()
    change = _prefix_change(failed, worked) if failed.words == worked.words else None
    if change is None and (failed.folder, failed.variables) == (worked.folder, worked.variables):
        old, new = failed.words, worked.words
        change = _option_change(old, new) or _program_change(old, new, printed)
        if change is None and any(sign in printed for sign in _UNKNOWN_COMMAND):
            change = _target_change(old, new)
    return change if change and _is_shareable(change) else None


def _prefix_change(failed: Command, worked: Command) -> FormChange | None:
    added = [variable for variable in worked.variables if variable not in failed.variables]
    if failed.folder != worked.folder:
        is_plain = not failed.folder and not worked.folder.startswith(("/", "~", "..", "-"))
        if not is_plain or failed.variables != worked.variables:
            return None
        return FormChange(_base_form(failed.words), f"cd {worked.folder} && {_base_form(worked.words)}", is_in_folder=True)
    is_added = added and len(added) <= MAX_CHANGED and set(failed.variables) < set(worked.variables)
    names = [variable.partition("=")[0].lower() for variable in added]
    if not is_added or any(part in name for name in names for part in _SECRET_NAMES):
        return None
    return FormChange(_base_form(failed.words), " ".join([*added, _base_form(worked.words)]))


def _option_change(old: Sequence[str], new: Sequence[str]) -> FormChange | None:
    removed, added = [word for word in old if word not in new], [word for word in new if word not in old]
    if [word for word in old if word not in removed] != [word for word in new if word not in added]:
        return None
    changed, form = [*removed, *added], _base_form(old)
    if not changed or len(changed) > MAX_CHANGED or not all(map(_is_option, changed)) or not form or form != _base_form(new):
        return None
    if any(word in _SHORT_LESSENING_OPTIONS or word.lower().startswith(_LESSENING_OPTIONS) for word in changed):
        return None
    return FormChange(" ".join([form, *removed]), " ".join([form, *added]))


def _program_change(old: Sequence[str], new: Sequence[str], printed: str) -> FormChange | None:
    same = 0
    while same < min(len(old), len(new)) and old[-1 - same] == new[-1 - same]:
        same += 1
    head, other = old[: len(old) - same], new[: len(new) - same]
    behind = old[len(old) - same :]
    if not behind or not other or _is_option(other[0]):
        return None
    if not head:  # words were put before it
        return FormChange(_base_form(behind), f"{' '.join(other)} {_base_form(behind)}") if len(other) <= MAX_PREFIX else None
    if max(len(head), len(other)) > MAX_CHANGED or _is_option(head[0]) or head[0] == other[0]:
        return None
    if len(head) == 1 and any(f"{head[0].lower()}: {sign}" in printed for sign in ("command not found", "not found")):
        return FormChange(head[0], " ".join(other))
    if len(head) == len(other) == 1 and os.path.basename(other[0]) == head[0] and printed.startswith("exit code 127"):
        return FormChange(head[0], other[0])  # the same program by its path
    shown_words = behind[: 2 if behind[0] in _SUBCOMMANDS else 1]
    if any(word.startswith(("/", "~")) or (_is_option(word) and word not in _SUBCOMMANDS) for word in shown_words):
        return None
    return FormChange(" ".join([*head, *shown_words]), " ".join([*other, *shown_words]))


def _target_change(old: Sequence[str], new: Sequence[str]) -> FormChange | None:
    if old[0] != new[0] or old[0] not in _RUNNERS or len(old) > MAX_CHANGED or len(new) > MAX_CHANGED:
        return None
    is_plain = all(_WORD.fullmatch(word) for word in (*old[1:], *new[1:]))
    return FormChange(" ".join(old), " ".join(new)) if is_plain and len(old) > 1 and len(new) > 1 else None


def _base_form(words: Sequence[str]) -> str:
    """Return a program with its subcommand, without arguments.

    >>> [_base_form(text.split()) for text in ("npm run build -- x", "git push origin main", "pytest tests/a.py")]
    ['npm run build', 'git push', 'pytest']
    """
    form = [words[0]]
    for word in words[1:3]:
        goes_on = len(form) == 1 or form[-1] in _SUBCOMMANDS
        if not goes_on or not (_WORD.fullmatch(word) or word in _SUBCOMMANDS):
            break
        form.append(word)
    return " ".join(form)


def _is_option(word: str) -> bool:
    return word.startswith("-")


def _is_shareable(change: FormChange) -> bool:
    for text in (change.failed, change.worked):
        if not text.isprintable() or not text.isascii() or "`" in text or redact(text).text != text or may_hold_secret(text):
            return False
        if any(len(word) > MAX_CHANGED_WORD for word in text.split()):
            return False
    is_by_place = os.path.basename(change.worked) == change.failed and " " not in change.failed
    is_elsewhere = any(word.startswith(("/", "~")) for word in (*change.failed.split(), *change.worked.split()))
    return change.failed != change.worked and (is_by_place or not is_elsewhere)


SHELL_TOOL = "Bash"
MAX_FAILED = 5  # failed commands that wait for a fix
MAX_COMMANDS_LATER = 8  # commands after which a failed one is dropped
MAX_WORKED = 2_000  # working commands of a session, kept to check that the failed form never worked
MAX_FIXES = 100  # fixes of one reading
MAX_PRINTED = 2_000  # characters of a command's output
MAX_CALL_ID = 100  # characters of a call's id
_FAILED = re.compile(r"Exit code (\d{1,3})\b")  # the client's prefix for a failed command's output
_KILLED_CODES = frozenset((124, 130, 137, 143))  # exit codes of a killed command


class Fix(NamedTuple):
    """A command that failed, and its working form. uuid, offset: of the row in which it worked; folder: where it failed."""

    change: FormChange
    session: str
    folder: str
    at_ms: int
    uuid: str
    offset: int


class CommandEnd(NamedTuple):
    """The row in which a command ended. at_ms: milliseconds since the epoch; is_new: it was not read before."""

    session: str
    at_ms: int
    uuid: str
    offset: int
    is_new: bool


class _FailedCommand(NamedTuple):
    command: Command
    folder: str
    printed: str
    number: int  # among the session's commands


@dataclass(slots=True)
class Attempts:
    """The commands of one session, followed from failure to fix. working_commands: each with its first folder."""

    working_commands: dict[str, str] = field(default_factory=dict)
    _running: dict[str, tuple[str, str]] = field(default_factory=dict)  # command and folder, by the call's id
    _failed: list[_FailedCommand] = field(default_factory=list)
    _fixes: list[tuple[Fix, Command]] = field(default_factory=list)
    _count: int = 0

    def begin(self, identifier: str, arguments: Mapping[str, object], folder: str) -> None:
        command = arguments.get("command")
        if isinstance(command, str) and 0 < len(identifier) <= MAX_CALL_ID and not arguments.get("run_in_background"):
            if len(self._running) > MAX_WORKED:
                self._running.clear()
            self._running[identifier] = (command[: MAX_COMMAND_LENGTH + 1], folder)  # a longer command is noted without its end

    def forget_failures(self) -> None:
        """Note a change of files: a failed command may work now in its old form."""
        self._failed.clear()

    def end(self, identifier: str, printed: str, ended: CommandEnd, *, is_error: bool) -> None:
        """Note the end of a command. printed: its output as the client noted it."""
        command_and_folder = self._running.pop(identifier, None)
        if command_and_folder is None:
            return
        text, folder = command_and_folder
        self._count += 1
        if is_error:
            self._note_failed(text, folder, printed)
        else:
            self._note_worked(text, folder, ended)

    def _note_failed(self, text: str, folder: str, printed: str) -> None:
        first = printed[:MAX_PRINTED]
        exit_code = _FAILED.match(first)
        command = read_command(text, folder)
        if not exit_code or int(exit_code[1]) in _KILLED_CODES or "command timed out" in first.lower() or command is None:
            return  # it was refused, killed, or is no simple command
        self._failed.append(_FailedCommand(command, folder, first, self._count))
        del self._failed[:-MAX_FAILED]

    def _note_worked(self, text: str, folder: str, ended: CommandEnd) -> None:
        if len(text) <= MAX_COMMAND_LENGTH and len(self.working_commands) < MAX_WORKED:
            self.working_commands.setdefault(text, folder)
        if not self._failed:
            return
        command = read_command(text, folder)
        for failed in self._failed if command else ():
            is_near = self._count - failed.number <= MAX_COMMANDS_LATER and failed.folder == folder
            change = find_change(failed.command, command, failed.printed) if command and is_near else None
            if change:
                if ended.is_new and len(self._fixes) < MAX_FIXES:
                    fix = Fix(change, ended.session, folder, ended.at_ms, ended.uuid, ended.offset)
                    self._fixes.append((fix, failed.command))
                break
        if not is_read_only(text):
            self.forget_failures()

    def fixes(self) -> list[Fix]:
        """Return the fixes whose failed form never worked in this session."""
        if not self._fixes:
            return []
        worked = {
            command.signature for text, folder in self.working_commands.items() if (command := read_command(text, folder))
        }
        return [fix for fix, failed in self._fixes if failed.signature not in worked]
