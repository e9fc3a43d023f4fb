"""Forms that look drawn by lot and that everybody may know: public keys, certificates, fingerprints, names of classes.

Facts from the formats' own documentation. Only a guess gives way to them: a vendor's token stays a secret wherever it stands.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import re2

if TYPE_CHECKING:
    from collections.abc import Iterator

_FORMS = r"""
# Blocks of PEM, PGP and SSH without a private key. A body has no two dashes, so that none reaches into the next block.
-{4,5} ?BEGIN (?:[A-Z0-9 ]{0,20}PUBLIC KEY(?: BLOCK)?|[A-Z0-9 ]{0,20}CERTIFICATE(?: REQUEST| LIST)?) ?-{4,5}(?:[^-]|-[^-])*
-{4,5} ?BEGIN (?:X509 CRL|PGP SIGNATURE|SSH SIGNATURE|(?:DH|EC) PARAMETERS|PKCS7|CMS) ?-{4,5}(?:[^-]|-[^-])*
\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[\w-]+|sk-(?:ssh|ecdsa)[\w.@-]+)\s+AAAA[A-Za-z0-9+/=]+
\b(?:age1[a-z0-9]{50,}|RW[QRST][A-Za-z0-9+/]{53}|npub1[a-z0-9]{50,})
# Keys that their name calls public, and those that browsers are given.
(?i)(?:public|publishable|site|verify(?:ing)?)[_ -]?key\w*["'`]?(?: is|[ \t]*[:=])?[ \t]*["'`]?[^\s"'`,;&]+
\bpk_(?:test|live)_[A-Za-z0-9]+
\bsb_publishable_[\w-]+
\bpk\.eyJ[\w.-]+
(?i)\bv=DKIM1\b[^\n]{0,80}?\bp=[A-Za-z0-9+/=" ]+
# Hashes, fingerprints and addresses.
(?i)\b(?:sha-?(?:1|224|256|384|512)|md5|blake[23][bs]?|h1)[-:][A-Za-z0-9+/_=-]+
\b[0-9A-F]{4}(?:[ ]{1,2}[0-9A-F]{4}){9}\b
(?i)\b(?:(?:open)?[gp]pg?|fingerprint|recv-keys?|keyserver|key ?id|signingkey)\b.{0,40}?\b(?:0x)?(?:[0-9A-F]{40}|[0-9A-F]{16})\b
\bQm[1-9A-HJ-NP-Za-km-z]{44}\b
\bbaf[a-z2-7]{50,}
\bk51[a-z0-9]{50,}
\b0x[0-9a-fA-F]{40}\b
\bbc1[a-z0-9]{25,}
# Names of classes, as the tools that build pages make them.
(?i)\bclass(?:name|es|list)?\b["'`]?[ \t:=.{(]{1,4}["'`][^"'`\n]*
(?i)\bclass(?:name)? [\w-]+
(?:(?m:^)|[\s"'`(,>])\.-?[A-Za-z_][\w-]+
\b(?:css|sc|jsx|svelte|emotion|makeStyles|Mui[A-Z]\w*)-[\w-]+
\b[A-Za-z]\w*_\w+__[\w-]{5,}
# Identifiers that vendors prefix with the name of the thing.
\b(?:price|prod|cus|sub|si|in|ii|pi|pm|ch|py|po|evt|acct|txn|seti|plan|promo|cs_test|cs_live)_[A-Za-z0-9]{8,}\b
\b(?:usr|user|org|team|proj|prj|ws|msg|conv|run|thread|asst|batch|req|resp|item|order|doc|job|task|dpl|build)_[A-Za-z0-9]{8,}\b
"""
_JWK = re2.compile(r"\{[^{}]*\"kty\"[^{}]*\}")
_PRIVATE_PART = re.compile(r"\"(?:d|k|p|q|dp|dq|qi)\"")


def find_public(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield start and end of what everybody may know in a text of ASCII, one byte for each character.

    >>> [(start, end) for start, end in find_public(b"push with ssh-ed25519 AAAAC3Nz ada@host")]
    [(10, 30)]
    """
    for match in _forms().finditer(data):
        yield match.span()
    for match in _JWK.finditer(data):
        if not _PRIVATE_PART.search(match[0].decode("ascii")):
            yield match.span()


@cache
def _forms() -> re2._Regexp:
    return re2.compile("|".join(f"(?:{form})" for form in _FORMS.splitlines() if form and not form.startswith("#")))
