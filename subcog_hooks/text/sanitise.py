"""Makes stored text harmless to show a model: one line, nothing invisible, no tag of the harness, cleanly cut.

Functions of text that run in every hook: the module imports little, time is linear, and plain ASCII passes in a microsecond.
Text that is too odd to judge is treated as hostile, at the cost of a changed bracket.
"""

from subcog_hooks.core.files import read_rows

_BLANK = "\u2800"  # the pattern without dots is braille's blank, and invisible
_KEEP_AS_BLANKS = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85"  # str.split takes these for white space, so they separate words
_CONTROLS = frozenset(map(chr, [*range(0x20), *range(0x7F, 0xA0)])) - frozenset(_KEEP_AS_BLANKS)
_C1_TO_ESCAPES = {code: "\x1b" + chr(code - 0x40) for code in (0x90, 0x98, 0x9B, 0x9C, 0x9D, 0x9E, 0x9F)}  # ECMA-48
_ESCAPES = frozenset(map(chr, _C1_TO_ESCAPES)) | {"\x1b"}
_DROP_CONTROLS = dict.fromkeys(map(ord, _CONTROLS))

_UNSEEN_CODES = (  # Unicode's Default_Ignorable_Code_Point below plane 14 with annotations and noncharacters
    *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0, 0xFFFE, 0xFFFF),
    *(*range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)),
    *(*range(0xFDD0, 0xFDF0), *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFFC), *range(0x1BCA0, 0x1BCA4)),
    *range(0x1D173, 0x1D17B),
    *(0x1D159, 0x16FE4, 0x16FF0, 0x16FF1),  # invisible in any class: a note's missing head, fillers
    *range(0x13430, 0x13456),  # joiners and blanks of hieroglyphs
)
_INVISIBLE = _CONTROLS | frozenset(map(chr, _UNSEEN_CODES))

# The harness's own tags, with "-" for "_". These names may be incomplete: anything may follow.
_HARNESS_NAMES = (
    *("antml:", "bash-input", "bash-stderr", "bash-stdout", "command-args", "command-contents", "command-message"),
    *("command-name", "function-call", "function-result", "local-command-", "persisted-output", "subcog-memor"),
    *("system-reminder", "task-notification", "tool-result", "tool-use"),
)
_ROLE_NAMES = ("assistant", "human", "private", "system", "user")  # words of ordinary code, too: see _is_role
# Each of these names contains one of these parts, which are fewer to look for.
_PARTS = ("antml:", "bash-", "command-", "function-", "persisted-", "subcog-", "task-", "tool-", *_ROLE_NAMES)
_MAX_NAME = 64  # characters after "<"; names are shorter, even with an entity inside
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789-:"
_BEFORE_NAME = " \t\n\v\f\r/\\!?"

_OPENERS = frozenset("＜﹤˂ᐸᚲ𝈶≮‹«⟨⟪〈《〈❬❮❰⧼⦑⦉⦓⪻≪⋘⋖≺⪡⪦ᑄᗏ◁◀◂◃⊲⯇⮜𐔆")  # read as "<"; _AMPERSANDS are read as "&"
_AMPERSANDS = frozenset("＆﹠")
_LIKE_MARKUP = _OPENERS | _AMPERSANDS
_DISARMED = str.maketrans(dict.fromkeys({"<", *_OPENERS}, "(") | dict.fromkeys(_AMPERSANDS, "&"))
_IN_BOXES = {  # letters in squares, circles and brackets, and flags' letters; normalising leaves some brackets
    first + index: chr(ord("a") + index)
    for first in (0x249C, 0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6)
    for index in range(26)
}
_ENTITIES = {
    **dict.fromkeys(("lt", "LT", "nvlt"), "<"),
    **dict.fromkeys(("gt", "GT"), ">"),
    **dict.fromkeys(("amp", "AMP"), "&"),
    "shy": "",
    "ordf": "a",
    "ordm": "o",
}
_ENTITY_NAMES = tuple(_ENTITIES)
_twins: dict[int, str] = {}  # plain characters by their look-alikes; most memories need none
_LONG_LIGATURES = {0xFDFA: None, 0xFDFB: None}  # whole Arabic phrases: 18 times their length when normalised
_UNUSUAL = _LONG_LIGATURES | _IN_BOXES
_MAX_FOLDS = 4  # &amp;amp;amp;lt; is the deepest quotation in honest text
_MAX_MARKUP = 2_000  # signs "<" or "&" in a text

_ELLIPSIS = " …"
_MAX_MARKS = 64  # characters; a longer run of marks (hundreds of accents on a letter) is cut inside


def one_line(text: str) -> str:
    """Return `text` in one line without invisible characters: controls, escape sequences, bidi marks, zero-width characters.

    Line breaks and runs of white space are one space each, the ends are stripped, a lone surrogate is U+FFFD. Idempotent.

    >>> one_line("a\\x1b[31m red\\u200b\\n\\tline ")
    'a red line'
    """
    if text.isascii():
        line = " ".join((_without_escapes(text) if "\x1b" in text else text).split())
        return line if line.isprintable() else " ".join(line.translate(_DROP_CONTROLS).split())
    text = _whole_characters(text)
    characters = set(text)
    if not characters.isdisjoint(_ESCAPES):
        text = _without_escapes(text)
    if _BLANK in characters:  # In a word it would hide a tag.
        is_braille = any("\u2801" <= character <= "\u28ff" for character in characters)
        text = text.replace(_BLANK, " " if is_braille else "")
    if unseen := _invisible_in(characters):
        text = text.translate(dict.fromkeys(map(ord, unseen)))
    return " ".join(text.split())


def neutralise(text: str) -> str:
    """Return the line `text`, or `disarm(text)` if any part of it could be read as a tag of the harness or our own.

    Tags are recognised in any case, opening or closing, with blanks, in full-width and look-alike characters and as
    HTML entities. One tag disarms every "<" of the text: no removal of an inner one can form another. Idempotent.

    >>> neutralise("Vec<String>, a < b, </system-reminder>")
    'Vec(String>, a ( b, (/system-reminder>'
    >>> neutralise("Vec<String>, a < b, <div>, List<User>")
    'Vec<String>, a < b, <div>, List<User>'
    """
    if "<" not in text and "&" not in text and (text.isascii() or set(text).isdisjoint(_LIKE_MARKUP)):
        return text
    folded = _fold_lookalikes(text) if "&" in text or not text.isascii() else text
    if folded is None or "<|" in folded:  # Tags like <|im_start|> mark turns of a chat in training data.
        return disarm(text)
    names = folded.lower().replace("_", "-")
    if "&" not in names and not any(map(names.__contains__, _PARTS)):  # Most memories end here.
        return text
    parts = folded.split("<")
    return disarm(text) if len(parts) > _MAX_MARKUP or any(map(_is_tag, parts, parts[1:])) else text


def disarm(text: str) -> str:
    """Return `text` with "(" for every "<" and its look-alikes, and a space after every "&", which ends every HTML entity.

    No part of the result can be read as a tag, wherever it is cut.
    """
    text = text.translate(_DISARMED)
    return text.replace("&", "& ").replace("&  ", "& ").rstrip() if "&" in text else text


def utf16_units(text: str) -> int:
    """Return the length of `text` in UTF-16 code units, which Claude Code counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) >> 1


def cut(text: str, units: int) -> str:
    """Return `text`, or its beginning with " …" behind it, in at most `units` UTF-16 code units.

    The cut is between words if a gap is near, else between letters with their marks; "…" alone if none fits.

    >>> cut("the implicit flow was dropped", 20)
    'the implicit flow …'
    """
    text = _whole_characters(text)
    if len(text) <= units and utf16_units(text) <= units:
        return text
    room = units - len(_ELLIPSIS)
    end = _fitting_length(text, room) if room > 0 else 0
    gap = text.rfind(" ", end * 4 // 5, end + 1)
    beginning = text[: gap if gap > 0 else end].rstrip()
    if beginning:
        return beginning + _ELLIPSIS
    return _ELLIPSIS.strip() if units > 0 else ""


def _whole_characters(text: str) -> str:
    """Return `text` with its surrogate pairs joined and lone surrogates replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _invisible_in(characters: set[str]) -> set[str]:
    unseen = characters & _INVISIBLE
    if max(characters, default="") >= "\U000e0000":  # Tags and variation selectors fill a plane, too much for a table.
        unseen |= {character for character in characters if "\U000e0000" <= character <= "\U000e0fff"}
    return unseen


def _without_escapes(text: str) -> str:
    """Return `text` without the control sequences and strings of ECMA-48. A malformed one loses its introducer only."""
    if not text.isascii():
        text = text.translate(_C1_TO_ESCAPES)
    head, *tails = text.split("\x1b")
    pieces = [head]
    for tail, following in zip(tails, [*tails[1:], ""], strict=True):
        kind = tail[:1]
        if kind == "[":
            rest = tail[1:].lstrip("0123456789:;<=>?").lstrip(" !\"#$%&'()*+,-./")
            pieces.append(rest[1:] if "@" <= rest[:1] <= "~" else tail[1:])
        elif kind and kind in "]PX^_":
            string, bell, rest = tail[1:].partition("\a")
            ended = bell or following.startswith("\\")
            one_row = "\n" not in string and "\r" not in string  # A stray introducer must not swallow the text behind it.
            pieces.append(rest if ended and one_row else tail[1:])
        else:
            rest = tail.lstrip("!\"#$%&'()*+,-./")
            pieces.append(rest[1:] if "0" <= rest[:1] <= "~" else tail)
    return "".join(pieces)


def _is_tag(before: str, after: str) -> bool:
    """Return whether the "<" between `before` and `after` opens a harness tag. `after` ends at the next "<"."""
    start = 0
    for character in after:
        if character not in _BEFORE_NAME and (character < "\x80" or character.isalnum()):
            break
        start += 1
    tag_text = after[start : start + _MAX_NAME]
    name = tag_text.lower().replace("_", "-")
    if name.startswith(_HARNESS_NAMES):
        return True
    rest = name.lstrip(_NAME_CHARACTERS)
    if rest[:1] == "&" and rest[1:2].isalpha() and ";" in rest:  # It is spelled with entities that are not resolved here.
        return True
    return name.startswith(_ROLE_NAMES) and _is_role(before, after[:start], tag_text, ">" in after)


def _is_role(before: str, between: str, tag_text: str, closed: bool) -> bool:
    """Return whether it is a tag like <system>, and no code like `List<User>`, `Vec<user_id>`, `i < user`, `<username>`."""
    role = next(name for name in _ROLE_NAMES if tag_text.lower().startswith(name))
    following = tag_text[len(role) : len(role) + 2]
    if following[:1].isalnum() or (following[:1] in {".", ":"} and (following[1:].isalnum() or following[1:] == ":")):
        return False
    if between.isspace() and not closed:
        return False
    follows_name = not between and (before[-1:].isalnum() or before[-1:] == "_")
    is_type = following[:1] == "_" or (tag_text.startswith(role.capitalize()) and following[:1] != "-")
    return not (follows_name and is_type)


def _fold_lookalikes(text: str) -> str | None:
    """Return `text` with entities resolved and odd forms, accents and look-alikes made plain; None if nested too deep."""
    for _ in range(_MAX_FOLDS):
        plain = _resolve_entities(text) if "&" in text else text
        if plain is None:
            return None
        if not plain.isascii():
            plain = _plain_letters(plain)
        if plain == text:
            return plain
        text = plain
    return None


def _resolve_entities(text: str) -> str | None:
    head, *tails = text.split("&")
    if len(tails) > _MAX_MARKUP:
        return None
    pieces = [head]
    for tail in tails:
        if tail[:1] == "#":
            pieces.append(_resolve_number(tail))
        elif tail.startswith(_ENTITY_NAMES):
            name = next(name for name in _ENTITY_NAMES if tail.startswith(name))
            pieces.append(_ENTITIES[name] + tail[len(name) :].removeprefix(";"))
        else:
            pieces.append("&" + tail)
    return "".join(pieces)


def _resolve_number(tail: str) -> str:
    """Resolve the character reference in a text behind "&" that begins with "#", as HTML does."""
    base, start, allowed = (16, 2, "0123456789abcdefABCDEF") if tail[1:2] in {"x", "X"} else (10, 1, "0123456789")
    rest = tail[start:].lstrip(allowed)
    digits = tail[start : len(tail) - len(rest)]
    if not digits:
        return "&" + tail
    digits = digits.lstrip("0")
    code = int(digits, base) if 0 < len(digits) < 8 else 0xFFFD
    if code == 0x7F or code & 0xFFFE == 0xFFFE or (code < 0x20 and code not in {9, 10, 12, 13}):
        character = ""
    elif code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        character = "\ufffd"
    else:
        character = chr(code)
    return character + rest.removeprefix(";")


def _plain_letters(text: str) -> str:
    from unicodedata import category, normalize  # 0.2 ms, and most memories are ASCII

    text = normalize("NFKD", text.translate(_UNUSUAL))
    characters = set(text)
    marks = {character for character in characters if category(character)[0] == "M"}
    dropped = _invisible_in(characters) | characters & {_BLANK} | marks
    if not _twins:
        _twins.update({ord(twin): plain for plain, twins in read_rows(__file__, "lookalikes.tsv") for twin in twins})
        _twins.update(dict.fromkeys(map(ord, _OPENERS), "<"))
    return text.translate(_twins | dict.fromkeys(map(ord, dropped)))


def _fitting_length(text: str, units: int) -> int:
    """Return the number of characters of `text`, letters with all their marks, that fit into `units` UTF-16 code units."""
    if text.isascii():
        return units
    from unicodedata import category  # 0.2 ms, and only when text beyond ASCII is cut

    data = text[:units].encode("utf-16-le")[: 2 * units]
    if data and 0xD8 <= data[-1] <= 0xDB:  # It is the first half of a pair.
        data = data[:-2]
    end = len(data.decode("utf-16-le"))
    for start in range(end, max(end - _MAX_MARKS, 0), -1):
        if category(text[start])[0] != "M":
            return start
    return 0 if end <= _MAX_MARKS else end
