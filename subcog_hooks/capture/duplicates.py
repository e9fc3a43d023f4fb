"""Near-duplicates of a memory, and memories that it contradicts."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from subcog_hooks.recall import query, words
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Filter, Store, audience_of
from subcog_hooks.text.vocabulary import EVERYDAY, STOP

Stems = Callable[[str], list[str]]

MAX_CLAUSES = 40  # of one note
MAX_NOTE = 600  # characters; a longer text tells of many things, and likeness of two of its clauses says little
LEAST_SHARED = 0.6  # of the words of both clauses (Jaccard), numbers, units and negations aside
LEAST_COVERED = 0.8  # of the words of the shorter clause
LEAST_WORDS = 2  # shared ones, where only the shorter clause is covered
LEAST_DENIED = 3  # shared words of two clauses, one of which denies the other, in notes that tell of other things, too
LEAST_OF_NOTE = 0.5  # of the shorter note's words, where they are fewer

_CLAUSE = re.compile(
    r"[.!?](?=\s|$)|[;\n()—]|:(?!\s*\d)|,\s|\s(?:because|since|so that|but|which|unless|although)\s", re.IGNORECASE
)
# a number is none of #411, 2.0.0b8, 10.244.0.0 or 2026-03-02; they name things, and count none
_TOKEN = re.compile(r"(?<![\w.,#/-])(\d+(?:[.,]\d+)?)(?:\s?(%)|([A-Za-zµ]{1,3}\b))?(?![\w/-]|[.,]\d)|[^\W\d_][\w'’-]*")
_NEGATIONS = frozenset(
    "not no never none neither nor cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt shouldnt mustnt"
    " couldnt".split()
)
_FILLERS = frozenset("least about around roughly approximately exactly currently default".split())
_UNITS = {
    word: unit
    for unit, words in {
        "ms": "ms millisecond milliseconds millis",
        "s": "s sec secs second seconds",
        "min": "min mins minute minutes",
        "h": "h hr hrs hour hours",
        "d": "d day days",
        "%": "% percent",
        "kb": "kb kib kilobyte kilobytes",
        "mb": "mb mib megabyte megabytes",
        "gb": "gb gib gigabyte gigabytes",
    }.items()
    for word in words.split()
}


class Claim(NamedTuple):
    """A clause: its words, what it counts (value by what is counted), and whether it denies."""

    words: frozenset[str]
    numbers: dict[str, str]
    is_negated: bool


def contradiction(new: str, old: str, stems: Stems) -> str | None:
    """Return how `old` contradicts `new` in a few words, None where it does not.

    stems: the stems of a text's words, in order.
    """
    return contradiction_of_claims(claims_of(new, stems), claims_of(old, stems))


def claims_of(note: str, stems: Stems) -> list[Claim]:
    """Return the clauses of a note as claims; none of a text that is too long for one."""
    return [_claim(clause, stems) for clause in _clauses(note)] if len(note) <= MAX_NOTE else []


def contradiction_of_claims(claims: Sequence[Claim], others: Sequence[Claim]) -> str | None:
    """Return how the claims of an old note, the second, contradict those of a new one; None where they do not."""
    length = min(len(frozenset().union(*(claim.words for claim in note))) for note in (claims, others))
    for claim in claims:
        for other in others:
            if difference := _difference(claim, other, length):
                return difference
    return None


def _difference(new: Claim, old: Claim, length: int) -> str | None:
    """Return how two clauses differ. length: words of the shorter note."""
    shared = new.words & old.words
    if not shared - EVERYDAY:
        return None
    is_same = len(shared) >= LEAST_SHARED * len(new.words | old.words)
    shorter = min(len(new.words), len(old.words))
    if not (is_same or (len(shared) >= LEAST_WORDS and len(shared) >= LEAST_COVERED * shorter)):
        return None
    for counted in new.numbers.keys() & old.numbers.keys():
        if new.numbers[counted] != old.numbers[counted]:
            return f"{old.numbers[counted]} there, {new.numbers[counted]} here"
    if new.is_negated == old.is_negated or new.numbers or old.numbers:
        return None
    is_long = is_same and len(shared) >= LEAST_DENIED
    is_told = is_long or (len(shared) >= LEAST_WORDS and len(shared) >= LEAST_OF_NOTE * length)
    return "it says the opposite" if is_told else None


def _clauses(text: str) -> list[str]:
    return list(filter(None, map(str.strip, _CLAUSE.split(text))))[:MAX_CLAUSES]


def _claim(clause: str, stems: Stems) -> Claim:
    words: list[str] = []
    numbers: dict[str, str] = {}
    twice: set[str] = set()
    is_negated = False
    waiting: str | None = None  # a number whose unit may be the next word
    before = ""  # the last word that says something

    def count(what: str, value: str) -> None:
        if what in numbers and numbers[what] != value:
            twice.add(what)  # a range, or a list: no single claim
        numbers[what] = value

    for found in _TOKEN.finditer(clause):
        token = found[0].lower().replace("’", "").replace("'", "")
        if found[1]:
            if waiting is not None:
                count(before, waiting)
            waiting = None
            value = found[1].rstrip(".,")
            unit = _UNITS.get((found[2] or found[3] or "").lower())
            if unit:
                count(unit, f"{value} {unit}")
            else:
                waiting = value
            continue
        unit = _UNITS.get(token)
        if waiting is not None and unit:
            count(unit, f"{waiting} {unit}")
            waiting = None
            continue
        if token in _NEGATIONS:
            is_negated = not is_negated
            continue
        stem = "" if token in STOP or token in _FILLERS else " ".join(stems(token))
        if waiting is not None:
            count(stem or before, f"{waiting} {token}" if stem else waiting)
            waiting = None
        if stem:
            words.append(stem)
            before = stem
    if waiting is not None:
        count(before, waiting)
    return Claim(frozenset(words), {what: value for what, value in numbers.items() if what and what not in twice}, is_negated)


SIMILAR = 0.5  # share of words in common (Jaccard, stems): from here on a person should look
CANDIDATES = 10
MAX_COMPARED = 4_000  # characters compared


class Near(NamedTuple):
    """A memory that a person should look at before a new one is stored.

    share: of the words that both have together, 0.0 to 1.0; contradiction: how it contradicts the new one, None where it does
    not.
    """

    memory: Memory
    share: float
    contradiction: str | None

    @property
    def likeness(self) -> str:
        """The likeness in words, for a person."""
        return f"contradicts it: {self.contradiction}" if self.contradiction else f"{self.share:.0%} alike"


def near_duplicates(memory: Memory, index: LexicalIndex, store: Store) -> list[Near]:
    """Return the active memories of the same audience that share at least half of their words with `memory`, or contradict it.

    What contradicts it comes first, then the most similar.
    """
    asked = query.analyse_query(memory.content[:MAX_COMPARED], index)
    audience = Filter(audiences=(audience_of(memory.scope, memory.project),))
    found = words.search_index(index, words.any_term_query(index, asked), audience, CANDIDATES)
    rows = store.by_seqs([seq for _, seq in found[:CANDIDATES]])
    mine, stems = _words(memory, index), index.analysers.body_terms
    compared = [
        Near(other, _jaccard(mine, _words(other, index)), contradiction(memory.content, other.content, stems))
        for other in rows.values()
        if other.id != memory.id
    ]
    near = [one for one in compared if one.share >= SIMILAR or one.contradiction]
    return sorted(near, key=lambda one: (one.contradiction is None, -one.share, one.memory.id))


def word_share(one: str, other: str, index: LexicalIndex) -> float:
    """Return the share of their words that two texts have in common, 0.0 to 1.0."""
    return _jaccard(*[set(index.analysers.body_terms(text[:MAX_COMPARED])) for text in (one, other)])


def _words(memory: Memory, index: LexicalIndex) -> set[str]:
    return set(index.analysers.body_terms(memory.content[:MAX_COMPARED]))


def _jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0
