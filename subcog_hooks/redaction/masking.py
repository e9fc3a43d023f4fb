"""The second pass over a text on its way out: unmistakable secrets and private spans, without judgement.

The first pass is `redact`, before a memory is stored. This pass is on the hook's path, so it imports nothing until a text
holds one of the literals that every pattern here requires.
"""

from itertools import pairwise

from subcog_hooks.core.files import read_rows

OPAQUE, WIDE = "opaque", "wide"  # forms of tokens
MAX_WHOLE_WORD = 4  # letters; a longer noun may also stand inside another word

TOKEN_ROWS = read_rows(__file__, "prefixes.tsv")
PREFIXES = frozenset(" ".join([words for form, _, words in TOKEN_ROWS if form in (OPAQUE, WIDE)]).split())
UNMISTAKABLE, SENTENCE_WORDS = (frozenset(words.split()) for _, length, words in TOKEN_ROWS if length == "-")
SECRET_NOUNS = {kind: words.split("|") for form, kind, words in TOKEN_ROWS if form == "beside"}

MASK = "[redacted]"

_LITERALS = (*sorted(UNMISTAKABLE), "sk-ant-", "sk-proj-", "sk-svcacct-", "T3BlbkFJ", "eyJ")
_KEY_BLOCK = "PRIVATE KEY"
# Every run is bounded, excludes the start of the next match, or is possessive behind a look-behind: linear by construction.
_TOKENS = r"""
    (?<![A-Za-z0-9])
    (?:
        (?:AKIA|ASIA)[0-9A-Z]{16}
      | gh[pousr]_[A-Za-z0-9_]{36,}
      | github_pat_[A-Za-z0-9_]{22,}
      | sk-(?:ant|proj|svcacct)-[A-Za-z0-9_-]{16,}
      | sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20,}
      | xox[abeopsr](?:\.xox[bp])?-[A-Za-z0-9-]{10,}
      | AIza[0-9A-Za-z_-]{35,}
      | glpat-[A-Za-z0-9_.-]{20,}
      | hf_[A-Za-z0-9]{30,}
      | npm_[A-Za-z0-9]{36,}
      | (?:PREFIXES)(?=[A-Za-z_-]{0,40}[0-9])(?=[A-Za-z0-9_-]{20})[A-Za-z0-9_-]{0,12}[A-Za-z0-9]{12,}
    )
    [A-Za-z0-9_-]*
  | (?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?
  | -{4,5}[ ]?BEGIN[ ][A-Z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?[ ]?-{4,5}[^\n]*(?:\n[A-Za-z0-9+/=\r]{16,})*
"""
# The password alone, behind "://user:"; a value that begins like a variable or a mask is no password.
_IN_URL = r"""(://[^\s/:@?\#"'`<>]*:)(?![$%{*\[])[^\s/"'`<>]+(?=@)"""
# A tag may be written with other brackets, escaped, in full width, with blanks and with invisible characters.
UNSEEN = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e"
UNSEEN += "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
UNSEEN += "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u2800\u3164\ufe0e\ufe0f\ufeff\uffa0"
_PLAIN = str.maketrans(
    dict.fromkeys(UNSEEN)
    | {chr(0xFF21 + index): letter for index, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}
    | {chr(0xFF41 + index): letter for index, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}
)
_ODD = frozenset(map(chr, _PLAIN))
_OPENINGS = ("<", "&", "\\", "%", "＜", "﹤", "‹", "〈", "⟨")  # Each form below begins with one of these.
_OPENS = r"(?:[<＜﹤‹〈⟨]|&(?:amp;){0,4}(?:lt|\#0{0,6}60|\#x0{0,6}3c)(?![a-z0-9]);?|\\{1,4}u003c|\\{1,4}x3c|%(?:25){0,4}3c)"
_CLOSES = r"(?:[>＞﹥›〉⟩]|&(?:amp;){0,4}(?:gt|\#0{0,6}62|\#x0{0,6}3e)(?![a-z0-9]);?|\\{1,4}u003e|\\{1,4}x3e|%(?:25){0,4}3e)"

MAX_WORD_LETTERS = 24  # letters; a longer run is no word
MIN_JUDGED = 10  # characters; in fewer, chance looks like anything
_MIN_CHANGES = 0.2  # share of positions where the kind of character changes; CamelCase has less, random letters have .3 to .7
_MIN_CHANGES_ONE_CASE = 0.13  # for letters of one case and digits, which change less often
_MAX_WORDLIKE = 0.5  # maximum share of a random text in runs that could be a word
_MIN_WORD = 5  # small letters in a row, with a vowel among them
_VOWELS = frozenset("aeiouyAEIOUY")
_HEX = frozenset("0123456789abcdefABCDEF")
UUID = (8, 4, 4, 4, 12)
SIGNS = str.maketrans(dict.fromkeys("-_./+~@#$%&=:,;|!?^*\\\"'`()[]{}<>", " "))


def looks_random(text: str) -> bool:
    """Return whether the letters and digits of `text` look random. A hash in hexadecimal does, a UUID does not.

    >>> [looks_random(text) for text in ("kR7pWq2LxZ9vT4", "sessionTokenOfV2", "3fa85f64-5717-4562-b3fc-2c963f66afa6")]
    [True, False, False]
    """
    parts = text.translate(SIGNS).split()
    if tuple(map(len, parts)) == UUID:
        return False
    letters = "".join(parts)
    if len(letters) < MIN_JUDGED or not letters.isascii():
        return False
    has_digit = any(map(str.isdigit, letters))
    has_both_cases = letters != letters.upper() and letters != letters.lower()
    if not (has_digit or has_both_cases) or letters.isdigit():
        return False
    min_changes = _MIN_CHANGES if has_both_cases else _MIN_CHANGES_ONE_CASE
    changes = sum(count_changes(part) for part in parts)
    return changes >= min_changes * len(letters) and _count_wordlike(parts) <= _MAX_WORDLIKE * len(letters)


def is_unlike_words(text: str) -> bool:
    """Return whether `text` has several digits, is no UUID, and is mostly no words: enough behind a known prefix.

    >>> is_unlike_words("4ZTQ7KXWLM2NPVRB"), is_unlike_words("v2-workload-token")
    (True, False)
    """
    parts = text.translate(SIGNS).split()
    letters = "".join(parts)
    has_digits = letters.isascii() and sum(map(str.isdigit, letters)) >= 2 and not letters.isdigit()
    return has_digits and tuple(map(len, parts)) != UUID and _count_wordlike(parts) <= _MAX_WORDLIKE * len(letters)


def mixes_cases_and_digits(text: str) -> bool:
    """Return whether `text` has a digit, a small letter and a capital; hashes and identifiers of one case have not."""
    return any(map(str.isdigit, text)) and text.lower() != text != text.upper()


def is_hexadecimal(text: str) -> bool:
    """Return whether `text` is a hexadecimal number, as hashes and commit ids are.

    >>> is_hexadecimal("da39a3ee5e6b"), is_hexadecimal("kR7pWq2LxZ9v")
    (True, False)
    """
    return _HEX.issuperset(text)


def count_changes(part: str) -> int:
    """Count the changes between digits, capitals and small letters; a capital that begins a word does not count."""
    kinds = ["0" if letter.isdigit() else "A" if letter.isupper() else "a" for letter in part]
    return sum(kind != next_kind and kind + next_kind != "Aa" for kind, next_kind in pairwise(kinds))


def _count_wordlike(parts: list[str]) -> int:
    """Count the letters in runs that could be words: at most one capital, then small letters, or capitals alone."""
    covered = 0
    for part in parts:
        start = 0
        for end in range(1, len(part) + 1):
            is_joined = end < len(part) and part[end - 1].isalpha() and part[end].isalpha()
            if is_joined and (part[end].islower() or (part[end - 1].isupper() and part[end].isupper())):
                continue
            run = part[start:end]
            if len(run) >= _MIN_WORD and run.isalpha() and not _VOWELS.isdisjoint(run):
                covered += len(run)
            start = end
    return covered


def mask_secrets(text: str) -> str:
    """Return `text` without `<private>` spans, with `[redacted]` for secrets; the same object if it has none."""
    text, _ = remove_private(text)
    has_token = _KEY_BLOCK in text or any(literal in text for literal in _LITERALS)
    has_password = "@" in text and any(":" in piece.partition("/")[0].rpartition("@")[0] for piece in text.split("://")[1:])
    if not (has_token or has_password):
        return text
    import re  # 3 ms in a fresh process: paid only by a text that holds one of the literals

    if has_token:
        tokens = _TOKENS.replace("PREFIXES", "|".join(map(re.escape, _LITERALS)))
        text = re.sub(tokens, MASK, text, flags=re.VERBOSE)
    if has_password:
        text = re.sub(_IN_URL, rf"\1{MASK}", text)
    return text


def remove_private(text: str) -> tuple[str, int]:
    """Return `text` without its `<private>…</private>` spans, and the number of spans.

    Spans nest; an unclosed span reaches to the end; a lone closing tag is dropped. The tags may have any case, blanks and
    attributes. They may be in full width, escaped for HTML, JSON or a URL, and hold invisible characters.
    """
    if not _mentions_private_tag(text):
        return text, 0
    import re  # 3 ms in a fresh process: paid only by a text that may hold a private span

    blank = rf"[\s{UNSEEN}]*+"
    name = blank.replace(r"\s", "").join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in "private")
    tag = rf"{_OPENS}{blank}([/\\／]*){blank}{name}(?=[\s/{UNSEEN}]|{_OPENS}|{_CLOSES})"
    pieces: list[str] = []
    position = depth = spans = 0
    ends = re.compile(_CLOSES, re.IGNORECASE).finditer(text)
    end = next(ends, None)
    for match in re.compile(tag, re.IGNORECASE).finditer(text):
        if match.start() < position:
            continue
        while end is not None and end.start() < match.end():
            end = next(ends, None)
        if end is None:
            break
        if depth == 0:
            _append_piece(pieces, text[position : match.start()])
        if not match[1]:
            depth += 1
            spans += depth == 1
        elif depth:
            depth -= 1
        position = end.end()
    if not position:
        return text, 0
    if depth == 0:
        _append_piece(pieces, text[position:])
    return "".join(pieces), spans


def _mentions_private_tag(text: str) -> bool:
    if not any(opening in text for opening in _OPENINGS):
        return False
    lowered = text.lower()
    is_odd = not text.isascii() and not _ODD.isdisjoint(lowered)
    return "private" in lowered or (is_odd and "private" in lowered.translate(_PLAIN))


def _append_piece(pieces: list[str], piece: str) -> None:
    """Append `piece` with white space at the joint, so that both sides cannot form a new word or tag."""
    if not piece:
        return
    if pieces:
        before = pieces[-1][-1]
        if before == piece[0] == " ":
            piece = piece[1:]
        elif not (before.isspace() or piece[0].isspace()):
            pieces.append(" ")
    if piece:
        pieces.append(piece)
