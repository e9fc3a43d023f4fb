"""Triggers: the regular expressions of memories, in RE2's syntax: their checks, their matching, and keys to find them.

A store keeps the literals of each trigger (`literals`) beside their keys, so that only triggers with a literal in the prompt
are tried. Trying ten thousand patterns would cost a second, looking up a prompt's keys a millisecond.
"""

from __future__ import annotations

import sys

from subcog_hooks.core.errors import InvalidMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re2

MAX_TRIGGER = 500  # characters
MAX_PROGRAM = 1_500  # RE2's instructions; `\pL+` has 1,200, a usual trigger 20 to 400
# Positions of a pattern (`count_positions`) times bytes of text that `search_trigger` may spend: at worst 25 ns each, 15 ms. It
# is 10 KB of text for `(need|help).{0,40}calm(ing)? down` with its 60 positions, and a usual prompt for the largest pattern.
MAX_WORK = 600_000
# A pattern with few choices is matched against all of a text, as any list of words is. With few positions it may have more.
FEW_CHOICES, SOME_CHOICES, FEW_POSITIONS = 3, 10, 100
MAX_MEMORY = 512 << 10  # bytes for RE2's states of a pattern; with 8 MiB the worst takes twice as long to fill them in vain
KEY = 4  # characters of a key

_SMALLER = "count repeats lower, or leave out Unicode classes like \\pL"
_HINT = "use the RE2 syntax: https://github.com/google/re2/wiki/Syntax"
_APOSTROPHES, _QUOTES, _BLANKS = "\u2018\u2019\u02bc", "\u201c\u201d", "\u00a0\u2007\u202f"
_SINGLES = "".join(map(chr, (*range(97, 127), *range(32, 97)))) + "\n\t\u00e9\u0438\u7684"  # a few beyond ASCII
_SINGLES_APART = "\0".join(_SINGLES)
_WRAPPED_BLANK = "[ \\n]"  # It is one position like the blank, so a trigger's cost stays the same.
_ENDS = ("^", "$", "\\A", "\\z")
_CONTEXTS = ("{} 0-", "-0 {}", "-0 {} 0-")  # positions of a character in a text
_EMPTY_PROBES = ("", "a b1,é\n")  # An empty match in one of them shows that nearly every text matches.
_HINTS = (  # the unsupported beginnings, their name, and the remedy
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


def check_trigger(pattern: str) -> None:
    """Raise InvalidMemory unless `pattern` is a trigger: in RE2's syntax, short, small, and not true of nearly every text.

    The message has the fault's position in characters from 1.
    """
    import re2  # 3 ms, saved where no memory has triggers

    from subcog_hooks.cues import re2_syntax  # Only writers and the terminal need it.

    if len(pattern) > MAX_TRIGGER:
        raise _invalid(
            pattern, f"{len(pattern):,} characters, at most {MAX_TRIGGER} are taken", "split it into several triggers"
        )
    pattern = plain_text(pattern)
    try:
        size = _compile_as_written(pattern).programsize
        regexp = compile_trigger(pattern)
    except UnicodeEncodeError as error:
        raise _invalid(pattern, f"no text at character {error.start + 1}", "write it in UTF-8") from error
    except re2.error as error:
        raise _invalid(pattern, *_describe_error(pattern, error)) from error
    if size > MAX_PROGRAM:
        reason = f"{size:,} steps when it is compiled, at most {MAX_PROGRAM:,} are taken"
        raise _invalid(pattern, reason, _SMALLER)
    boundary = re2_syntax.ascii_boundary(pattern)
    if boundary:
        reason = f"\\b at character {boundary} stands beside a letter beyond ASCII, which RE2 takes for no letter there"
        raise _invalid(pattern, reason, "leave that \\b out")
    byte = re2_syntax.single_byte(pattern)
    if byte:
        raise _invalid(pattern, f"\\C at character {byte} is a byte, which may be part of a letter", "a character is .")
    for probe in _EMPTY_PROBES:
        match = regexp.search(probe)
        if match and match.start() == match.end():
            raise _invalid(pattern, "it matches the empty text, so every prompt", "ask for at least one word")
    single = _common_character(regexp)
    if single:
        reason = f"it matches the single character {single!r}: nearly every text has it"
        raise _invalid(pattern, reason, "ask for at least one word")


def _common_character(regexp: re2._Regexp) -> str:
    """Return a common character that the pattern matches in any context, "" for none."""
    if not any(sign in regexp.pattern for sign in _ENDS) and not regexp.search(_SINGLES_APART):
        return ""  # Most patterns end here.
    for char in _SINGLES:
        if regexp.search(char) and any(regexp.search(around.replace("{}", char)) for around in _CONTEXTS):
            return char
    return ""


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
    """Compile `pattern` for RE2: case-insensitive, linear in the text, in bounded memory, without groups.

    A blank in it matches a line break, too, since a prompt may wrap anywhere. Pass the bytes of a text where many patterns are
    tried: a text is encoded anew each time. Raises re2.error for patterns that `check_trigger` refuses.
    """
    return _compile_as_written(wrap_blanks(plain_text(pattern)))


def _compile_as_written(pattern: str) -> re2._Regexp:
    import re2  # 3 ms: the hook needs it only after it has found a trigger's literal.

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = MAX_MEMORY
    options.never_capture = True
    return re2.compile(pattern, options)


def wrap_blanks(pattern: str) -> str:
    """Let each blank of `pattern` match a line break as well, also in a class or between \\Q and \\E.

    An escaped blank (`\\x20`), a blank that ends a range, and a negated class keep their meaning.

    >>> wrap_blanks("rotate the keys"), wrap_blanks("force[- ]push"), wrap_blanks("[^ ]+ x")
    ('rotate[ \\\\n]the[ \\\\n]keys', 'force[- \\\\n]push', '[^ ]+[ \\\\n]x')
    """
    if " " not in pattern:
        return pattern
    parts = []
    position, end = 0, len(pattern)
    while position < end:
        escape, opening = pattern.find("\\", position), pattern.find("[", position)
        special = min(index for index in (escape, opening, end) if index >= 0)
        parts.append(pattern[position:special].replace(" ", _WRAPPED_BLANK))
        if special == end:
            break
        if special == opening:
            part, position = _class_with_breaks(pattern, special)
        elif pattern.startswith("Q", special + 1):
            close = pattern.find("\\E", special)
            position = close if close >= 0 else end
            part = pattern[special:position].replace(" ", f"\\E{_WRAPPED_BLANK}\\Q")
        else:
            part, position = pattern[special : special + 2], special + 2
        parts.append(part)
    return "".join(parts)


def _class_with_breaks(pattern: str, opening: int) -> tuple[str, int]:
    """Return the class that begins at `opening`, with a line break beside each blank, and its end."""
    position = opening + 1 + pattern.startswith("^", opening + 1)
    is_negated = position > opening + 1
    parts = [pattern[opening:position]]
    is_first = True
    while position < len(pattern) and (is_first or pattern[position] != "]"):
        is_first = False
        end = _member_end(pattern, position)
        if pattern.startswith("-", end) and pattern[end + 1 : end + 2] not in ("]", ""):
            end = _member_end(pattern, end + 1)
        parts.append(pattern[position:end])
        if parts[-1] == " " and not is_negated:
            parts.append("\\n")
        position = end
    return "".join(parts), position


def _member_end(pattern: str, start: int) -> int:
    """Return the end of the class member that begins at `start`: a character, an escape or a class of its own."""
    close = pattern.find(":]", start + 2) if pattern.startswith("[:", start) else -1
    return close + 2 if close >= 0 else start + 1 + pattern.startswith("\\", start)


def search_trigger(pattern: str, data: bytes) -> re2._Match[bytes] | None:
    """Return the first match of `pattern` in `data`, the UTF-8 of a `plain_text`.

    Only `searched_bytes` are searched, half of them at the end. Raises re2.error for patterns that `check_trigger` refuses.
    """
    regexp = compile_trigger(pattern)
    max_bytes = len(data) if regexp.programsize * len(data) <= MAX_WORK else searched_bytes(pattern)
    if max_bytes >= len(data):
        return regexp.search(data)
    return regexp.search(data[: max_bytes // 2]) or regexp.search(data[-(max_bytes // 2) :])


def searched_bytes(pattern: str) -> int:
    """Return the maximum number of bytes that `pattern` is matched against, so that 15 ms suffice.

    RE2 is linear in the text, but takes for each byte up to as many steps as the pattern has positions. A pattern with few
    choices is quick with any number of them.
    """
    from subcog_hooks.cues import re2_syntax  # Only a large pattern and a long text need it.

    pattern = plain_text(pattern)
    choices, positions = re2_syntax.count_choices(pattern), max(1, re2_syntax.count_positions(pattern))
    is_quick = choices <= FEW_CHOICES or (choices <= SOME_CHOICES and positions <= FEW_POSITIONS)
    return sys.maxsize if is_quick else MAX_WORK // positions


def any_of_literals(pattern: str) -> tuple[str, ...]:
    """Return literals such that every match of `pattern` has at least one of them, () if none is certain.

    >>> any_of_literals(r"\\bdata(base|bases)? (migration|schema)s?"), any_of_literals("[kc]aching")
    (('migration', 'schema'), ('kaching', 'caching'))
    >>> any_of_literals(r"\\w+ing?")
    ()
    """
    from subcog_hooks.cues import literals  # Only writers and the terminal need it.

    return literals.any_of_literals(plain_text(pattern))


def all_of_literals(pattern: str) -> tuple[str, ...]:
    """Return case-folded runs of letters and digits that every match of `pattern` has.

    A text needs all of them beside a literal before the pattern is tried; of an entry with |, it needs one alternative.

    >>> all_of_literals("kubectl (apply|delete) -f prod")
    ('kubectl', 'prod', 'apply|delete')
    """
    from subcog_hooks.cues import literals  # Only writers need it.

    return literals.all_of_literals(plain_text(pattern))


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


def _describe_error(pattern: str, error: re2.error) -> tuple[str, str]:
    """Return the problem of a pattern that RE2 refuses, with its position, and a hint."""
    words, detail = _split_message(error)
    if words.startswith("pattern too large"):
        return "it is too large when it is compiled", _SMALLER
    position = _error_position(pattern, words, detail)
    if not position:
        return f"{words} {detail}".rstrip(), _HINT
    rest = pattern[position - 1 :]
    for beginnings, name, hint in _HINTS:
        if rest.startswith(beginnings):
            return f"{name} at character {position}", hint
    excerpt = "" if words.startswith(("missing", "unexpected", "trailing")) else f" {detail[:20]}"
    return f"{words}{excerpt} at character {position}", _HINT


def _split_message(error: re2.error) -> tuple[str, str]:
    """Return the words of RE2's message, and the part of the pattern that it is about."""
    message = error.args[0]
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    words, _, detail = text.partition(": ")
    return words, detail


def _error_position(pattern: str, words: str, detail: str) -> int:
    """Return the position of a fault, from 1; 0 if it has none.

    RE2 reads from left to right and stops at the first fault, but does not report its position. The shortest beginning with the
    same fault ends at it.
    """
    if words == "missing )":
        from subcog_hooks.cues import re2_syntax  # Only a refused pattern needs it.

        return re2_syntax.unclosed_group(pattern)
    if words == "missing ]":
        return len(pattern) - len(detail) + 1
    if words == "trailing \\":
        return len(pattern)
    is_parenthesis = words == "unexpected )"  # Then the detail is the text itself.
    low, high = 0, len(pattern)
    while high - low > 1:
        middle = (low + high) // 2
        refusal = _compile_error(pattern[:middle])
        if refusal and refusal[0] == words and (is_parenthesis or refusal[1] == detail):
            high = middle
        else:
            low = middle
    return high if is_parenthesis else pattern.rfind(detail, 0, high) + 1


def _compile_error(pattern: str) -> tuple[str, str] | None:
    import re2  # It is loaded already.

    try:
        _compile_as_written(pattern)
    except re2.error as error:
        return _split_message(error)
    return None
