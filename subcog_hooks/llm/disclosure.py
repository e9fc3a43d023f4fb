"""What of a prompt may be shown to an LLM: unmistakable secrets are masked, and of a text that may hold another, nothing is.

`redact` knows more, but takes 100 ms to load: this is for the hook. It does not find where a secret ends, only that there may
be one, and refuses too much rather than too little, 1 of 100 real prompts: without an LLM, its words tell what one asks for.
Linear, without `re`: .3 ms for 2,000 characters, 12 ms for 100,000.
"""

from itertools import pairwise

from subcog_hooks.redaction.leaks import MASK, mask

# A name that ends in one of these, and what is assigned to it. Of the first ones, any value is taken for a secret.
_LOGINS = ("password", "passwd", "passwort", "kennwort", "contrase", "passphrase", "passcode", "pass", "pwd", "authorization")
_KEYS = ("secret", "token", "credential", "key", "pw", "bearer", "_auth", "login")
_SIGNS = (":", "=", "!", ">")  # what an assignment or a comparison begins with, or the end of a tag
_VERBS = ("is", "was", "ist", "lautet", "to")
_AROUND = "\\\"'`])*}"  # between a name and its sign
_BEFORE_VALUE = " \t\r\n=:>*!?\\\"'`([{<|&"
_AFTER_VALUE = " \t\r\n\"'`,;<>)]}|&"
_LONGEST_NAME = 24  # characters of what a name goes on with: `secret_key_base`, `Password_prod`
_LONGEST_GAP = 60  # characters between a name and its value: a type, say
_LONGEST_VALUE = 80  # characters of a value that are looked at

# What a password is said to be in a sentence, and is not.
_SAID = frozenset(
    """
    a about absent accepted added allowed already always an and as asked at bad being blank by case changed checked cleared
    coming correct cut defined deleted denied different disabled displayed done easy empty enabled encrypted entered expired
    exposed false fetched fine for forgotten from given gone good hardcoded hashed here hidden ignored in incorrect invalid
    it kept leaked logged long lost made mandatory masked missing needed never no not null obsolete off ok old on only
    optional passed prompted protected read ready refused rejected removed required reset right rotated salted same saved
    sent set short shown so still stored strong supposed taken that the then there this too trimmed true undefined unknown
    unset updated used valid validated visible wanted weak what when where why with without working wrong
    """.split()
)

# What known tokens begin with; behind it, so many characters that a token has.
_PREFIXES = """
    AKIA ASIA ABIA ACCA A3T AKC AIza AGE-SECRET-KEY-1 EAAA GOCSPX- PMAK- SG. eyJ dckr_pat_ dop_v1_ doo_v1_ dor_v1_ gho_ ghp_
    ghr_ ghs_ ghu_ github_pat_ glpat- gldt- glft- glsoat- glrt- glcbt- glptt- glagent- gloas- glimt- GR1348941 glsa_ gsk_
    hf_ hvb. hvs. lin_api_ nfp_ npm_ ntn_ nvapi- pk_live_ pplx- pypi- pul- rk_live_ rk_test_ sbp_ shpat_ shpca_ shppa_
    shpss_ sk- sk_live_ sk_test_ sntrys_ tfp_ whsec_ xai- xapp- ya29.
    """.split()
_LEAST_BEHIND = 8
# What stands in nothing but a secret, or beside one; in small letters.
_TELLTALES = (
    *("putty-user-key-file", "private-lines", "hooks.slack.com/services/", "sq0atp-", "sq0csp-"),
    *("xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
)

LONG = 16  # characters that look drawn by lot, in one word: a hash of 12 is none
LONGEST = 32  # letters and digits in a row; no word is as long
_SHORT = 10  # of the tokens of Artifactory
_OF_AWS = 40  # exactly, in base64
_OF_DISCORD = (24, 6, 27)  # at least so many characters, with dots between them
_EVENNESS = 0.28  # of the places where a word changes between digits, capitals and small letters; CamelCase has .2
_EVENNESS_OF_ONE_CASE = 0.2
_PARTS = str.maketrans(dict.fromkeys("-_./+~@#%$&=:,;|!?^*\\\"'`()[]{}<>", " "))
_WORDS = str.maketrans(dict.fromkeys("=:,;|!?^*\\\"'`()[]{}<>&@#", " "))
_UUID = (8, 4, 4, 4, 12)


def shown(text: str) -> str | None:
    """`text` without its unmistakable secrets and private spans; None where something else in it may be a secret.

    >>> shown("git push with ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2 fails")
    'git push with [redacted] fails'
    >>> shown("Why is password=hunter2 refused?"), shown("Why is the password refused?")
    (None, 'Why is the password refused?')
    """
    masked = mask(text)
    return None if may_hold_secret(masked.replace(MASK, " ")) else masked


def may_hold_secret(text: str) -> bool:
    """Whether something in a text may be a secret: by its name, by what it begins with, or because it looks drawn by lot."""
    lowered = text.lower()
    return (
        any(telltale in lowered for telltale in _TELLTALES)
        or any(_begins(text, prefix) for prefix in _PREFIXES)
        or _has_login(text)
        or _is_assigned(text, lowered)
        or any(_is_drawn(word) for word in text.translate(_WORDS).split() if len(word) >= _SHORT)
    )


def _begins(text: str, prefix: str) -> bool:
    """Whether a token begins so somewhere in a text: not inside a word, and with enough behind it."""
    at = text.find(prefix)
    while at >= 0:
        end = at + len(prefix)
        behind = text[end : end + _LEAST_BEHIND]
        is_inside = (
            at > 0 and text[at - 1].isalnum() and text[at - 1].isascii() and text[at - 2 : at] not in ("\\n", "\\r", "\\t")
        )
        if not is_inside and len(behind) == _LEAST_BEHIND and all(_is_of_token(letter) for letter in behind):
            return True
        at = text.find(prefix, end)
    return False


def _is_of_token(letter: str) -> bool:
    return (letter.isascii() and letter.isalnum()) or letter in "-_./+=~"


def _has_login(text: str) -> bool:
    """Whether there is a user with a password: in a URL, or as curl has it. What `mask` has left of a URL is a variable."""
    for option in (" -u ", " -u", " --user ", " --user="):
        for piece in text.split(option)[1:]:
            if ":" in piece[:_LONGEST_VALUE].lstrip("\"' ").partition(" ")[0]:
                return True
    for piece in text.split("://")[1:]:
        user, at, _ = (piece[:_LONGEST_VALUE].split() or [""])[0].partition("/")[0].partition("@")
        password = user.partition(":")[2]
        if at and password and not _is_variable(password):
            return True
    return False


def _is_variable(password: str) -> bool:
    """Whether a password in a URL names where it is kept: `$NAME`, `${NAME}`, `{name}`, `%NAME%`; but `%21` is a `!`."""
    for before, after in (("${", "}"), ("{", "}"), ("%", "%"), ("$", "")):
        if password.startswith(before) and password.endswith(after):
            return password[len(before) : len(password) - len(after)].isidentifier()
    return False


def _is_assigned(text: str, lowered: str) -> bool:
    """Whether something is assigned to a name such as `password` or `api_key` that may be a secret."""
    if len(lowered) != len(text):  # of some letters of other scripts
        text = lowered
    for names, is_login in ((_LOGINS, True), (_KEYS, False)):
        for name in names:
            at = lowered.find(name)
            while at >= 0:
                if _has_value(text, at, at + len(name), is_login=is_login):
                    return True
                at = lowered.find(name, at + len(name))
    return False


def _has_value(text: str, start: int, end: int, *, is_login: bool) -> bool:
    """Whether the name at `start` to `end` is assigned a value that may be a secret."""
    last = min(len(text), end + _LONGEST_NAME)
    while end < last and (text[end].isalnum() or text[end] in "_-"):
        end += 1
    while end < len(text) and text[end] in _AROUND:
        end += 1
    gap = text[end : end + _LONGEST_GAP + _LONGEST_VALUE]
    after = gap.lstrip(" \t")
    if not after:
        return False
    if after.startswith(_SIGNS):
        return any(map(_is_telling, _values(after))) if not is_login else any(map(_is_anything, _values(after)))
    first, _, rest = after.partition(" ")
    if first.lower() in _VERBS:
        value = _first_of(rest)
        return _is_telling(value) or (is_login and len(value) > 2 and value.lower().rstrip(".:!?") not in _SAID)
    if not gap[0].isspace():
        return False
    is_option = "--" in text[max(0, start - _LONGEST_NAME) : start] and " " not in text[text.rfind("--", 0, start) : start]
    return _is_telling(_first_of(after)) or (is_option and _is_anything(_first_of(after)))


def _values(text: str) -> tuple[str, ...]:
    """What may be the value behind a sign: what comes first, and behind a type or a name what comes then."""
    line = text.lstrip("=:>!~ \t").split("\n", 1)[0] if text.lstrip("=:>!~ \t")[:1] != "\n" else text.lstrip("=:>!~ \t\r\n")
    first = _first_of(text)
    behind = tuple(_first_of(line.split(sign, 1)[1]) for sign in ("=", " ") if sign in line)
    return (first, *behind)


def _first_of(text: str) -> str:
    value = text.lstrip(_BEFORE_VALUE)[:_LONGEST_VALUE]
    for place, letter in enumerate(value):
        if letter in _AFTER_VALUE:
            return value[:place]
    return value


def _is_anything(value: str) -> bool:
    """Whether a value is more than a variable's name, a mask, or nothing."""
    value = value.rstrip(".:!?")
    return len(value) > 2 and not value.startswith(("$", "%")) and any(map(str.isalnum, value))


def _is_telling(value: str) -> bool:
    """Whether a value is no plain word: it has a digit, or is longer than words are."""
    value = value.rstrip(".:!?")
    if not _is_anything(value):
        return False
    if any(map(str.isdigit, value)):
        return len(value) > 3
    return len(value) >= LONG or (not value.replace("-", "").replace("_", "").replace(".", "").replace("/", "").isalpha())


def _is_drawn(word: str) -> bool:
    """Whether a word looks drawn by lot, as tokens and hashes do; a UUID, which names things, does not count.

    >>> [_is_drawn(word) for word in ("sessionTokenOfTheBrowserV2", "3fa85f64-5717-4562-b3fc-2c963f66afa6")]
    [False, False]
    >>> [_is_drawn(word) for word in ("da39a3ee5e6b4b0d3255bfef95601890afd80709", "kR7pWq2LxZ9-vT4nB8sYc3")]
    [True, True]
    """
    parts = word.translate(_PARTS).split()
    if not parts or tuple(map(len, parts)) == _UUID:
        return False
    if word.startswith("AP") and sum(map(str.isdigit, word)) > 1 and len(parts[0]) >= _SHORT:
        return True
    if len(word) == _OF_AWS and word.replace("/", "").replace("+", "").isalnum():
        return True
    thirds = tuple(map(len, word.split(".")))
    if len(thirds) == 3 and all(long >= least for long, least in zip(thirds, _OF_DISCORD, strict=True)):
        return True
    drawn = 0
    for part in parts:
        if len(part) < 6:
            continue
        if len(part) >= LONGEST:
            return True
        has_digit, has_small, has_capital = any(map(str.isdigit, part)), part != part.upper(), part != part.lower()
        evenness = _changes(part) / len(part)
        if (has_digit or (has_small and has_capital)) and evenness >= (
            _EVENNESS if has_small and has_capital else _EVENNESS_OF_ONE_CASE
        ):
            drawn += len(part)
    return drawn >= LONG


def _changes(part: str) -> int:
    """How often a word changes between digits, capitals and small letters; a capital that begins a word counts once."""
    kinds = ["0" if letter.isdigit() else "A" if letter.isupper() else "a" for letter in part]
    return sum(one != other and one + other != "Aa" for one, other in pairwise(kinds))
