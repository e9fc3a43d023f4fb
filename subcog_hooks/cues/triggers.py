"""Triggers: the regular expressions of memories, in RE2's syntax: which are taken, how they match, which keys find them.

A store keeps the literals of each trigger (`patterns.literals`) beside their keys, so that a prompt is held only against the
triggers of which it has a literal. Trying ten thousand patterns would cost a second, looking up a prompt's keys a millisecond.
"""

from __future__ import annotations

import sys

from subcog_hooks.core.errors import InvalidMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re2

MAX_TRIGGER = 500  # characters
MAX_PROGRAM = 1_500  # RE2's instructions; `\pL+` has 1,200, a usual trigger 20 to 400
# places of a pattern (`syntax.places`) times bytes of text, what `search` spends on it: 25 ns each at worst, 15 ms. That is
# 10 KB of text for `(need|help).{0,40}calm(ing)? down`, which has 60, and a prompt's usual length for the largest
MAX_WORK = 600_000
# What has few choices is matched against all of a text: any list of words, and with some more what has few places, too
FEW_CHOICES, SOME_CHOICES, FEW_PLACES = 3, 10, 100
MAX_MEMORY = 512 << 10  # bytes for RE2's states of one pattern; with 8 MiB the worst takes twice as long to fill them in vain
KEY = 4  # characters of a key

_SMALLER = "count repeats lower, or leave out Unicode classes like \\pL"
_HINT = "use the RE2 syntax: https://github.com/google/re2/wiki/Syntax"
_APOSTROPHES, _QUOTES, _BLANKS = "\u2018\u2019\u02bc", "\u201c\u201d", "\u00a0\u2007\u202f"
_SINGLES = "".join(map(chr, (*range(97, 127), *range(32, 97)))) + "\n\t\u00e9\u0438\u7684"  # one of a kind beyond ASCII
_SINGLES_APART = "\0".join(_SINGLES)
_WRAPPED_BLANK = "[ \\n]"  # one place, as the blank was: what a trigger costs stays the same
_ENDS = ("^", "$", "\\A", "\\z")
_AROUND = ("{} 0-", "-0 {}", "-0 {} 0-")  # where one stands in a text
_EMPTY_PROBES = ("", "a b1,é\n")  # the empty match of one of them shows that nearly every text would match
_HINTS = (  # what follows in the pattern, the name of it, what to do
    (("(?=", "(?!", "(?<=", "(?<!"), "look-around", "RE2 has none: match the words themselves, with \\b at their ends"),
    (
        ("\\1", "\\2", "\\3", "\\4", "\\5", "\\6", "\\7", "\\8", "\\9", "\\k", "\\g", "(?P="),
        "a back-reference",
        "RE2 has none: write the words out",
    ),
    (("(?>", "*+", "++", "?+", "}+"), "a possessive group", "RE2 needs none, it is always linear: leave it plain"),
    (("\\Z",), "\\Z", "the end of the text is \\z"),
    (("\\u", "\\U"), "\\u", "a character by its number is \\x{00e9}"),
    (("(?x",), "the flag x", "the flags are i, m, s and U"),
    (("(?#",), "a comment", "leave it out"),
)


def check(pattern: str) -> None:
    """Raise InvalidMemory unless `pattern` is a trigger: in RE2's syntax, short, small, and not true of nearly every text.

    The message has the place of a fault, counted in characters from 1.
    """
    import re2  # 3 ms, where nothing has triggers they are saved

    from subcog_hooks.cues import re2_syntax  # only writers and the terminal check

    if len(pattern) > MAX_TRIGGER:
        raise _invalid(
            pattern, f"{len(pattern):,} characters, at most {MAX_TRIGGER} are taken", "split it into several triggers"
        )
    pattern = plain(pattern)
    try:
        size = _compiled_as_written(pattern).programsize
        regexp = compiled(pattern)
    except UnicodeEncodeError as error:
        raise _invalid(pattern, f"no text at character {error.start + 1}", "write it in UTF-8") from error
    except re2.error as error:
        raise _invalid(pattern, *_fault(pattern, error)) from error
    if size > MAX_PROGRAM:
        reason = f"{size:,} steps when it is compiled, at most {MAX_PROGRAM:,} are taken"
        raise _invalid(pattern, reason, _SMALLER)
    deaf = re2_syntax.deaf_boundary(pattern)
    if deaf:
        reason = f"\\b at character {deaf} stands beside a letter beyond ASCII, which RE2 takes for no letter there"
        raise _invalid(pattern, reason, "leave that \\b out")
    byte = re2_syntax.single_byte(pattern)
    if byte:
        raise _invalid(pattern, f"\\C at character {byte} is a byte, which may be part of a letter", "a character is .")
    for probe in _EMPTY_PROBES:
        found = regexp.search(probe)
        if found and found.start() == found.end():
            raise _invalid(pattern, "it matches the empty text, so every prompt", "ask for at least one word")
    single = _single(regexp)
    if single:
        reason = f"it matches the single character {single!r}: nearly every text has it"
        raise _invalid(pattern, reason, "ask for at least one word")


def _single(regexp: re2._Regexp) -> str:
    """Return a common character that matches wherever it stands, "" where none does."""
    if not any(sign in regexp.pattern for sign in _ENDS) and not regexp.search(_SINGLES_APART):
        return ""  # at once for most patterns
    for char in _SINGLES:
        if regexp.search(char) and any(regexp.search(around.replace("{}", char)) for around in _AROUND):
            return char
    return ""


def plain(text: str) -> str:
    """Return `text` as triggers are matched against it, and read themselves.

    That is normal form C, with plain quotes, blanks and line breaks.

    >>> plain("can\u2019t\u00a0stop"), plain("a \u201ccafe\u0301\u201d"), plain("one\\r\\ntwo")
    ("can't stop", 'a "caf\xe9"', 'one\\ntwo')
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    import unicodedata  # .3 ms, for what is not ASCII

    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    for marks, sign in ((_APOSTROPHES, "'"), (_QUOTES, '"'), (_BLANKS, " ")):
        for mark in marks:
            text = text.replace(mark, sign)  # in all .8 ms for 64 KB; to translate takes 5
    return text


def compiled(pattern: str) -> re2._Regexp:
    """Return `pattern` as RE2 matches it: case-insensitive, linear in the text, in bounded memory, without groups.

    A blank of it matches a line break, too, since a prompt may wrap anywhere. Give `search` the bytes of a text where many
    patterns are tried: a text is encoded anew each time. Raises re2.error for what `check` refuses.
    """
    return _compiled_as_written(with_wrapped_blanks(plain(pattern)))


def _compiled_as_written(pattern: str) -> re2._Regexp:
    import re2  # 3 ms: the hook needs it only where a trigger's literal was found

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    options.never_capture = True
    return re2.compile(pattern, options)


def with_wrapped_blanks(pattern: str) -> str:
    """Return `pattern` with each blank, also one in a class or between \\Q and \\E, taken for a line break as well.

    An escaped blank (`\\x20`), one that ends a range, and a class of what must not stand there keep their meaning.

    >>> with_wrapped_blanks("rotate the keys"), with_wrapped_blanks("force[- ]push"), with_wrapped_blanks("[^ ]+ x")
    ('rotate[ \\\\n]the[ \\\\n]keys', 'force[- \\\\n]push', '[^ ]+[ \\\\n]x')
    """
    if " " not in pattern:
        return pattern
    parts = []
    at, end = 0, len(pattern)
    while at < end:
        escape, opening = pattern.find("\\", at), pattern.find("[", at)
        special = min(place for place in (escape, opening, end) if place >= 0)
        parts.append(pattern[at:special].replace(" ", _WRAPPED_BLANK))
        if special == end:
            break
        if special == opening:
            part, at = _class_with_breaks(pattern, special)
        elif pattern.startswith("Q", special + 1):
            close = pattern.find("\\E", special)
            at = close if close >= 0 else end
            part = pattern[special:at].replace(" ", f"\\E{_WRAPPED_BLANK}\\Q")
        else:
            part, at = pattern[special : special + 2], special + 2
        parts.append(part)
    return "".join(parts)


def _class_with_breaks(pattern: str, opening: int) -> tuple[str, int]:
    """Return the class in brackets that begins at `opening`, with a line break beside each blank, and where it ends."""
    at = opening + 1 + pattern.startswith("^", opening + 1)
    is_negated = at > opening + 1
    parts = [pattern[opening:at]]
    is_first = True
    while at < len(pattern) and (is_first or pattern[at] != "]"):
        is_first = False
        end = _member_end(pattern, at)
        if pattern.startswith("-", end) and pattern[end + 1 : end + 2] not in ("]", ""):
            end = _member_end(pattern, end + 1)
        parts.append(pattern[at:end])
        if parts[-1] == " " and not is_negated:
            parts.append("\\n")
        at = end
    return "".join(parts), at


def _member_end(pattern: str, at: int) -> int:
    """Return where the member of a class ends that begins at `at`: a character, an escape or a class of its own."""
    close = pattern.find(":]", at + 2) if pattern.startswith("[:", at) else -1
    return close + 2 if close >= 0 else at + 1 + pattern.startswith("\\", at)


def search(pattern: str, data: bytes) -> re2._Match[bytes] | None:
    """Return where `pattern` first matches in `data`, the UTF-8 of a `plain` text.

    Only `reach` bytes are searched, half of them the last ones.

    Raises re2.error for what `check` refuses.
    """
    regexp = compiled(pattern)
    most = len(data) if regexp.programsize * len(data) <= MAX_WORK else reach(pattern)
    if most >= len(data):
        return regexp.search(data)
    return regexp.search(data[: most // 2]) or regexp.search(data[-(most // 2) :])


def reach(pattern: str) -> int:
    """Return how many bytes of a text `pattern` is matched against at most: beyond, 15 ms may not do.

    RE2 is linear in the text, but takes for a byte up to as many steps as the pattern has places. What can go but few ways is
    quick however many it has.
    """
    from subcog_hooks.cues import re2_syntax  # only for a large pattern and a long text

    pattern = plain(pattern)
    choices, places = re2_syntax.choices(pattern), max(1, re2_syntax.places(pattern))
    is_quick = choices <= FEW_CHOICES or (choices <= SOME_CHOICES and places <= FEW_PLACES)
    return sys.maxsize if is_quick else MAX_WORK // places


def literals(pattern: str) -> tuple[str, ...]:
    """Return case-folded runs of letters and digits of which every match of `pattern` has at least one.

    There are none where none is certain.

    >>> literals(r"\\bdata(base|bases)? (migration|schema)s?"), literals("[kc]aching"), literals(r"\\w+ing?")
    (('migration', 'schema'), ('kaching', 'caching'), ())
    """
    from subcog_hooks.cues import literals  # only writers and the terminal ask

    return literals.literals(plain(pattern))


def required(pattern: str) -> tuple[str, ...]:
    """Return case-folded runs of letters and digits all of which every match of `pattern` has.

    A text must have them beside a literal, before the pattern is tried; of some with | between, one.

    >>> required("kubectl (apply|delete) -f prod")
    ('kubectl', 'prod', 'apply|delete')
    """
    from subcog_hooks.cues import literals  # only writers ask

    return literals.required(plain(pattern))


def key_of(literal: str) -> str:
    """Return the key by which a literal is found: its first four characters.

    >>> key_of("migration"), key_of("sql"), key_of("日本")
    ('migr', 'sql', '日本')
    """
    return literal[:KEY]


def keys_in(text: str) -> list[str]:
    """Return the keys of all literals that may stand in `text`, each once, to ask a store for. Linear in the text.

    These are all runs of letters and digits of three and four characters, of two where one is beyond ASCII. Those of four come
    first, then those of three and two, each kind in the order of the text.

    >>> keys_in("SQL, Redis")
    ['redi', 'edis', 'sql', 'red', 'edi', 'dis']
    """
    folded = text.casefold()
    marks = {ord(char): " " for char in set(folded) if not char.isalnum()}
    words = dict.fromkeys(folded.translate(marks).split())  # each once: twice as fast, and 64 KB repeat most of theirs
    keys = dict.fromkeys([word[end - 4 : end] for word in words for end in range(4, len(word) + 1)])
    keys.update(dict.fromkeys([word[end - 3 : end] for word in words for end in range(3, len(word) + 1)]))
    if not folded.isascii():
        twos = [word[end - 2 : end] for word in words if not word.isascii() for end in range(2, len(word) + 1)]
        keys.update(dict.fromkeys([two for two in twos if not two.isascii()]))
    return list(keys)


def _invalid(pattern: str, reason: str, hint: str) -> InvalidMemory:
    return InvalidMemory(f"triggers has {pattern[:80]!r}: {reason}", hint)


def _fault(pattern: str, error: re2.error) -> tuple[str, str]:
    """Return the error for a pattern that RE2 refuses: what is wrong, where, and what to do."""
    words, detail = _split_message(error)
    if words.startswith("pattern too large"):
        return "it is too large when it is compiled", _SMALLER
    at = _place(pattern, words, detail)
    if not at:
        return f"{words} {detail}".rstrip(), _HINT
    rest = pattern[at - 1 :]
    for beginnings, name, hint in _HINTS:
        if rest.startswith(beginnings):
            return f"{name} at character {at}", hint
    shown = "" if words.startswith(("missing", "unexpected", "trailing")) else f" {detail[:20]}"
    return f"{words}{shown} at character {at}", _HINT


def _split_message(error: re2.error) -> tuple[str, str]:
    """Return the words of RE2's message, and the part of the pattern that they are about."""
    message = error.args[0]
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    words, _, detail = text.partition(": ")
    return words, detail


def _place(pattern: str, words: str, detail: str) -> int:
    """Return the place of a fault, from 1; 0 where it has none.

    RE2 reads from left to right and stops at the first fault, but does not say where. The shortest beginning that has the
    same fault ends where it read to.
    """
    if words == "missing )":
        from subcog_hooks.cues import re2_syntax  # only where a pattern is refused

        return re2_syntax.unclosed(pattern)
    if words == "missing ]":
        return len(pattern) - len(detail) + 1
    if words == "trailing \\":
        return len(pattern)
    whole = words == "unexpected )"  # then the detail is the text itself
    low, high = 0, len(pattern)
    while high - low > 1:
        middle = (low + high) // 2
        found = _refusal(pattern[:middle])
        if found and found[0] == words and (whole or found[1] == detail):
            high = middle
        else:
            low = middle
    return high if whole else pattern.rfind(detail, 0, high) + 1


def _refusal(pattern: str) -> tuple[str, str] | None:
    import re2  # loaded by then

    try:
        _compiled_as_written(pattern)
    except re2.error as error:
        return _split_message(error)
    return None
