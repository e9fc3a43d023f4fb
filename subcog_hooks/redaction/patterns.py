"""Patterns of secrets: some 400 vendors' forms, compiled when needed, and values assigned to a telling name."""

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import re2

from subcog_hooks.redaction.secret_values import MAX_VALUE, is_value

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
# Passwords and keys in languages that `everyday` does not have, and the words or signs between a name and its value.
_FOREIGN_NAMES = (
    "パスワード|暗証番号|秘密鍵|トークン|密码|密碼|口令|令牌|密钥|密鑰|비밀번호|암호|토큰|пароль|токен|hasło|lösenord|adgangskode"
    "|passord|salasana|parola|heslo|jelszó|şifre|mật khẩu|kata sandi"
)
_FOREIGN = re.compile(
    rf"(?:{_FOREIGN_NAMES})[\"'`*]{{0,3}}[ \t]*(?:は|が|是|为|為|은|는|이|가|:|：|=|＝|-|—"
    r"|(?:jest|is|är|er|on|adalah|là)(?=[ \t])|(?=[ \t]\S*\d))"
    r"[ \t\"'`「“„«:*]*([^\s\"'`、。，」“”»]{4,200})",
    re.IGNORECASE,
)
_REST_OF_VALUE = re.compile(r"[^\s\"'`,;<>…—]*")


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


def find_foreign_assigned(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the passwords that other languages name.

    >>> list(find_foreign_assigned("パスワードは hunter2 です")), list(find_foreign_assigned("hasło jest długie"))
    ([(7, 14, 'password')], [])
    """
    if not _foreign_names().search(text.encode("utf-8", "replace")):
        return
    for match in _FOREIGN.finditer(text):
        value = match[1].rstrip(".:!?)]}*\\です")
        if is_value(value, "password", quoted=False):
            yield match.start(1), match.start(1) + len(value), "password"


@cache
def _foreign_names() -> re2._Regexp:
    return re2.compile(f"(?i:{_FOREIGN_NAMES})")


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
