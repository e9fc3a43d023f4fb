"""Triggers: the regular expressions of memories, in RE2's syntax: their checks, their matching, and keys to find them.

A store keeps the literals of each trigger beside their keys, so that only triggers with a literal in the prompt are tried.
Trying ten thousand patterns would cost a second, looking up a prompt's keys a millisecond.

The literals come from the standard library's parser, which never runs a pattern. A pattern that only RE2 understands requires
nothing. A part of a pattern is described by its skeletons: every match of it, case-folded, is one of them, with any text in
place of blanks. `colou?r \\d+` has the skeletons "color " and "colour ". Skeletons are multiplied where parts follow one
another, united for alternatives, and replaced by a blank where they grow too many. RE2's own prefilter reads patterns in this
way (Cox 2010, "Regular expression matching in the wild"), but its Python wrapper does not show it.
"""

from __future__ import annotations

import itertools

from subcog_hooks.core.errors import InvalidMemory
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import re2


MAX_TRIGGER = 500  # characters
MAX_PROGRAM = 1_500  # RE2's instructions; `\pL+` has 1,200, a usual trigger 20 to 400
# RE2's instructions times bytes of text that `search_trigger` may spend, at worst 25 ns each: 10 KB for a usual trigger.
MAX_WORK = 4_000_000
MAX_MEMORY = 512 << 10  # bytes for RE2's states of a pattern; with 8 MiB the worst takes twice as long to fill them in vain
KEY = 4  # characters of a key

_SMALLER = "count repeats lower, or leave out Unicode classes like \\pL"
_HINT = "use the RE2 syntax: https://github.com/google/re2/wiki/Syntax"
_APOSTROPHES, _QUOTES, _BLANKS = "\u2018\u2019\u02bc", "\u201c\u201d", "\u00a0\u2007\u202f"
# Single characters in no word: a trigger that one of them matches is true of nearly every text.
_SINGLES = "\0".join(map(chr, (*range(97, 127), 9, 10, 233, 1080, 30340, *range(65, 97), *range(34, 65), 32, 33)))
_HINTS = (  # the beginnings of unsupported parts, and the remedy
    (("(?=", "(?!", "(?<"), "RE2 has no look-around: match the words themselves, with \\b at their ends"),
    (("\\1", "\\2", "\\k", "\\g", "(?P="), "RE2 has no back-references: write the words out"),
    (("\\Z",), "the end of the text is \\z"),
    (("\\u", "\\U"), "a character by its number is \\x{00e9}"),
)


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
        raise _invalid(pattern, *_describe_error(error)) from error
    if regexp.programsize > MAX_PROGRAM:
        problem = f"{regexp.programsize:,} steps when it is compiled, at most {MAX_PROGRAM:,} are taken"
        raise _invalid(pattern, problem, _SMALLER)
    if _has_blind_boundary(pattern):
        problem = "\\b stands beside a letter beyond ASCII, which RE2 takes for no letter there"
        raise _invalid(pattern, problem, "leave that \\b out")
    if "\\C" in pattern:
        raise _invalid(pattern, "\\C is a byte, which may be part of a letter", "a character is .")
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
    """Compile a pattern for RE2, in the form of `plain_text`: case-insensitive, linear in the text, in bounded memory.

    Raises re2.error for patterns that `check_trigger` refuses.
    """
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


def key_of_literal(literal: str) -> str:
    """Return the key of a literal: its first four characters.

    >>> key_of_literal("migration"), key_of_literal("sql"), key_of_literal("日本")
    ('migr', 'sql', '日本')
    """
    return literal[:KEY]


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


def _describe_error(error: re2.error) -> tuple[str, str]:
    """Return the problem of a pattern that RE2 refuses, in its words, and a hint."""
    message = error.args[0]
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    if text.startswith("pattern too large"):
        return "it is too large when it is compiled", _SMALLER
    detail = text.partition(": ")[2]
    return text[:80], next((hint for beginnings, hint in _HINTS if detail.startswith(beginnings)), _HINT)


MIN_LITERAL, MIN_WIDE_LITERAL = 3, 2  # characters of a literal, in ASCII and beyond it, where two may be a word
MAX_BRANCHES = 64  # literals of one pattern, each a row of the store
MAX_REQUIRED = 8  # literals searched in a text before its pattern is tried, .1 µs each; trying takes 50 µs
EITHER, MAX_ALTERNATIVES = "|", 8  # the sign between alternative literals, and their maximum number
MAX_LITERAL = 64  # characters; the first ones suffice
MAX_PRODUCT = 16  # skeletons of parts in a row; the parts behind them find a larger pattern as well
MAX_SKELETON = 200  # characters
MAX_COPIES = 4  # copies of a counted repeat: (ha){3} is hahaha
MAX_CLASS = 8  # characters of a class that are distinguished

_NOTHING, _BLANK = ("",), (" ",)
_REPEATS = frozenset(("MAX_REPEAT", "MIN_REPEAT"))


@record
class _PatternPart:
    """A part of a pattern: its skeletons, and `best`: every match has one of these literals, () for none."""

    skeletons: tuple[str, ...]
    best: tuple[str, ...] = ()

    def strongest_literals(self) -> tuple[str, ...]:
        return _better_literals(self.best, _skeleton_literals(self.skeletons))


def any_of_literals(pattern: str) -> tuple[str, ...]:
    """Return literals such that every match of `pattern` has at least one of them, () if none is certain.

    A literal is a case-folded run of letters and digits: at least three characters, two if one is beyond ASCII. Of several
    sets, the result is the set with the longest shortest literal, at most 64 literals. Letters that match case-insensitively
    are folded to the same letter, too.

    >>> any_of_literals("kubectl (apply|delete)"), any_of_literals(r"\\bdata(base|bases)? (migration|schema)s?")
    (('kubectl',), ('migration', 'schema'))
    >>> any_of_literals("can't|cannot"), any_of_literals("gr[ae]y")
    (('can',), ('gray', 'grey'))
    >>> any_of_literals("(foo)?.*"), any_of_literals("foo|.x"), any_of_literals(r"\\pLfoo")
    ((), (), ())
    """
    shortened = dict.fromkeys([literal[:MAX_LITERAL] for literal in _read_pattern(pattern).strongest_literals()])
    return tuple([literal for literal in shortened if not any(other in literal for other in shortened if other is not literal)])


def all_of_literals(pattern: str) -> tuple[str, ...]:
    """Return case-folded runs of letters and digits that every match of `pattern` has.

    The longest come first, at most 8: a text without one of them is no match, and its pattern is not tried. The last entry may
    be several literals with | between: a match has at least one of them.

    >>> all_of_literals("kubectl (apply|delete) -f prod")
    ('kubectl', 'prod', 'apply|delete')
    >>> all_of_literals("force[- ]?push(ing|ed)?"), all_of_literals("(a+)+")
    (('force', 'push'), ())
    """
    skeletons = _read_pattern(pattern).skeletons
    runs = dict.fromkeys([run[:MAX_LITERAL] for skeleton in skeletons for run in skeleton.split()])
    shared = [run for run in runs if len(run) >= MIN_WIDE_LITERAL and all(run in skeleton for skeleton in skeletons)]
    others = ([run[:MAX_LITERAL] for run in skeleton.split() if run[:MAX_LITERAL] not in shared] for skeleton in skeletons)
    one_of = dict.fromkeys([max([run for run in runs if len(run) >= MIN_LITERAL], key=len, default="") for runs in others])
    is_certain = bool(shared) and 1 < len(one_of) <= MAX_ALTERNATIVES and all(one_of)
    last = [EITHER.join(one_of)] if is_certain else []
    return (*sorted(shared, key=len, reverse=True)[: MAX_REQUIRED - len(last)], *last)


def _read_pattern(pattern: str) -> _PatternPart:
    """Return a pattern as a part; a blank for one that the standard library cannot read, or reads in another way than RE2."""
    import warnings
    from re import _parser, error, search  # type: ignore[attr-defined]  # RE2 shows no tree of its own.

    pattern = plain_text(pattern)
    if search(r"\[\[:|\{0\d|\{,", pattern):  # a class by its name, and braces that are no repeats, in RE2 alone
        return _PatternPart(_BLANK)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `[[` may mean something else one day.
            return _part_of(_parser.parse(pattern))
    except (error, OverflowError, RecursionError, ValueError):
        return _PatternPart(_BLANK)


def _part_of(tree: Any) -> _PatternPart:  # the parser's own kind of list
    """Return the part of a tree: pairs of an operator and its operand. Raises ValueError."""
    skeletons: tuple[str, ...] = _NOTHING
    best: tuple[str, ...] = ()
    for operator, operand in tree:
        part = _part_of_node(str(operator), operand)
        best = _better_literals(best, part.best)
        product = _combine_skeletons(skeletons, part.skeletons)
        if not product:
            best = _better_literals(best, _skeleton_literals(skeletons))
            product = _combine_skeletons(_BLANK, part.skeletons)
        if not product:
            best = _better_literals(best, _skeleton_literals(part.skeletons))
            product = _BLANK
        skeletons = product
    return _PatternPart(skeletons, best)


def _part_of_node(operator: str, operand: Any) -> _PatternPart:
    if operator == "LITERAL":
        return _PatternPart((fold_characters(chr(operand)),))
    if operator == "AT":
        return _PatternPart(_NOTHING)
    if operator in ("ANY", "NOT_LITERAL"):
        return _PatternPart(_BLANK)
    if operator == "IN":
        is_plain = all(str(kind) == "LITERAL" for kind, _ in operand)
        members = dict.fromkeys(fold_characters(chr(code)) for _, code in operand) if is_plain else {}
        return _PatternPart(tuple(members) if 0 < len(members) <= MAX_CLASS else _BLANK)
    if operator == "BRANCH":
        return _unite([_part_of(tree) for tree in operand[1]])
    if operator == "SUBPATTERN":
        return _part_of(operand[-1])
    if operator in _REPEATS:
        min_count, max_count, tree = operand
        return _repeat_part(_part_of(tree), min_count, max_count)
    raise ValueError(f"RE2 has no {operator}")


def _combine_skeletons(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """Return each left skeleton before each right one, () if they would be too many."""
    if len(left) > 1 and len(right) > 1 and len(left) * len(right) > MAX_PRODUCT:
        return ()
    product = tuple(dict.fromkeys([a + b for a in left for b in right]))
    return product if max(map(len, product)) <= MAX_SKELETON else ()


def _unite(parts: list[_PatternPart]) -> _PatternPart:
    if len(parts) == 1:
        return parts[0]
    skeletons = tuple(dict.fromkeys([skeleton for part in parts for skeleton in part.skeletons]))
    required = [part.strongest_literals() for part in parts]
    best = tuple(dict.fromkeys([literal for literals in required for literal in literals])) if all(required) else ()
    return _PatternPart(skeletons if len(skeletons) <= MAX_BRANCHES else _BLANK, best if len(best) <= MAX_BRANCHES else ())


def _repeat_part(part: _PatternPart, min_count: int, max_count: int) -> _PatternPart:
    """Return a part repeated several times. max_count: a very large number for no upper bound."""
    if max_count == 0:
        return _PatternPart(_NOTHING)
    if not min_count:
        return _PatternPart(tuple(dict.fromkeys((*part.skeletons, ""))) if max_count == 1 else _BLANK)
    copies = min(min_count, MAX_COPIES) if len(part.skeletons) == 1 else 1
    end = "" if max_count == copies else " "
    skeletons = tuple([skeleton * copies + end for skeleton in part.skeletons])
    return _PatternPart(skeletons if max(map(len, skeletons)) <= MAX_SKELETON else part.skeletons, part.best)


def _skeleton_literals(skeletons: tuple[str, ...]) -> tuple[str, ...]:
    """Return the longest run of each skeleton, () if a skeleton has none that is long enough."""
    runs = [max(skeleton.split(), key=len, default="") for skeleton in skeletons]
    enough = all(len(run) >= MIN_LITERAL or (len(run) >= MIN_WIDE_LITERAL and not run.isascii()) for run in runs)
    return tuple(dict.fromkeys(runs)) if enough and len(runs) <= MAX_BRANCHES else ()


def _better_literals(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """Return the better of two sets of literals: its shortest literal is longer, or the set is smaller."""
    return max(left, right, key=lambda literals: (min(map(len, literals), default=0), -len(literals)))


def fold_characters(text: str) -> str:
    """Fold case; a blank replaces each character that folds to anything but letters and digits.

    Letters that RE2 takes for the same fold to the same: k, K and the Kelvin sign, s and the long s, all 2,927 with cases.
    """
    folded = text.casefold()
    if not folded.isalnum():
        folded = "".join([fold if fold.isalnum() else " " for fold in map(str.casefold, text)])
    return folded
