"""Tests of values: secrets against placeholders, references, paths and words."""

import re
from collections.abc import Callable

import re2

from subcog_hooks.core.files import read_rows, read_words
from subcog_hooks.redaction import masking
from subcog_hooks.redaction.masking import MAX_WORD_LETTERS, is_unlike_words, looks_random, mixes_cases_and_digits

MARKER = "[redacted: "  # begins the text that replaces a secret
MAX_VALUE = 200  # characters that are judged; the rest of a longer value is removed with them


def join_alternatives(table: str) -> dict[str, str]:
    """Return the patterns of a table beside this module by name, its rows of one name as alternatives."""
    patterns: dict[str, str] = {}
    for name, *_, pattern in read_rows(__file__, table):
        patterns[name] = f"{patterns[name]}|{pattern}" if name in patterns else pattern
    return patterns


_FORMS = {name: re.compile(form, re.IGNORECASE) for name, form in join_alternatives("value_forms.tsv").items()}
# A generated password may begin like a placeholder or a reference: the part behind the sign or the word decides.
_SIGNS_BEFORE = re.compile(r"[-!:@$%*#/]+|(?:your|my|the|some)[-_.]", re.IGNORECASE)
_SIGN_BEYOND_PASSWORDS = re.compile(r"[\s(){}\[\]<>:/\\,;|]")
_MIN_SCRAMBLED = 10  # characters; in fewer, abbreviations look random, too
_CASED_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_VOWELS = frozenset("aeiouyAEIOUY")
_MIN_WITHOUT_VOWEL = 0.2  # share of letters in parts without a vowel; CamelCase has fewer, except in abbreviations
_MAX_IN_WORDS = 0.6  # share of letters in parts that could be words
_SIGN_OF_CODE = re.compile(r"[(\[{\\]|->|::")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+")
_SPACE = re.compile(r"\s")
_LETTER = re.compile(r"[^\W\d_]")
_DIGITS = re.compile(r"\d+")
_SYLLABLE = re.compile(r"[^\W\d_]{3}")
_WORD = r"(?:[^\W\d_]+(?:\d{1,3}[^\W\d_]*)?|\d{1,4}[^\W\d_]{0,8})"  # Each word matches in one way, so nothing backtracks.
_WORDS = re.compile(rf"{_WORD}(?:[-_./:+~^]+{_WORD})+[-_./:]*")  # token_v2, 12-character, k8s-db-secret, src/auth2/token.ts:42
_SHORT_WORDS = "By|Id|Of|To|In|On|At|Is|Up|Or|My|Go|No|Do|If|Io|Db|Ui"
# Such as readBigUInt64BE. Its branches can share letters in very many ways, which RE2 does not try one by one.
_JOINED_WORDS = re2.compile(rf"(?:[A-Z]*[a-z]{{3,}}|[A-Z]+[a-z]{{2,}}|{_SHORT_WORDS}|[A-Z]{{2,}}|[-\d_./])+")
_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.@-]+(?:/[\w.@-]+)*/?|[A-Za-z]:\\.*")


def is_value(value: str, name: str, *, quoted: bool, plain: bool = False, constant: bool = False) -> bool:
    """Return whether `value` is a secret if it is assigned to a `name` of "password" or "secret".

    quoted: it stood in quotes behind a sign of assignment; plain: it stood behind a bare `=` as in a shell or a URL;
    constant: the name is written in capitals.
    """
    if len(value) < 4 or _SPACE.search(value) or _is_stand_in(value) or MARKER in value:
        return False
    if name == "password" and quoted:
        return True
    if not quoted and (_SIGN_OF_CODE.search(value) or _ATTRIBUTE.fullmatch(value)):
        return False
    has_letter = _LETTER.search(value) is not None
    if name == "password" and plain and has_letter and not value.isupper():
        return True
    digits = _DIGITS.findall(value)
    if not has_letter:
        return name == "password" and len(value) >= 6 and digits == [value]
    if not digits:
        is_long = len(value) >= MAX_WORD_LETTERS and not value.isupper()
        return value.isalpha() and (is_long or _is_scrambled(value))
    is_words = _WORDS.fullmatch(value) and not (mixes_cases_and_digits(value) and looks_random(value))
    if len(value) < 6 or _FORMS["term"].fullmatch(value) or is_words:
        return False
    return name == "password" or quoted or constant or len(digits) >= 2 or len(digits[0]) >= 4


_DESCRIPTIONS, _MESSAGE_WORDS, _TERMS, _TOPICS = read_words(__file__, "secret_values.tsv").values()
_DESCRIBING_FORMS = re.compile(
    r"\w{3,}(?:ed|ing|able|ible|ive|ical|ally|ous|less|ful|pflichtig|lich|bar|ée?s?|ad[oa]s?|id[oa]s?|at[oa])|ge\w{3,}t"
)
_OWNER = re.compile(r"\b(?:at|between|by|for|from|in|of|on|to|with)\b")
_TYPES = frozenset("bytes password secure secret string varchar".split())
_SIGNS_OF_PASSWORDS = re.compile(r"\w[!@#$%&*^?+~;|]\w")
_GROUPS = re.compile(r"(?=.*\d)[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2,7}")  # a licence key
_DATE = re.compile(r"(?:19|20)\d\d([-/.]?)\d\d?\1\d\d?")


def names_topic(words: str) -> bool:
    """Return whether a noun and the words behind it name a topic of secrets; the owner's name does not count.

    >>> names_topic("password strength: "), names_topic("password for the metrics endpoint: ")
    (True, False)
    """
    return not _TOPICS.isdisjoint(re.findall(r"[^\W\d_]+", _OWNER.split(words.lower(), maxsplit=1)[0]))


def is_stated(value: str) -> bool:
    """Return whether `value`, stated as a password in a sentence, may be one: words joined by signs, or more than words.

    >>> [is_stated(value) for value in ("tin-kettle-moss", "Gale!Reed", "user-supplied", "required", "12-character")]
    [True, True, False, False, False]
    """
    return not _is_word(value) and (is_value(value, "password", quoted=False) or _is_joined(value, 2))


def is_labelled(value: str) -> bool:
    """Return whether `value` behind a colon may be a password: `is_stated`, but two words without a digit are none."""
    return not _is_word(value) and (is_value(value, "password", quoted=False) or _is_joined(value, 3))


def is_mixture(value: str) -> bool:
    """Return whether `value` right behind a noun may be a password: it has a digit or a rare sign among its letters."""
    is_mixed = _has_digit(value) or _SIGNS_OF_PASSWORDS.search(value) is not None
    return is_mixed and _LETTER.search(value) is not None and is_labelled(value)


def is_assigned(value: str) -> bool:
    """Return whether `value`, assigned to the name of a password or a key, may be a secret."""
    return is_labelled(value) or is_key(value)


def is_field(value: str) -> bool:
    """Return whether the field of a header may be a secret."""
    return _has_digit(value) and is_written_out(value) and not _FORMS["term"].fullmatch(value) and not value.isdigit()


def is_key(value: str) -> bool:
    """Return whether `value`, stated as a key or a token in a sentence, may be one."""
    if is_value(value, "secret", quoted=False) or (_has_digit(value) and _SIGNS_OF_PASSWORDS.search(value)):
        return True
    return _GROUPS.fullmatch(value) is not None or (_has_digit(value) and is_joined_key(value))


def is_phrase(value: str) -> bool:
    """Return whether `value`, in quotes or alone in its line, may be a password of one or more words.

    >>> [is_phrase(value) for value in ("four tall herons", "toml pass phrase 12", "Enter your password", "too short")]
    [True, True, False, False]
    """
    words = value.split()
    if len(words) == 1:
        return is_stated(value) or _is_undescribing(value)
    if len(words) == 2 and not _has_digit(value):
        return value.islower() and not any(len(word) < 4 or _is_description(word) or word in _MESSAGE_WORDS for word in words)
    return not _FORMS["reference"].fullmatch(value) and _MESSAGE_WORDS.isdisjoint(word.lower().strip(".,:!?") for word in words)


def is_in_block(value: str) -> bool:
    """Return whether `value` may be the password of a login whose user stands in the line above."""
    return is_labelled(value) or (value.islower() and value not in _TYPES and _is_undescribing(value))


def is_option(value: str) -> bool:
    """Return whether `value` behind an option such as --password may be one."""
    return is_bare(value) or is_labelled(value)


def is_numbered_phrase(value: str) -> bool:
    """Return whether a line of small letters is a password of several words, the last of them a number."""
    return value.islower() and value[-1:].isdigit() and is_phrase(value)


def is_joined_key(value: str) -> bool:
    """Return whether `value`, assigned to a name, is a key of three words and a number, or of four: "violin-crab-31"."""
    return len(re.split(r"[\W_]+", value)) > (2 if _has_digit(value) else 3) and _is_joined(value, 4)


def is_stated_key(value: str) -> bool:
    """Return whether `value`, stated as a key of a certain use, may be one: also words joined by signs."""
    return is_key(value) or is_stated(value)


def _is_word(value: str) -> bool:
    return value.isalpha() and value.islower() and len(value) < MAX_WORD_LETTERS


def _is_undescribing(word: str) -> bool:
    return len(word) > 4 and word.isalpha() and not (_is_stand_in(word) or _is_description(word.lower()))


def _is_description(word: str) -> bool:
    return word in _DESCRIPTIONS or _DESCRIBING_FORMS.fullmatch(word) is not None


def _is_joined(value: str, min_words: int) -> bool:
    """Return whether signs join words to a password. min_words: of a value without a digit or a rare sign."""
    if len(value) < 6 or "/" in value or _is_stand_in(value) or MARKER in value or _SIGN_OF_CODE.search(value):
        return False
    parts = [part for part in re.split(r"[\W_]+", value.lower()) if part]
    is_dotted = _ATTRIBUTE.fullmatch(value) or ("." in value and not _has_digit(value))
    if (
        len(parts) < 2
        or is_dotted
        or any(_FORMS["term"].fullmatch(part) or part in _TERMS for part in parts)
        or any(map(_is_description, (parts[0], parts[-1])))
    ):
        return False
    if _SIGNS_OF_PASSWORDS.search(value) or (_has_digit(value) and _SYLLABLE.search(value)):
        return True
    return len(parts) >= min_words and len(value) >= 8 and all(map(str.isalpha, parts))


def is_code(value: str) -> bool:
    """Return whether `value` is a PIN or a door's code: four digits, or three and a capital; else capitals and signs only.

    >>> is_code("4711"), is_code("8842B"), is_code("12-34-56"), is_code("2024-05-01"), is_code("4-digit")
    (True, True, True, False, False)
    """
    digits = sum(map(str.isdigit, value))
    is_long = 4 <= digits <= 12 or (digits == 3 and len(value) == 4)
    return is_long and not _DATE.fullmatch(value) and not any(map(str.islower, value)) and len(value) <= 16


def is_card(value: str) -> bool:
    """Return whether `value` is a card's number: in four groups, or with a last digit that fits the others.

    Numbers of few different digits come from documentation.

    >>> [is_card(value) for value in ("4539148803436467", "4539148803436468", "4539 1488 0343 6468", "4242 4242 4242 4242")]
    [True, False, True, False]
    """
    digits = [int(letter) for letter in value if letter.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    fits = len(value.split()) == 4 or (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
    return digits[0] in {2, 3, 4, 5, 6} and len(set(digits)) > 3 and fits


def is_app_password(value: str) -> bool:
    """Return whether four groups of four letters are no words, as in an app password of Google.

    >>> is_app_password("htfu ysul slis tndy"), is_app_password("must stay very long")
    (True, False)
    """
    ordinary = masking.SENTENCE_WORDS | _MESSAGE_WORDS
    return ordinary.isdisjoint(value.split()) and re.search(r"[^aeiou ]{3}", value) is not None


def is_base32(value: str) -> bool:
    """Return whether letters and digits meet: once in a word, twice in groups, which may be words of a sentence."""
    return len(re.findall(r"(?i)[a-z][2-7]|[2-7][a-z]", value)) > (" " in value)


def is_seed(value: str) -> bool:
    """Return whether the words of `value` are a wallet's phrase: no word of ordinary sentences is among them."""
    words = re.findall(r"[^\W\d_]+", value)
    return len(words) in range(12, 25) and masking.SENTENCE_WORDS.isdisjoint(map(str.lower, words)) and len(set(words)) > 6


def is_no_address(value: str) -> bool:
    """Return whether `value`, which ends a line of .pgpass, is not the rest of an address or a fingerprint."""
    return re.fullmatch(r"[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4})*", value) is None and is_written_out(value)


def is_argument(value: str) -> bool:
    return not value.startswith("/") and is_written_out(value)


def is_cookie(value: str) -> bool:
    return _has_digit(value) and not is_made_of_words(value) and is_written_out(value)


def is_made_of_words(value: str) -> bool:
    """Return whether `value` is words and small numbers, joined or not: `k8s-db-secret`, `Base64UrlString`."""
    return _WORDS.fullmatch(value) is not None or (value.isascii() and _JOINED_WORDS.fullmatch(value) is not None)


def _is_stand_in(value: str) -> bool:
    """Return whether `value` is a placeholder, a mask, a reference to a secret kept elsewhere, or a path."""
    if len(set(value.lower()) - set("-_ ")) <= 2:
        return True
    signs = _SIGNS_BEFORE.match(value)
    if signs and _is_scrambled(value[signs.end() :].rstrip("%*")):
        return False
    if _FORMS["placeholder"].fullmatch(value) or _FORMS["reference"].fullmatch(value):
        return True
    return bool(_PATH.fullmatch(value)) and not any(_is_generated(part) for part in value.split("/"))


def _is_scrambled(value: str) -> bool:
    """Return whether letters of both cases, with or without digits, look random and are no joined words.

    >>> [_is_scrambled(value) for value in ("mIlBcufVUSCeTWwG", "-PasswordEncoder", "isAdFreeUser", "base64UrlString")]
    [True, False, False, False]
    """
    if len(value) < _MIN_SCRAMBLED or not mixes_cases(value) or is_made_of_words(value) or _SIGN_BEYOND_PASSWORDS.search(value):
        return False
    if _has_digit(value):
        return looks_random(value) or is_unlike_words(value)
    parts = _CASED_PARTS.findall(value)
    without_vowel = sum(len(part) for part in parts if _VOWELS.isdisjoint(part))
    in_words = sum(len(part) for part in parts if len(part) > 3 and not _VOWELS.isdisjoint(part))
    return without_vowel >= _MIN_WITHOUT_VOWEL * len(value) and in_words <= _MAX_IN_WORDS * len(value)


def _is_generated(value: str) -> bool:
    return len(value) >= 20 and value.lower() != value != value.upper() and _has_digit(value)


def is_written_out(value: str) -> bool:
    return not _is_stand_in(value)


def is_bare(value: str) -> bool:
    return is_value(value[:MAX_VALUE].rstrip(".:!?)]}"), "password", quoted=False)


_PREFIXES = tuple(sorted(masking.PREFIXES, key=len, reverse=True))
_PORT = re.compile(r"\d{1,5}(?:[/?#].*)?", re.DOTALL)


def _is_vendor_token(value: str) -> bool:
    """Return whether the part behind a vendor's prefix is no name: `sk-learn-contrib-package` begins like a token, too."""
    prefix = next((prefix for prefix in _PREFIXES if value.startswith(prefix)), "")
    rest = value[len(prefix) : MAX_VALUE]
    if prefix in masking.UNMISTAKABLE:
        return is_token(value) and (_has_digit(rest) or mixes_cases(rest)) and not is_made_of_words(rest)
    return is_token(value) and (looks_random(rest) or is_unlike_words(rest))


def mixes_cases(value: str) -> bool:
    return value.lower() != value != value.upper()


def is_parameter(value: str) -> bool:
    return looks_random(value) or is_value(value[:MAX_VALUE], "secret", quoted=False)


def _has_digit(value: str) -> bool:
    return _DIGITS.search(value) is not None


def is_token(value: str) -> bool:
    return value[-8:].lower() != "xxxxxxxx"


JUDGES_BY_KIND: dict[str, Callable[[str], bool]] = {
    "API key": _has_digit,
    "Artifactory Credentials": lambda value: len(_DIGITS.findall(value)) > 1,  # AP and AKC begin identifiers, too.
    "Basic Auth Credentials": is_written_out,
    "IBM Cloud IAM Key": _is_generated,  # detect-secrets accepts any 44 characters behind "key ".
    "URL password": lambda value: is_written_out(value) and not _PORT.fullmatch(value) and "://" not in value,
    "URL token": lambda value: looks_random(value) and is_written_out(value),
    "authorization header": is_written_out,
    "base64 block": lambda value: mixes_cases_and_digits(value[:64]) and looks_random(value[:64]),
    "bearer token": lambda value: _has_digit(value) and is_written_out(value) and not _WORDS.fullmatch(value[:MAX_VALUE]),
    "login": is_bare,
    "npm token": _has_digit,
    "password": is_written_out,
    "secret": is_option,
    "vendor token": _is_vendor_token,
    "webhook": lambda value: looks_random(value) or any(len(part) >= 16 and looks_random(part) for part in value.split("/")),
}
