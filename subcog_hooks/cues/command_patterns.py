"""Patterns of commands such as `git push*`, by which a note stops a command. Pure.

A pattern is the beginning of one command: its words in their order, `*` for any text, its options in any place.
"""

from __future__ import annotations

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.text.simple_commands import find_commands, program_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_PATTERN = 200  # characters
MIN_PROGRAM = 2  # characters of the program's name before a `*`
# Forms in which an agent runs a command. A pattern that misses a command in one of them would not watch.
FORMS = (
    "{}",
    "cd web && {}",
    "git status\n{} 2>&1 | tail -5",
    "A=1 {}; echo done",
    "bash -c '{}'",
    "echo $({})",
    "if {}; then ls; fi",
    "timeout 60 {}",
)


def check_command_pattern(pattern: str) -> None:
    """Raise InvalidMemory unless a pattern stops its own command in each of FORMS, and not nearly every command."""
    name = pattern[:80]
    if len(pattern) > MAX_PATTERN or not pattern.isprintable():
        raise InvalidMemory(f"{name!r} is no pattern of a command", f"give one line of at most {MAX_PATTERN} characters")
    program = pattern.strip().partition(" ")[0].partition("*")[0]
    if len(program) < MIN_PROGRAM or program.startswith("-"):
        raise InvalidMemory(f"{name!r} would stop nearly every command", 'begin it with a program, as in "git push*"')
    example = pattern.replace("*", "x")
    if not all(matches_text(pattern, find_commands(form.replace("{}", example))) for form in FORMS):
        raise InvalidMemory(f"no command would match {name!r}", 'a pattern is the beginning of one command, as in "git push*"')


def matches_text(pattern: str, commands: Sequence[Sequence[str]]) -> bool:
    """Return whether a pattern matches one of these commands, each as `find_commands` returns it.

    >>> matches_text("git push*", find_commands("cd web && sudo git -C api push origin")), matches_text("git push", [["git"]])
    (True, False)
    """
    return any(_matches_command(pattern, words) for words in commands)


def _matches_command(pattern: str, words: Sequence[str]) -> bool:
    """Return whether a simple command begins as a pattern says.

    >>> [_matches_command("git push*", text.split()) for text in ("/usr/bin/git push", "git pull", "git commit push")]
    [True, False, False]
    >>> _matches_command("rm -rf *", ["rm", "-r", "-f", "build"]), _matches_command("git push --force*", ["git", "push"])
    (True, False)
    """
    given = [program_name(words[0]), *words[1:]]
    wanted = pattern.split()
    program, *plain = [word for word in wanted if word is wanted[0] or not word.startswith("-")]
    if _fits(program_name(program), given[0]):
        options = [word for word in given[1:] if word.startswith("-")]
        has_all = all(_has_option(option, options) for option in wanted if option.startswith("-"))
        if has_all and _follows(plain, given[1:]):
            return True
    return "*" in program and _fits(pattern.rstrip("* ") + "*", " ".join(given))


def _follows(plain: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether these words of a pattern follow each other. Options between them, each with a value, do not count."""
    if not plain:
        return True
    if plain[0] == "*":
        return len(plain) == 1 or any(_follows(plain[1:], words[start:]) for start in range(len(words)))
    for index, word in enumerate(words):
        if _fits(plain[0], word):
            return _follows(plain[1:], words[index + 1 :])
        if not word.startswith("-") and not (index and words[index - 1].startswith("-")):
            return False
    return False


def _has_option(wanted: str, options: Sequence[str]) -> bool:
    if any(_fits(wanted, option) or _fits(wanted, option.partition("=")[0]) for option in options):
        return True
    letters = {letter for option in options if not option.startswith("--") for letter in option[1:]}
    return not wanted.startswith("--") and "*" not in wanted and letters.issuperset(wanted[1:])


def _fits(pattern: str, word: str) -> bool:
    """Return whether a word fits a pattern in which `*` stands for any text.

    >>> _fits("push*", "push"), _fits("a*c", "abbc"), _fits("a*b*", "ac"), _fits("*", "")
    (True, True, False, True)
    """
    first, *others = pattern.split("*")
    if not others:
        return pattern == word
    if not word.startswith(first):
        return False
    position = len(first)
    for piece in others[:-1]:
        start = word.find(piece, position)
        if start < 0:
            return False
        position = start + len(piece)
    return len(word) - position >= len(others[-1]) and word.endswith(others[-1])
