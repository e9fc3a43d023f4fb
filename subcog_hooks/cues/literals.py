"""The literals that every match of a RE2 pattern must contain.

Reads patterns, never runs them; what it can't read requires nothing.

A part of a pattern is known by its skeletons: every match of it, case-folded, is one of them, with any text in place of blanks.
`colou?r \\d+` has the skeletons "color " and "colour ". They are multiplied where parts follow one another, united where they
are alternatives, and given up for a blank where they grow too many. This is how RE2's own prefilter reads patterns (Cox 2010,
"Regular expression matching in the wild"), which its Python wrapper does not show.
"""

from __future__ import annotations

from subcog_hooks.cues.re2_syntax import BLANK, CLOSE, OPEN, OR, TEXT, Unread, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

SHORTEST_LITERAL, SHORTEST_WIDE_LITERAL = 3, 2  # characters of a literal: in ASCII, and beyond, where two may be a word
MAX_BRANCHES = 64  # literals of one pattern, each a row of the store
MAX_REQUIRED = 8  # literals that are looked for in a text before a pattern is tried, .1 µs each; trying takes 50 µs
EITHER, MAX_ALTERNATIVES = "|", 8  # between literals one of which a match has, and how many there may be
MAX_LITERAL = 64  # characters; the first of them suffice
MAX_PRODUCT = 16  # skeletons of parts in a row; a pattern with more is found as well by what follows
MAX_SKELETON = 200  # characters
MAX_COPIES = 4  # of a counted repeat: (ha){3} is hahaha

_NOTHING = ("",)


class _PatternPart:
    """A part of a pattern: its skeletons, and literals of which each match of it has at least one, () where none is known."""

    __slots__ = ("best", "skeletons")

    def __init__(self, skeletons: tuple[str, ...], best: tuple[str, ...] = ()) -> None:
        self.skeletons = skeletons
        self.best = best

    def required(self) -> tuple[str, ...]:
        return _better(self.best, _literals_of(self.skeletons))


def literals(pattern: str) -> tuple[str, ...]:
    """Return case-folded runs of letters and digits of which every match of `pattern` has at least one.

    They are () where none is certain.

    A literal has at least three characters, two where one is beyond ASCII. Of several sets that with the longest shortest
    literal is given, at most 64. What case-insensitive matching takes for the same letter is folded to the same, too.

    >>> literals("kubectl (apply|delete)"), literals("don'?t panic"), literals("can't|cannot"), literals("gr[ae]y")
    (('kubectl',), ('panic',), ('can',), ('gray', 'grey'))
    >>> literals("(foo)?.*"), literals("foo|.x"), literals("foo(?=bar)")
    ((), (), ())
    """
    try:
        found = _parsed(pattern).required()
    except Unread:
        return ()
    cut = dict.fromkeys([literal[:MAX_LITERAL] for literal in found])
    return tuple([literal for literal in cut if not any(other in literal for other in cut if other is not literal)])


def required(pattern: str) -> tuple[str, ...]:
    """Return case-folded runs of letters and digits all of which every match of `pattern` has.

    The longest come first, at most 8: a text without one of them is no match. Last come, with | between, those of which it has
    one at least.

    >>> required("kubectl (apply|delete) -f prod"), required("force[- ]?push(ing|ed)?"), required("(a+)+")
    (('kubectl', 'prod', 'apply|delete'), ('force', 'push'), ())
    """
    try:
        skeletons = _parsed(pattern).skeletons
    except Unread:
        return ()
    runs = dict.fromkeys([run[:MAX_LITERAL] for skeleton in skeletons for run in skeleton.split()])
    shared = [run for run in runs if len(run) >= SHORTEST_WIDE_LITERAL and all(run in skeleton for skeleton in skeletons)]
    one_of = dict.fromkeys([_longest(skeleton, shared) for skeleton in skeletons])
    is_certain = bool(shared) and 1 < len(one_of) <= MAX_ALTERNATIVES and all(one_of)
    last = [EITHER.join(one_of)] if is_certain else []
    return (*sorted(shared, key=len, reverse=True)[: MAX_REQUIRED - len(last)], *last)


def _longest(skeleton: str, besides: Collection[str]) -> str:
    """Return the longest run of a skeleton that is none of these and long enough, "" without one."""
    runs = [run[:MAX_LITERAL] for run in skeleton.split()]
    return max([run for run in runs if run not in besides and len(run) >= SHORTEST_LITERAL], key=len, default="")


def _parsed(pattern: str) -> _PatternPart:
    """Return the pattern as one part. Groups are kept on a stack of lists: one list for each alternative so far."""
    groups: list[list[list[_PatternPart]]] = [[[]]]
    for kind, skeletons, bounds, _ in tokens(pattern):
        row = groups[-1][-1]
        if kind == TEXT:
            row.append(_PatternPart(skeletons))
        elif kind == OPEN:
            groups.append([[]])
        elif kind == OR:
            groups[-1].append([])
        elif kind == CLOSE:
            alternatives = groups.pop()
            if not groups:
                raise Unread
            groups[-1][-1].append(_either([_joined(each) for each in alternatives]))
        elif row:  # a repeat belongs to the last part of the row, also across flags
            row[-1] = _repeated(row[-1], *bounds)
        else:
            raise Unread
    if len(groups) > 1:
        raise Unread
    return _either([_joined(each) for each in groups[0]])


def _joined(parts: Iterable[_PatternPart]) -> _PatternPart:
    """Return the part that these parts are when they follow one another."""
    skeletons: tuple[str, ...] = _NOTHING
    best: tuple[str, ...] = ()
    for part in parts:
        best = _better(best, part.best)
        product = _product(skeletons, part.skeletons)
        if not product:
            best = _better(best, _literals_of(skeletons))
            product = _product(BLANK, part.skeletons)
        if not product:
            best = _better(best, _literals_of(part.skeletons))
            product = BLANK
        skeletons = product
    return _PatternPart(skeletons, best)


def _product(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """Return each skeleton of the left before each of the right, () where that would be too many."""
    if len(left) > 1 and len(right) > 1 and len(left) * len(right) > MAX_PRODUCT:
        return ()
    product = tuple(dict.fromkeys([a + b for a in left for b in right]))
    return product if max(map(len, product)) <= MAX_SKELETON else ()


def _either(parts: list[_PatternPart]) -> _PatternPart:
    """Return the part that is matched where one of these parts is."""
    if len(parts) == 1:
        return parts[0]
    skeletons = tuple(dict.fromkeys([skeleton for part in parts for skeleton in part.skeletons]))
    required = [part.required() for part in parts]
    best = tuple(dict.fromkeys([literal for each in required for literal in each])) if all(required) else ()
    return _PatternPart(skeletons if len(skeletons) <= MAX_BRANCHES else BLANK, best if len(best) <= MAX_BRANCHES else ())


def _repeated(part: _PatternPart, least: int, most: int | None) -> _PatternPart:
    """Return the part that is several times this one in a row. most: None for no upper bound."""
    if most == 0:
        return _PatternPart(_NOTHING)
    if not least:
        return _PatternPart(tuple(dict.fromkeys((*part.skeletons, ""))) if most == 1 else BLANK)
    copies = min(least, MAX_COPIES) if len(part.skeletons) == 1 else 1
    end = "" if most == copies else " "
    skeletons = tuple([skeleton * copies + end for skeleton in part.skeletons])
    return _PatternPart(skeletons if max(map(len, skeletons)) <= MAX_SKELETON else part.skeletons, part.best)


def _literals_of(skeletons: tuple[str, ...]) -> tuple[str, ...]:
    """Return the longest run of each skeleton, () where one has none that is long enough."""
    runs = [max(skeleton.split(), key=len, default="") for skeleton in skeletons]
    enough = all(len(run) >= SHORTEST_LITERAL or (len(run) >= SHORTEST_WIDE_LITERAL and not run.isascii()) for run in runs)
    return tuple(dict.fromkeys(runs)) if enough and len(runs) <= MAX_BRANCHES else ()


def _better(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the better of two sets of literals: its shortest one is longer, or the set is smaller."""
    return max(one, other, key=lambda each: (min(map(len, each), default=0), -len(each)))
