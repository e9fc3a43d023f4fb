"""Triggers: the regular expressions of memories, in RE2's syntax: their checks, their matching, and keys to find them.

A store keeps the literals of each trigger beside their keys, so that only triggers with a literal in the prompt, or without
any, are tried. Trying ten thousand patterns would cost a second, looking up a prompt's keys a millisecond.

The literals come from the standard library's parser, which never runs a pattern. A pattern that only RE2 understands requires
nothing.
"""

from __future__ import annotations

import itertools

from subcog_hooks.core.errors import InvalidMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import re2

MAX_TRIGGER = 500  # characters
MAX_PROGRAM = 1_500  # RE2's instructions; `\pL+` has 1,200, a usual trigger 20 to 400
# RE2's instructions times bytes of text that `search_trigger` may spend, at worst 25 ns each: 10 KB for a usual trigger.
MAX_WORK = 4_000_000
MAX_MEMORY = 512 << 10  # bytes for RE2's states of a pattern; with 8 MiB the worst takes twice as long to fill them in vain
KEY = 4  # characters: the beginning of a literal

_SMALLER = "count repeats lower, or leave out Unicode classes like \\pL"
_HINT = "use the RE2 syntax: https://github.com/google/re2/wiki/Syntax"
_APOSTROPHES, _QUOTES, _BLANKS = "\u2018\u2019\u02bc", "\u201c\u201d", "\u00a0\u2007\u202f"
# Single characters in no word: a trigger that one of them matches is true of nearly every text.
_SINGLES = "\0".join(map(chr, (*range(97, 127), 9, 10, 233, 1080, 30340, *range(65, 97), *range(34, 65), 32, 33)))


def check_trigger(pattern: str) -> None:
    """Raise InvalidMemory unless `pattern` is a trigger: in RE2's syntax, short, small, and not true of nearly every text."""
    import re2  # 3 ms, saved where no memory has triggers

    if len(pattern) > MAX_TRIGGER:
        problem = f"{len(pattern):,} characters, at most {MAX_TRIGGER} are taken"
        raise _invalid(pattern, problem, "split it into several triggers")
    pattern = plain_text(pattern)
    try:
        regexp = compile_trigger(pattern)
    except UnicodeEncodeError as error:
        raise _invalid(pattern, f"no text at character {error.start + 1}", "write it in UTF-8") from error
    except re2.error as error:
        message = error.args[0]
        text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        raise _invalid(pattern, text[:80], _SMALLER if text.startswith("pattern too large") else _HINT) from error
    if regexp.programsize > MAX_PROGRAM:
        problem = f"{regexp.programsize:,} steps when it is compiled, at most {MAX_PROGRAM:,} are taken"
        raise _invalid(pattern, problem, _SMALLER)
    if "\\C" in pattern:
        raise _invalid(pattern, "\\C is a byte, which may be part of a letter", "a character is .")
    if _has_blind_boundary(pattern):
        problem = "\\b stands beside a letter beyond ASCII, which RE2 takes for no letter there"
        raise _invalid(pattern, problem, "leave that \\b out")
    if regexp.search("") or regexp.search(_SINGLES):
        raise _invalid(pattern, "it matches nearly every text", "ask for at least one word")


def _has_blind_boundary(pattern: str) -> bool:
    """Return whether a `\\b` stands beside a letter beyond ASCII, where RE2 finds no boundary.

    >>> [_has_blind_boundary(text) for text in (r"\\büben", r"café\\b", r"\\bcafé", r"caf(e|é)|tea\\b")]
    [True, True, False, False]
    """
    sides = [(start[-1:], end[:1]) for start, end in itertools.pairwise(pattern.split("\\b"))]
    return any(char.isalpha() and not char.isascii() for pair in sides for char in pair)


def plain_text(text: str) -> str:
    """Return `text` in the form that triggers are matched against, which patterns are brought to as well.

    The form is normal form C, with plain quotes, blanks and line breaks.

    >>> plain_text("can\u2019t\u00a0stop"), plain_text("a \u201ccafe\u0301\u201d"), plain_text("one\\r\\ntwo")
    ("can't stop", 'a "caf\xe9"', 'one\\ntwo')
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    import unicodedata  # .3 ms, for texts beyond ASCII

    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    for marks, sign in ((_APOSTROPHES, "'"), (_QUOTES, '"'), (_BLANKS, " ")):
        for mark in marks:
            text = text.replace(mark, sign)  # Together .8 ms for 64 KB; str.translate takes 5.
    return text


def compile_trigger(pattern: str) -> re2._Regexp:
    """Compile a `plain_text` pattern for RE2: case-insensitive, linear in the text, in bounded memory. Raises re2.error."""
    import re2  # 3 ms: the hook needs it only after it has found a trigger's literal.

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    options.never_capture = True
    return re2.compile(plain_text(pattern), options)


def search_trigger(pattern: str, data: bytes) -> re2._Match[bytes] | None:
    """Return the first match of `pattern` in `data`, the UTF-8 of a `plain_text`.

    A blank in the pattern matches a line break, too, since a prompt may wrap anywhere. Of a long text only as much is searched
    as takes .1 s at worst, half of it at the end. Raises re2.error for patterns that `check_trigger` refuses.
    """
    regexp = compile_trigger(pattern)
    max_bytes = MAX_WORK // regexp.programsize
    parts = [data] if max_bytes >= len(data) else [data[: max_bytes // 2], data[-(max_bytes // 2) :]]
    if " " in pattern and b"\n" in data:
        parts += [part.replace(b"\n", b" ") for part in parts]
    return next(filter(None, map(regexp.search, parts)), None)


def keys_in_text(text: str) -> list[str]:
    """Return the keys of all literals that may stand in `text`, each once, to ask a store for. Linear in the text.

    These are all runs of three and four letters or digits, and of two if one is beyond ASCII. Runs of four come first, then
    runs of three and two, each kind in the order of the text.

    >>> keys_in_text("SQL, Redis")
    ['redi', 'edis', 'sql', 'red', 'edi', 'dis']
    """
    folded = text.casefold()
    marks = {ord(char): " " for char in set(folded) if not char.isalnum()}
    words = dict.fromkeys(folded.translate(marks).split())  # Distinct words are twice as fast, since 64 KB repeat most words.
    keys = dict.fromkeys([word[end - 4 : end] for word in words for end in range(4, len(word) + 1)])
    keys.update(dict.fromkeys([word[end - 3 : end] for word in words for end in range(3, len(word) + 1)]))
    if not folded.isascii():
        twos = [word[end - 2 : end] for word in words if not word.isascii() for end in range(2, len(word) + 1)]
        keys.update(dict.fromkeys([two for two in twos if not two.isascii()]))
    return list(keys)


def _invalid(pattern: str, reason: str, hint: str) -> InvalidMemory:
    return InvalidMemory(f"triggers has {pattern[:80]!r}: {reason}", hint)


MIN_LITERAL, MIN_WIDE_LITERAL = 3, 2  # characters of a literal, in ASCII and beyond it, where two may be a word
MAX_BRANCHES = 64  # literals of one set, each a row of the store
MAX_REQUIRED = 8  # sets searched in a text before its pattern is tried, .1 µs each; trying takes 50 µs
EITHER = "|"  # the sign between the literals of a set
MAX_LITERAL = 64  # characters; the first ones suffice


def required_literals(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Return sets of literals such that every match of `pattern` has one of each set, the best set first; () if unsure.

    A literal is a case-folded run of letters and digits: at least three characters, two if one is beyond ASCII. The best set
    has the longest shortest literal. Letters that match case-insensitively are folded to the same letter, too.

    >>> required_literals("kubectl (apply|delete) -f prod")
    (('kubectl',), ('apply', 'delete'), ('prod',))
    >>> required_literals("(force)?[- ]?push(ing|ed)?"), required_literals("gr[ae]y"), required_literals("foo|.x")
    ((('push',),), (), ())
    """
    import warnings
    from re import _parser, error, search  # type: ignore[attr-defined]  # RE2 shows no tree of its own.

    pattern = plain_text(pattern)
    if search(r"\[\[:|\{0\d|\{,", pattern):  # a class by its name, and braces that are no repeats, in RE2 alone
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `[[` may mean something else one day.
            return tuple(_literals_of_tree(_parser.parse(pattern))[:MAX_REQUIRED])
    except (error, OverflowError, RecursionError, ValueError):
        return ()


def _literals_of_tree(tree: Any) -> list[tuple[str, ...]]:  # the parser's own kind of list
    """Return the sets of literals of a tree, pairs of an operator and its operand. Others than these end a run of letters."""
    sets: list[tuple[str, ...]] = []
    run = ""
    for operator, operand in (*tree, ("END", None)):
        kind = str(operator)
        if kind == "LITERAL":
            run += fold_characters(chr(operand))
        elif kind != "AT":  # An anchor takes no letter.
            sets += [(literal[:MAX_LITERAL],) for literal in run.split()]
            run = ""
        if kind == "BRANCH":
            branches = [_literals_of_tree(branch)[:1] for branch in operand[1]]
            if all(branches):
                sets.append(tuple(dict.fromkeys(literal for [best] in branches for literal in best)))
        elif kind == "SUBPATTERN" or (kind in ("MAX_REPEAT", "MIN_REPEAT") and operand[0] > 0):
            sets += _literals_of_tree(operand[-1])
    certain = [
        literals
        for literals in dict.fromkeys(sets)
        if len(literals) <= MAX_BRANCHES
        and all(len(literal) >= (MIN_LITERAL if literal.isascii() else MIN_WIDE_LITERAL) for literal in literals)
    ]
    return sorted(certain, key=lambda literals: (-min(map(len, literals)), len(literals)))


def fold_characters(text: str) -> str:
    """Fold case; a blank replaces each character that folds to anything but letters and digits.

    Letters that RE2 takes for the same fold to the same: k, K and the Kelvin sign, s and the long s, all 2,927 with cases.
    """
    folded = text.casefold()
    if not folded.isalnum():
        folded = "".join([fold if fold.isalnum() else " " for fold in map(str.casefold, text)])
    return folded
