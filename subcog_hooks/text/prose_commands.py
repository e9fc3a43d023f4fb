"""Commands in prose that nobody put into backticks: `make openapi`, `just db-reset`, `docker compose up`.

A program and one of its own subcommands are a command wherever they stand. A program that runs targets of any name, or is an
English word as well, needs a sign beside it: a word that says it is run, the beginning of a sentence, a name no word has.
"""

from __future__ import annotations

from subcog_hooks.core.tables import read_words
from subcog_hooks.text.familiar import INTERPRETERS, VALUED
from subcog_hooks.text.vocabulary import EVERYDAY, STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_WORDS = 8  # of a command that are looked at: options may stand before the subcommand

_SUBCOMMANDS = read_words(__file__, "subcommands.tsv")  # of each program
_THIRD = {  # after two words a third one says what is done
    ("docker", "compose"): _SUBCOMMANDS["docker-compose"],
    ("cargo", "run"): frozenset(),
    ("go", "run"): frozenset(),
}
_SCRIPTS = {  # what runs a project's own scripts and is no English word, and what follows it before their names
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

_ON_FILES = frozenset((*INTERPRETERS, "pytest"))  # a file or a folder follows
_SOURCES = (".js", ".mjs", ".php", ".pl", ".py", ".rb", ".ts")
_PROGRAMS = frozenset((*_SUBCOMMANDS, *_RUNNERS, *_ON_FILES, *(program for program, _ in (*_SCRIPTS, *_THIRD))))

_WORDS = read_words(__file__, "prose_commands.tsv")
_RUN, _DOES, _GOES_ON = _WORDS["run"], _WORDS["does"], _WORDS["goes on"]
_TARGETS, _NOUNS, _COMPOUND = _WORDS["targets"], _WORDS["nouns"], _WORDS["compound"]
_OPENING = "(\"'[{\u2018\u201c\u2014\u2192"
_CLOSING = ".,;:!?)]}\"'\u2019\u201d"
_ENDS = frozenset(".:;!?(,\u2014\u2013-\u2192>*")  # what a clause begins behind


def commands_in_prose(text: str) -> Iterator[str]:
    """Yield each command that a text names without backticks: its program, and the words behind that may be its own.

    Linear in the text: a word is looked up in a table.

    >>> list(commands_in_prose("After new routes run make openapi; just db-reset wipes all. Make sure of it."))
    ['make openapi', 'just db-reset']
    """
    words = text.split()
    for at, word in enumerate(words):
        program = word.lstrip(_OPENING)
        if program in _PROGRAMS:
            command = _command(words, at, program)
            if command:
                yield command


def _command(words: list[str], at: int, program: str) -> str:
    """Return the command that begins at this word; empty where it is none."""
    own = _own_words(words, at, program)
    plain = [word for word, before in zip(own[1:], own, strict=False) if word[0] != "-" and before not in VALUED]
    if not plain:
        return ""
    second, third = plain[0], "".join(plain[1:2])
    if program in _ON_FILES:
        is_meant = _is_path(second) and (program == "pytest" or (second.endswith(_SOURCES) and _is_target(third)))
        return " ".join(own) if is_meant else ""
    if (program, second) in _SCRIPTS:
        return " ".join(own) if _is_target(third) else ""
    if (program, second) in _THIRD:
        known = _THIRD[program, second]
        return " ".join(own) if (third in known if known else _is_path(third)) else ""
    if second in _SUBCOMMANDS.get(program, ()):
        return " ".join(own)
    if program not in _RUNNERS or own[1] != second:
        return ""
    if program == "go":
        return " ".join(own) if second in _GO and (_is_run(words, at) or _is_path(third)) else ""
    if not _is_target(second):
        return ""
    behind = own[2] if len(own) > 2 else ""
    if "-" in second and not _has_sign(second):
        return ""
    goes_on = not behind or behind in _DOES or behind in _GOES_ON
    if _has_sign(second):
        is_meant = goes_on or _is_run(words, at) or behind.endswith("s")
    elif _is_run(words, at):
        is_meant = program != "just" or second in _TARGETS or not behind
    else:
        begins = at == 0 or words[at - 1][-1] in _ENDS or words[at] != program
        is_meant = begins and (behind in _DOES or (second in _TARGETS and goes_on))
    return " ".join(own[:2]) if is_meant else ""


def _own_words(words: list[str], at: int, program: str) -> list[str]:
    """Return the words from the program to the end of its clause, the last without its punctuation."""
    own = [program]
    for word in words[at + 1 : at + MAX_WORDS]:
        plain = word.rstrip(_CLOSING)
        if plain:
            own.append(plain)
        if plain != word:
            break
    return own


def _is_run(words: list[str], at: int) -> bool:
    """Return whether the word before says that something is run."""
    return at > 0 and words[at - 1].lower().lstrip(_OPENING).rstrip(":") in _RUN


def _is_target(word: str) -> bool:
    """Return whether a word may name what a project has called one of its scripts."""
    plain = word.replace("-", "").replace("_", "").replace(":", "").replace(".", "").replace("/", "")
    if not (plain.isascii() and plain.isalnum() and word.islower() and word[0].isalpha() and len(word) <= 60):
        return False
    return word not in STOP and word not in _NOUNS and (word in _TARGETS or word not in EVERYDAY)


def _has_sign(word: str) -> bool:
    """Return whether a name is written as no English word is: db-reset, db:seed, gen_api, but not read-only."""
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
