"""Shell commands of a session: parsed, and failed attempts told from fixes."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from subcog_hooks.llm.disclosure import may_hold_secret
from subcog_hooks.redaction.redact import redact

MAX_LENGTH = 300  # characters of a command that is looked at
MOST_CHANGED = 3  # words on either side
MOST_BEFORE = 5  # words that are put before a command: `docker compose exec web pytest`
MOST_SHOWN = 60  # characters of a word that differs

LOOKING = frozenset(  # programs that change nothing
    """[ awk basename cat cd cmp column command cut date df diff dirname du echo false fd file find grep egrep head history
    hostname id jq less ls lsof md5sum more netstat pgrep printenv printf ps pwd readlink realpath rg sed sort stat tail test
    tree true type uname uniq wc whereis which whoami""".split()
)
_OF_OTHER_THINGS = frozenset(  # programs that fail for what they are given, or for what is out there
    """chmod chown cp curl install kill killall ln mkdir mv nc ping pkill rm rmdir rsync scp sleep source ssh tar touch unzip
    wget xargs zip .""".split()
)
_AROUND = frozenset("command env exec nice nohup strace sudo time timeout watch".split())  # run another one as it is
_CHANGING = ("-i", "--in-place", "-delete", "-exec", "-ok", "-o", "--output", "-x", "--exec")  # options of programs that look
_LOOKING_OF_GIT = frozenset("blame branch diff grep log ls-files remote rev-parse show status".split())
_GOES_ON = frozenset(("run", "compose", "exec", "tool", "task", "x", "dlx", "-m"))  # what is run follows
_RUNNERS = frozenset(
    "bun composer deno gradle hatch inv invoke just make mage mix mvn nox npm nx pdm pnpm poe rake task tox yarn".split()
)
_LESS = tuple(  # begin options by which a command does less, or says less, or changes what it checks
    """--help --version --verbose --quiet --silent --dry --list --collect --filter --grep --test --last --bail --maxfail --pass
    --no-verify --force --skip --ignore --exclude --no-check --noemit --continue --exit-zero --fix --write --update --no-fail
    --tb --color --no-color --allow-empty --changed --only --check --no-run --watch""".split()
)
_LESS_SHORT = frozenset("-h -v -V -q -s -k -t -x -n -f -w -u --co --lf --ff".split())
_TELLING = ("token", "secret", "key", "pass", "pwd", "cred", "auth", "url", "uri", "dsn", "cookie")  # in names of variables
_UNKNOWN = (  # in what a program prints of a command that it does not have
    *("missing script", "no rule to make", "unknown command", "no such command", "is not a valid", "not a recognized"),
    *("is not recognized", "does not contain recipe", "no task named", "couldn't find a script", "unrecognized command"),
    "script not found",
)
_NOT_FOUND = "exit code 127"  # how the client begins what a shell says that does not find a program
_NOWHERE = re.compile(r"2>&1|[12&]?>\s*/dev/null")
_APART = re.compile(r"\|\||&&|[|;&\n]")
_ENDINGS = re.compile(r"\s+(?:2>&1|2?>\s*/dev/null)\s*$")
_IN_FOLDER = re.compile(r"cd\s+(\S+)\s*&&\s*(.*)", re.DOTALL)
_EXPORTED = re.compile(r"export\s+([A-Za-z_]\w*=(?:\$\([^()`;|&<>$\n]+\)|[^\s()`;|&<>$]+))\s*&&\s*(.*)", re.DOTALL)
_OTHER_THAN_ONE = re.compile(r"[|;<>&`$\n*{}()\\]|^\s*#")  # more than one simple command, or what a shell works out first
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_WORD = re.compile(r"[a-z][a-z0-9_:-]*")


class Command(NamedTuple):
    """A simple command: the folder that it goes to first, variables set for it, its words."""

    folder: str
    variables: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def signature(self) -> tuple[str, ...]:
        """The command as others are held against it, whatever the order of its variables."""
        return (self.folder, *sorted(self.variables), *self.words)


class OtherForm(NamedTuple):
    """The two forms of a command. is_in_folder: they differ in the folder, so that it counts where the first one ran."""

    failed: str
    worked: str
    is_in_folder: bool = False


def read_command(text: str, folder: str = "") -> Command | None:
    """Return a command in its parts; None for one that is not simple. folder: where it runs; paths in there are named from it.

    >>> read_command("cd web && CI=1 npm test 2>&1")
    Command(folder='web', variables=('CI=1',), words=('npm', 'test'))
    >>> read_command("npm test | tail -5"), read_command("npm test || true"), read_command("echo $HOME")
    (None, None, None)
    """
    if len(text) > MAX_LENGTH:
        return None
    text = _ENDINGS.sub("", text.strip())
    into = _IN_FOLDER.fullmatch(text)
    goes_to, text = (into[1], into[2].strip()) if into else ("", text)
    exported = []
    while set_before := _EXPORTED.fullmatch(text):
        exported.append(set_before[1])
        text = set_before[2].strip()
    if not text or _OTHER_THAN_ONE.search(text) or _OTHER_THAN_ONE.search(goes_to):
        return None
    try:
        words = [_from_folder(word, folder) for word in shlex.split(text)]
    except ValueError:
        return None
    count = next((place for place, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    if count == len(words):
        return None
    goes_to = _from_folder(goes_to.rstrip("/"), folder).strip("\"'")
    return Command("" if goes_to == "." else goes_to.removeprefix("./"), (*exported, *words[:count]), tuple(words[count:]))


def _from_folder(word: str, folder: str) -> str:
    """Return a word as it would be written in a folder: a path in there from there, one in the person's own with a tilde."""
    for place, sign in ((folder.rstrip("/"), ""), (os.path.expanduser("~"), "~/")):
        if place and word.startswith(f"{place}/"):
            return sign + word[len(place) + 1 :] or "."
    return "." if folder and word == folder else word


def forms_of(command: Command) -> set[str]:
    """Return the forms that a command which runs where it is has, as a change names the one that failed.

    >>> sorted(forms_of(read_command("npm run test --ci")))
    ['npm', 'npm run', 'npm run test', 'npm run test --ci']
    """
    if command.folder or command.variables:
        return set()
    plain = list(takewhile(lambda word: not _is_option(word), command.words))
    forms = {" ".join(plain[:length]) for length in range(1, min(len(plain), MOST_CHANGED + 1) + 1)}
    return forms | {" ".join([_form(command.words), *filter(_is_option, command.words)])}


def only_looks(text: str) -> bool:
    """Return whether a line of commands changes nothing that another could depend on.

    >>> [only_looks(text) for text in ("ls web | head -3 2>/dev/null", "git status && git log", "ls > all", "ls; make")]
    [True, True, False, False]
    """
    text = _NOWHERE.sub("", text)
    if len(text) > MAX_LENGTH or any(sign in text for sign in (">", "`", "$(", "<(")):
        return False
    return all(_only_looks_one(part.split()) for part in _APART.split(text) if part.strip())


def _only_looks_one(words: Sequence[str]) -> bool:
    program, *rest = words
    if program == "command":
        return rest[:1] in (["-v"], ["-V"])
    if program == "git":
        return rest[:1] != [] and rest[0] in _LOOKING_OF_GIT
    return program in LOOKING and not (program in ("sed", "find", "fd", "sort") and any(w.startswith(_CHANGING) for w in rest))


def find_change(failed: Command, worked: Command, printed: str) -> OtherForm | None:
    """Return in which form a command worked that had failed in another one; None where they are other commands.

    printed: what the one that failed said; it is looked at, and nothing of it is kept.

    >>> def change(failed, worked, printed=""):
    ...     return find_change(read_command(failed), read_command(worked), printed)
    >>> change("npm test", "pnpm test")[:2], change("pytest tests/a.py", "uv run pytest tests/a.py")[:2]
    (('npm test', 'pnpm test'), ('pytest', 'uv run pytest'))
    >>> change("npm install left-pad", "npm install left-pad --legacy-peer-deps")[:2]
    ('npm install', 'npm install --legacy-peer-deps')
    >>> change("npm test", "npm test"), change("pytest a.py", "pytest b.py"), change("pytest", "pytest -x")
    (None, None, None)
    """
    if failed.signature == worked.signature or {failed.words[0], worked.words[0]} & (LOOKING | _OF_OTHER_THINGS | _AROUND):
        return None
    printed = printed.lower()
    found = _changed_around(failed, worked) if failed.words == worked.words else None
    if found is None and (failed.folder, failed.variables) == (worked.folder, worked.variables):
        old, new = failed.words, worked.words
        found = _changed_options(old, new) or _changed_program(old, new, printed)
        if found is None and any(sign in printed for sign in _UNKNOWN):
            found = _changed_target(old, new)
    return found if found and _may_be_told(found) else None


def _changed_around(failed: Command, worked: Command) -> OtherForm | None:
    """Return a change of what stands before the same words: a folder to go to, or variables."""
    added = [one for one in worked.variables if one not in failed.variables]
    if failed.folder != worked.folder:
        is_plain = not failed.folder and not worked.folder.startswith(("/", "~", "..", "-"))
        if not is_plain or failed.variables != worked.variables:
            return None
        return OtherForm(_form(failed.words), f"cd {worked.folder} && {_form(worked.words)}", is_in_folder=True)
    is_added = added and len(added) <= MOST_CHANGED and set(failed.variables) < set(worked.variables)
    names = [one.partition("=")[0].lower() for one in added]
    if not is_added or any(part in name for name in names for part in _TELLING):
        return None
    return OtherForm(_form(failed.words), " ".join([*added, _form(worked.words)]))


def _changed_options(old: Sequence[str], new: Sequence[str]) -> OtherForm | None:
    """Return a change of options alone."""
    gone, come = [word for word in old if word not in new], [word for word in new if word not in old]
    if [word for word in old if word not in gone] != [word for word in new if word not in come]:
        return None
    changed = [*gone, *come]
    if not changed or len(changed) > MOST_CHANGED or not all(map(_is_option, changed)) or not _form(old):
        return None
    if any(word in _LESS_SHORT or word.lower().startswith(_LESS) for word in changed):
        return None
    return OtherForm(" ".join([_form(old), *gone]), " ".join([_form(new), *come])) if _form(old) == _form(new) else None


def _changed_program(old: Sequence[str], new: Sequence[str], printed: str) -> OtherForm | None:
    """Return a change of the program, or of what stands before it, with the same words behind it."""
    same = 0
    while same < min(len(old), len(new)) and old[-1 - same] == new[-1 - same]:
        same += 1
    head, other = old[: len(old) - same], new[: len(new) - same]
    behind = old[len(old) - same :]
    if not behind or not other or _is_option(other[0]):
        return None
    if not head:  # something was put before it
        return OtherForm(_form(behind), f"{' '.join(other)} {_form(behind)}") if len(other) <= MOST_BEFORE else None
    if max(len(head), len(other)) > MOST_CHANGED or _is_option(head[0]) or head[0] == other[0]:
        return None
    if len(head) == 1 and any(f"{head[0].lower()}: {sign}" in printed for sign in ("command not found", "not found")):
        return OtherForm(head[0], " ".join(other))
    if len(head) == len(other) == 1 and os.path.basename(other[0]) == head[0] and printed.startswith(_NOT_FOUND):
        return OtherForm(head[0], other[0])  # the same program by its place
    said = behind[: 2 if behind[0] in _GOES_ON else 1]
    if any(word.startswith(("/", "~")) or (_is_option(word) and word not in _GOES_ON) for word in said):
        return None
    return OtherForm(" ".join([*head, *said]), " ".join([*other, *said]))


def _changed_target(old: Sequence[str], new: Sequence[str]) -> OtherForm | None:
    """Return a change of what a runner runs: the name of a script, a recipe, a target."""
    if old[0] != new[0] or old[0] not in _RUNNERS or len(old) > MOST_CHANGED or len(new) > MOST_CHANGED:
        return None
    is_plain = all(_WORD.fullmatch(word) for word in (*old[1:], *new[1:]))
    return OtherForm(" ".join(old), " ".join(new)) if is_plain and len(old) > 1 and len(new) > 1 else None


def _form(words: Sequence[str]) -> str:
    """Return a program with its subcommand, without what it is given.

    >>> _form(["npm", "run", "build", "--", "x"]), _form(["git", "push", "origin", "main"]), _form(["pytest", "tests/a.py"])
    ('npm run build', 'git push', 'pytest')
    """
    kept = [words[0]]
    for word in words[1:3]:
        goes_on = len(kept) == 1 or kept[-1] in _GOES_ON
        if not goes_on or not (_WORD.fullmatch(word) or word in _GOES_ON):
            break
        kept.append(word)
    return " ".join(kept)


def _is_option(word: str) -> bool:
    return word.startswith("-")


def _may_be_told(change: OtherForm) -> bool:
    """Return whether both forms are short, plain, and hold no secret and no place of this machine alone."""
    for text in (change.failed, change.worked):
        if not text.isprintable() or not text.isascii() or "`" in text or redact(text).text != text or may_hold_secret(text):
            return False
        if any(len(word) > MOST_SHOWN for word in text.split()):
            return False
    is_by_place = os.path.basename(change.worked) == change.failed and " " not in change.failed
    is_elsewhere = any(word.startswith(("/", "~")) for word in (*change.failed.split(), *change.worked.split()))
    return change.failed != change.worked and (is_by_place or not is_elsewhere)


TOOL = "Bash"
MOST_FAILED = 5  # that are waited for
MOST_LATER = 8  # commands after which one that failed is not thought of any more
MOST_WORKED = 2_000  # commands of a session that are kept, to see that the failed form never worked
MOST_FIXES = 100  # of one reading
MAX_PRINTED = 2_000  # characters that are looked at
MAX_ID = 100  # characters of a call's id
_FAILED = re.compile(r"Exit code (\d{1,3})\b")  # how the client begins what a command printed that failed
_STOPPED = frozenset((124, 130, 137, 143))  # exit codes of a command that somebody ended
_LATE = "command timed out"


class Fix(NamedTuple):
    """A command that failed, and the form in which it worked then.

    at: milliseconds since the epoch; uuid, offset: of the row in which it worked; folder: where it failed.
    """

    change: OtherForm
    session: str
    folder: str
    at: int
    uuid: str
    offset: int


class Ended(NamedTuple):
    """The row in which a command ended. at: milliseconds since the epoch; is_new: it was not read before."""

    session: str
    at: int
    uuid: str
    offset: int
    is_new: bool


class _Failed(NamedTuple):
    command: Command
    folder: str
    printed: str
    number: int  # of the session's commands


class Attempts:
    """Follows the commands of one session."""

    __slots__ = ("_count", "_failed", "_fixes", "_running", "_worked")

    def __init__(self) -> None:
        self._running: dict[str, tuple[str, str]] = {}  # command and folder, by the call's id
        self._failed: list[_Failed] = []
        self._fixes: list[tuple[Fix, Command]] = []
        self._worked: dict[str, str] = {}  # its folder, by the command
        self._count = 0

    def begin(self, identifier: str, given: Mapping[str, object], folder: str) -> None:
        """Note that a command is about to run."""
        command = given.get("command")
        if isinstance(command, str) and 0 < len(identifier) <= MAX_ID and not given.get("run_in_background"):
            if len(self._running) > MOST_WORKED:
                self._running.clear()
            self._running[identifier] = (command[: MAX_LENGTH + 1], folder)  # a longer one is only known to have run

    def disturb(self) -> None:
        """Note that something changed: what failed before may work now in the form that it had."""
        self._failed.clear()

    def end(self, identifier: str, printed: str, ended: Ended, *, is_error: bool) -> None:
        """Note how a command ended, by what the client wrote of it."""
        known = self._running.pop(identifier, None)
        if known is None:
            return
        text, folder = known
        self._count += 1
        if is_error:
            self._note_failed(text, folder, printed)
        else:
            self._note_worked(text, folder, ended)

    def _note_failed(self, text: str, folder: str, printed: str) -> None:
        first = printed[:MAX_PRINTED]
        exit_code = _FAILED.match(first)
        command = read_command(text, folder)
        if not exit_code or int(exit_code[1]) in _STOPPED or _LATE in first.lower() or command is None:
            return  # it was refused, ended, or is more than a command
        self._failed.append(_Failed(command, folder, first, self._count))
        del self._failed[:-MOST_FAILED]

    def _note_worked(self, text: str, folder: str, ended: Ended) -> None:
        if len(text) <= MAX_LENGTH and len(self._worked) < MOST_WORKED:
            self._worked.setdefault(text, folder)
        if not self._failed:
            return
        command = read_command(text, folder)
        for failed in self._failed if command else ():
            is_near = self._count - failed.number <= MOST_LATER and failed.folder == folder
            change = find_change(failed.command, command, failed.printed) if command and is_near else None
            if change:
                if ended.is_new and len(self._fixes) < MOST_FIXES:
                    fix = Fix(change, ended.session, folder, ended.at, ended.uuid, ended.offset)
                    self._fixes.append((fix, failed.command))
                break
        if not only_looks(text):
            self.disturb()

    def worked(self) -> dict[str, str]:
        """Return the commands that worked, each with the folder it first did so in."""
        return self._worked

    def fixes(self) -> list[Fix]:
        """Return what was found, without a form that worked in this session, too."""
        if not self._fixes:
            return []
        worked = {one.signature for text, folder in self._worked.items() if (one := read_command(text, folder))}
        return [fix for fix, failed in self._fixes if failed.signature not in worked]
