"""Near-duplicates of a memory, and memories that it contradicts."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from subcog_hooks.recall import query, words
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of
from subcog_hooks.text.vocabulary import EVERYDAY, STOP

Stems = Callable[[str], list[str]]

MAX_CLAUSES = 40  # clauses of a note
MAX_NOTE = 600  # characters; two similar clauses mean little in a longer text
MIN_JACCARD = 0.6  # share of both clauses' words (Jaccard) without numbers, units and negations
MIN_COVERED = 0.8  # share of the shorter clause's words
MIN_SHARED_WORDS = 2  # shared words, if only the shorter clause is covered
MIN_DENIED_WORDS = 3  # shared words of a clause and its denial, in notes with other topics
MIN_NOTE_SHARE = 0.5  # share of the shorter note's words, for fewer shared words

_CLAUSE = re.compile(
    r"[.!?](?=\s|$)|[;\n()—]|:(?!\s*\d)|,\s|\s(?:because|since|so that|but|which|unless|although)\s", re.IGNORECASE
)
# #411, 2.0.0b8, 10.244.0.0 and 2026-03-02 are names, not numbers
_TOKEN = re.compile(r"(?<![\w.,#/-])(\d+(?:[.,]\d+)?)(?:\s?(%)|([A-Za-zµ]{1,3}\b))?(?![\w/-]|[.,]\d)|[^\W\d_][\w'’-]*")
_NEGATIONS = frozenset(
    "not no never none neither nor cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt shouldnt mustnt"
    " couldnt".split()
)
_FILLERS = frozenset("least about around roughly approximately exactly currently default".split())
_LONG_FORMS = {  # of words that people write short in one note and in full in another
    "db": "database",
    "dbs": "databases",
    "repo": "repository",
    "repos": "repositories",
    "env": "environment",
    "prod": "production",
    "dev": "development",
    "config": "configuration",
    "auth": "authentication",
    "app": "application",
    "apps": "applications",
    "docs": "documentation",
    "deps": "dependencies",
    "postgres": "postgresql",
    "k8s": "kubernetes",
}
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
    """A clause: its words, its numbers by the unit or noun that they count, and whether it denies."""

    words: frozenset[str]
    numbers: dict[str, str]
    is_negated: bool


def parse_claims(note: str, stems: Stems) -> list[Claim]:
    """Return the clauses of a note as claims; none for a text longer than MAX_NOTE. stems: of a text's words, in order."""
    clauses = [clause.strip() for clause in _CLAUSE.split(note) if clause.strip()][:MAX_CLAUSES]
    return [_parse_claim(clause, stems) for clause in clauses] if len(note) <= MAX_NOTE else []


def contradiction_of_claims(claims: Sequence[Claim], others: Sequence[Claim]) -> str | None:
    """Describe how an old note's claims, `others`, contradict a new note's; None if they do not."""
    length = min(len(frozenset().union(*(claim.words for claim in note))) for note in (claims, others))
    for claim in claims:
        for other in others:
            if difference := _difference(claim, other, length):
                return difference
    return None


def _difference(new: Claim, old: Claim, length: int) -> str | None:
    shared = new.words & old.words
    has_own_subjects = new.words > shared < old.words  # each is about another thing
    if has_own_subjects or not shared - EVERYDAY:
        return None
    is_same = len(shared) >= MIN_JACCARD * len(new.words | old.words)
    shorter = min(len(new.words), len(old.words))
    if not (is_same or (len(shared) >= MIN_SHARED_WORDS and len(shared) >= MIN_COVERED * shorter)):
        return None
    for unit in new.numbers.keys() & old.numbers.keys():
        if new.numbers[unit] != old.numbers[unit]:
            return f"{old.numbers[unit]} there, {new.numbers[unit]} here"
    if new.is_negated == old.is_negated or new.numbers or old.numbers:
        return None
    is_long = is_same and len(shared) >= MIN_DENIED_WORDS
    is_denied = is_long or (len(shared) >= MIN_SHARED_WORDS and len(shared) >= MIN_NOTE_SHARE * length)
    return "it says the opposite" if is_denied else None


def _parse_claim(clause: str, stems: Stems) -> Claim:
    words: list[str] = []
    numbers: dict[str, str] = {}
    ambiguous: set[str] = set()
    is_negated = False
    pending_number = ""  # a number whose unit may be the next word
    last_word = ""  # the last word that is no stop word

    def count(unit_or_noun: str, value: str) -> None:
        if unit_or_noun in numbers and numbers[unit_or_noun] != value:
            ambiguous.add(unit_or_noun)  # a range, or a list: no single claim
        numbers[unit_or_noun] = value

    for match in _TOKEN.finditer(clause):
        token = match[0].lower().replace("’", "").replace("'", "")
        token = _LONG_FORMS.get(token, token)
        if match[1]:
            if pending_number:
                count(last_word, pending_number)
            pending_number = match[1].rstrip(".,")
        unit = _UNITS.get((match[2] or match[3] or "").lower() if match[1] else token)
        if pending_number and unit:
            count(unit, f"{pending_number} {unit}")
            pending_number = ""
            continue
        is_negated ^= token in _NEGATIONS
        if match[1] or token in _NEGATIONS:
            continue
        stem = "" if token in STOP or token in _FILLERS else " ".join(stems(token))
        if pending_number:
            count(stem or last_word, f"{pending_number} {token}" if stem else pending_number)
            pending_number = ""
        if stem:
            words.append(stem)
            last_word = stem
    if pending_number:
        count(last_word, pending_number)
    clear = {name: value for name, value in numbers.items() if name and name not in ambiguous}
    return Claim(frozenset(words), clear, is_negated)


MIN_SIMILARITY = 0.5  # Jaccard of word stems from which a person should look
MAX_CANDIDATES = 10
MAX_COMPARED = 4_000  # characters compared


class NearDuplicate(NamedTuple):
    """A memory like a new one. share: of their words that both have, 0.0 to 1.0; contradiction: how it contradicts, or None."""

    memory: Memory
    share: float
    contradiction: str | None

    @property
    def likeness(self) -> str:
        """The likeness in words for a person."""
        return f"contradicts it: {self.contradiction}" if self.contradiction else f"{self.share:.0%} alike"


def find_near_duplicates(memory: Memory, index: LexicalIndex, store: Store) -> list[NearDuplicate]:
    """Return the active memories of the same audience that resemble or contradict `memory`.

    A resembling memory shares at least half of its words. Contradictions come first, then the most similar memories.
    """
    analysed = query.analyse_query(memory.content[:MAX_COMPARED], index)
    audience = Filter(audiences=(audience_of(memory.scope, memory.project),))
    hits = words.search_index(index, words.any_term_query(index, analysed), audience, MAX_CANDIDATES)
    rows = store.by_seqs([seq for _, seq in hits[:MAX_CANDIDATES]])
    own_words, stems = _word_set(memory, index), index.analysers.body_terms
    claims = parse_claims(memory.content, stems)
    near = []
    for other in rows.values():
        share = _jaccard(own_words, _word_set(other, index))
        difference = contradiction_of_claims(claims, parse_claims(other.content, stems))
        if other.id != memory.id and (share >= MIN_SIMILARITY or difference):
            near.append(NearDuplicate(other, share, difference))
    return sorted(near, key=lambda candidate: (candidate.contradiction is None, -candidate.share, candidate.memory.id))


def group_copies(memories: Sequence[Memory], index: LexicalIndex) -> list[list[Memory]]:
    """Group memories of one audience that say the same: one has all words of the other, and they do not contradict.

    Each joins the first group whose first memory it copies, or begins one.
    """
    stems = index.analysers.body_terms
    groups: list[tuple[set[str], list[Claim], list[Memory]]] = []
    for memory in memories:
        own_words, claims = _word_set(memory, index), parse_claims(memory.content, stems)
        for first_words, first_claims, group in groups:
            is_covered = own_words <= first_words or first_words <= own_words
            if (
                is_covered
                and _jaccard(own_words, first_words) >= MIN_SIMILARITY
                and audience_of(memory.scope, memory.project) == audience_of(group[0].scope, group[0].project)
                and not contradiction_of_claims(claims, first_claims)
            ):
                group.append(memory)
                break
        else:
            groups.append((own_words, claims, [memory]))
    return [group for _, _, group in groups]


def word_share(first: str, second: str, index: LexicalIndex) -> float:
    """Return the share of words that two texts have in common, 0.0 to 1.0."""
    return _jaccard(*[set(index.analysers.body_terms(text[:MAX_COMPARED])) for text in (first, second)])


def _word_set(memory: Memory, index: LexicalIndex) -> set[str]:
    return set(index.analysers.body_terms(memory.content[:MAX_COMPARED]))


def _jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0
