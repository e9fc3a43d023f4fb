"""The part of a prompt that an LLM may see: known secrets are masked, a text that may hold another is withheld.

`redact` knows more, but takes 100 ms to load: this module is for the hook. It does not find the end of a secret, only that
there may be one. It refuses too much rather than too little, 4 of 100 real prompts; then the words alone give the intent.
Linear, without `re`: 1 ms for 2,000 characters, 50 ms for 100,000. `redaction.named_values` finds everyday secrets; one of 25
real prompts loads it.
"""

from __future__ import annotations

from itertools import chain, pairwise

from subcog_hooks.core.files import read_rows
from subcog_hooks.redaction import masking
from subcog_hooks.redaction.masking import count_changes, is_hexadecimal, is_unlike_words, looks_random, mixes_cases_and_digits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Endings of names that have a secret as their value. For logins, any value counts as a secret.
_LOGINS = (*"password passwd passwort kennwort contrase passphrase passcode pass pwd pw authorization".split(), "pass phrase")
_KEYS = ("secret", "token", "credential", "key", "bearer", "_auth", "login")
_SIGNS = (":", "=", "!", ">", '("', "('")  # the beginning of an assignment or a comparison, or the end of a tag
_VERBS = ("is", "was", "ist", "lautet", "to")
_NARROWING = ("for ", "of ", "on ", "at ", "in ", "für ", "von ", "pour ", "de ")  # "password for staging: …"
_AROUND = "\\\"'`])*}"  # between a name and its sign
_BEFORE_VALUE = " \t\r\n=:>*!?\\\"'`([{<|&"
_AFTER_VALUE = " \t\r\n\"'`,;<>)]}|&"
_LONGEST_NAME = 24  # characters of a name's continuation: `secret_key_base`, `Password_prod`
_LONGEST_GAP = 60  # characters between a name and its value: a type, say
_LONGEST_VALUE = 80  # characters of a value

# Keys of dictionaries, which are searched as fast as sets, and read faster.
_WORDS_BY_KIND = (dict.fromkeys(words) for _, *words in read_rows(__file__, "disclosure.tsv"))
_STATED, _PREFIXES, _OTHER_NAMES, _TELLTALES, _TOOLS, _TOOL_OPTIONS = _WORDS_BY_KIND

_MIN_BEHIND = 8  # characters of a token behind its prefix: words and names may have the prefix, too
# Prefixes of tokens and of names; the text behind them decides. They are grouped by a sign, because most texts have few signs.
_OTHER_PREFIXES = masking.PREFIXES.difference(_PREFIXES)
_OTHERS_BY_SIGN = [(sign, [prefix for prefix in _OTHER_PREFIXES if sign in prefix]) for sign in "_-."]
_OTHERS_BY_SIGN.append(("", [*_OTHER_PREFIXES.difference(*(with_sign for _, with_sign in _OTHERS_BY_SIGN))]))
_LONGEST_TOKEN = 60  # characters of a token
_OF_TOKENS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./+=~")
# Words beside which `redact` finds everyday secrets. Tools have a check of their own.
_BESIDE = [word for kind, words in masking.SECRET_NOUNS.items() if kind != "tool" for word in words]
_WHOLE_WORDS = {word for word in _BESIDE if word.isascii() and len(word) <= masking.MAX_WHOLE_WORD}
_WORD_PARTS = [word for word in _BESIDE if word not in _WHOLE_WORDS]
_BEFORE, _BEHIND = 400, 300  # characters around such a word in which a value may stand
_QUOTES_BEFORE = ('"', "`", "“", "„", "«", "‹", " '", "='", ":'", "('")
_EDGES = ".,:;!?()[]{}'\"`*“”„«»"
_WORDS_OF_WALLET = 12
_COLONS_OF_PGPASS = 4
_PARAMETERS = ("sig", "signature", "code", "sid", "session", "session_id", "sessionid", "hmac", "auth", "security-token")

_ASSIGNED = 12  # characters of a random-looking value of one of these names
_NAMED = 20  # characters of a random-looking value in letters of one case
_FIELDS = str.maketrans("/.\\:", "    ")
RANDOM_RUN = 16  # random-looking characters in one word; a hash of 12 does not count
LONGEST_RUN = 32  # letters and digits in a row; words and names as long have no digit
_MIN_CAPITALS = 0.28  # of as many letters, and of small ones; random letters have .5, CamelCase has .15
_TWILIO = ("AC", "SK")  # the beginnings of keys that may have no digit
_SHORT = 10  # characters, for tokens of Artifactory
_OF_AWS = 40  # characters in base64
_OF_DISCORD = (24, 6, 27)  # minimal characters of three parts between dots
_EVENNESS = 0.28  # share of changes between digits, capitals and small letters in a word; CamelCase has .2
_EVENNESS_OF_ONE_CASE = 0.2  # letters of one case and digits change less often
_WORDS = str.maketrans(dict.fromkeys("=:,;|!?^*\\\"'`()[]{}<>&@#", " "))
_QUOTES = str.maketrans(dict.fromkeys("\"'`,;<>()[]{}|。、，（）「」", " "))


def disclosable_text(text: str) -> str | None:
    """Return `text` without known secrets and private spans; None where it may hold another secret.

    >>> disclosable_text("git push with ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2 fails")
    'git push with [redacted] fails'
    >>> disclosable_text("Why is password=hunter2 refused?"), disclosable_text("Why is the password refused?")
    (None, 'Why is the password refused?')
    """
    masked = masking.mask_secrets(text)
    return None if may_hold_secret(masked.replace(masking.MASK, " ")) else masked


def may_hold_secret(text: str) -> bool:
    """Return whether something in a text may be a secret: by its name, by its prefix, or by looking random."""
    lowered = text.lower()
    prefixes = (prefix for sign, others in _OTHERS_BY_SIGN if sign in text for prefix in others if prefix in text)
    plain = text.encode("ascii", "replace").decode()  # tokens are ASCII; "?" parts them from Chinese, say, without blanks
    return (
        any(telltale in lowered for telltale in _TELLTALES)
        or any(any(_tokens_behind(prefix, text)) for prefix in _PREFIXES)
        or _has_login(text)
        or _has_assigned_secret(text, lowered)
        or any(_looks_random(word) for word in plain.translate(_WORDS).split() if len(word) >= _SHORT)
        or any(_may_be_random(run) for run in text.translate(_QUOTES).split() if len(run) >= masking.MIN_JUDGED)
        or any(looks_random(token) or is_unlike_words(token) for prefix in prefixes for token in _tokens_behind(prefix, text))
        or _has_other_telltale(text, lowered)
        or _has_everyday_secret(text, lowered)
    )


def _has_everyday_secret(text: str, lowered: str) -> bool:
    """Return whether `redact` finds an everyday secret: beside a word that may name one, or the words of a wallet."""
    plain = lowered.replace("-", " ").replace("_", " ").replace("’", "'")
    words = set(plain.encode("ascii", "replace").decode().translate(masking.SIGNS).split())
    whole_words = (word for word in _WHOLE_WORDS if word in words or f"{word}s" in words)
    near = chain(whole_words, (word for word in _WORD_PARTS if word in plain))
    if not (any(_is_near_value(text, plain, word) for word in near) or _has_words_of_wallet(lowered)):
        return False
    from subcog_hooks.redaction import named_values  # 15 ms: paid only by a text with such a word, and a value near it

    return any(named_values.find_everyday(text))


def _is_near_value(text: str, plain: str, word: str) -> bool:
    position = plain.find(word)
    while position >= 0:
        near = text[max(0, position - _BEFORE) : position + 2 * _BEHIND]
        has_quote = any(quote in near for quote in _QUOTES_BEFORE)
        if has_quote or any(map(str.isdigit, near)) or any(map(_is_compound, near.split())):
            return True
        position = plain.find(word, position + _BEHIND)  # the text between was checked
    return False


def _is_compound(value: str) -> bool:
    value = value.strip(_EDGES)
    letters = value.replace("'", "").replace("’", "").replace(".", "")
    is_compound = not letters.isalpha() or len(letters) >= masking.MAX_WORD_LETTERS
    return len(value) > 5 and is_compound and "/" not in value


def _has_words_of_wallet(lowered: str) -> bool:
    """Return whether twelve words of three to eight letters follow each other, none of them usual in a sentence."""
    run = 0
    for word in (word.strip(_EDGES) for word in lowered.split()):
        if word and not word.isdigit():  # they may be numbered
            run = run + 1 if 3 <= len(word) <= 8 and word.isalpha() and word not in masking.SENTENCE_WORDS else 0
        if run == _WORDS_OF_WALLET:
            return True
    return False


def _tokens_behind(prefix: str, text: str) -> Iterator[str]:
    """Yield the tokens behind a prefix that begins a word."""
    position = text.find(prefix)
    while position >= 0:
        end = start = position + len(prefix)
        while end < len(text) and end - start < _LONGEST_TOKEN and text[end] in _OF_TOKENS:
            end += 1
        before = text[max(0, position - 1) : position]
        is_inside_word = before.isalnum() and before.isascii() and text[position - 2 : position] not in ("\\n", "\\r", "\\t")
        if end - start >= _MIN_BEHIND and not is_inside_word:
            yield text[start:end]
        position = text.find(prefix, start)


def _may_be_random(run: str) -> bool:
    """Return whether a run of MIN_JUDGED characters or more, or its part behind a sign, may be random; a short hash is not."""
    parts = (run, *(run.split(sign, 1)[1] for sign in ":=/" if sign in run), run.rstrip("=").rpartition("=")[2])
    for part in parts:
        value = part.strip(".:!?*\\").removeprefix("0x")
        pieces = [value] if value.isascii() else value.encode("ascii", "replace").decode().split("?")
        if max(map(len, pieces)) < masking.MIN_JUDGED:  # Chinese with short names and numbers, say
            continue
        fields = value.translate(_FIELDS).split(" ")
        if len(fields) >= 3 and max(map(len, fields)) < _NAMED:  # a path, a version, a line of a file
            continue
        if mixes_cases_and_digits(value) and (looks_random(value) or is_unlike_words(value)):
            return True
        if len(value) >= (LONGEST_RUN if is_hexadecimal(value) else _NAMED) and looks_random(value):
            return True
    return False


def _has_other_telltale(text: str, lowered: str) -> bool:
    return (
        (any(tool in lowered for tool in _TOOLS) and any(option in text for option in _TOOL_OPTIONS))
        or ("machine " in lowered and " login " in lowered and " password " in lowered)
        or (lowered.count(":") >= _COLONS_OF_PGPASS and any(map(_is_line_of_pgpass, lowered.split())))
        or _has_other_assignment(text)
        or any("hook" in word.lower() and any(map(looks_random, word.split("/"))) for word in text.split())
    )


def _has_other_assignment(text: str) -> bool:
    for sign in "=:":
        for name, value in pairwise(text.split(sign)):
            word = name.rstrip(" \t\"'`])*").translate(_WORDS).replace("_", " ").replace("-", " ").split()[-1:]
            if word and word[0].lower() in _OTHER_NAMES:
                first_part = _first_value(value)
                if len(first_part) >= _ASSIGNED and looks_random(first_part):
                    return True
    for piece in text.replace("?", "&").replace(";", "&").split("&")[1:]:
        name, _, value = piece.partition("=")
        if name.lower().removeprefix("x-amz-").removeprefix("x-goog-") in _PARAMETERS and _is_telling(_first_value(value)):
            return True
    return False


def _is_line_of_pgpass(word: str) -> bool:
    fields = word.split(":", _COLONS_OF_PGPASS)
    return len(fields) > _COLONS_OF_PGPASS and (fields[1].isdigit() or fields[1] == "*") and len(fields[4]) > 3


def _has_login(text: str) -> bool:
    """Return whether a text has a user with a password: for curl, in a URL, or before a host."""
    for option in (" -u", " --user"):
        for piece in text.split(option)[1:]:
            if ":" in piece[:_LONGEST_VALUE].lstrip("\"'= ").partition(" ")[0]:
                return True
    if "@" not in text:
        return False
    for word in text.split():
        login, _, host = word.rpartition("@")
        password = login.partition(":")[2]
        if len(password) > 3 and any(map(str.isdigit, password)) and host[:1].isalnum():
            return True
    return any(map(_begins_with_login, text.split("://")[1:]))


def _begins_with_login(address: str) -> bool:
    """Return whether a user with a password begins an address, or a token alone; `mask_secrets` leaves only variables in URLs.

    A password may have signs that end the host elsewhere; behind a port they do not belong to a password.
    """
    login, sign, _ = (address.split(maxsplit=1) or [""])[0].rpartition("@")
    user, colon, password = login.partition(":")
    is_port = "/" in login and password.partition("/")[0].isdigit()
    has_password = colon and not is_port and not _is_variable(password)
    return bool(sign and (has_password or len(user) >= RANDOM_RUN))


def _is_variable(password: str) -> bool:
    for before, after in (("${", "}"), ("{", "}"), ("%", "%"), ("$", "")):
        if password.startswith(before) and password.endswith(after):
            return password[len(before) : len(password) - len(after)].isidentifier()
    return False


def _has_assigned_secret(text: str, lowered: str) -> bool:
    if len(lowered) != len(text):  # the lower case of some letters has another length
        text = lowered
    for names, is_login in ((_LOGINS, True), (_KEYS, False)):
        for name in names:
            position = lowered.find(name)
            while position >= 0:
                if _has_value(text, position, position + len(name), is_login=is_login):
                    return True
                position = lowered.find(name, position + len(name))
    return False


def _has_value(text: str, start: int, end: int, *, is_login: bool) -> bool:
    last = min(len(text), end + _LONGEST_NAME)
    while end < last and (text[end].isalnum() or text[end] in "_-"):
        end += 1
    while end < len(text) and text[end] in _AROUND:
        end += 1
    gap = text[end : end + _LONGEST_GAP + _LONGEST_VALUE]
    after = gap.lstrip(" \t")
    if not after:
        return False
    words, sign, behind = after.partition(":")
    is_assigned = words.lower() in _VERBS or (is_login and words.count(" ") <= 3 and words.startswith(_NARROWING))
    if after.startswith(_SIGNS) or (sign and is_assigned and "\n" not in words):
        assigned = after if after.startswith(_SIGNS) else behind
        is_topic = not is_login and gap.startswith(": ") and text[end - 1] == "s"  # "tokens: why are they rotated?"
        return any(map(_is_telling if is_topic else _is_value, _assigned_values(assigned)))
    first, _, behind_verb = after.partition(" ")
    if first.lower() in _VERBS:
        value = _first_value(behind_verb)
        return _is_telling(value) or (is_login and len(value) > 2 and value.lower().rstrip(".:!?") not in _STATED)
    if not gap[0].isspace():
        return False
    is_option = "--" in text[max(0, start - _LONGEST_NAME) : start] and " " not in text[text.rfind("--", 0, start) : start]
    return _is_telling(_first_value(after)) or (is_option and _is_value(_first_value(after)))


def _assigned_values(text: str) -> tuple[str, ...]:
    line = text.lstrip("=:>!~ \t").split("\n", 1)[0] if text.lstrip("=:>!~ \t")[:1] != "\n" else text.lstrip("=:>!~ \t\r\n")
    first = _first_value(text)
    behind = tuple(_first_value(line.split(sign, 1)[1]) for sign in ("=", " ") if sign in line)
    return (first, *behind)


def _first_value(text: str) -> str:
    value = text.lstrip(_BEFORE_VALUE)[:_LONGEST_VALUE]
    for position, letter in enumerate(value):
        if letter in _AFTER_VALUE:
            return value[:position]
    return value


def _is_value(value: str) -> bool:
    value = value.rstrip(".:!?")
    is_variable = value.startswith(("$", "%")) and (value in (value.lower(), value.upper()) or count_changes(value) < 3)
    return len(value) > 2 and not is_variable and any(map(str.isalnum, value))


def _is_telling(value: str) -> bool:
    """Return whether a value is no plain word: it has a digit, or is longer than words are."""
    value = value.rstrip(".:!?")
    if not _is_value(value):
        return False
    if any(map(str.isdigit, value)):
        return len(value) > 3
    return len(value) >= RANDOM_RUN or (not value.replace("-", "").replace("_", "").replace(".", "").replace("/", "").isalpha())


def _looks_random(word: str) -> bool:
    """Return whether a word looks random, like tokens and hashes; a UUID, which names things, does not count.

    >>> [_looks_random(word) for word in ("AddressValidationServiceImplementation", "3fa85f64-5717-4562-b3fc-2c963f66afa6")]
    [False, False]
    >>> [_looks_random(word) for word in ("da39a3ee5e6b4b0d3255bfef95601890afd80709", "kR7pWq2LxZ9-vT4nB8sYc3")]
    [True, True]
    """
    parts = word.translate(masking.SIGNS).split()
    if not parts or tuple(map(len, parts)) == masking.UUID:
        return False
    if word.startswith("AP") and sum(map(str.isdigit, word)) > 1 and len(parts[0]) >= _SHORT:
        return True
    if len(word) == _OF_AWS and not word.isalpha() and word.replace("/", "").replace("+", "").isalnum():
        return True
    thirds = tuple(map(len, word.split(".")))
    if len(thirds) == 3 and all(length >= min_length for length, min_length in zip(thirds, _OF_DISCORD, strict=True)):
        return True
    random_length = 0
    for part in parts:
        if len(part) < 6:
            continue
        has_digit, has_both_cases = any(map(str.isdigit, part)), part.lower() != part != part.upper()
        min_evenness = _EVENNESS if has_both_cases else _EVENNESS_OF_ONE_CASE
        capital_share = sum(map(str.isupper, part)) / len(part)
        mixes_cases = _MIN_CAPITALS <= capital_share <= 1.0 - _MIN_CAPITALS
        if len(part) >= LONGEST_RUN and (has_digit or mixes_cases or part.startswith(_TWILIO)):
            return True
        if (has_digit or has_both_cases) and count_changes(part) / len(part) >= min_evenness:
            random_length += len(part)
    return random_length >= RANDOM_RUN
