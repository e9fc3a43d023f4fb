"""Patterns of everyday secrets, for RE2 and for a text in Latin-1 without regard to capitals: data for `everyday`.

A pattern names a part by `<part>`: one of PARTS, or the words of `prefixes.BESIDE` of that kind.
"""

from collections.abc import Callable
from typing import NamedTuple

from subcog_hooks.redaction.secret_values import (
    is_adjacent,
    is_argument,
    is_assigned,
    is_bare,
    is_card,
    is_code,
    is_cookie,
    is_field,
    is_in_block,
    is_joined_key,
    is_key,
    is_labelled,
    is_mixture,
    is_numbered_phrase,
    is_phrase,
    is_seed,
    is_stated,
    is_token,
    is_written_out,
)


class EverydayRow(NamedTuple):
    """A pattern whose groups are secrets where their judges agree; the last judge also judges the groups behind its own."""

    kind: str
    beside: str  # kinds of `prefixes.BESIDE`: a text with none of their words is not searched
    pattern: str
    judges: tuple[Callable[[str], bool], ...]
    items: str = ""  # where the first group is a list: a pattern of its items, whose groups are judged


PARTS = {
    "noun": "(?:<password>|<mot de passe>)",
    "named": r"[\w.-]*(?:passw(?:or)?d|passphrase|(?:\b|_)pass|pwd|secret|token|api[_-]?key)",
    "letter": r"[A-Za-zÀ-ÿ]",
    "close": r"[\"'`*_)\]]{0,3}",
    "quoted": r"(?:``|\"\"\"|[\"'`]|« ?)([^\s\"'`,;)\]][^\n\"'`»]{1,79}[^\s\"'`»])(?: ?»|[\"'`])",
    "bare": r"[*_(]{0,3}([^\s\"'`,;<>|]{4,})",
    "value": "(?:<quoted>|<bare>)",
    "digits": r"[\"'`*_]{0,3}((?:\d[ -]?){3,11}\d[A-Z#*]?\b|[A-Z\d#*-]{4,16}\b)",
    "strings": r"(?:\"([^\"\n]{4,80})\"|'([^'\n]{4,80})')",
    "argument": r"(?:<strings>|([^\s\"'`|;&<>]{4,}))",
    # What it is the secret of: "of the staging admin", "für den Testserver", "(staging)".
    "of": r"""(?: +(?:of|for|to|on|in|at|from|by|with|behind|für|fürs|von|vom|zu|zum|zur|des|der|beim|bei|im|am|auf|an|de|du|d
        |pour|sur|à|au|aux|del|da|do|dos|das|no|na|para|di|dello|della|dell|dei|per|su|nel|nella|van|voor|op|bij|aan|het)[ ']
        (?:[^\n.!?;:,=\"%<>|{}\[\]]|[.]['A-Za-zÀ-ÿ\d]){1,60}?| *[(\[][^()\[\]\n]{1,40}[)\]]
        | +(?:you need|you want|we use|to use|here|there|below))""",
    "is": r"""(?: +(?:is|are|was|were|will be|reads|ist|sind|war|lautet|lauten|est|sont|était|es|son|era|é|são|è|sono|zijn
        |luidt) *:?(?: +(?:now|currently|still|always|just|simply|temporarily|again|set to|changed to|reset to|jetzt|nun|aktuell
        |derzeit|momentan|noch|immer|weiterhin|einfach|maintenant|actuellement|toujours|désormais|ahora|actualmente|todavía
        |siempre|agora|atualmente|sempre|ora|adesso|attualmente|nu|momenteel|nog|steeds))* *:? |<changed>) *""",
    "changed": r""" +(?:<letter>+ +){0,2}(?:set|changed|reset|rotated|updated|switched|chang[ée]e?|cambi<letter>+|alterad[oa]
        |mudad[oa]|gewijzigd|veranderd) +(?:to|en|à|a|por|para|in|naar) """,
    "colon": r"(?: *(?:[:=]|=>|->)| +- )[ *_]*",
    "modifier": r"(?: +[\w-]{2,20}){0,2}",  # "mot de passe admin : …"
    "my": """(?:the|our|my|your|das|dem|dein|mein|unser|le|la|notre|votre|mon|el|mi|su|nuestra|a|o|nossa|il|nostra|het|ons
        |mijn|de)""",
    "place": r"""(?:door|gate|garage|alarm|safe|locker|lock|padlock|suitcase|lockbox|entrance|laptop|phone|tablet|haustür|tür
        |tor|tresor|schließfach|porte|portail|alarme|coffre|puerta|portal|alarma|caja fuerte|porta|portão|cofre|cancello
        |cassaforte|deur|poort|kluis)""",
    "to option": r"\b[^\n|;]{0,200}? ",
    "number": r"\b((?:\d[ -]?){12,18}\d)\b",
    "card code": r"""(?:cvc2?|cvv2?|csc|cid|(?:security|card) code|(?:karten)?prüf(?:nummer|ziffer)|cryptogramme
        |código de segurança|código de seguridad|codice di sicurezza|beveiligingscode)""",
    "expiry": r"(?:0[1-9]|1[0-2]) ?/ ?(?:20)?[2-9]\d",
    "seed words": r"<letter>{3,8}(?:[\s,;\"'`\d.):-]{1,8}<letter>{3,8}){11,23}",
}

# Tools, and the options behind which they take a password.
_TOOLS = (
    ("mysql(?:dump|admin|import)?|mariadb(?:-dump)?", "-p"),
    ("sshpass|(?:docker|podman|helm registry|az|oc) login|psexec|mongo(?:sh|dump|restore)?", "-p +"),
    ("(?:redis|keydb|valkey)-cli", "-a +"),
    ("ldap(?:search|modify|add|delete|whoami|passwd)", "-w +"),
    ("sqlcmd|bcp|zip|unzip|ipmitool|mosquitto_(?:pub|sub)", "-P +"),
    ("7za?|7zz|rar|unrar", "-h?p"),
    ("htpasswd", r"-[a-zA-Z]*b[a-zA-Z]* +[^\s]+ +[^\s]+ +"),
    ("openssl", r"-(?:k +|pass(?:in|out)? +pass:)"),
    ("ssh-keygen", "-[NP] +"),
    (r"smbclient|rpcclient|mount\.cifs|net", r"-U *[^\s%]{1,64}%"),
    ("net use", r"/(?i:user):[^\s]+ +"),
    ("net use", r"\\\\[^\s]+ +"),
    ("net user", r"[\w.-]+ +"),
    ("cmdkey|xfreerdp", "/p(?:ass)?:"),
    ("lftp", r"-u +[\w.@-]+,"),
    ("keytool|jarsigner|apksigner", r"-{1,2}(?:(?:src|dest)?(?:store|key)pass|ks-pass) +(?:pass:)?"),
)

ROWS: tuple[EverydayRow, ...] = (
    # ---- sentences
    EverydayRow("password", "password", "<password><close><of>?<is><value>", (is_phrase, is_stated)),
    EverydayRow("password", "mot de passe", "<mot de passe><close><modifier><of>?<is><value>", (is_phrase, is_stated)),
    EverydayRow(
        "password", "password|mot de passe", "<noun><close>(?:<of>|<modifier>)<colon><value>", (is_phrase, is_labelled)
    ),
    EverydayRow(
        "password", "password|mot de passe", "<noun><close>(?: +(?:(?:wurde +|ist +)?auf|to))? +<quoted>", (is_phrase,)
    ),
    EverydayRow("password", "password|mot de passe", "<noun><close> +<bare>", (is_adjacent,)),
    EverydayRow(
        "password",
        "password|mot de passe|name",
        r"""(?:(?:[,/]|\b(?:with|using|and|und|mit|et|avec|y|con|e|com|en|met)) +(?:<my> +)?<noun>
        |\buser(?:name)?[ :=]+[\w.@-]+[ ,;/]+(?:<noun>|pass))[ :=]+<value>""",
        (is_phrase, is_mixture),
    ),
    EverydayRow(
        "password",
        "password|mot de passe",
        r"""(?:^|[\s\"'`(])([^\s\"'`()<>,;:=]{6,})<close> +(?:is|was|ist|est|es|é|è|as|als|comme|como|come) +
        (?:<my> +)?(?:<letter>+[ -]){0,2}<noun>(?:<close>(?:[.,;:!?)\n]|$)|<of>)""",
        (is_stated,),
    ),
    EverydayRow("secret", "secret", "<secret><close>(?:<of>(?:<is>|<colon>)|<changed>)<value>", (is_key,)),
    EverydayRow("secret", "key", "<key><close>(?:<of>?<is>|(?:<of>|<modifier>)<colon>)<value>", (is_key,)),
    EverydayRow("PIN", "pin|code", r"\b(?:<pin>|<code>)<close>(?:<of>|<modifier>)(?:<is>|<colon>)<digits>", (is_code,)),
    EverydayRow("PIN", "pin|code", r"\b(?:(?-i:PIN|PUK|OTP)|<code>)(?: code)? <digits>", (is_code,)),
    EverydayRow("PIN", "code of", r"<code of>[^\n.:=]{0,30}?\b<place>\b[^\n.:=]{0,20}?(?:<is>|<colon>)<digits>", (is_code,)),
    EverydayRow("PIN", "opens", r"\b<place>\b[^\n.:=]{0,30}? <opens> +<digits>", (is_code,)),
    EverydayRow(
        "backup code",
        "backup code",
        r"<backup code>s?<of>?(?:<is>|<colon>)\s*([\dA-Za-z-]{6,40}(?:[\s,;/|]+[\dA-Za-z-]{6,40}){0,15})",
        (is_written_out,),
        r"([\dA-Za-z]*\d[\dA-Za-z-]*)",
    ),
    EverydayRow(
        "login",
        "login",
        r"""\b<login>(?:<of>|(?: +(?:can|kan|geht|mit|met|with|as|als|using|via|avec|con|com))*)(?:<is>|<colon>| +)
        [\"'`]?[\w.@+-]{2,64}[\"'`]? +/ +<value>""",
        (is_phrase, is_labelled),
    ),
    EverydayRow("login", "login", r"\b<login>(?:<is>|<colon>| +)[\"'`]?[\w@+-]{2,64}[:/]([^\s\"'`/:,;]{4,})", (is_labelled,)),
    # ---- cards and wallets
    EverydayRow("card number", "card", r"<card>[^\n\d]{0,40}<number>", (is_card,)),
    EverydayRow("card number", "card", r"<number>[^\n\d]{0,30}(?:<card code>|<expiry>)", (is_token,)),
    EverydayRow("card code", "card", r"\d{4}\b(?s:.{0,60}?)\b<card code>\b[ :=#is]*(\d{3,4})\b", (str.isdigit,)),
    EverydayRow("card code", "card", r"<number>[ ,;]+(?:exp[ .:]*)?<expiry>[ ,;]+(\d{3,4})\b", (is_token, str.isdigit)),
    EverydayRow(
        "seed phrase",
        "seed",
        r"<seed>s?<close><modifier><of>?(?:<is>|<colon>)\s*(?:[\"'`(«]|1[.)]?\s+)?(<seed words>)",
        (is_seed,),
    ),
    # ---- configuration, code and headers
    EverydayRow(
        "password",
        "password|mot de passe|name",
        r"(?:<noun>|(?:^|[^A-Za-z])pass)[\"'`\])*]{0,3} *(?:=>|:=|[:=]) *<strings>",
        (is_phrase,),
    ),
    EverydayRow(
        "passphrase",
        "password",
        r"(?m)pass[_ -]?phrase[\"']? *[:=] *(<letter>[\wÀ-ÿ]*(?: [\wÀ-ÿ]+){2,11}) *$",
        (is_phrase,),
    ),
    EverydayRow(
        "password",
        "password|mot de passe",
        r"(?m)<noun><close><of>?<colon>(<letter>+(?: [\wÀ-ÿ]+){2,6})[ .]*\r?$",
        (is_numbered_phrase,),
    ),
    EverydayRow("password", "name", r"(?m)^ *[\w.-]*pass(?:word|wd)?=([^\s\"'`$<{(]{4,}) *\r?$", (is_labelled,)),
    EverydayRow(
        "password",
        "name",
        r"[\"'](?:[\w.-]*(?:passw(?:or)?d|passphrase)|(?:[\w.-]*[_.-])?(?:pass|secret|api[_-]?key|token))[\"'] *, *<strings>",
        (is_bare,),
    ),
    # A name and its value as two fields: `name: DB_PASSWORD` and `value: …`, `name="apiToken">…<`, `"x" { default = …`.
    EverydayRow(
        "password",
        "name",
        r"""\b(?:name|key|id)[\"']? *[=:] *[\"']?<named>[\"']?(?:[\s,;]{1,80}[\"']?value[\"']?(?: *[=:] *|>)|>)[\"']?
        ([^\s\"'<>,}]{4,})|[\"']<named>[\"'] *\{[^}]{0,300}?\bdefault *= *<strings>
        |(?m:^) *(?:env|arg|setenv|setx|set(?: -\w+)?) +<named> +\"?([^\s\"]{4,})""",
        (is_assigned,),
    ),
    EverydayRow(
        "secret",
        "name|secret",
        r"""(?:(?:^|[^\w-])(?-i:(?:[A-Z][A-Z0-9_]*_)?(?:SECRET|TOKEN|(?:API|ACCESS|ENCRYPTION|MASTER|SIGNING)_?KEY)) ?[:=] ?
        |(?:api|access|auth|client|refresh|bot|deploy|session|app|webhook)[_-]?(?:token|secret|key)[\"']? *(?:=>|:=|[:=]) *)
        [\"']?([^\s\"'`;&,]{6,})|\b(?:secret|token)[\"']? *(?:=>|:=|[:=]) *<strings>""",
        (is_joined_key,),
    ),
    # Logins whose place among the arguments says what they are: `auth=("ada", "…")`.
    EverydayRow(
        "password",
        "call",
        r"(?:mysqli?_\w*connect|new mysqli|new pdo) ?\( *[^,()\n]{1,80}, *[^,()\n]{1,64}, *<strings>",
        (is_phrase,),
    ),
    EverydayRow(
        "password",
        "call",
        r"""(?:getconnection|credentials?|login|basic_?auth|authenticate|\bauth)(?: ?= ?)?\([^()\n]{0,80}?
        [\"'][^\"'\n]{1,64}[\"'] *, *<strings>""",
        (is_assigned,),
    ),
    EverydayRow("password", "password", r"<[\w:.-]*(?:password|passphrase)>([^<>\n]{4,80})</", (is_phrase,)),
    EverydayRow("password", "password", r"type=[\"']password[\"'][^<>]{0,120}?\bvalue=<strings>", (is_phrase,)),
    # A block of a login: the password may be any word there.
    EverydayRow(
        "password",
        "password|mot de passe|name",
        r"""(?:user(?:name)?|login|e-?mail|host|benutzer(?:name)?|usuario|usuário|utente|utilisateur|gebruiker) *: *
        [^\n,;:]{1,60}(?:\s*\n|[,;]) *[*-]* *(?:<noun>|pass) *: *([^\s\"'`,;()\[\]{}<>]{4,}) *(?:\r?\n|$)""",
        (is_in_block,),
    ),
    EverydayRow("password", "form", r"\bidentified +(?:with +\w+ +)?by +<strings>", (is_written_out,)),
    EverydayRow("password", "form", r"(?m)^ *(?:requirepass|masterauth) +\"?([^\s\"]{4,})", (is_written_out,)),
    EverydayRow(
        "secret",
        "form",
        r"otpauth(?:-migration)?://[^\s\"'`]{0,200}?[?&](?:secret|data)=([A-Za-z0-9%/+=]{8,})",
        (is_written_out,),
    ),
    EverydayRow("SSN", "form", r"\b(?:ssn|social security (?:number|no\.?))[ :#is]*(\d{3}-\d{2}-\d{4})\b", (is_token,)),
    EverydayRow("secret URL", "form", r"/private-([0-9a-f]{20,})", (is_token,)),
    EverydayRow("password hash", "form", r"\{(?:s?sha(?:256|384|512)?|s?md5|crypt)\}([\w./+=$]{16,})", (is_token,)),
    EverydayRow(
        "secret",
        "header",
        r"\bx-(?:\w+-)*(?:token|secret|password|api-key|access-key|auth-key|session)\b *:? *[\"']?([^\s\"'`;,]{8,})",
        (is_field,),
    ),
    EverydayRow(
        "cookie",
        "header",
        r"""(?:\bcookie[\"'`]? *[:=] *[\"'`]?|\bcurl\b[^\n|]{0,300}? (?:-b|--cookie)[ =][\"']?)
        ([\w.%-]{1,80}=[^\n\"'`]+)""",
        (is_written_out, is_cookie),
        r"\b[\w.%-]*(?:sess|sid|auth|token|jwt|remember|login)[\w.%-]*=([^;\s&\\]{6,})|=([^;\s&\\]{12,})",
    ),
    EverydayRow(
        "password",
        "device",
        r"""(?m)^ *(?:username [^\s]+(?: privilege \d+)?|enable|neighbor [^\s]+|(?:radius|tacacs)-server\b[^\n]{0,60}?
        |snmp-server|crypto isakmp) (?:password|secret|community|key)(?: [05789])? ([^\s]{4,})""",
        (is_assigned,),
    ),
    # ---- command lines
    EverydayRow(
        "password",
        "tool",
        rf"\b(?:{'|'.join(rf'(?:{tools})<to option>(?-i:{options})' for tools, options in _TOOLS)})<argument>",
        (is_argument,),
    ),
    EverydayRow(
        "password",
        "tool",
        r"""\b(?:echo|printf) +(?:-\w+ +)?<argument> *\| *(?:sudo +(?:-\w*S|--stdin)|(?:sudo +)?chpasswd|cryptsetup
        |[^\n|]{0,80}(?:password-stdin|passphrase-fd|passwd --stdin))""",
        (is_written_out,),
    ),
)
