"""The topics of `subcog help`: Markdown files in `cli/topics`, the first line of each its title. Read by the terminal alone."""

import difflib
import os
import re

from subcog_hooks.core.errors import UsageError

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "topics")
ORDER = (
    "noting",
    "deciding",
    "cues",
    "searching",
    "settings",
    "llm",
    "embedding",
    "sharing",
    "privacy",
    "performance",
    "metrics",
    "scripts",
)
NEAR = 0.5  # share of common letters from which a word is taken for a misspelt topic
_SUFFIX = ".md"
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)  # for those who edit the file


def names() -> list[str]:
    """Return the names of all topics, in the order in which a newcomer may read them."""
    found = {file.removesuffix(_SUFFIX) for file in os.listdir(FOLDER) if file.endswith(_SUFFIX)}
    return sorted(found, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def title(name: str) -> str:
    """Return what a topic is about, in one line."""
    with open(_path(name), encoding="utf-8") as file:
        return file.readline().removeprefix("# ").strip()


def text(name: str) -> str:
    """Return a topic's Markdown, without the comments for its editors."""
    with open(_path(name), encoding="utf-8") as file:
        return _COMMENT.sub("", file.read())


def find(word: str, commands: list[str]) -> str:
    """Return the name of the topic that a word names, in small or capital letters.

    commands: the names of the commands, which have help pages of their own. Raises UsageError with a suggestion.
    """
    wanted = word.lower()
    known = names()
    if wanted in known:
        return wanted
    if wanted in commands:
        raise UsageError(f"no topic {word!r}", f"it is a command: `subcog {wanted} --help` explains it")
    near = difflib.get_close_matches(wanted, known, n=1, cutoff=NEAR)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"no topic {word[:80]!r}", f"{hint}`subcog help` lists the topics")


def _path(name: str) -> str:
    return os.path.join(FOLDER, name + _SUFFIX)
