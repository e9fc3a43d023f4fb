"""Names in a text: acronyms with their long forms, paths, addresses, identifiers, numbers. No index."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from subcog_hooks.core.files import read_rows
from subcog_hooks.core.records import record
from subcog_hooks.text import SMALL_WORDS, analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MIN_LETTERS, MAX_LETTERS = 2, 8  # letters of an acronym
MAX_WORDS = 10  # words of a long form, split at spaces
_NO_INITIALS = SMALL_WORDS | {"is"}  # words of a long form that may give no letter

_QUOTES = "\"'\u2018\u2019\u201c\u201d"
_OPENING = "([" + _QUOTES
_STOPS = ".;:!?)]"  # A long form ends before them, but may have commas: first in, first out.
_EDGES = _OPENING + _STOPS + ","
_HYPHENS = str.maketrans("/\u2010\u2011\u2013", "----")
_APOSTROPHES = str.maketrans("", "", "'\u2019")
_MARKS = frozenset(("=", "-", "\u2013", "\u2014", "|"))  # between a short form and its long form
_FILLERS = frozenset(
    "a abbreviated abbreviation acronym also an are as commonly for is it just known of often or short simply stand stands the "
    "to usually was which".split()
)
_NUMERALS = {"to": "2", "for": "4"}  # P2P: peer to peer


def definitions(text: str) -> list[tuple[str, str]]:
    """Return the acronyms that `text` spells out, each with its expansion, both in lower case, in order, without repeats.

    An acronym has 2 to 8 letters and digits and begins with a letter. It has at least two capitals, and no more small letters
    than capitals. Text between backticks is code and not read. The time is linear in the length of the text.

    >>> definitions("Forward kinematics (FK) is cheap; CRDTs (conflict-free replicated data types) merge.")
    [('fk', 'forward kinematics'), ('crdt', 'conflict free replicated data types')]
    >>> definitions("SLAM stands for simultaneous localization and mapping")
    [('slam', 'simultaneous localization and mapping')]
    >>> definitions("HTTP (port 80), call f(X), the API (v2)")
    []
    """
    pairs: dict[tuple[str, str], None] = {}
    prose = "\n\n".join(text.replace(" * ", " ^ ").replace("*", "").split("```")[::2])
    for paragraph in prose.split("\n\n"):
        # A lone backtick stands for each piece of code; an unclosed piece ends with its paragraph.
        tokens = " ` ".join(paragraph.replace("``", "`").split("`")[::2]).split()
        for position, token in enumerate(tokens):
            if not token.islower() and (short := _acronym_in(token)):
                spans = (*_spans_before(tokens, position), *_spans_behind(short, tokens, position))
                if words := next((words for words in spans if _is_long_form(short, words)), None):
                    pairs[short, _text_of(words)] = None
    return list(pairs)


def known_acronyms(text: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the well-known acronyms that `text` uses, and those whose long form it has; both in lower case.

    >>> known_acronyms("The FK solver falls back to inverse kinematics")
    ([('fk', 'foreign key'), ('fk', 'forward kinematics')], [('ik', 'inverse kinematics')])
    """
    by_short, by_pair = _read_acronyms()
    pieces = [piece for token in text.split() if not token.islower() for piece in token.split("/")]
    used = dict.fromkeys(
        (short, long) for piece in pieces for short in [_acronym_in(piece)] for long in by_short.get(short, ())
    )
    words = analysis.bare_words(text)
    spelled: dict[tuple[str, str], None] = {}
    for start, pair in enumerate(pairwise(words)):
        for short, long, long_words in by_pair.get(pair, ()):
            if words[start : start + len(long_words)] == long_words:
                spelled[short, long] = None
    return list(used), list(spelled)


@cache
def _read_acronyms() -> tuple[dict[str, list[str]], dict[tuple[str, str], list[tuple[str, str, list[str]]]]]:
    """Return the long forms by their acronym, and the rows by the first two words of the long form."""
    by_short: dict[str, list[str]] = {}
    by_pair: dict[tuple[str, str], list[tuple[str, str, list[str]]]] = {}
    for short, long in read_rows(__file__, "acronyms.tsv"):
        words = analysis.bare_words(long)
        by_short.setdefault(short, []).append(long)
        by_pair.setdefault((words[0], words[1]), []).append((short, long, words))
    return by_short, by_pair


def _acronym_in(token: str) -> str:
    """Return the acronym in a token, in lower case and singular, or "".

    >>> [_acronym_in(token) for token in "FKs, mTLS IoU P2P OAuth It K8s CI/CD MAX_RUN CONFIGURATION".split()]
    ['fk', 'mtls', 'iou', 'p2p', '', '', '', '', '', '']
    """
    token = token.strip(_EDGES)
    if token[-1:] == "s" and len(token) > MIN_LETTERS and token[-2].isupper():
        token = token[:-1]
    if not MIN_LETTERS <= len(token) <= MAX_LETTERS or not token.isalnum() or not token[0].isalpha():
        return ""
    capitals = sum([c.isupper() for c in token])
    return token.lower() if capitals >= MIN_LETTERS and 2 * capitals >= sum([c.isalpha() for c in token]) else ""


@record
class _Word:
    """A word of a long form. follows_hyphen: it is a part behind a hyphen; ends_clause: anything but a word follows it."""

    text: str
    follows_hyphen: bool
    ends_clause: bool

    @property
    def letters(self) -> tuple[str, ...]:
        """The letters that it may give: its first, a digit for it, its capitals, or none."""
        lower, capitals = self.text.lower(), "".join([letter for letter in self.text if letter.isupper()]).lower()
        none = ("",) if self.follows_hyphen or lower in _NO_INITIALS else ()
        return lower[0], *([_NUMERALS[lower]] if lower in _NUMERALS else []), *([capitals] if capitals[1:] else []), *none


def _spans_before(tokens: list[str], position: int) -> list[list[_Word]]:
    """Return what may be a long form before an acronym, the shortest first.

    It is there in `forward kinematics (FK)`, `write-ahead log, or WAL,`, `dependency injection, also known as DI`.
    """
    start, token = position, tokens[position]
    while start and tokens[start - 1].lstrip("(") in _FILLERS:
        start -= 1
    if start == position and token[0] != "(":
        return []
    is_inside = token[-1].isalnum() and tokens[position + 1 : position + 2] not in ([], ["for"])
    if start < position and (is_inside or tokens[position - 1].lstrip("(") not in ("or", "as")):
        return []  # we add primary keys, or PK lookups fail
    run: list[_Word] = []
    for before in reversed(tokens[max(0, start - MAX_WORDS) : start]):
        words = _words_of(before)
        if not words or (before.rstrip(_QUOTES)[-1:] in _STOPS):
            break
        run = words + run
        if before[0] in _OPENING:
            break
    return [run[-count:] for count in range(1, len(run) + 1) if not run[-count].follows_hyphen]


def _spans_behind(short: str, tokens: list[str], position: int) -> list[list[_Word]]:
    """Return what may be a long form behind an acronym, the shortest first.

    It is there in `FK (forward kinematics)`, `WAL: write-ahead log`, `FK stands for forward kinematics`.
    """
    token, start = tokens[position], position + 1
    following = tokens[start] if start < len(tokens) else ""
    is_marked = token.endswith(":") or following in _MARKS
    start += following in _MARKS
    fillers = start
    while fillers < len(tokens) and tokens[fillers].lstrip("(") in _FILLERS:
        fillers += 1
    is_verb = any(filler in ("for", "of") for filler in tokens[start:fillers]) and not is_marked
    if is_verb:
        start = fillers
    elif not (is_marked or following.startswith("(")) or not (token[-1].isalnum() or token[-1] in ":" + _QUOTES):
        return []
    run: list[_Word] = []
    for behind in tokens[start : start + MAX_WORDS]:
        words = _words_of(behind)
        if not words or (run and behind[0] in _OPENING):
            break
        run += words
        if behind.rstrip(_QUOTES)[-1:] in _STOPS:
            break
    if run and run[0].text.lower() in ("a", "an", "the"):
        del run[0]
    if is_marked and len(short) == MIN_LETTERS and not all(word.text[0].isupper() for word in run[:MIN_LETTERS]):
        return []  # Two letters fit much: `CI: cache images`.
    ends = [count for count, word in enumerate(run, 1) if is_marked or is_verb or word.ends_clause]
    return [run[:count] for count in ends if not (count < len(run) and run[count].follows_hyphen)]


def _words_of(text: str) -> list[_Word]:
    """Return the parts of a token between hyphens, none for code or a number with a point."""
    parts = ["and"] if text == "&" else text.strip(_EDGES).translate(_HYPHENS).split("-")
    if not all(part.translate(_APOSTROPHES).isalnum() for part in parts):
        return []
    return [_Word(part, i > 0, i == len(parts) - 1 and not text[-1].isalnum()) for i, part in enumerate(parts)]


def _is_long_form(short: str, words: Sequence[_Word]) -> bool:
    """Return whether the words spell the acronym, two of them no small ones; not `A B (AB)`."""
    large = sum(word.text.lower() not in _NO_INITIALS for word in words)
    left = {short}  # the letters that are not spelled yet, for each way of spelling the words so far
    for word in words:
        left = {rest.removeprefix(letters) for rest in left for letters in word.letters if rest.startswith(letters)}
    return "" in left and large >= 2 and words[0].text[0].lower() == short[0] and len(_text_of(words)) > 2 * len(short)


def _text_of(words: Sequence[_Word]) -> str:
    return " ".join([word.text.replace("\u2019", "'").removesuffix("'s") for word in words]).lower()


EDGES = "\"'`()[],;:!?.…“”‘’"  # around a word
_NAME_CHARACTERS = frozenset("`<>{}\\@$=|_/#~")


def find_names(sentence: str) -> Iterator[str]:
    """Yield the words of a sentence that name something: paths, addresses, identifiers, numbers; in lower case.

    >>> list(find_names("Run `make lint` from src/api, never curl https://x.example/run."))
    ['make', 'lint', 'src/api', 'https://x.example/run']
    """
    in_code = False
    for word in sentence.casefold().split():
        ticks = word.count("`")
        bare = word.strip(EDGES)
        has_dot = "." in bare and len(bare) > len("e.g")
        if bare and (in_code or ticks or has_dot or set(bare) & _NAME_CHARACTERS or any(map(str.isdigit, bare))):
            yield bare
        in_code ^= bool(ticks % 2)


def has_name(text: str, name: str) -> bool:
    """Return whether a text in lower case has a whole name: 1984 does not contain 8.

    >>> has_name("stage 18, in src/api/v2", "src/api"), has_name("stage 18", "8")
    (True, False)
    """
    import re  # The hook reads acronyms alone.

    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def has_parts(text: str, name: str) -> bool:
    """Return whether a text has all parts of a name: elixir and phoenix for elixir/phoenix."""
    import re  # The hook reads acronyms alone.

    parts = [part.removesuffix("s") for part in re.split(r"[-/_.`]", name) if part]
    return len(name) > 1 and all(len(part) > 1 and re.search(rf"(?<!\w){re.escape(part)}", text) for part in parts)
