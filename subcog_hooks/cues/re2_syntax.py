"""RE2's syntax, read without running a pattern: its tokens, and the positions of faults that RE2 does not report.

A text's token carries its skeletons, as in `literals`: folded letters and digits, and blanks for arbitrary text.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Bounds = tuple[int, int | None]  # minimum and maximum number of times, None for no maximum

MAX_CLASS = 8  # characters of a class that are distinguished
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


class UnreadablePattern(ValueError):
    """A pattern that this module cannot read."""


def tokens(pattern: str) -> Iterator[tuple[int, tuple[str, ...], Bounds, int]]:
    """Yield the pattern's tokens: the kind, a text's skeletons, a repeat's bounds, and the start."""
    position, end = 0, len(pattern)
    while position < end:
        start, char = position, pattern[position]
        position += 1
        if char == "\\":
            if pattern.startswith("Q", position):
                close = pattern.find("\\E", position + 1)
                for index in range(position + 1, close if close >= 0 else end):
                    yield TEXT, (fold_characters(pattern[index]),), _ONCE, index
                position = close + 2 if close >= 0 else end
            else:
                value, position = _read_escape(pattern, position)
                yield TEXT, (value,), _ONCE, start
        elif char == "[":
            skeletons, position = _read_class(pattern, position)
            yield TEXT, skeletons, _ONCE, start
        elif char == "(":
            position, opens = _read_group(pattern, position)
            if opens:
                yield OPEN, (), _ONCE, start
        elif char in _JOINTS:
            yield _JOINTS[char], (), _ONCE, start
        elif char in _REPEATED:
            bounds, position = _read_repeat(pattern, start)
            yield (REPEAT, (), bounds, start) if bounds else (TEXT, BLANK, _ONCE, start)
        elif char in _SIGNS:
            yield TEXT, (" " if char == "." else "",), _ONCE, start
        else:
            position = _plain_run_end(pattern, position)
            yield TEXT, (fold_characters(pattern[start:position]),), _ONCE, start


def unclosed_group(pattern: str) -> int:
    """Return the position, from 1, of the innermost unclosed group; 0 if there is none.

    >>> unclosed_group("a(b"), unclosed_group("(a[(]b)\\\\("), unclosed_group("((a)(b")
    (2, 0, 5)
    """
    opened: list[int] = []
    try:
        for kind, _, _, start in tokens(pattern):
            if kind == OPEN:
                opened.append(start + 1)
            elif kind == CLOSE and opened:
                opened.pop()
    except UnreadablePattern:
        return 0
    return opened[-1] if opened else 0


def ascii_boundary(pattern: str) -> int:
    """Return the position, from 1, of the first `\\b` with a letter beyond ASCII beside it; 0 if there is none.

    There, RE2 takes only ASCII for letters: `\\büben` does not match "zu üben".

    >>> ascii_boundary(r"\\büben"), ascii_boundary(r"caf(é|e)|café\\b"), ascii_boundary(r"\\bcafé"), ascii_boundary(r"ü\\\\b")
    (1, 14, 0, 0)
    """
    try:
        starts = [start for _, value, _, start in tokens(pattern) if value == ("",) and pattern.startswith("\\b", start)]
    except UnreadablePattern:
        return 0
    for start in starts:
        for char in (pattern[start - 1 : start], pattern[start + 2 : start + 3]):
            if char.isalpha() and not char.isascii():
                return start + 1
    return 0


def single_byte(pattern: str) -> int:
    """Return the position, from 1, of the first `\\C`, 0 if there is none.

    >>> single_byte("a\\\\C"), single_byte("\\\\\\\\C"), single_byte(r"\\Qa\\C\\E")
    (2, 0, 0)
    """
    if "\\C" not in pattern:
        return 0
    try:
        starts = {start for _, _, _, start in tokens(pattern)}
    except UnreadablePattern:
        return 0
    return next((start + 1 for start in sorted(starts) if pattern.startswith("\\C", start) and start + 1 not in starts), 0)


def count_choices(pattern: str) -> int:
    """Count the groups, the repeats, and the parts of a pattern that stand for several characters.

    RE2 has at most about two to this power of states for it. A counted repeat, or an unreadable pattern, has very many.

    >>> count_choices("kubectl apply"), count_choices(r"\\b(word|other)\\b")
    (0, 1)
    >>> count_choices("(a|b)?[cd].*"), count_choices("a.{0,40}b")
    (5, 1000)
    """
    count = 0
    try:
        for kind, skeletons, (_, max_count), _ in tokens(pattern):
            if kind == REPEAT and (max_count or 1) > 1:
                return MANY
            count += kind in {OPEN, REPEAT} or len(skeletons) > 1 or skeletons == BLANK
    except UnreadablePattern:
        return MANY
    return count


def count_positions(pattern: str) -> int:
    """Return the maximum number of characters that a match goes through, over all alternatives and counted repeats.

    An unreadable pattern has as many as the largest.

    >>> count_positions("(need|help).{0,40}calm"), count_positions("(a{3}|b){2}"), count_positions("a*")
    (52, 8, 1)
    """
    groups: list[list[int]] = [[]]
    try:
        for kind, skeletons, (min_count, max_count), _ in tokens(pattern):
            if kind == OPEN:
                groups.append([])
            elif kind == CLOSE:
                inner = sum(groups.pop())
                groups[-1].append(inner)
            elif kind == REPEAT:
                groups[-1][-1] *= max_count or min_count or 1
            elif kind == TEXT:
                groups[-1].append(max(map(len, skeletons)))
    except (UnreadablePattern, IndexError):
        return MANY
    return sum(map(sum, groups))


def _plain_run_end(pattern: str, position: int) -> int:
    """Return the end of a run of plain characters that began before `position`.

    A repeat behind the run has its last character for itself.
    """
    start, end = position, len(pattern)
    while position < end and pattern[position] not in _SPECIAL:
        position += 1
    return position - 1 if start < position < end and pattern[position] in _REPEATED else position


def _read_group(pattern: str, position: int) -> tuple[int, bool]:
    """Return the end of a group's beginning, and whether a group begins: flags alone open none."""
    if not pattern.startswith("?", position):
        return position, True
    name = position + 3 if pattern.startswith("?P<", position) else position + 2 if pattern.startswith("?<", position) else 0
    if name:
        close = pattern.find(">", name)
        if close < 0 or pattern[name] in "=!":
            raise UnreadablePattern
        return close + 1, True
    position += 1
    while pattern[position : position + 1] in _FLAGS:
        position += 1
    if pattern[position : position + 1] not in {":", ")"}:
        raise UnreadablePattern
    return position + 1, pattern[position] == ":"


def _read_repeat(pattern: str, position: int) -> tuple[Bounds | None, int]:
    """Return a repeat's bounds and its end; None for a brace that is no repeat and stands for itself."""
    bounds = _REPEATS.get(pattern[position])
    end = position + 1
    if not bounds:
        close = pattern.find("}", position)
        low, comma, high = pattern[position + 1 : max(close, 0)].partition(",")
        if not _is_count(low) or not (_is_count(high) or not high):
            return None, end
        bounds = int(low), (int(high) if high else None if comma else int(low))
        end = close + 1
    return bounds, end + pattern.startswith("?", end)


def _is_count(text: str) -> bool:
    return 0 < len(text) < 9 and set(text) <= _DIGITS and (text[0] != "0" or text == "0")


def _read_escape(pattern: str, position: int) -> tuple[str, int]:
    """Return the skeleton of an escape outside classes, and its end."""
    char = pattern[position : position + 1]
    if char in _WIDTHLESS:
        return "", position + 1
    if char == "C":
        return " ", position + 1
    end = _unicode_class(pattern, position)
    if end:
        return " ", end
    character, end = _read_character(pattern, position)
    return fold_characters(character), end


def _unicode_class(pattern: str, position: int) -> int:
    """Return the end of an escape for many characters, 0 for any other."""
    char = pattern[position : position + 1]
    if char in _CLASSES:
        return position + 1
    if char not in {"p", "P"}:
        return 0
    if not pattern.startswith("{", position + 1):
        return position + 2
    close = pattern.find("}", position)
    if close < 0:
        raise UnreadablePattern
    return close + 1


def _read_character(pattern: str, position: int) -> tuple[str, int]:
    """Return the character of an escape, and its end."""
    char = pattern[position : position + 1]
    if char in _CONTROLS:
        return " ", position + 1
    if char == "x":
        braced = pattern.startswith("{", position + 1)
        start = position + 1 + braced
        end = pattern.find("}", start) if braced else position + 3
        try:
            return chr(int(pattern[start : max(end, start)], 16)), end + braced
        except (ValueError, OverflowError) as error:
            raise UnreadablePattern from error
    if char in _OCTAL:
        end = position + 1
        while end < position + 3 and pattern[end : end + 1] in _OCTAL:
            end += 1
        if char != "0" and end == position + 1:  # It is a back-reference.
            raise UnreadablePattern
        return chr(int(pattern[position:end], 8)), end
    if not char or char.isalnum() or not char.isascii():
        raise UnreadablePattern
    return char, position + 1


def _read_class(pattern: str, position: int) -> tuple[tuple[str, ...], int]:
    """Return the skeletons of a class in brackets, and its end.

    The skeletons are its characters if they are few, else a blank.
    """
    is_small = not pattern.startswith("^", position)
    position += not is_small
    first = True
    members: list[str] = []
    while first or not pattern.startswith("]", position):
        first = False
        close = pattern.find(":]", position + 2) if pattern.startswith("[:", position) else -1
        if close >= 0:
            is_small, position = False, close + 2
            continue
        end = _unicode_class(pattern, position + 1) if pattern.startswith("\\", position) else 0
        if end:
            is_small, position = False, end
            continue
        char, position = _read_member(pattern, position)
        if pattern.startswith("-", position) and not pattern.startswith("]", position + 1):
            is_small = False
            _, position = _read_member(pattern, position + 1)
        members.append(fold_characters(char))
    distinct = tuple(dict.fromkeys(members))
    return (distinct if is_small and len(distinct) <= MAX_CLASS else BLANK), position + 1


def _read_member(pattern: str, position: int) -> tuple[str, int]:
    if position >= len(pattern):
        raise UnreadablePattern
    return _read_character(pattern, position + 1) if pattern[position] == "\\" else (pattern[position], position + 1)


def fold_characters(text: str) -> str:
    """Fold case; a blank replaces each character that folds to anything but letters and digits.

    Letters that RE2 takes for the same fold to the same: k, K and the Kelvin sign, s and the long s, all 2,927 with cases.
    """
    folded = text.casefold()
    if not folded.isalnum():
        folded = "".join([fold if fold.isalnum() else " " for fold in map(str.casefold, text)])
    return folded
