"""RE2's syntax, read without running a pattern: its tokens, and the places of faults that RE2 does not tell.

A text's token carries its skeletons, as `patterns` says: folded letters and digits, and blanks for what may be anything.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Bounds = tuple[int, int | None]  # how often at least, and at most: None for any number

MAX_CLASS = 8  # characters of a class that are told apart
MANY = 1_000  # choices

BLANK = (" ",)
TEXT, OPEN, CLOSE, OR, REPEAT = range(5)
_SIGNS = frozenset("^$.")
_REPEATED = frozenset("*+?{")
_SPECIAL = _SIGNS | _REPEATED | frozenset("\\[()|")
_WIDTHLESS, _CONTROLS, _CLASSES = frozenset("bBAz"), frozenset("afnrtv"), frozenset("dDsSwW")
_FLAGS = frozenset("imsU-")
_OCTAL, _DIGITS = frozenset("01234567"), frozenset("0123456789")
_JOINTS = {")": CLOSE, "|": OR}
_ONCE: Bounds = (1, 1)
_REPEATS: dict[str, Bounds] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class Unread(ValueError):
    """A pattern that this module can't read."""


def tokens(pattern: str) -> Iterator[tuple[int, tuple[str, ...], Bounds, int]]:
    """Yield the pattern's tokens: the kind, the skeletons of a text, the bounds of a repeat, and where it starts."""
    at, end = 0, len(pattern)
    while at < end:
        start, char = at, pattern[at]
        at += 1
        if char == "\\":
            if pattern.startswith("Q", at):
                close = pattern.find("\\E", at + 1)
                for place in range(at + 1, close if close >= 0 else end):
                    yield TEXT, (folded(pattern[place]),), _ONCE, place
                at = close + 2 if close >= 0 else end
            else:
                value, at = _escape(pattern, at)
                yield TEXT, (value,), _ONCE, start
        elif char == "[":
            skeletons, at = _class(pattern, at)
            yield TEXT, skeletons, _ONCE, start
        elif char == "(":
            at, opens = _group(pattern, at)
            if opens:
                yield OPEN, (), _ONCE, start
        elif char in _JOINTS:
            yield _JOINTS[char], (), _ONCE, start
        elif char in _REPEATED:
            bounds, at = _repeat(pattern, start)
            yield (REPEAT, (), bounds, start) if bounds else (TEXT, BLANK, _ONCE, start)
        elif char in _SIGNS:
            yield TEXT, (" " if char == "." else "",), _ONCE, start
        else:
            at = _plain(pattern, at)
            yield TEXT, (folded(pattern[start:at]),), _ONCE, start


def unclosed(pattern: str) -> int:
    """Return the place of the innermost group that is opened and not closed, from 1; 0 where there is none.

    >>> unclosed("a(b"), unclosed("(a[(]b)\\\\("), unclosed("((a)(b")
    (2, 0, 5)
    """
    opened: list[int] = []
    try:
        for kind, _, _, at in tokens(pattern):
            if kind == OPEN:
                opened.append(at + 1)
            elif kind == CLOSE and opened:
                opened.pop()
    except Unread:
        return 0
    return opened[-1] if opened else 0


def deaf_boundary(pattern: str) -> int:
    """Return the place, from 1, of the first `\\b` with a letter beyond ASCII beside it; 0 where there is none.

    RE2 counts only ASCII among the letters there: `\\büben` does not match "zu üben".

    >>> deaf_boundary(r"\\büben"), deaf_boundary(r"caf(é|e)|café\\b"), deaf_boundary(r"\\bcafé"), deaf_boundary(r"ü\\\\b")
    (1, 14, 0, 0)
    """
    try:
        places = [at for _, value, _, at in tokens(pattern) if value == ("",) and pattern.startswith("\\b", at)]
    except Unread:
        return 0
    for at in places:
        for char in (pattern[at - 1 : at], pattern[at + 2 : at + 3]):
            if char.isalpha() and not char.isascii():
                return at + 1
    return 0


def single_byte(pattern: str) -> int:
    """Return the place, from 1, of the first `\\C`, 0 where there is none.

    >>> single_byte("a\\\\C"), single_byte("\\\\\\\\C"), single_byte(r"\\Qa\\C\\E")
    (2, 0, 0)
    """
    if "\\C" not in pattern:
        return 0
    try:
        places = {at for _, _, _, at in tokens(pattern)}
    except Unread:
        return 0
    return next((at + 1 for at in sorted(places) if pattern.startswith("\\C", at) and at + 1 not in places), 0)


def choices(pattern: str) -> int:
    """Return how often a match may go several ways.

    Counted are its groups, its repeats, and whatever stands for several characters.

    RE2 has at most about two to this power of states for it. What is repeated by a number, or can't be read, has very many.

    >>> choices("kubectl apply"), choices(r"\\b(word|other)\\b"), choices("(a|b)?[cd].*"), choices("a.{0,40}b")
    (0, 1, 5, 1000)
    """
    count = 0
    try:
        for kind, skeletons, (_, most), _ in tokens(pattern):
            if kind == REPEAT and (most or 1) > 1:
                return MANY
            count += kind in {OPEN, REPEAT} or len(skeletons) > 1 or skeletons == BLANK
    except Unread:
        return MANY
    return count


def places(pattern: str) -> int:
    """Return how many characters a match goes through at most.

    Each alternative and each time of a counted repeat is among them.

    What can't be read has as many as the largest.

    >>> places("(need|help).{0,40}calm"), places("(a{3}|b){2}"), places("a*")
    (52, 8, 1)
    """
    groups: list[list[int]] = [[]]
    try:
        for kind, skeletons, (least, most), _ in tokens(pattern):
            if kind == OPEN:
                groups.append([])
            elif kind == CLOSE:
                inner = sum(groups.pop())
                groups[-1].append(inner)
            elif kind == REPEAT:
                groups[-1][-1] *= most or least or 1
            elif kind == TEXT:
                groups[-1].append(max(map(len, skeletons)))
    except (Unread, IndexError):
        return MANY
    return sum(map(sum, groups))


def _plain(pattern: str, at: int) -> int:
    """Return where a run of plain characters ends that began before `at`.

    A repeat behind the run has its last character for itself.
    """
    start, end = at, len(pattern)
    while at < end and pattern[at] not in _SPECIAL:
        at += 1
    return at - 1 if start < at < end and pattern[at] in _REPEATED else at


def _group(pattern: str, at: int) -> tuple[int, bool]:
    """Return where a group's beginning ends, and whether a group begins: flags alone open none."""
    if not pattern.startswith("?", at):
        return at, True
    name = at + 3 if pattern.startswith("?P<", at) else at + 2 if pattern.startswith("?<", at) else 0
    if name:
        close = pattern.find(">", name)
        if close < 0 or pattern[name] in "=!":
            raise Unread
        return close + 1, True
    at += 1
    while pattern[at : at + 1] in _FLAGS:
        at += 1
    if pattern[at : at + 1] not in {":", ")"}:
        raise Unread
    return at + 1, pattern[at] == ":"


def _repeat(pattern: str, at: int) -> tuple[Bounds | None, int]:
    """Return the bounds of a repeat and where it ends; no bounds where a brace begins none and stands for itself."""
    bounds = _REPEATS.get(pattern[at])
    end = at + 1
    if not bounds:
        close = pattern.find("}", at)
        low, comma, high = pattern[at + 1 : max(close, 0)].partition(",")
        if not _is_count(low) or not (_is_count(high) or not high):
            return None, end
        bounds = int(low), (int(high) if high else None if comma else int(low))
        end = close + 1
    return bounds, end + pattern.startswith("?", end)


def _is_count(text: str) -> bool:
    return 0 < len(text) < 9 and set(text) <= _DIGITS and (text[0] != "0" or text == "0")


def _escape(pattern: str, at: int) -> tuple[str, int]:
    """Return the skeleton of an escape outside of classes, and where it ends."""
    char = pattern[at : at + 1]
    if char in _WIDTHLESS:
        return "", at + 1
    if char == "C":
        return " ", at + 1
    end = _unicode_class(pattern, at)
    if end:
        return " ", end
    character, end = _character(pattern, at)
    return folded(character), end


def _unicode_class(pattern: str, at: int) -> int:
    """Return where an escape that stands for many characters ends, 0 where it is none."""
    char = pattern[at : at + 1]
    if char in _CLASSES:
        return at + 1
    if char not in {"p", "P"}:
        return 0
    if not pattern.startswith("{", at + 1):
        return at + 2
    close = pattern.find("}", at)
    if close < 0:
        raise Unread
    return close + 1


def _character(pattern: str, at: int) -> tuple[str, int]:
    """Return the character that an escape stands for, and where it ends."""
    char = pattern[at : at + 1]
    if char in _CONTROLS:
        return " ", at + 1
    if char == "x":
        braced = pattern.startswith("{", at + 1)
        start = at + 1 + braced
        end = pattern.find("}", start) if braced else at + 3
        try:
            return chr(int(pattern[start : max(end, start)], 16)), end + braced
        except (ValueError, OverflowError) as error:
            raise Unread from error
    if char in _OCTAL:
        end = at + 1
        while end < at + 3 and pattern[end : end + 1] in _OCTAL:
            end += 1
        if char != "0" and end == at + 1:  # a back-reference
            raise Unread
        return chr(int(pattern[at:end], 8)), end
    if not char or char.isalnum() or not char.isascii():
        raise Unread
    return char, at + 1


def _class(pattern: str, at: int) -> tuple[tuple[str, ...], int]:
    """Return the skeletons of a class in brackets and where it ends.

    The skeletons are its characters where they are few, else a blank.
    """
    few = not pattern.startswith("^", at)
    at += not few
    first = True
    members: list[str] = []
    while first or not pattern.startswith("]", at):
        first = False
        close = pattern.find(":]", at + 2) if pattern.startswith("[:", at) else -1
        if close >= 0:
            few, at = False, close + 2
            continue
        end = _unicode_class(pattern, at + 1) if pattern.startswith("\\", at) else 0
        if end:
            few, at = False, end
            continue
        char, at = _member(pattern, at)
        if pattern.startswith("-", at) and not pattern.startswith("]", at + 1):
            few = False
            _, at = _member(pattern, at + 1)
        members.append(folded(char))
    distinct = tuple(dict.fromkeys(members))
    return (distinct if few and len(distinct) <= MAX_CLASS else BLANK), at + 1


def _member(pattern: str, at: int) -> tuple[str, int]:
    if at >= len(pattern):
        raise Unread
    return _character(pattern, at + 1) if pattern[at] == "\\" else (pattern[at], at + 1)


def folded(text: str) -> str:
    """Return characters as they stand in a folded text.

    Blanks stand for those that are no letters or digits, or fold to more than such.

    What RE2 takes for the same letter folds to the same: k, K and the Kelvin sign, s and the long s, all 2,927 with cases.
    """
    folded = text.casefold()
    if not folded.isalnum():
        folded = "".join([fold if fold.isalnum() else " " for fold in map(str.casefold, text)])
    return folded
