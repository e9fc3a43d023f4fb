"""The part of a prompt that an LLM may see: unmistakable secrets are masked, and a text that may hold another is not shown.

`redact` knows more, but takes 100 ms to load: this is for the hook. It does not find where a secret ends, only that there may
be one, and refuses too much rather than too little, 4 of 100 real prompts: without an LLM, its words tell what one asks for.
Linear, without `re`: 1 ms for 2,000 characters, 50 ms for 100,000. Everyday secrets are looked for with the patterns of
`redaction.everyday`, which one of 25 real prompts loads.
"""

from itertools import pairwise

from subcog_hooks.redaction import prefixes
from subcog_hooks.redaction.leaks import MASK, mask
from subcog_hooks.redaction.prefixes import OF_SENTENCES, WHOLE_WORD
from subcog_hooks.redaction.randomness import LONGEST_WORD, SHORTEST_JUDGED, is_drawn, is_hexadecimal, is_no_word, mixes

# A name that ends in one of these, and what is assigned to it. Of the first ones, any value is taken for a secret.
_LOGINS = (
    *("password", "passwd", "passwort", "kennwort", "contrase", "passphrase", "pass phrase", "passcode", "pass", "pwd"),
    "authorization",
)
_KEYS = ("secret", "token", "credential", "key", "pw", "bearer", "_auth", "login")
_SIGNS = (":", "=", "!", ">", '("', "('")  # what an assignment or a comparison begins with, or the end of a tag
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
_PREFIXES = frozenset(
    """
    AKIA ASIA ABIA ACCA A3T AKC AIza AGE-SECRET-KEY-1 EAAA GOCSPX- PMAK- SG. eyJ dckr_pat_ dop_v1_ doo_v1_ dor_v1_ gho_ ghp_
    ghr_ ghs_ ghu_ github_pat_ glpat- gldt- glft- glsoat- glrt- glcbt- glptt- glagent- gloas- glimt- GR1348941 glsa_ gsk_
    hf_ hvb. hvs. lin_api_ nfp_ npm_ ntn_ nvapi- pk_live_ pplx- pypi- pul- rk_live_ rk_test_ sbp_ shpat_ shpca_ shppa_
    shpss_ sk- sk_live_ sk_test_ sntrys_ tfp_ whsec_ xai- xapp- ya29.
    """.split()
)
_LEAST_BEHIND = 8  # characters of a token behind its prefix: words and names begin so, too
# And those that names begin with as well: what follows is judged. By a sign that they have: most texts have not many signs.
_OTHER_PREFIXES = prefixes.PREFIXES - _PREFIXES
_OTHERS_BY_SIGN = [(sign, [prefix for prefix in _OTHER_PREFIXES if sign in prefix]) for sign in "_-."]
_OTHERS_BY_SIGN.append(("", [*_OTHER_PREFIXES.difference(*(with_sign for _, with_sign in _OTHERS_BY_SIGN))]))
_LONGEST_TOKEN = 60  # characters of a token that are judged
# What stands in nothing but a secret, or beside one; in small letters.
_TELLTALES = (
    *("putty-user-key-file", "private-lines", "hooks.slack.com/services/", "sq0atp-", "sq0csp-"),
    *(
        '"auth"',
        '"identitytoken"',
        '"registrytoken"',
        "identified by",
        "jdbc:oracle",
        "sqlplus ",
        " pass:",
        "mnemonic",
        "seed phrase",
    ),
    *("recovery phrase", "$2a$", "$2b$", "$2y$", "$5$", "$6$", "$apr1$", "$argon2", "$y$", "$pbkdf2", "$scrypt"),
    *("| sudo -", "|sudo -", "chpasswd", "cryptsetup", "password-stdin", "passphrase-fd", "passwd --stdin"),
    *("net use ", "net user", "requirepass", "masterauth", "/pass:", "/p:", "lftp -u", "storepass", "keypass", "ks-pass"),
    *("xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-"),
)

# Tools that take a password behind one letter, and those letters.
_TOOLS = (
    *("mysql", "mariadb", "sshpass", "docker login", "podman login", "redis-cli", "keydb-cli", "valkey-cli", "ldap"),
    *("sqlcmd", "mongo", "smbclient", "rpcclient", "htpasswd", "helm registry", "az login", "oc login", "unzip", "7z", "zip -"),
    *("bcp ", "psexec", "mosquitto", "ipmitool", "rar ", "openssl", "ssh-keygen"),
)
_TOOL_OPTIONS = (" -p", " -a ", " -w ", " -P", " -U", " -b", " -c", " -k ", " -N", " -hp")
# Names of passwords and keys in other languages: any word with a digit beside them may be one.
_ELSEWHERE = (
    *("パスワード", "暗証番号", "秘密鍵", "トークン", "密码", "密碼", "口令", "令牌", "密钥", "密鑰", "비밀번호", "암호"),
    *("토큰", "пароль", "токен", "mot de passe", "clave", "senha", "palavra-passe", "hasło", "wachtwoord", "lösenord"),
    *("adgangskode", "passord", "salasana", "parola", "heslo", "jelszó", "şifre", "mật khẩu", "kata sandi"),
)
# Words beside which `redact` looks for everyday secrets. Tools and PINs are looked for apart.
_APART = ("tool", "pin")
_BESIDE = tuple(word for kind, words in prefixes.BESIDE.items() if kind not in _APART for word in words)
_BEFORE, _BEHIND = 120, 300  # characters around such a word in which a value may stand
_QUOTES_BEFORE = ('"', "`", "“", "„", "«", "‹", " '", "='", ":'", "('")
_EDGES = ".,:;!?()[]{}'\"`*“”„«»"
_WORDS_OF_WALLET = 12
_COLONS_OF_PGPASS = 4
_DIGITS_OF_PIN = 4
_PINS = ("pin", "puk", "otp", "passcode", "pincode", "pin-code")
_PARAMETERS = ("sig", "signature", "code", "sid", "session", "session_id", "sessionid", "hmac", "auth", "security-token")

_ASSIGNED = 12  # characters of what looks drawn by lot and is assigned to one of these names
_NAMED = 20  # characters of what looks drawn by lot in letters of one case
_OTHER_NAMES = frozenset(
    "pat auth creds dsn sid salt seed cookie session sig signature hmac otp totp license nonce psk pin".split()
)
_FIELDS = str.maketrans("/.\\:", "    ")
DRAWN_RUN = 16  # characters that look drawn by lot, in one word: a hash of 12 is none
LONGEST_RUN = 32  # letters and digits in a row; no word is as long
_SHORT = 10  # of the tokens of Artifactory
_OF_AWS = 40  # exactly, in base64
_OF_DISCORD = (24, 6, 27)  # at least so many characters, with dots between them
_EVENNESS = 0.28  # of the places where a word changes between digits, capitals and small letters; CamelCase has .2
_EVENNESS_OF_ONE_CASE = 0.2  # of letters of one case and digits, which change less often
_PARTS = str.maketrans(dict.fromkeys("-_./+~@#%$&=:,;|!?^*\\\"'`()[]{}<>", " "))
_WORDS = str.maketrans(dict.fromkeys("=:,;|!?^*\\\"'`()[]{}<>&@#", " "))
_QUOTES = str.maketrans(dict.fromkeys("\"'`,;<>()[]{}|。、（）「」", " "))
_UUID = (8, 4, 4, 4, 12)


def shown(text: str) -> str | None:
    """Return `text` without its unmistakable secrets and private spans; None where something else in it may be a secret.

    >>> shown("git push with ghp_0aB1cD2eF30aB1cD2eF30aB1cD2eF30aB1cD2 fails")
    'git push with [redacted] fails'
    >>> shown("Why is password=hunter2 refused?"), shown("Why is the password refused?")
    (None, 'Why is the password refused?')
    """
    masked = mask(text)
    return None if may_hold_secret(masked.replace(MASK, " ")) else masked


def may_hold_secret(text: str) -> bool:
    """Return whether something in a text may be a secret.

    It may be by its name, by its first letters, or because it looks drawn by lot.
    """
    lowered = text.lower()
    return (
        any(telltale in lowered for telltale in _TELLTALES)
        or any(_begins(text, prefix) for prefix in _PREFIXES)
        or _has_login(text)
        or _is_assigned(text, lowered)
        or any(_is_drawn(word) for word in text.translate(_WORDS).split() if len(word) >= _SHORT)
        or any(_may_be_drawn(run) for run in text.translate(_QUOTES).split() if len(run) >= SHORTEST_JUDGED)
        or any(
            _begins_drawn(text, prefix)
            for sign, others in _OTHERS_BY_SIGN
            if sign in text
            for prefix in others
            if prefix in text
        )
        or _is_told(text, lowered)
        or _is_everyday(text, lowered)
    )


def _is_everyday(text: str, lowered: str) -> bool:
    """Return whether `redact` finds an everyday secret: beside a word that may name one, or the words of a wallet."""
    plain = lowered.replace("-", " ").replace("_", " ").replace("’", "'")
    words = set(plain.translate(_PARTS).split())
    near = (word for word in _BESIDE if (word in words or f"{word}s" in words if len(word) <= WHOLE_WORD else word in plain))
    if not (any(_is_near_value(text, plain, word) for word in near) or _has_words_of_wallet(lowered)):
        return False
    from subcog_hooks.redaction import everyday  # 15 ms: paid only by a text with such a word, and a value near it

    return any(everyday.find(text))


def _is_near_value(text: str, plain: str, word: str) -> bool:
    """Return whether something that may be a secret stands near a word: in quotes, with a digit, or joined of several words."""
    position = plain.find(word)
    while position >= 0:
        near = text[max(0, position - _BEFORE) : position + 2 * _BEHIND]
        if any(quote in near for quote in _QUOTES_BEFORE) or any(map(str.isdigit, near)) or any(map(_is_joined, near.split())):
            return True
        position = plain.find(word, position + _BEHIND)  # what stands between was looked at
    return False


def _is_joined(value: str) -> bool:
    value = value.strip(_EDGES)
    letters = value.replace("'", "").replace("’", "").replace(".", "")
    return len(value) > 5 and (not letters.isalpha() or len(letters) >= LONGEST_WORD) and "/" not in value


def _has_words_of_wallet(lowered: str) -> bool:
    """Return whether twelve words of three to eight letters follow each other, none of them usual in a sentence."""
    run = 0
    for word in (word.strip(_EDGES) for word in lowered.split()):
        if word and not word.isdigit():  # they may be numbered
            run = run + 1 if 3 <= len(word) <= 8 and word.isalpha() and word not in OF_SENTENCES else 0
        if run == _WORDS_OF_WALLET:
            return True
    return False


def _begins_drawn(text: str, prefix: str) -> bool:
    """Return whether a token begins so somewhere in a text, and what follows the prefix is no name."""
    at = text.find(prefix)
    while at >= 0:
        end = start = at + len(prefix)
        while end < len(text) and end - start < _LONGEST_TOKEN and _is_of_token(text[end]):
            end += 1
        rest = text[start:end]
        if len(rest) >= _LEAST_BEHIND and not _is_inside_word(text, at) and (is_drawn(rest) or is_no_word(rest)):
            return True
        at = text.find(prefix, start)
    return False


def _is_inside_word(text: str, at: int) -> bool:
    return at > 0 and text[at - 1].isalnum() and text[at - 1].isascii() and text[at - 2 : at] not in ("\\n", "\\r", "\\t")


def _may_be_drawn(run: str) -> bool:
    """Return whether a run of characters, or its part behind a sign, may be drawn by lot; a short hash is not.

    run: of SHORTEST_JUDGED characters at least, between blanks and quotes.
    """
    parts = (run, *(run.split(sign, 1)[1] for sign in ":=/" if sign in run), run.rstrip("=").rpartition("=")[2])
    for part in parts:
        value = part.strip(".:!?*\\").removeprefix("0x")
        if len(value) < SHORTEST_JUDGED:
            continue
        fields = value.translate(_FIELDS).split(" ")
        if len(fields) >= 3 and max(map(len, fields)) < _NAMED:  # a path, a version, a place in a file
            continue
        if mixes(value) and (is_drawn(value) or is_no_word(value)):
            return True
        if len(value) >= (LONGEST_RUN if is_hexadecimal(value) else _NAMED) and is_drawn(value):
            return True
    return False


def _is_told(text: str, lowered: str) -> bool:
    """Return whether something else tells a secret.

    That is a tool's option, a file of logins, a PIN, a parameter, a webhook, or another language.
    """
    return (
        (any(tool in lowered for tool in _TOOLS) and any(option in text for option in _TOOL_OPTIONS))
        or ("machine " in lowered and " login " in lowered and " password " in lowered)
        or ("@" in text and _has_login_with_host(text))
        or _is_told_by_a_word(lowered)
        or _is_other_assignment(text)
        or ("hook" in lowered and any(map(_is_hook, text.split())))
    )


def _has_login_with_host(text: str) -> bool:
    """Return whether there is `user:password@host`.

    It stands in a URL with signs that end its first part elsewhere, or as scp has it.
    """
    if "://" in text and any(_has_odd_login(piece) for piece in text.split("://")[1:]):
        return True
    for word in text.split():
        login, _, host = word.rpartition("@")
        password = login.partition(":")[2]
        if len(password) > 3 and any(map(str.isdigit, password)) and host[:1].isalnum():
            return True
    return False


def _is_told_by_a_word(lowered: str) -> bool:
    """Return whether a word tells a secret.

    That is a line of .pgpass, a PIN, or a word that may be the password that another language names.
    """
    words = lowered.split()
    if lowered.count(":") >= _COLONS_OF_PGPASS and any(map(_is_line_of_pgpass, words)):
        return True
    if any(name in lowered for name in _ELSEWHERE) and any(len(word) > 3 and any(map(str.isdigit, word)) for word in words):
        return True
    if not any(name in lowered for name in _PINS):
        return False
    names = {word.strip("\"'`:=") for word in words} | {word.partition(sign)[0] for word in words for sign in ":="}
    return not names.isdisjoint(_PINS) and sum(map(str.isdigit, lowered)) >= _DIGITS_OF_PIN


def _is_other_assignment(text: str) -> bool:
    """Return whether another assignment may hold a secret.

    A less telling name has a value that looks drawn by lot, or a parameter of a URL may be a secret.
    """
    for sign in "=:":
        for name, value in pairwise(text.split(sign)):
            word = name.rstrip(" \t\"'`])*").translate(_WORDS).replace("_", " ").replace("-", " ").split()[-1:]
            if word and word[0].lower() in _OTHER_NAMES and len(first := _first_of(value)) >= _ASSIGNED and is_drawn(first):
                return True
    for piece in text.replace("?", "&").replace(";", "&").split("&")[1:]:
        name, _, value = piece.partition("=")
        if name.lower().removeprefix("x-amz-").removeprefix("x-goog-") in _PARAMETERS and _is_telling(_first_of(value)):
            return True
    return False


def _is_hook(word: str) -> bool:
    return "hook" in word.lower() and any(map(is_drawn, word.split("/")))


def _is_line_of_pgpass(word: str) -> bool:
    fields = word.split(":", _COLONS_OF_PGPASS)
    return len(fields) > _COLONS_OF_PGPASS and (fields[1].isdigit() or fields[1] == "*") and len(fields[4]) > 3


def _has_odd_login(after_scheme: str) -> bool:
    """Return whether a URL has an odd login.

    Its password holds what ends its first part elsewhere, or a token stands in a user's place.
    """
    login, at, _ = (after_scheme.split() or [""])[0].rpartition("@")
    user, colon, password = login.partition(":")
    if not at:
        return False
    return (bool(colon) and not password.partition("/")[0].isdigit() and not _is_variable(password)) or len(user) >= DRAWN_RUN


def _begins(text: str, prefix: str) -> bool:
    """Return whether a token begins with a prefix: not inside a word, and with enough behind it."""
    at = text.find(prefix)
    while at >= 0:
        end = at + len(prefix)
        behind = text[end : end + _LEAST_BEHIND]
        if not _is_inside_word(text, at) and len(behind) == _LEAST_BEHIND and all(_is_of_token(letter) for letter in behind):
            return True
        at = text.find(prefix, end)
    return False


def _is_of_token(letter: str) -> bool:
    return (letter.isascii() and letter.isalnum()) or letter in "-_./+=~"


def _has_login(text: str) -> bool:
    """Return whether a text has a user with a password: in a URL, or as curl has it.

    What `mask` has left of a URL is a variable.
    """
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
    """Return whether a password in a URL names where it is kept: `$NAME`, `${NAME}`, `{name}`, `%NAME%`; but `%21` is a `!`."""
    for before, after in (("${", "}"), ("{", "}"), ("%", "%"), ("$", "")):
        if password.startswith(before) and password.endswith(after):
            return password[len(before) : len(password) - len(after)].isidentifier()
    return False


def _is_assigned(text: str, lowered: str) -> bool:
    """Return whether something is assigned to a name such as `password` or `api_key` that may be a secret."""
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
    """Return whether the name at `start` to `end` is assigned a value that may be a secret."""
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
    """Return the values that may stand behind a sign: the first, and behind a type or a name the next."""
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
    """Return whether a value is more than a variable's name, a mask, or nothing."""
    value = value.rstrip(".:!?")
    return len(value) > 2 and not value.startswith(("$", "%")) and any(map(str.isalnum, value))


def _is_telling(value: str) -> bool:
    """Return whether a value is no plain word: it has a digit, or is longer than words are."""
    value = value.rstrip(".:!?")
    if not _is_anything(value):
        return False
    if any(map(str.isdigit, value)):
        return len(value) > 3
    return len(value) >= DRAWN_RUN or (not value.replace("-", "").replace("_", "").replace(".", "").replace("/", "").isalpha())


def _is_drawn(word: str) -> bool:
    """Return whether a word looks drawn by lot, as tokens and hashes do; a UUID, which names things, does not count.

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
        if len(part) >= LONGEST_RUN:
            return True
        has_digit, has_small, has_capital = any(map(str.isdigit, part)), part != part.upper(), part != part.lower()
        evenness = _changes(part) / len(part)
        if (has_digit or (has_small and has_capital)) and evenness >= (
            _EVENNESS if has_small and has_capital else _EVENNESS_OF_ONE_CASE
        ):
            drawn += len(part)
    return drawn >= DRAWN_RUN


def _changes(part: str) -> int:
    """Return how often a word changes between digits, capitals and small letters; a capital that begins a word counts once."""
    kinds = ["0" if letter.isdigit() else "A" if letter.isupper() else "a" for letter in part]
    return sum(one != other and one + other != "Aa" for one, other in pairwise(kinds))
