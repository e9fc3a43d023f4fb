"""Secrets assigned to a telling name: `DB_PASSWORD=…`, `"apiKey": "…"`, `the token is …`."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import re2

from subcog_hooks.redaction.secret_values import MAX_VALUE, is_value

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        plain = (
            head[4] == "="
            and not head[3]
            and head.end(4) == start
            and (constant or (len(name) > 4 and _is_field(text, head.start())))
        )
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
    """Return whether the name around `position` is a shell option or a field of a connection string or of a query."""
    return re.search(r"(?:--|[;?&] ?)[\w.-]*$", text[max(0, position - 40) : position]) is not None
