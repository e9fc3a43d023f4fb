"""Secrets that the words beside them give away: statements of everyday life, assigned values, random values near a name.

A statement has a noun for a secret, a link (a verb, a colon) and a value, in any order and in many languages: "the password of
the admin is …", "… ist das Passwort". A word that describes a password ("is required") is no secret: `secret_values.is_stated`.
Random letters alone suffice only where digits, capitals and small letters mix.
"""

import base64
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

import re2

from subcog_hooks.core.files import read_rows
from subcog_hooks.redaction import masking, secret_values
from subcog_hooks.redaction.masking import SECRET_NOUNS, is_hexadecimal, is_unlike_words, looks_random, mixes_cases_and_digits
from subcog_hooks.redaction.secret_values import MARKER, MAX_VALUE, is_key, is_value, names_topic

# The search runs on a Latin-1 copy of the same length: for all of Unicode, RE2 takes ten times as long.
_REPLACEMENTS = ('"“”„‹›「」『』', "'‘’‚", "-–—", ">→", ":：", "=＝", ",、。，；", "(（", ")）", " \u2009\u202f")
_LOWERED = bytes.maketrans(
    "\t\u00a0ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜ".encode("latin-1"), "  àáâãäåçèéêëìíîïñòóôõöùúûü".encode("latin-1")
)
# In the copy, a byte that few texts have stands for a noun beyond Latin-1, and the signs below for links and letters.
_SIGNS = {kind: chr(0x80 + index) for index, kind in enumerate(SECRET_NOUNS)}
_SIGNS_OF_WORDS = {word: sign for kind, sign in _SIGNS.items() for word in SECRET_NOUNS[kind] if max(word) > "\xff"}
_IS_SIGN, _LETTER_SIGN, _IDEOGRAM_SIGN = "\x9f", "ÿ", "\x7f"
_FOREIGN_NOUN = re.compile(
    f"(?=[{''.join({word[0] + word[0].upper() for word in _SIGNS_OF_WORDS})}])("  # It skips most positions at once.
    + "|".join(re.escape(word).replace(r"\ ", "[ _-]") for word in sorted(_SIGNS_OF_WORDS, key=len, reverse=True))
    + r")(?:( ?(?:[はが是为為은는이가를을]|改成|改为|换成|设置为|设为|設定は))|です|だ|입니다|이다)?(?![^\W\d_a-zA-Z])",
    re.IGNORECASE,
)
_FOREIGN_IS = re.compile(r"(?<=[!-~])( ?)[はが是为為은는이가](?![^\W\d_a-zA-Z] )")
_IDEOGRAM = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTER = re.compile("[\u0100-\u1fff]")
_PART = re.compile(r"<([a-z ]+)>")
_TAIL = ".:!?)]}*\\"  # These signs may follow a value in a sentence.
_MARK = re.compile(re.escape(MARKER) + r"[^\]]*\]")  # Its kind is no noun.
_NEXT_FIELD = re.compile(r"[&;](?=[\w.-]+=)")
_NEAR_KINDS = frozenset(("password", "secret", "key", "login", "ssid", "backup code", "second factor", "name"))
_MAX_SENTENCE = 400  # characters
_SENTENCE = re.compile(r"(?:[^\n.!?。]|[.!?](?!\s))+")
_NEAR_WORD = re.compile(
    r"[^\s\"'`()\[\],:=→、。，「」（）：|!?*—-][^\s\"'`()\[\],:=→、。，「」（）：|]{4,}[^\s\"'`()\[\],:=→、。，「」（）：|.!?*—-]"
)
_PIN_KINDS = frozenset(("pin", "code"))
_NEAR_PIN = re.compile(r"(?<![\w.,:/#-])(?!(?:19|20)\d\d\b)\d{4,8}(?![\w/%]|[.,:-]\d)")
_INNER_DIGIT = re.compile(r"[a-z]{2}\d[a-z]{3}|[a-z]\d\d-[A-Z]")  # as in raspb3rry-jam
_MAX_JUDGED = 500  # characters of a value; a wallet's 24 words may have as many
_PHRASE_WORDS = range(12, 25)


class EverydayRow(NamedTuple):
    """A pattern whose groups are secrets if their judges agree. The last judge also judges the groups behind its own."""

    kind: str
    nouns: tuple[str, ...]  # kinds of `masking.SECRET_NOUNS`; a text without their words is not searched
    pattern: str
    judges: tuple[Callable[[str], bool], ...]
    items: str  # The first group is a list, and this pattern's groups in it are judged.


_JUDGES = {**vars(secret_values), "isdigit": str.isdigit}
ROWS = tuple(
    EverydayRow(kind, tuple(beside.split("|")), pattern, tuple(_JUDGES[name] for name in names.split()), "".join(items))
    for kind, beside, pattern, names, *items in read_rows(__file__, "everyday.tsv")
)
_PARTS = secret_values.join_alternatives("everyday_parts.tsv")
_WORDS = secret_values.join_alternatives("named_values.tsv")
_OF_STATEMENTS = ("<said>", "<is noun>", "<is>", "<digits>")  # parts of patterns
_CASED = ("identifier", "harmless")


@cache
def _regex(name: str) -> re.Pattern[str]:
    return re.compile(_WORDS[name], 0 if name in _CASED else re.IGNORECASE)


def find_everyday(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the everyday secrets in `text`, some of them twice, in linear time.

    >>> text = "Die PIN der Tür lautet 4711."
    >>> {text[start:end] for start, end, _ in find_everyday(text)}
    {'4711'}
    """
    yield from _find_wallets(text)
    data = _copy_in_latin1(text)
    kinds = _find_kinds(data)
    for row in ROWS:
        if kinds.isdisjoint(row.nouns):
            continue
        for match, start, end, judge in _candidate_values(row, data):
            value = _NEXT_FIELD.split(text[start : end + 1], maxsplit=1)[0][: end - start].rstrip(_TAIL)
            if value and MARKER not in value and judge(value[:_MAX_JUDGED]):
                beside = text[match.start() : start] + text[end : match.end()]
                value_end = start + len(value)
                # A value may name a version, a standard, a column or a year, or count the noun behind it.
                is_harmless = _regex("harmless").search(value) or _regex("counted").match(text, value_end)
                if not any(part in row.pattern for part in _OF_STATEMENTS) or not (names_topic(beside) or is_harmless):
                    yield start, value_end, row.kind

    if not kinds.isdisjoint(_NEAR_KINDS | _PIN_KINDS):
        yield from _find_near(text, data)


def _find_near(text: str, data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield generated words and lone PINs in a sentence with a noun for a secret: "the token, mind you: 5d0c9e…"."""
    for sentence in _SENTENCE.finditer(text):
        if len(sentence[0]) > _MAX_SENTENCE or _regex("no statement").search(sentence[0]):
            continue
        found = _find_kinds(data[sentence.start() : sentence.end()])
        if not _NEAR_KINDS.isdisjoint(found):
            for word in _NEAR_WORD.finditer(text, *sentence.span()):
                if _is_generated(word[0]) and not any(_regex(name).search(word[0]) for name in ("identifier", "harmless")):
                    yield *word.span(), "secret"
        if not _PIN_KINDS.isdisjoint(found):
            numbers = [*_NEAR_PIN.finditer(text, *sentence.span())]
            if len(numbers) == 1 and not names_topic(sentence[0]) and not _regex("counted").match(text, numbers[0].end()):
                yield *numbers[0].span(), "PIN"


def _is_generated(word: str) -> bool:
    is_random = is_key(word) and (secret_values.is_mixture(word) or word.count("-") > 1)
    return is_random or (_INNER_DIGIT.search(word) is not None and secret_values.is_mixture(word))


def names_secret(text: str) -> bool:
    """Return whether a noun for a secret stands in `text`."""
    return bool(_find_kinds(_copy_in_latin1(text)))


def _find_kinds(data: bytes) -> set[str]:
    return {_KINDS[index] for index in _noun_automaton().Match(data.lower()) or ()}


def _blank(match: re.Match[str]) -> str:
    return _IDEOGRAM_SIGN * len(match[0])


def _copy_in_latin1(text: str) -> bytes:
    if MARKER in text:
        text = _MARK.sub(_blank, text)
    if not text.isascii():
        for signs in _REPLACEMENTS:
            for other in signs[1:]:
                text = text.replace(other, signs[0])
        if _IDEOGRAM.search(text) or _LETTER.search(text):
            text, count = _FOREIGN_NOUN.subn(_replace_noun, text)
            text = _FOREIGN_IS.sub(rf"\1{_IS_SIGN}", text) if count else text
            text = _LETTER.sub(_LETTER_SIGN, _IDEOGRAM.sub(_IDEOGRAM_SIGN, text))
    return text.encode("latin-1", "replace").translate(_LOWERED)


def _replace_noun(match: re.Match[str]) -> str:
    """Return the sign of a noun, and a colon for the particle that makes it the subject, in as many characters."""
    sign = _SIGNS_OF_WORDS[re.sub("[ _-]", " ", match[1].lower())]
    return (sign + (":" if match[2] else "")).ljust(len(match[0]))


def _candidate_values(row: EverydayRow, data: bytes) -> Iterator[tuple[re2._Match, int, int, Callable[[str], bool]]]:
    for match in _compile_pattern(row.pattern, row.nouns).finditer(data):
        for item in _compile_pattern(row.items).finditer(data, *match.span(1)) if row.items else (match,):
            for group in range(1, len(item.groups()) + 1):
                if item.start(group) >= 0:
                    yield match, *item.span(group), row.judges[min(group, len(row.judges)) - 1]


def _find_wallets(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the unannounced phrases of wallets: twelve words in a row of the wallets' word list."""
    words = text.replace(",", " ").split()
    listed = _wallet_words()
    sixth = [position for position in range(5, len(words), 6) if words[position] in listed]
    if not any(listed.issuperset(words[position : position + 7]) for position in sixth):
        return
    run: list[re.Match[str]] = []
    for word in chain(re.finditer(r"[^\s,.;]+", text), [None]):
        if word and word[0] in listed:
            run.append(word)
            continue
        if len(run) in _PHRASE_WORDS and secret_values.is_seed(text[run[0].start() : run[-1].end()]):
            yield run[0].start(), run[-1].end(), "seed phrase"
        run = []


@cache
def _wallet_words() -> frozenset[str]:
    with open(os.path.join(os.path.dirname(__file__), "wallet_words.txt"), encoding="ascii") as file:
        return frozenset(file.read().split())


_KINDS = tuple(SECRET_NOUNS)


@cache
def _noun_automaton() -> re2.Set:
    words = re2.Set.SearchSet(_re2_options())
    for kind in _KINDS:
        words.Add(_words_pattern(kind).encode("latin-1"))
    words.Compile()
    return words


@cache
def _compile_pattern(pattern: str, nouns: tuple[str, ...] = ()) -> re2._Regexp:
    while (part := _PART.search(pattern)) is not None:
        kinds = nouns if part[1] == "noun" else (part[1],)
        pattern = pattern.replace(part[0], _PARTS.get(part[1]) or f"(?:{'|'.join(map(_words_pattern, kinds))})")
    options = _re2_options()
    options.case_sensitive = False
    return re2.compile(pattern.encode("latin-1"), options)


def _words_pattern(kind: str) -> str:
    """Return the pattern of a kind's nouns: a short one is a whole word, and a sign stands for those beyond Latin-1."""
    words = [(word, re2.escape(word).replace(r"\ ", "[ _-]")) for word in SECRET_NOUNS[kind] if word not in _SIGNS_OF_WORDS]
    patterns = [rf"\b{pattern}s?\b" if len(word) <= masking.MAX_WHOLE_WORD else pattern for word, pattern in words]
    return f"(?:{'|'.join([*patterns, _SIGNS[kind]])})"


def _re2_options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return options


ASSIGNMENT_HEAD = (
    rf"(?:({_WORDS['login']})|({_WORDS['key']}))(?:[_-]?(?:\d{{1,2}}|prod|dev|test|staging|live|base|b64|base64))?"
    r"[\\\"'`\])*]{0,4}([ \t]*)(=>|:=|={1,3}|!==?|:|(?:is|was)(?=[ \t]))[ \t*]*"
    r"(?:&?[A-Za-z_][\w.\[\]|]{0,40} = (?=[\"'`rbf]))?"  # a type between the name and the value
    r"(?:[rbfu@]{1,2}(?=[\"']))?"
)
_VALUE = re.compile(r"\\?\"([^\"\n]{1,200})\"|\\?'([^'\n]{1,200})'|`([^`\n]{1,200})`|[\"'`]?([^\s\"'`,;<>…—]{1,200})")
_ASSIGNMENT = re.compile(r"[\w.-]{1,40}(?:=(?!=*$)|:[\w.-]{1,40}[=:])")
_REST_OF_VALUE = re.compile(r"[^\s\"'`,;<>…—]*")


def find_assigned(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the values of such names that look like passwords and keys."""
    last_end = 0
    for head in re.finditer(ASSIGNMENT_HEAD, text, re.IGNORECASE):
        if head.start() < last_end:
            continue
        value = _VALUE.match(text, head.end())
        if value is None:
            continue
        start, end = value.span(value.lastindex or 0)
        secret = text[start:end]
        quoted = value.lastindex in (1, 2) and head[4] not in ("is", "was")
        if not quoted:
            if head[4] in ("==", "===", "!=", "!==") or _ASSIGNMENT.match(secret):
                continue  # It compares variables, or the value is another assignment.
            secret = re.split(r"&(?=[\w.-]+=)", secret, maxsplit=1)[0].rstrip(".:!?)]}*")
        secret = secret.rstrip("\\")
        name = head[1] or head[2]
        if name.lower() == "token" and _regex("position").search(text, max(0, head.start() - 20), head.start()):
            continue
        constant = name.isupper()
        is_bare = head[4] == "=" and not head[3] and head.end(4) == start
        is_field = re.search(r"(?:--|[;?&] ?)[\w.-]*$", text[max(0, head.start() - 40) : head.start()]) is not None
        plain = is_bare and (constant or (len(name) > 4 and is_field))
        kind = "password" if head[1] else "secret"
        if is_value(secret, kind, quoted=quoted, plain=plain, constant=constant):
            last_end = start + len(secret)
            if len(secret) == MAX_VALUE and (rest := _REST_OF_VALUE.match(text, last_end)):
                last_end = rest.end()
            yield start, last_end, kind


MIN_NAMED = 10  # characters of a random value beside a name; generated passwords have 12
MIN_NAMED_ONE_CASE = 20  # characters of one case beside a name; words and numbers look like shorter ones
MIN_ASSIGNED = 12  # characters of a random value that is assigned to a name
MIN_HASH = 32  # hexadecimal digits; commit ids in sentences about tokens are shorter, or have 40 and are called commits
MIN_ALONE = 20  # digits, capitals and small letters; 10 of the 3,000 notes of a documentation have such a word
ALONE_KIND = "random token"
_MIN_FULL_LINE = 48  # characters of a line of base64 in a key's body; 64, 70 and 76 are usual
_MAX_VALUE = 4_000  # characters of a value
_MAX_URL = 200  # characters before a value in which its URL may begin
_BEFORE, _AFTER = 48, 28  # characters around a value in which a name may stand: about six words, and four

# A value ends at these characters. Of "bob:secret" and "key=secret" the part behind the sign is judged.
_NEARBY_VALUE = re.compile(rf"[^\s\"'`,;<>()\[\]{{}}|。、（）「」]{{{MIN_NAMED},{_MAX_VALUE}}}")
_HEAD = re.compile(r"[^\W\d][\w.@+-]{0,40}(?:=>|:=|[:=＝：](?![/:])|/(?=[^/]*$))")
_TAIL_OF_VALUE = ".:!?*\\"
# Random identifiers that are no secrets: KSUID, nanoid, and identifiers with their kind before them.
_IDENTIFIER = re.compile(r"[A-Za-z0-9]{27}|[A-Za-z0-9_-]{21}|[a-z]{2,6}_[A-Za-z0-9]{8,}")
_SLASHED = re.compile(r"(?:^|[\s|(])[\w.@-]{2,40}[ \t]?[/|][ \t]*[\"'`]?$")
_ASSIGNED = re.compile(r"([\w.-]{2,60})[\\\"'`\])*]{0,4}[ \t]*(?:=>|:=|==|[:=＝：])[ \t]*[\\\"'`*]{0,3}$")
_HOST = re.compile(r"(?:[\w-]{1,63}\.){1,4}[a-z]{2,12}/")  # begins a URL without a scheme
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_MAX_LINE = 100  # characters before a line of base64 that may hold the line above it
_LINE_BEFORE = re.compile(r"(?<![A-Za-z0-9+/=])([A-Za-z0-9+/]{48,80}={0,2})[ \t]*(?:\r?\n|\\n)[ \t]*$")
_LINE_BEHIND = re.compile(
    r"[ \t]*(?:\r?\n|\\n)[ \t]*(?=[a-z]*[A-Z0-9+/])[A-Za-z0-9+/]{4,80}={0,2}(?=[ \t]*(?:[\r\n\"'`]|\\n|$))"
)
_SENTENCE_END = re.compile(r"[.!?。]\s|\n[ \t]*\n")


def find_random_values(text: str, has_secret: Callable[[str], bool]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of random-looking values where a secret may stand. has_secret: judges decoded base64."""
    block_end = 0  # No block reaches back over the last one, so that each line is visited once.
    for match in _NEARBY_VALUE.finditer(text):
        if match.end() <= block_end or (match[0].isalpha() and match[0].islower()):
            continue
        start, end = match.span()
        has_capital = match[0][1:] != match[0][1:].lower() and match[0] != match[0].upper()
        if not has_capital and not any(map(str.isdigit, match[0])):
            continue
        head = _HEAD.match(match[0])
        head_length = head.end() if head and head.end() < end - start else 0
        start += head_length
        inner = text.rfind("=", start, start + len(text[start:end].rstrip("=")))
        start = max(start, inner + 1)
        while end > start and text[end - 1] in _TAIL_OF_VALUE:
            end -= 1
        kind = _classify_value(text, start, end, match[0][:head_length], has_secret)
        if kind == ALONE_KIND and end - start >= _MIN_FULL_LINE:
            # The lines around it belong to the body of a key whose header stands elsewhere.
            while (line := _LINE_BEFORE.search(text, max(block_end, start - _MAX_LINE), start)) is not None:
                start = line.start(1)
            while (line := _LINE_BEHIND.match(text, end)) is not None:
                end = line.end()
            block_end = end
        if kind:
            yield start, end, kind


def _classify_value(text: str, start: int, end: int, head: str, has_secret: Callable[[str], bool]) -> str:
    value = text[start:end]
    decoded = _decode_base64(value)
    if decoded is not None:
        return "secret" if has_secret(decoded) else ""
    value = value.removeprefix("0x")
    is_mixed = mixes_cases_and_digits(value)
    is_random = looks_random(value)
    if len(value) < MIN_NAMED or not (is_random or (is_mixed and is_unlike_words(value))):
        return ""
    parts = re.split(r"[/.\\:]", value)
    if (len(parts) >= 3 and max(map(len, parts)) < MIN_ALONE) or secret_values.is_made_of_words(value):  # a path, or words
        return ""
    before = text[max(0, start - _BEFORE) : start]
    is_public = _regex("public place").search(text, max(0, start - _MAX_URL), start) or _HOST.match(value)
    if is_public or _regex("no secret").search(before):
        return ""
    is_hash = is_hexadecimal(value) and not is_mixed
    name = _ASSIGNED.search(before)
    if name and _regex("secret name").search(name[1]) and len(value) >= (MIN_HASH if is_hash else MIN_ASSIGNED):
        return "secret"
    min_length = MIN_NAMED if is_mixed else MIN_HASH if is_hash else MIN_NAMED_ONE_CASE
    if len(value) >= min_length and _is_named(text, start, end):
        return "secret"
    if not (is_mixed and is_random) or is_hexadecimal(value):
        return ""
    if len(value) >= MIN_ASSIGNED and name and not _regex("no secret name").search(name[1]):
        return "secret"
    if head.endswith((":", "/")) or _SLASHED.search(before):
        return "password"
    return ALONE_KIND if len(value) >= MIN_ALONE and not _IDENTIFIER.fullmatch(value) else ""


def _is_named(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _BEFORE) : start]
    before = before[max((cut.end() for cut in _SENTENCE_END.finditer(before)), default=0) :]
    if _regex("name").search(before):
        return True
    after = text[end : end + _AFTER]
    stop = _SENTENCE_END.search(after)
    after = after[: stop.start()] if stop else after
    return _regex("name").search(after.partition("\n")[0]) is not None


def _decode_base64(value: str) -> str | None:
    """Return the plain text that `value` encodes in base64, None if it encodes none."""
    if len(value) < 16 or not _BASE64.fullmatch(value):
        return None
    padded = value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4)
    try:
        altchars = b"-_" if "-" in value or "_" in value else None
        decoded = base64.b64decode(padded, altchars, validate=True).decode("ascii")
    except (ValueError, UnicodeDecodeError):
        return None
    return decoded if all(letter.isprintable() or letter in "\r\n\t" for letter in decoded) else None
