"""Commands in prose without backticks: `make openapi`, `just db-reset`, `docker compose up`.

A program and one of its own subcommands are a command anywhere. A program that runs targets of any name, or is an English
word as well, needs a sign beside it: a verb of running, the beginning of a sentence, or a name that no word has.
"""

from __future__ import annotations

from subcog_hooks.core.files import read_words
from subcog_hooks.text.familiar_names import INTERPRETERS, VALUED
from subcog_hooks.text.vocabulary import EVERYDAY, STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_WORDS = 8  # words of a command; options may stand before the subcommand

_SUBCOMMANDS = read_words(__file__, "subcommands.tsv")  # program -> its subcommands
_THIRD = {  # For these two words, the third names the action.
    ("docker", "compose"): _SUBCOMMANDS["docker-compose"],
    ("cargo", "run"): frozenset(),
    ("go", "run"): frozenset(),
}
_SCRIPTS = {  # These pairs of words run a project's own scripts; the first is no English word.
    ("npm", "run"),
    ("pnpm", "run"),
    ("yarn", "run"),
    ("bun", "run"),
    ("deno", "task"),
    ("hatch", "run"),
    ("pdm", "run"),
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
}
_RUNNERS = frozenset(("just", "make", "rake", "inv", "invoke", "task", "mix", "poe", "nox", "yarn", "pnpm", "mage", "go"))
_GO = frozenset(("build", "generate", "install", "mod", "run", "test", "vet", "work"))

_ON_FILES = frozenset((*INTERPRETERS, "pytest"))  # A file or a folder follows them.
_SOURCES = (".js", ".mjs", ".php", ".pl", ".py", ".rb", ".ts")
_PROGRAMS = frozenset((*_SUBCOMMANDS, *_RUNNERS, *_ON_FILES, *(program for program, _ in (*_SCRIPTS, *_THIRD))))

_WORDS = read_words(__file__, "prose_commands.tsv")
_RUN, _DOES, _GOES_ON = _WORDS["run"], _WORDS["does"], _WORDS["goes on"]
_TARGETS, _NOUNS, _COMPOUND = _WORDS["targets"], _WORDS["nouns"], _WORDS["compound"]
_OPENING = "(\"'[{\u2018\u201c\u2014\u2192"
_CLOSING = ".,;:!?)]}\"'\u2019\u201d"
_ENDS = frozenset(".:;!?(,\u2014\u2013-\u2192>*")  # A clause begins behind them.


def commands_in_prose(text: str) -> Iterator[str]:
    """Yield each command that a text names without backticks: its program, and the words behind that may belong to it.

    Linear in the text: a word is looked up in a table.

    >>> list(commands_in_prose("After new routes run make openapi; just db-reset wipes all. Make sure of it."))
    ['make openapi', 'just db-reset']
    """
    words = text.split()
    for index, word in enumerate(words):
        program = word.lstrip(_OPENING)
        if program in _PROGRAMS:
            command = _command_at(words, index, program)
            if command:
                yield command


def _command_at(words: list[str], index: int, program: str) -> str:
    """Return the command that begins at this word; empty if none does."""
    clause = _clause_words(words, index, program)
    plain = [word for word, before in zip(clause[1:], clause, strict=False) if word[0] != "-" and before not in VALUED]
    if not plain:
        return ""
    second, third = plain[0], "".join(plain[1:2])
    if program in _ON_FILES:
        is_meant = _is_path(second) and (program == "pytest" or (second.endswith(_SOURCES) and _is_target(third)))
        return " ".join(clause) if is_meant else ""
    if (program, second) in _SCRIPTS:
        return " ".join(clause) if _is_target(third) else ""
    if (program, second) in _THIRD:
        subcommands = _THIRD[program, second]
        return " ".join(clause) if (third in subcommands if subcommands else _is_path(third)) else ""
    if second in _SUBCOMMANDS.get(program, ()):
        return " ".join(clause)
    if program not in _RUNNERS or clause[1] != second:
        return ""
    if program == "go":
        return " ".join(clause) if second in _GO and (_follows_run(words, index) or _is_path(third)) else ""
    if not _is_target(second):
        return ""
    behind = clause[2] if len(clause) > 2 else ""
    if "-" in second and not _has_sign(second):
        return ""
    goes_on = not behind or behind in _DOES or behind in _GOES_ON
    if _has_sign(second):
        is_meant = goes_on or _follows_run(words, index) or behind.endswith("s")
    elif _follows_run(words, index):
        is_meant = program != "just" or second in _TARGETS or not behind
    else:
        begins = index == 0 or words[index - 1][-1] in _ENDS or words[index] != program
        is_meant = begins and (behind in _DOES or (second in _TARGETS and goes_on))
    return " ".join(clause[:2]) if is_meant else ""


def _clause_words(words: list[str], index: int, program: str) -> list[str]:
    """Return the words from the program to the end of its clause, the last without its punctuation."""
    clause = [program]
    for word in words[index + 1 : index + MAX_WORDS]:
        plain = word.rstrip(_CLOSING)
        if plain:
            clause.append(plain)
        if plain != word:
            break
    return clause


def _follows_run(words: list[str], index: int) -> bool:
    return index > 0 and words[index - 1].lower().lstrip(_OPENING).rstrip(":") in _RUN


def _is_target(word: str) -> bool:
    """Return whether a word may be the name of a project's script."""
    plain = word.replace("-", "").replace("_", "").replace(":", "").replace(".", "").replace("/", "")
    if not (plain.isascii() and plain.isalnum() and word.islower() and word[0].isalpha() and len(word) <= 60):
        return False
    return word not in STOP and word not in _NOUNS and (word in _TARGETS or word not in EVERYDAY)


def _has_sign(word: str) -> bool:
    """Return whether a name is written like no English word: db-reset, db:seed, gen_api, but not read-only."""
    if "_" in word or ":" in word[1:-1]:
        return True
    first, hyphen, last = word.partition("-")
    return (
        len(first) > 1
        and bool(hyphen and last)
        and first not in _COMPOUND
        and "-" not in last
        and not last.endswith(("ed", "ing", "ly"))
    )


def _is_path(word: str) -> bool:
    return "/" in word or word.endswith(_SOURCES)
