"""Commands that only look: listings, logs, searches, checks, tests. Nothing has to be known before them. Pure."""

from __future__ import annotations

from subcog_hooks.core.tables import read_rows
from subcog_hooks.text.mentions import MAX_COMMAND, commands_of

_WRITING = frozenset(("--in-place", "--fix", "--write", "--update", "--snapshot-update", "--delete", "-D", "-X"))
_LEADING = frozenset(("sudo", "time", "command", "npx", "bunx", "env"))
_MAX_WORDS = 12  # words of a command that are read
_LOOKING = {program: frozenset(" ".join(words).split()) for program, *words in read_rows(__file__, "looking_commands.tsv")}


def only_looks(command: str) -> bool:
    """Return whether every part of a shell command only looks; an unknown program may do anything.

    >>> only_looks("cd web && git log --oneline -5 | head"), only_looks("kubectl -n jobs logs worker-1")
    (True, True)
    >>> only_looks("git push"), only_looks("cat notes >> plan.md"), only_looks("./deploy.sh"), only_looks("eslint --fix src")
    (False, False, False, False)
    """
    return all(map(_part_looks, commands_of(command[:MAX_COMMAND])))


def _part_looks(part: str) -> bool:
    words = part.split(None, _MAX_WORDS)[:_MAX_WORDS]
    while words and (words[0] in _LEADING or ("=" in words[0] and words[0].partition("=")[0].isidentifier())):
        del words[0]
    if not words:
        return True
    if not _WRITING.isdisjoint(words) or any(">" in word and not word.endswith(("/dev/null", "&1", ">")) for word in words):
        return False
    if not {">", ">>"}.isdisjoint(words) and "/dev/null" not in words:
        return False
    program, *rest = words
    allowed = _LOOKING.get(program.rpartition("/")[2])
    if not allowed:
        return allowed is not None
    arguments = [word.rpartition(":")[2] or word for word in rest if not word.startswith("-")]
    return (
        any(
            argument in allowed or f"{argument}-{following}" in allowed
            for argument, following in zip(arguments[:3], [*arguments[1:3], "", ""], strict=False)
        )
        or not arguments
    )
