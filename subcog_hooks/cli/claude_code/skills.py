"""The skills that `init` brings to Claude Code: by which the agent stores and looks up, and the person asks in a session.

The plugin has the same texts. A skill of ours that the person has changed is the person's, and stays.
"""

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from subcog_hooks.cli.commands import COMMANDS
from subcog_hooks.core import regular_files
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.whole_files import WholeFile

SKILLS = ("remember", "recall", "why", "review", "forget", "brief")
MAX_SKILL = 64 * 1024  # bytes; ours have two thousand
MISSING, SAME, OLDER, CHANGED, FOREIGN = "missing", "same", "older", "changed", "foreign"

_FILE = "SKILL.md"
_PREFIX = "subcog-"  # of the folders, which name the skills
_MADE_BY = "<!-- written by `subcog init`, which replaces it while nobody changes it: "
_END = " -->\n"
_CALLS = re.compile(rf"\bsubcog (?=(?:{'|'.join(map(re.escape, COMMANDS))})\b)")
_DIGITS = 16
_READABLE = 0o644  # as a person writes one


class Skill(NamedTuple):
    """A skill on disk. path: of its file; state: MISSING, SAME, OLDER (ours of another version, or for another command),
    CHANGED (ours, changed by the person), FOREIGN (another's of this name)."""

    name: str
    path: str
    text: str
    state: str


def skill_text(name: str) -> str:
    """Return the text of a skill, by which it calls the command `subcog`.

    >>> skill_text("brief").splitlines()[0]
    '---'
    """
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "skills", f"{name}.md")
    with open(path, encoding="utf-8") as file:
        return file.read()


def find_skills(folder: str, program: str) -> list[Skill]:
    """Return our skills as they should be and as they are in a client's folder. Raises ConfigError.

    program: the command that they run.
    """
    return [_look(name, folder, _written(name, program)) for name in SKILLS]


def path_of(name: str, folder: str) -> str:
    """Return the file of a skill in a client's folder."""
    return os.path.join(folder, _PREFIX + name, _FILE)


def write(skills: Sequence[Skill]) -> None:
    """Write the skills that are missing or older. Raises ConfigError."""
    for skill in skills:
        if skill.state not in (MISSING, OLDER):
            continue
        target = os.path.realpath(skill.path)  # a link into somebody's dotfiles stays a link
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with WholeFile(target) as whole:
                whole.file.write(skill.text)
                os.chmod(whole.path, _READABLE)
        except OSError as error:
            raise ConfigError(
                f"{skill.path} can not be written: {error.strerror}", "check its permissions, or give --no-skills"
            ) from error


def remove(skills: Sequence[Skill]) -> None:
    """Remove the skills that are ours and as we wrote them, with folders that are empty then. Raises ConfigError."""
    for skill in skills:
        if skill.state not in (SAME, OLDER):
            continue
        try:
            os.unlink(skill.path)
            for folder in _folders_of(skill):
                os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            if os.path.lexists(skill.path):
                raise ConfigError(f"{skill.path} can not be removed: {error.strerror}", "remove it by hand") from error


def command_of(program: Sequence[str]) -> str:
    """Return the command that a skill runs: `subcog` where that is on the PATH, else the program's own words.

    program: what runs this installation.
    """
    found = shutil.which("subcog")
    if len(program) == 1 and found and os.path.realpath(found) == os.path.realpath(program[0]):
        return "subcog"
    return shlex.join(program)


def _written(name: str, program: str) -> str:
    text = _CALLS.sub(lambda _: f"{program} ", skill_text(name))
    return f"{text}\n{_MADE_BY}{_digest(text)}{_END}"


def _look(name: str, folder: str, wanted: str) -> Skill:
    path = path_of(name, folder)
    try:
        found = regular_files.read_regular(path, MAX_SKILL).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Skill(name, path, wanted, MISSING)
    except (OSError, UnicodeDecodeError):
        return Skill(name, path, wanted, FOREIGN)
    if found == wanted:
        return Skill(name, path, wanted, SAME)
    text, mark, digest = found.rpartition(f"\n{_MADE_BY}")
    if not mark:
        return Skill(name, path, wanted, FOREIGN)
    return Skill(name, path, wanted, OLDER if digest == _digest(text) + _END else CHANGED)


def _folders_of(skill: Skill) -> Iterator[str]:
    """Yield the folders of a skill that go where nothing else is in them."""
    own = os.path.dirname(skill.path)
    yield own
    if not os.listdir(os.path.dirname(own)):
        yield os.path.dirname(own)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
