"""The topics of `subcog help`: Markdown files in `cli/topics`, whose first line is the title."""

import difflib
import os
import re

from subcog_hooks.core.errors import UsageError

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "topics")
ORDER = "noting deciding cues searching settings llm embedding sharing privacy performance metrics scripts".split()
MIN_SIMILARITY = 0.5  # `difflib` ratio: a topic at least this similar counts as misspelt
_SUFFIX = ".md"
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)  # comments for editors of the file


def all_topics() -> list[str]:
    """Return the names of all topics, in the order that a newcomer may read them in."""
    topics = {file.removesuffix(_SUFFIX) for file in os.listdir(FOLDER) if file.endswith(_SUFFIX)}
    return sorted(topics, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))


def title(name: str) -> str:
    """Return the title of a topic."""
    with open(_path(name), encoding="utf-8") as file:
        return file.readline().removeprefix("# ").strip()


def text(name: str) -> str:
    """Return a topic's Markdown, without the comments for its editors."""
    with open(_path(name), encoding="utf-8") as file:
        return _COMMENT.sub("", file.read())


def find_topic(word: str, commands: list[str]) -> str:
    """Return the topic that a word names, in any case.

    commands: the names of the commands, which have help pages of their own. Raises UsageError with a suggestion.
    """
    topic = word.lower()
    topics = all_topics()
    if topic in topics:
        return topic
    if topic in commands:
        raise UsageError(f"no topic {word!r}", f"it is a command: `subcog {topic} --help` explains it")
    near = difflib.get_close_matches(topic, topics, n=1, cutoff=MIN_SIMILARITY)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"no topic {word[:80]!r}", f"{hint}`subcog help` lists the topics")


def _path(name: str) -> str:
    return os.path.join(FOLDER, name + _SUFFIX)
