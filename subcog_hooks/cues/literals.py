"""The literals that every match of a trigger must contain.

A pattern is read by the standard library's parser and never run. One that only RE2 understands requires nothing.

A part of a pattern is described by its skeletons: every match of it, case-folded, is one of them, with any text in place of
blanks. `colou?r \\d+` has the skeletons "color " and "colour ". Skeletons are multiplied where parts follow one another,
united for alternatives, and replaced by a blank where they grow too many. RE2's own prefilter reads patterns in this way (Cox
2010, "Regular expression matching in the wild"), but its Python wrapper does not show it.
"""

from __future__ import annotations

from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

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


class UnreadablePattern(ValueError):
    """A pattern that the standard library cannot read, or reads in another way than RE2."""


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

    >>> any_of_literals("kubectl (apply|delete)"), any_of_literals("don'?t panic")
    (('kubectl',), ('panic',))
    >>> any_of_literals("can't|cannot"), any_of_literals("gr[ae]y")
    (('can',), ('gray', 'grey'))
    >>> any_of_literals("(foo)?.*"), any_of_literals("foo|.x"), any_of_literals(r"\\pLfoo")
    ((), (), ())
    """
    try:
        literals = _part_of(_parse(pattern)).strongest_literals()
    except UnreadablePattern:
        return ()
    shortened = dict.fromkeys([literal[:MAX_LITERAL] for literal in literals])
    return tuple([literal for literal in shortened if not any(other in literal for other in shortened if other is not literal)])


def all_of_literals(pattern: str) -> tuple[str, ...]:
    """Return case-folded runs of letters and digits that every match of `pattern` has.

    The longest come first, at most 8: a text without one of them is no match. The last entry may be several literals with |
    between: a match has at least one of them.

    >>> all_of_literals("kubectl (apply|delete) -f prod")
    ('kubectl', 'prod', 'apply|delete')
    >>> all_of_literals("force[- ]?push(ing|ed)?"), all_of_literals("(a+)+")
    (('force', 'push'), ())
    """
    try:
        skeletons = _part_of(_parse(pattern)).skeletons
    except UnreadablePattern:
        return ()
    runs = dict.fromkeys([run[:MAX_LITERAL] for skeleton in skeletons for run in skeleton.split()])
    shared = [run for run in runs if len(run) >= MIN_WIDE_LITERAL and all(run in skeleton for skeleton in skeletons)]
    one_of = dict.fromkeys([_longest_run(skeleton, shared) for skeleton in skeletons])
    is_certain = bool(shared) and 1 < len(one_of) <= MAX_ALTERNATIVES and all(one_of)
    last = [EITHER.join(one_of)] if is_certain else []
    return (*sorted(shared, key=len, reverse=True)[: MAX_REQUIRED - len(last)], *last)


def _parse(pattern: str) -> Any:  # the parser's own kind of list
    """Return the pattern's tree: pairs of an operator and its operand. Raises UnreadablePattern."""
    import warnings
    from re import _parser, error, search  # type: ignore[attr-defined]  # RE2 shows no tree of its own.

    if search(r"\[\[:|\{0\d|\{,", pattern):  # a class by its name, and braces that are no repeats, in RE2 alone
        raise UnreadablePattern
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `[[` may mean something else one day.
            return _parser.parse(pattern)
    except (error, OverflowError, RecursionError) as fault:
        raise UnreadablePattern from fault


def _part_of(tree: Any) -> _PatternPart:
    return _concatenate(_part_of_node(str(operator), operand) for operator, operand in tree)


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
    raise UnreadablePattern  # RE2 has no other.


def _longest_run(skeleton: str, excluded: Collection[str]) -> str:
    """Return the longest sufficient run of a skeleton that is not among `excluded`, "" without one."""
    runs = [run[:MAX_LITERAL] for run in skeleton.split()]
    return max([run for run in runs if run not in excluded and len(run) >= MIN_LITERAL], key=len, default="")


def _concatenate(parts: Iterable[_PatternPart]) -> _PatternPart:
    skeletons: tuple[str, ...] = _NOTHING
    best: tuple[str, ...] = ()
    for part in parts:
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
