"""Values of secrets, told from what only stands in their place: placeholders, references, paths, words.

Values in, yes or no out.
"""

import re
from collections.abc import Callable

import re2

from subcog_hooks.redaction import prefixes
from subcog_hooks.redaction.randomness import is_drawn, is_no_word, mixes

MARKER = "[redacted: "  # begins what stands in the place of a removed secret
LONGEST_VALUE = 200  # characters that are looked at; what goes on beyond them goes, too

_PLACEHOLDER = re.compile(
    r"change[-_ ]?(?:me|it)\w*|place-?holder|(?:your|my|the|some|example|sample|dummy|fake|insert|enter|replace)(?:[-_ .].*)?"
    r"|your\w*|.*[-_](?:here|placeholder|example)|test|todo|tbd|fixme|redacted|removed|hidden|masked|omitted|none|null|nil"
    r"|undefined|unset|empty|true|false|yes|no|required|optional|string|str|text|value|here"
    r"|(?:user|db|api|access|auth|secret|client)?[-_ ]?"
    r"(?:pass|passwd|password|passphrase|pwd|pw|secret|token|key|apikey|credentials?)\d?",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\$[{(].*|\$[A-Z_][A-Z0-9_]*|\$[a-z_]+|\$\d|%\w+%|%[(s].*|#?\{.*|\{\{.*|<.*|\[.*|!\w+|[a-z][a-z0-9+.-]*://.*|(?:arn|env|vault|file|op|ref|secretref):.*"
    r"|\*.*\*|\*+|-+.*|@[A-Za-z]+|:\w+|#[0-9a-f]{3,8}",
    re.IGNORECASE | re.DOTALL,
)
_SIGNS_OF_CODE = ("(", "[", "{", "->", "::", "\\")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+")
_SPACE = re.compile(r"\s")
_LETTER = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"\d+")
_WORD = r"(?:[A-Za-z]+(?:\d{1,3}[A-Za-z]*)?|\d{1,4}[A-Za-z]{0,8})"  # one way to match each, so no backtracking
_WORDS = re.compile(rf"{_WORD}(?:[-_./:+~^]+{_WORD})+[-_./:]*")  # token_v2, 12-character, k8s-db-secret, src/auth2/token.ts:42
_SHORT_WORDS = "By|Id|Of|To|In|On|At|Is|Up|Or|My|Go|No|Do|If|Io|Db|Ui"
# readBigUInt64BE; letters can be shared out among its branches in very many ways, which RE2 does not try one by one
_JOINED_WORDS = re2.compile(rf"(?:[A-Z]*[a-z]{{3,}}|[A-Z]+[a-z]{{2,}}|{_SHORT_WORDS}|[A-Z]{{2,}}|[-\d_./])+")
_TERM = re.compile(
    r"oauth\d|sha\d+\w*|md\d|[hrep]s\d{3}|aes\d+\w*|base\d+\w*|utf\d+|argon2\w*|bcrypt\d*|x509|ed25519|http\d|ipv\d|u?int\d+\w*|"
    r"\d+(?:ms|min|minutes?|s|sec|seconds|h|hours?|d|days?|chars?|characters?|bytes?|bits?|[kmg]b)",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)*/?|[A-Za-z]:\\.*")


def is_value(value: str, name: str, *, quoted: bool, plain: bool = False, constant: bool = False) -> bool:
    """Return whether `value` is a secret, given that it is assigned to a `name` of "password" or "secret".

    quoted: it stood in quotes behind a sign of assignment; plain: it stood behind a bare `=` as in a shell or a URL;
    constant: the name is written in capitals.
    """
    if len(value) < 4 or _SPACE.search(value) or _stands_in(value) or MARKER in value:
        return False
    if name == "password" and quoted:
        return True
    if not quoted and (any(sign in value for sign in _SIGNS_OF_CODE) or _ATTRIBUTE.fullmatch(value)):
        return False
    has_letter = _LETTER.search(value) is not None
    if name == "password" and plain and has_letter and not value.isupper():
        return True
    digits = _DIGITS.findall(value)
    if not has_letter:
        return name == "password" and len(value) >= 6 and digits == [value]
    if not digits:
        return len(value) >= 24 and value.isalpha() and not value.isupper()
    if len(value) < 6 or _TERM.fullmatch(value) or (_WORDS.fullmatch(value) and not (mixes(value) and is_drawn(value))):
        return False
    return name == "password" or quoted or constant or len(digits) >= 2 or len(digits[0]) >= 4


def is_made_of_words(value: str) -> bool:
    """Return whether `value` is words and small numbers, joined or not: `k8s-db-secret`, `Base64UrlString`."""
    return _WORDS.fullmatch(value) is not None or (value.isascii() and _JOINED_WORDS.fullmatch(value) is not None)


def _stands_in(value: str) -> bool:
    """Return whether `value` is a placeholder, a mask, a reference to a secret kept elsewhere, or a path."""
    if len(set(value.lower()) - set("-_ ")) <= 2 or _PLACEHOLDER.fullmatch(value) or _REFERENCE.fullmatch(value):
        return True
    return bool(_PATH.fullmatch(value)) and not any(_mixes(part) for part in value.split("/"))


def _mixes(value: str) -> bool:
    """Return whether `value` has the length and the mixture of characters of a generated secret."""
    return len(value) >= 20 and value.lower() != value != value.upper() and _has_digit(value)


def is_written_out(value: str) -> bool:
    return not _stands_in(value)


def _is_bearer(value: str) -> bool:
    return _has_digit(value) and not _stands_in(value) and not _WORDS.fullmatch(value[:LONGEST_VALUE])


def is_bare(value: str) -> bool:
    return is_value(value[:LONGEST_VALUE].rstrip(".:!?)]}"), "password", quoted=False)


_PREFIXES = tuple(sorted({prefix for prefix, _ in (*prefixes.opaque(), *prefixes.wide())}, key=len, reverse=True))
_PORT = re.compile(r"\d{1,5}(?:[/?#].*)?", re.DOTALL)


def _is_vendor_token(value: str) -> bool:
    """Return whether what follows a vendor's prefix is no name.

    `sk-learn-contrib-package` begins like a token, too.
    """
    prefix = next((prefix for prefix in _PREFIXES if value.startswith(prefix)), "")
    rest = value[len(prefix) : LONGEST_VALUE]
    if prefix in prefixes.UNMISTAKABLE:
        return is_token(value) and (_has_digit(rest) or mixes_cases(rest)) and not is_made_of_words(rest)
    return is_token(value) and (is_drawn(rest) or is_no_word(rest))


def mixes_cases(value: str) -> bool:
    return value.lower() != value != value.upper()


def _is_block(value: str) -> bool:
    first = value[:64]
    return mixes(first) and is_drawn(first)


def _is_in_url(value: str) -> bool:
    return not _stands_in(value) and not _PORT.fullmatch(value) and "://" not in value


def _is_user_token(value: str) -> bool:
    return is_drawn(value) and not _stands_in(value)


def is_parameter(value: str) -> bool:
    return is_drawn(value) or is_value(value[:LONGEST_VALUE], "secret", quoted=False)


def _is_hook(value: str) -> bool:
    return any(len(part) >= 16 and is_drawn(part) for part in value.split("/")) or is_drawn(value)


def _is_phrase(value: str) -> bool:
    """Return whether words joined by hyphens are a passphrase.

    Capitals begin all of them, or there are four of letters alone.
    """
    parts = re.split(r"[-_.+ ]", value)
    if _PLACEHOLDER.fullmatch(value):
        return False
    return (len(parts) >= 3 and all(part.istitle() or part.isdigit() for part in parts)) or (
        len(parts) >= 4 and all(part.isalpha() and part.islower() for part in parts) and ("-" in value or " " in value)
    )


def _has_digit(value: str) -> bool:
    return _DIGITS.search(value) is not None


def _has_digits(value: str) -> bool:
    return len(_DIGITS.findall(value)) > 1


def is_token(value: str) -> bool:
    return value[-8:].lower() != "xxxxxxxx"


HOLDS: dict[str, Callable[[str], bool]] = {
    "API key": _has_digit,
    "Artifactory Credentials": _has_digits,  # AP and AKC begin identifiers, too
    "Basic Auth Credentials": is_written_out,
    "IBM Cloud IAM Key": _mixes,  # 44 characters behind any "key " would be enough for detect-secrets
    "PIN": is_token,
    "URL password": _is_in_url,
    "URL token": _is_user_token,
    "authorization header": is_written_out,
    "base64 block": _is_block,
    "bearer token": _is_bearer,
    "login": is_bare,
    "npm token": _has_digit,
    "password": is_written_out,
    "secret": is_bare,
    "passphrase": _is_phrase,
    "seed phrase": is_token,
    "vendor token": _is_vendor_token,
    "webhook": _is_hook,
}
