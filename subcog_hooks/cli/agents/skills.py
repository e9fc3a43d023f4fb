"""The skills that `init` installs, for the agent and the person to use memories in a session.

The plugin has the same texts. Other agents than Claude Code get the skills that tell when to store and when to look up, without
the fields that are Claude Code's own. A skill that the person has changed is never replaced or removed.
"""

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from typing import NamedTuple

from subcog_hooks.cli.agents import claude_code
from subcog_hooks.cli.commands import COMMANDS
from subcog_hooks.cli.terminal.output import abbreviate_home, terminal
from subcog_hooks.core import files
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.files import WholeFile

SKILLS = ("remember", "recall", "why", "review", "forget", "brief")
FOR_OTHERS = ("remember", "recall", "why")  # Their models may call each skill, so none changes what is stored already.
MAX_SKILL = 64 * 1024  # bytes; our skills have two thousand
MISSING, SAME, OLDER, CHANGED = "missing", "same", "older", "changed"

_FILE = "SKILL.md"
_PREFIX = "subcog-"  # of the folders, whose names are the skills'
_MADE_BY = "<!-- written by `subcog init`, which replaces it while nobody changes it: "
_END = " -->\n"
_CALLS = re.compile(rf"\bsubcog (?=(?:{'|'.join(map(re.escape, COMMANDS))})\b)")
_ARGUMENTS = re.compile(r"(?: [^.\n]*:)? \$ARGUMENTS")
_DIGITS = 16


class Skill(NamedTuple):
    """A skill on disk. path: of its file; state: MISSING, SAME, OLDER (another version or command), CHANGED (by the person)."""

    name: str
    path: str
    text: str
    state: str

    @property
    def folder(self) -> str:
        """Return the client's folder of skills."""
        return os.path.dirname(os.path.dirname(self.path))


def skill_text(name: str) -> str:
    """Return the text of a skill that calls the command `subcog`.

    >>> skill_text("brief").splitlines()[0]
    '---'
    """
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "skills", f"{name}.md")
    with open(path, encoding="utf-8") as file:
        return file.read()


def plain_text(name: str) -> str:
    """Return the text of a skill for other agents than Claude Code: its name and description, and no arguments.

    >>> plain_text("why").splitlines()[:2], "$ARGUMENTS" in "".join(map(plain_text, FOR_OTHERS))
    (['---', 'name: subcog-why'], False)
    """
    _, head, body = skill_text(name).split("---\n", 2)
    description = next(line for line in head.splitlines() if line.startswith("description:"))
    return f"---\nname: {_PREFIX}{name}\n{description}\n---\n{_ARGUMENTS.sub('', body)}"


def find_skills(folder: str, program: str, *, is_plain: bool = False) -> list[Skill]:
    """Return our skills with their state in a client's folder. program: their command; is_plain: not of Claude Code."""
    found = []
    for name in FOR_OTHERS if is_plain else SKILLS:
        text = _CALLS.sub(lambda _: f"{program} ", plain_text(name) if is_plain else skill_text(name))
        path, wanted = path_of(name, folder), f"{text}\n{_MADE_BY}{_digest(text)}{_END}"
        found.append(Skill(name, path, wanted, _state_of(path, wanted)))
    return found


def path_of(name: str, folder: str) -> str:
    """Return the file of a skill in a client's folder."""
    return os.path.join(folder, _PREFIX + name, _FILE)


def find_unwritten(skills: Sequence[Skill]) -> list[Skill]:
    """Return the skills that are missing or older."""
    return [skill for skill in skills if skill.state in (MISSING, OLDER)]


def bring_skills(skills: Sequence[Skill], sign: str, *, dry_run: bool) -> None:
    """Write the skills that are missing or older, and say so. Raises ConfigError. sign: before a skill's name."""
    written = find_unwritten(skills)
    for skill in () if dry_run else written:
        target = os.path.realpath(skill.path)  # A link, as into dotfiles, stays a link.
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with WholeFile(target) as whole:
                whole.file.write(skill.text)
                os.chmod(whole.path, 0o644)  # the usual mode of a user's file
        except OSError as error:
            hint = "check its permissions, or give --no-skills"
            raise ConfigError(f"{skill.path} cannot be written: {error.strerror}", hint) from error
    if written:
        names = ", ".join(f"-{skill.name}" for skill in written)
        terminal.say(f"{abbreviate_home(written[0].folder)}: {'would get' if dry_run else 'has'} {sign}subcog{names}")
    for skill in skills:
        if skill.state == CHANGED:
            terminal.say(f"{skill.path} is left alone: it is not as subcog wrote it")


def take_skills_away(skills: Sequence[Skill], *, dry_run: bool) -> bool:
    """Remove our skills that nobody changed, and say so. Return whether there were any. Raises ConfigError."""
    removed = [skill for skill in skills if skill.state in (SAME, OLDER)]
    for skill in () if dry_run else removed:
        try:
            os.unlink(skill.path)
            os.rmdir(os.path.dirname(skill.path))
            os.rmdir(skill.folder)
        except OSError as error:
            if os.path.lexists(skill.path):
                raise ConfigError(f"{skill.path} cannot be removed: {error.strerror}", "remove it by hand") from error
    if removed:
        names = ", ".join(skill.name for skill in removed)
        terminal.say(f"{removed[0].folder}: {'would lose' if dry_run else 'no longer has'} the skills {names}")
    for skill in skills:
        if skill.state == CHANGED:
            terminal.say(f"{skill.path} stays: it is not as subcog wrote it")
    return bool(removed)


def agent_command() -> str:
    """Return a skill's command: `subcog` if PATH leads to this installation, else the full command of this installation."""
    program, path = claude_code.executable(), shutil.which("subcog")
    if len(program) == 1 and path and os.path.realpath(path) == os.path.realpath(program[0]):
        return "subcog"
    return shlex.join(program)


def _state_of(path: str, wanted: str) -> str:
    try:
        content = files.read_regular(path, MAX_SKILL).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except (OSError, UnicodeDecodeError):
        return CHANGED
    if content == wanted:
        return SAME
    text, _, digest = content.rpartition(f"\n{_MADE_BY}")
    return OLDER if digest == _digest(text) + _END else CHANGED


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
