"""Patterns of secrets: some 400 vendors' forms, compiled when needed, and values assigned to a telling name.

Forms that look random and are public are here, too: public keys, certificates, fingerprints, names of classes. Facts are from
the formats' own documentation. Only a guess gives way to them: a vendor's token stays a secret wherever it stands.
"""

import base64
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import re2

from subcog_hooks.core.files import read_rows
from subcog_hooks.redaction.masking import is_hexadecimal, is_unlike_words, looks_random, mixes_cases_and_digits
from subcog_hooks.redaction.secret_values import MAX_VALUE, is_made_of_words, is_value

_LOGIN_NAMES = (
    r"passw(?:or)?d|passwort|kennwort|contrase.a|passphrase|passcode|(?<![A-Za-z])(?:pass|pwd|pw)|(?-i:(?<=[a-z])P(?:ass|wd))"
)
_KEY_NAMES = (
    r"(?<!:)secret|token|credential|(?:api|app|access|account|auth|client|consumer|decryption|encryption|hmac|jwt"
    r"|license|master"
    r"|private|secret|service|session|shared|signing|ssh|storage|subscription|webhook)[ _-]?key"
)
# A name that ends in such a word (`DB_PASSWORD`, `"apiKey"`, `config["token"]`, `**Password**`), and its sign of assignment.
ASSIGNMENT_HEAD = (
    rf"(?:({_LOGIN_NAMES})|({_KEY_NAMES}))(?:[_-]?(?:\d{{1,2}}|prod|dev|test|staging|live|base|b64|base64))?"
    r"[\\\"'`\])*]{0,4}([ \t]*)(=>|:=|={1,3}|!==?|:|(?:is|was)(?=[ \t]))[ \t*]*"
    r"(?:&?[A-Za-z_][\w.\[\]|]{0,40} = (?=[\"'`rbf]))?"  # a type between the name and the value
    r"(?:[rbfu@]{1,2}(?=[\"']))?"
)
_HEADS = re.compile(ASSIGNMENT_HEAD, re.IGNORECASE)
_VALUE = re.compile(r"\\?\"([^\"\n]{1,200})\"|\\?'([^'\n]{1,200})'|`([^`\n]{1,200})`|[\"'`]?([^\s\"'`,;<>…—]{1,200})")
# Before these words a token is a place in a list, or a word of a model's vocabulary.
_POSITION = re.compile(
    r"(?:next|prev(?:ious)?|page|pagination|starting|continuation|sequence"
    r"|forward|backward|idempotency|public[-_]?key|[be]os|pad|unk)[-_ ]?$",
    re.IGNORECASE,
)
_ASSIGNMENT = re.compile(r"[\w.-]{1,40}(?:=(?!=*$)|:[\w.-]{1,40}[=:])")
_REST_OF_VALUE = re.compile(r"[^\s\"'`,;<>…—]*")

_JWK = re2.compile(r"\{[^{}]*\"kty\"[^{}]*\}")
_PRIVATE_PART = re.compile(r"\"(?:d|k|p|q|dp|dq|qi)\"")


def find_assigned(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the values of such names that look like passwords and keys."""
    last_end = 0
    for head in _HEADS.finditer(text):
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
        if name.lower() == "token" and _POSITION.search(text, max(0, head.start() - 20), head.start()):
            continue
        constant = name.isupper()
        is_bare = head[4] == "=" and not head[3] and head.end(4) == start
        plain = is_bare and (constant or (len(name) > 4 and _is_field(text, head.start())))
        kind = "password" if head[1] else "secret"
        if is_value(secret, kind, quoted=quoted, plain=plain, constant=constant):
            last_end = start + len(secret)
            if len(secret) == MAX_VALUE and (rest := _REST_OF_VALUE.match(text, last_end)):
                last_end = rest.end()
            yield start, last_end, kind


def _is_field(text: str, position: int) -> bool:
    return re.search(r"(?:--|[;?&] ?)[\w.-]*$", text[max(0, position - 40) : position]) is not None


class _CatalogueRow(NamedTuple):
    kind: str
    literals: tuple[str, ...]  # in small letters; a text without any of them cannot match
    pattern: str
    group: int  # the secret's group; 0: the first group that matched, else the whole match
    entropy: float  # minimum, in bits a character


def find_vendor_secrets(text: str, data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of secrets of a vendor's form. data: `text` in ASCII, one byte for each character."""
    rows = _catalogue_rows()
    for index in sorted(_literal_automaton().Match(data.lower()) or ()):
        row = rows[index]
        for match in _compile_pattern(row.pattern).finditer(data):
            groups = (row.group,) if row.group else range(1, len(match.groups()) + 1)
            group = next((group for group in groups if match.start(group) >= 0), 0)
            start, end = match.span(group)
            if end > start and _entropy(text[start:end]) >= row.entropy:
                yield start, end, row.kind


def _entropy(text: str) -> float:
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


@cache
def _literal_automaton() -> re2.Set:
    literals = re2.Set.SearchSet()
    for row in _catalogue_rows():
        literals.Add("|".join(map(re2.escape, row.literals)))
    literals.Compile()
    return literals


@cache
def _catalogue_rows() -> tuple[_CatalogueRow, ...]:
    with open(os.path.join(os.path.dirname(__file__), "catalogue.json"), encoding="ascii") as file:
        rows = json.load(file)
    return tuple(_CatalogueRow(kind, tuple(literals), *values) for kind, literals, *values in rows)


@cache
def _compile_pattern(pattern: str) -> re2._Regexp:
    return re2.compile(pattern)


def find_public(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of public values in a text of ASCII, one byte for each character.

    >>> [(start, end) for start, end in find_public(b"push with ssh-ed25519 AAAAC3Nz ada@host")]
    [(10, 30)]
    """
    for match in _public_forms().finditer(data):
        yield match.span()
    for match in _JWK.finditer(data):
        if not _PRIVATE_PART.search(match[0].decode("ascii")):
            yield match.span()


@cache
def _public_forms() -> re2._Regexp:
    return re2.compile("|".join(f"(?:{form})" for (form,) in read_rows(__file__, "public_forms.tsv")))


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
_TAIL = ".:!?*\\"
_NAMES = (
    r"pass(?:word|wd|phrase|code)?s?(?![a-z])|passwort|kennwort|p(?:s)?wd?(?![a-z])|(?<![a-z])pin(?![a-z])"
    r"|psk(?![a-z])|secrets?(?![a-z])"
    r"|tokens?(?![a-z])|api[ _-]?keys?|(?<![a-z])keys?(?![a-z])|credential|creds(?![a-z])|(?<![a-z])log[ -]?in|bearer"
    r"|(?<![a-z])auth"
    r"|identified by|(?:unlock|recovery|backup|access|pairing|security)[ -]codes?|(?<![a-z])(?:seed|[th]?otp|2fa|mfa"
    r"|wi-?fi|wlan|ssid|wpa2?|vpn"
    r"|admin|root|sudo|ssh|ftp|smtp|imap|vnc|rdp|users?|account|signed|licen[cs]e)(?![a-z])|p[@4]ss"
    r"|schl.ssel|contrase|senha|mot de passe|has[lł]o|wachtwoord|l.senord|parola|heslo|salasana|jelsz|şifre|kata sandi"
    r"|パスワード|トークン|秘密鍵|鍵|キー|密码|密碼|口令|令牌|密钥|密鑰|비밀번호|암호|토큰|пароль|токен|ключ|סיסמ"
    r"|كلمة المرور|clave|clé|chiave"
)
_NAME = re.compile(_NAMES, re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"(?:^|[_.\- ]|(?<=[a-z]))(?:key|token|secret|pass|password|passwd|passphrase|passcode|pwd|pw|psk|pin|pat|auth"
    r"|creds?|credentials?"
    r"|dsn|sid|salt|seed|cookie|session|signature|sig|hmac|otp|totp|bearer|license|nonce)(?:[_-]?\d{1,2}|_base)?$",
    re.IGNORECASE,
)
# These keys and tokens are no secrets: places in lists, names of rows, public values.
_NO_SECRET = re.compile(
    r"(?:public|primary|foreign|partition|sort|cache|idempotency|dedup\w*|object|row|composite|host|fingerprint"
    r"|check ?sum|digest"
    r"|sha-?\d+|md5|ksuid|ulid|nanoid|uuid|cid|commit|revision|integrity|next|page|continuation|etag|hash(?:es)?)[\s_\-]*(?:keys?|tokens?|ids?|is"
    r"|of|[:=])?[\s:=\"'`]*$",
    re.IGNORECASE,
)
_NO_NAME_OF_SECRET = re.compile(
    r"(?:id|ids|uuid|guid|hash|sha\d*|url|uri|link|version|ref|digest|etag|name|path|file|class|type|model|image|video"
    r"|commit|rev|tag|branch"
    r"|color|colour|address|addr|fingerprint|checksum|integrity|https?|ftp|ssh|git|file|see|e\.g\.)$",
    re.IGNORECASE,
)
# Random identifiers that are no secrets: KSUID, nanoid, and identifiers with their kind before them.
_IDENTIFIER = re.compile(r"[A-Za-z0-9]{27}|[A-Za-z0-9_-]{21}|[a-z]{2,6}_[A-Za-z0-9]{8,}")
_SLASHED = re.compile(r"(?:^|[\s|(])[\w.@-]{2,40}[ \t]?[/|][ \t]*[\"'`]?$")
_ASSIGNED = re.compile(r"([\w.-]{2,60})[\\\"'`\])*]{0,4}[ \t]*(?:=>|:=|==|[:=＝：])[ \t]*[\\\"'`*]{0,3}$")
_IS_PUBLIC = re.compile(
    r"(?:sha-?\d{1,3}|md5|h1|go\.sum|integrity|base64)[-:=,][^\s]{0,4}$|://[^\s\"'`<>]*$|data:[\w/+;-]*,$", re.IGNORECASE
)
_HOST = re.compile(r"(?:[\w-]{1,63}\.){1,4}[a-z]{2,12}/")  # begins a URL without a scheme
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_MAX_LINE = 100  # characters before a line of base64 that may hold the line above it
_LINE_BEFORE = re.compile(r"(?<![A-Za-z0-9+/=])([A-Za-z0-9+/]{48,80}={0,2})[ \t]*(?:\r?\n|\\n)[ \t]*$")
_LINE_BEHIND = re.compile(
    r"[ \t]*(?:\r?\n|\\n)[ \t]*(?=[a-z]*[A-Z0-9+/])[A-Za-z0-9+/]{4,80}={0,2}(?=[ \t]*(?:[\r\n\"'`]|\\n|$))"
)
_SENTENCE = re.compile(r"[.!?。]\s|\n[ \t]*\n")


class RandomValue(NamedTuple):
    """The position of a secret in a text, and its kind."""

    start: int
    end: int
    kind: str


def find_random_values(text: str, has_secret: Callable[[str], bool]) -> Iterator[RandomValue]:
    """Yield random-looking values where a secret may stand. has_secret: judges a text that was decoded from base64."""
    block_end = 0  # No block reaches back over the last one, so that each line is visited once.
    for match in _NEARBY_VALUE.finditer(text):
        if match.end() <= block_end or (match[0].isalpha() and match[0].islower()):
            continue
        start, end = match.span()
        if not any(map(str.isdigit, match[0])) and not mixes_letters(match[0]):
            continue
        head = _HEAD.match(match[0])
        head_length = head.end() if head and head.end() < end - start else 0
        start += head_length
        inner = text.rfind("=", start, start + len(text[start:end].rstrip("=")))
        start = max(start, inner + 1)
        while end > start and text[end - 1] in _TAIL:
            end -= 1
        kind = _classify_value(text, start, end, match[0][:head_length], has_secret)
        if kind == ALONE_KIND and end - start >= _MIN_FULL_LINE:
            block = _base64_block(text, start, end, block_end)
            block_end = block.end
            yield block
        elif kind:
            yield RandomValue(start, end, kind)


def _base64_block(text: str, start: int, end: int, min_start: int) -> RandomValue:
    """Extend a line of base64 by the lines around it: the body of a key whose header stands elsewhere."""
    while (line := _LINE_BEFORE.search(text, max(min_start, start - _MAX_LINE), start)) is not None:
        start = line.start(1)
    while (line := _LINE_BEHIND.match(text, end)) is not None:
        end = line.end()
    return RandomValue(start, end, ALONE_KIND)


def mixes_letters(text: str) -> bool:
    """Return whether `text` has small letters, and a capital after its first character."""
    return text[1:] != text[1:].lower() and text != text.upper()


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
    if _looks_like_path(value) or is_made_of_words(value):
        return ""
    before = text[max(0, start - _BEFORE) : start]
    if _IS_PUBLIC.search(text, max(0, start - _MAX_URL), start) or _HOST.match(value) or _NO_SECRET.search(before):
        return ""
    is_hash = is_hexadecimal(value) and not is_mixed
    name = _ASSIGNED.search(before)
    if name and _SECRET_NAME.search(name[1]) and len(value) >= (MIN_HASH if is_hash else MIN_ASSIGNED):
        return "secret"
    min_length = MIN_NAMED if is_mixed else MIN_HASH if is_hash else MIN_NAMED_ONE_CASE
    if len(value) >= min_length and _is_named(text, start, end):
        return "secret"
    if not (is_mixed and is_random) or is_hexadecimal(value):
        return ""
    if len(value) >= MIN_ASSIGNED and name and not _NO_NAME_OF_SECRET.search(name[1]):
        return "secret"
    if head.endswith((":", "/")) or _SLASHED.search(before):
        return "password"
    return ALONE_KIND if len(value) >= MIN_ALONE and not _IDENTIFIER.fullmatch(value) else ""


def _is_named(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _BEFORE) : start]
    before = before[max((cut.end() for cut in _SENTENCE.finditer(before)), default=0) :]
    if _NAME.search(before):
        return True
    after = text[end : end + _AFTER]
    stop = _SENTENCE.search(after)
    after = after[: stop.start()] if stop else after
    return _NAME.search(after.partition("\n")[0]) is not None


def _looks_like_path(value: str) -> bool:
    parts = re.split(r"[/.\\:]", value)
    return len(parts) >= 3 and max(map(len, parts)) < MIN_ALONE


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
