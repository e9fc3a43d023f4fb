"""The words of decision records and dates in English, French, German and Spanish, and the status that a record has by them."""

import re
import unicodedata
from typing import NamedTuple

from subcog_hooks.core.files import read_words

WORDS = read_words(__file__, "record_words.tsv")
MONTHS = {word: number for number in range(1, 13) for word in WORDS[f"month {number}"]}

_ARTICLE = re.compile(r"\b[ld]['’](?=\w)")  # `l'ADR`
_WORD = re.compile(r"[^\W_](?:[\w./:’'-]*\w)?|[.,;:()–—-]+")


def fold_words(text: str) -> list[str]:
    """Split a text into words without accents, in lower case, and its punctuation.

    >>> fold_words("Remplacée par l'ADR-7.")
    ['remplacee', 'par', 'adr-7', '.']
    """
    folded = _ARTICLE.sub("", unicodedata.normalize("NFKD", text).lower())
    return _WORD.findall("".join(letter for letter in folded if not unicodedata.combining(letter)))


MAX_KINDS = 3  # kinds of status in one text: a template, as `{proposed | rejected | accepted}`
MAX_STATUS = 300  # characters of a text that are read

ENDED_STATUSES = ("superseded", "deprecated", "rejected")

_KIND_OF_WORD = {word: kind for kind in ("accepted", "proposed", *ENDED_STATUSES) for word in WORDS[kind]}
_HIDDEN = re.compile(r"~~[^~]*~~|<!--.*?(?:-->|\Z)|<[^<>]*>", re.DOTALL)
_LINK = re.compile(r"\[\[[^\[\]]*\]\]|\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])|\[\d[^\[\]]*\]")
_REFERENCE = re.compile(r"(?:adr|mdr|rfc|decision|#)?[-_#]?\d[\w./:-]*(?:st|nd|rd|th)?|[\w./-]*\.(?:md|markdown|mdx|adoc|rst)")
_TITLE_STATUS = re.compile(r"^\s*[\[(]([^\[\]()]+)[\])]|[\[(]([^\[\]()]+)[\])]\s*$|^\s*([^\W\d_]+)\s*:")


class Status(NamedTuple):
    """A status. kind: `accepted`, `proposed` or one of ENDED_STATUSES, "" for none.

    is_certain: every word of the text is understood; rest: the text, where it says more than a kind.
    """

    kind: str
    is_certain: bool = True
    rest: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether the decision holds no longer."""
        return self.kind in ENDED_STATUSES


NO_STATUS = Status("")


def drop_references(text: str) -> str:
    """Return a text without struck-out words, comments and links, which become 0."""
    return " ".join(_LINK.sub(" 0 ", _HIDDEN.sub(" ", text)).split())


def parse_status(value: str) -> Status:
    """Return the status that a text names: by its first word, if the rest only points, dates or explains.

    A text that restricts the end of a decision names none: the decision still holds somewhere.

    >>> parse_status("❌ Rejected (see [2](0002-b.md))").kind, parse_status("~~Accepted~~ **Withdrawn** 2024-08-01").kind
    ('rejected', 'rejected')
    >>> parse_status("Superseded because the broker lost messages")
    Status(kind='superseded', is_certain=False, rest='Superseded because the broker lost messages')
    >>> parse_status("superseded by ADR-7 for the driver app; still holds for the web client").kind
    ''
    """
    text = drop_references(value)
    tokens = fold_words(text)
    while tokens and (not tokens[0][0].isalnum() or _REFERENCE.fullmatch(tokens[0])):
        del tokens[0]
    kinds = [_KIND_OF_WORD[token] for token in tokens if token in _KIND_OF_WORD]
    rest = " ".join(value.split())[:MAX_STATUS]
    if len(set(kinds)) >= MAX_KINDS:
        return NO_STATUS
    if not tokens or tokens[0] not in _KIND_OF_WORD:
        return Status("", is_certain=set(ENDED_STATUSES).isdisjoint(kinds), rest=rest)
    kind = next((kind for kind in kinds if kind in ENDED_STATUSES), kinds[0])
    if kind not in ENDED_STATUSES or (len(text) <= MAX_STATUS and is_understood(text)):
        return Status(kind)
    is_adjective = len(tokens) > 1 and tokens[1][0].isalnum() and tokens[1] not in WORDS["joins"]
    if kinds[0] not in ENDED_STATUSES or is_adjective or not WORDS["restricts"].isdisjoint(tokens):
        return Status("", is_certain=False, rest=rest)
    return Status(kinds[0], is_certain=False, rest=rest)


def is_understood(text: str) -> bool:
    """Return whether each word of a text is a status, a date, a reference, or joins these.

    >>> is_understood("Accepted on 5 May 2024 ([PR 12](../pull/12))"), is_understood("The queue is PostgreSQL.")
    (True, False)
    """
    tokens = [token for token in fold_words(drop_references(text)) if token[0].isalnum()]
    plain = _KIND_OF_WORD.keys() | WORDS["filler"] | MONTHS.keys()
    return all(token in plain or _REFERENCE.fullmatch(token) for token in tokens)


def title_status(title: str) -> Status:
    """Return the end of a decision that its title tells in brackets or before a colon, or by being struck out.

    >>> title_status("Use Kafka (deprecated)").kind, title_status("Retired: Use Kafka").kind, title_status("Use Kafka").kind
    ('deprecated', 'deprecated', '')
    """
    if title.strip().startswith("~~") and title.strip().endswith("~~"):
        return Status("superseded")
    match = _TITLE_STATUS.search(title)
    status = parse_status(next(filter(None, match.groups()), "")) if match else NO_STATUS
    return status if status.has_ended and status.is_certain else NO_STATUS


def choose_status(statuses: list[Status]) -> Status:
    """Return the status that counts among those of a record: an end before everything else, then the first one."""
    ended = [status for status in statuses if status.has_ended]
    named = [status for status in statuses if status.kind]
    vague = [status for status in statuses if status.rest]
    return next(iter(ended + named + vague), NO_STATUS)
