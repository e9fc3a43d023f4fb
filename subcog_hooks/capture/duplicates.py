"""Near-duplicates of a memory, and memories that it contradicts.

Two notes with different values never say the same. The newer one contradicts the older one, if both have one subject.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product, takewhile
from typing import NamedTuple

from subcog_hooks.core.files import read_rows
from subcog_hooks.recall import query, words
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.store import Store
from subcog_hooks.store.store_reader import Filter, audience_of
from subcog_hooks.text import EVERYDAY, STOP
from subcog_hooks.text.names import EDGES, find_names, has_name, has_parts

Stems = Callable[[str], list[str]]

MAX_CLAUSES = 40  # clauses of a note
MAX_NOTE = 600  # characters; two similar clauses mean little in a longer text
MAX_COMPARED = 4_000  # characters compared
MIN_JACCARD = 0.6  # share of both clauses' words (Jaccard) without numbers, units and negations
MIN_COVERED = 0.8  # share of the shorter clause's words
MIN_SHARED_WORDS = 2  # shared words, if only the shorter clause is covered
MIN_DENIED_WORDS = 3  # shared words of a clause and its denial, in notes with other topics
MIN_NOTE_SHARE = 0.5  # share of the shorter note's words, for fewer shared words
MIN_FRAME_WORDS = 2  # shared words of two notes that differ in a word which is no value

_OPPOSITE = "it says the opposite"
_CLAUSE = re.compile(
    r"[.!?](?=\s|$)|[;\n()—]|:(?!\s*\d)|,\s|\s(?:because|since|so that|but|which|unless|although)\s", re.IGNORECASE
)
# #411, 2.0.0b8, 10.244.0.0 and 2026-03-02 are names, not numbers
_TOKEN = re.compile(r"(?<![\w.,#/-])(\d+(?:[.,]\d+)?)(?:\s?(%)|([A-Za-zµ]{1,3}\b))?(?![\w/-]|[.,]\d)|[^\W\d_][\w'’-]*")
_TABLE = read_rows(__file__, "duplicates.tsv")
_NEGATIONS, _CONTRASTS, _KEEPING, _DAYS, _FILLERS, _ARTICLES, _JOINTS = (
    frozenset(words.split()) for role, _, words in _TABLE if role == "words"
)
_DENIALS = _NEGATIONS | _CONTRASTS
_RELATIONS = {word: relation for role, relation, words in _TABLE if role == "relation" for word in words.split()}
_LONG_FORMS = {short: long for role, long, words in _TABLE if role == "short" for short in words.split()}
_UNITS = {word: unit for role, unit, words in _TABLE if role == "unit" for word in words.split()}
_UNIT_BEHIND = re.compile(r"(?<![\w.,#/-])(\d+(?:[.,]\d+)?)(?=[a-zµ%]{1,3}\b)", re.IGNORECASE)  # 30 of 30s


class Claim(NamedTuple):
    """A clause: its words, its numbers by the unit or noun that they count, and whether it denies."""

    words: frozenset[str]
    numbers: dict[str, str]
    is_negated: bool


class _FrameWord(NamedTuple):
    """A word of a note in its place.

    before: the word before it but for articles, in lower case; is_value: another value may stand there; is_denied: a negation
    or contrast precedes it in its clause; clause: its number, which a denial behind a comma shares with the clause before;
    begins: no word of its phrase stands before it.
    """

    text: str
    stem: str
    before: str
    is_value: bool
    is_denied: bool
    clause: int
    begins: bool


class _Choice(NamedTuple):
    """A value that a note chooses or denies, such as Kafka in "use NATS, not Kafka".

    relation: to its clause; context: the stems of its clause without the value and its alternatives; size: their number in the
    note.
    """

    words: Sequence[_FrameWord]
    relation: str
    context: frozenset[str]
    size: int

    @property
    def value(self) -> frozenset[str]:
        """The stems of its words."""
        return frozenset(word.stem for word in self.words)

    @property
    def is_denied(self) -> bool:
        return self.words[0].is_denied

    def __str__(self) -> str:
        return " ".join([*["not"] * self.is_denied, *(word.text for word in self.words)])


class Statement(NamedTuple):
    """A note, read for a comparison: its text in lower case, its names, and the claims, words and choices of a short one."""

    text: str
    names: tuple[str, ...]
    claims: list[Claim]
    words: list[_FrameWord]
    choices: list[_Choice]


class Difference(NamedTuple):
    """The difference between two similar notes. is_contradiction: they have one subject, so the newer note holds."""

    description: str
    is_contradiction: bool


def parse_statement(note: str, stems: Stems) -> Statement:
    """Read a note for `find_difference`. stems: of a text's words, in order."""
    spaced = _UNIT_BEHIND.sub(r"\1 ", note[:MAX_COMPARED])
    names = tuple(find_names(spaced))
    if len(note) > MAX_NOTE:
        return Statement(spaced.casefold(), names, [], [], [])
    clauses = [clause.strip() for clause in _CLAUSE.split(note) if clause.strip()][:MAX_CLAUSES]
    claims = [_parse_claim(clause, stems) for clause in clauses]
    words = list(_read_words(spaced, names, stems))
    return Statement(spaced.casefold(), names, claims, words, list(_find_choices(words)))


def find_difference(new: Statement, old: Statement) -> Difference | None:
    """Return how a note differs from an older, similar one: by a value, a negation or the subject; None for other wording.

    >>> stems = lambda word: [word.lower()]
    >>> def differ(new, old): return find_difference(parse_statement(new, stems), parse_statement(old, stems))
    >>> differ("Use yarn for installs.", "Use pnpm for installs.")
    Difference(description='pnpm there, yarn here', is_contradiction=True)
    >>> differ("In mobile use yarn, never npm.", "In web use pnpm, never npm.").is_contradiction
    False
    >>> differ("For installs use pnpm.", "Use pnpm for installs.")
    """
    if new.text == old.text:
        return None
    stems, stems_before = ([word.stem for word in note.words] for note in (new, old))
    if stems and sorted(stems) == sorted(stems_before):
        denied, denied_before = ({word.stem for word in note.words if word.is_denied} for note in (new, old))
        is_opposite = denied != denied_before
        if stems != stems_before:  # In another order, each note has to deny an assertion of the other.
            is_opposite = bool(denied and denied_before) and denied.isdisjoint(denied_before)
        return Difference(_OPPOSITE, is_contradiction=True) if is_opposite else None
    difference = _difference_in_frame(new.words, old.words)
    if difference and not difference.is_contradiction:
        return difference
    length = min(len(frozenset().union(*(claim.words for claim in note.claims))) for note in (new, old))
    differences = (_difference(claim, other, length) for claim in new.claims for other in old.claims)
    if description := next(filter(None, differences), None):
        return Difference(description, is_contradiction=True)
    for choice, other in product(new.choices, old.choices):
        if choice.relation == other.relation and _contradict(choice, other):
            return Difference(f"{other} there, {choice} here", is_contradiction=True)
    names, others = _own_names(new, old), _own_names(old, new)
    if names and others and not difference:
        return Difference(f"{others[0]} there, {names[0]} here", is_contradiction=False)
    return difference


def _own_names(note: Statement, other: Statement) -> list[str]:
    return [name for name in note.names if not has_name(other.text, name) and not has_parts(other.text, name)]


def _read_words(note: str, names: Sequence[str], stems: Stems) -> Iterator[_FrameWord]:
    before, is_first, is_denied, begins, clause, ends_clause = "", True, False, True, 0, False
    denials = _DENIALS if "prefer" in note.lower() else _DENIALS - {"over"}  # calls go over gRPC
    for token in note.split():
        text = token.strip(EDGES)
        word = text.casefold().replace("’", "").replace("'", "")
        is_denial = word in denials
        is_denied |= is_denial
        clause += word in _JOINTS or (ends_clause and not is_denial)
        is_content = bool(word) and word not in _NEGATIONS and not _is_function_word(text, word)
        if is_content:
            is_name = word.removesuffix("s") in _DAYS or (text.casefold() in names and text[0] != "#")  # #411 is a subject
            is_value = before in _RELATIONS or (is_name and not is_first)
            yield _FrameWord(text, " ".join(stems(text)), before, is_value, is_denied, clause, begins or ends_clause)
            is_first = False
        if word not in _ARTICLES:
            before = "" if _RELATIONS.get(word) == "in" and before not in _KEEPING else word
        begins = not is_content or word in _RELATIONS
        ends_clause = token[-1] in ".,;:!?"
        is_denied &= not ends_clause


def _find_choices(words: Sequence[_FrameWord]) -> Iterator[_Choice]:
    """Yield the choices of a note. A denial without a relation of its own has the last one: "use NATS, not Kafka"."""
    relation, runs = "use", []
    for position, word in enumerate(words):
        relation = _RELATIONS.get(word.before, relation)
        is_verb = word.text.casefold() in _RELATIONS or (word.before == "to" and word.text.islower())
        if not is_verb and (word.before in _RELATIONS or (word.before in _DENIALS and word.is_denied)):
            runs.append((relation, [word, *takewhile(lambda other: not other.begins, words[position + 1 :])]))
    for relation, run in runs:
        alternatives = {word.stem for _, other in runs for word in other if word.is_denied != run[0].is_denied}
        own = [word for word in words if word.text.casefold() not in _RELATIONS and word.stem not in alternatives]
        rest = {word.stem for word in own} - {word.stem for word in run}
        context = frozenset(rest & {word.stem for word in own if word.clause == run[0].clause})
        yield _Choice(run, relation, context, len(rest))


def _contradict(new: _Choice, old: _Choice) -> bool:
    """Return whether one choice denies the other, or both have different values for one subject, at least one being a name."""
    if new.is_denied != old.is_denied:
        denial = new if new.is_denied else old
        return new.value == old.value and _have_one_subject(new, old, 1 if denial.context else 0)
    if new.is_denied or new.value & (old.value | old.context) or old.value & new.context:
        return False
    is_name = any(word.text != word.text.lower() for choice in (new, old) for word in choice.words)
    return is_name and _have_one_subject(new, old, MIN_SHARED_WORDS)


def _have_one_subject(new: _Choice, old: _Choice, min_shared: int) -> bool:
    """Return whether two choices share their contexts, but for words of one of them, and one note says little else."""
    shared = new.context & old.context
    if len(shared) < min_shared or (min_shared and shared <= EVERYDAY):
        return False
    has_own_subjects = not (new.context - shared <= EVERYDAY or old.context - shared <= EVERYDAY)
    return not has_own_subjects and len(shared) >= MIN_NOTE_SHARE * min(new.size, old.size)


def _difference_in_frame(new: Sequence[_FrameWord], old: Sequence[_FrameWord]) -> Difference | None:
    """Compare notes with the same number of words. At most half of the words may differ."""
    pairs = list(zip(new, old, strict=False))
    changed = [position for position, (word, other) in enumerate(pairs) if word.stem != other.stem]
    shared = len(pairs) - len(changed)
    if not changed or len(new) != len(old) or shared < len(changed):
        return None
    starts = [pairs[position] for position in changed if position - 1 not in changed or new[position].begins]
    has_values = all(word.is_value and other.is_value for word, other in starts)
    here, there = (" ".join(words[position].text for position in changed) for words in (new, old))
    changed_words = {*f"{here} {there}".casefold().split()}
    is_wording = shared < MIN_FRAME_WORDS or changed_words <= EVERYDAY or any(word.endswith("ly") for word in changed_words)
    if is_wording and not has_values:
        return None
    is_contradiction = has_values and not all(word.is_denied for word, _ in starts)  # two things may be forbidden
    return Difference(f"{there} there, {here} here", is_contradiction)


def _is_function_word(text: str, word: str) -> bool:
    return word in STOP and not (text.isupper() and len(text) == len("US"))  # two capitals name a country or department


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
    return _OPPOSITE if is_denied else None


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
        stem = "" if _is_function_word(match[0], token) or token in _FILLERS else " ".join(stems(token))
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


class NearDuplicate(NamedTuple):
    """A memory like a new one. share: of their words that both have, 0.0 to 1.0; difference: None, if both say the same."""

    memory: Memory
    share: float
    difference: Difference | None

    @property
    def contradiction(self) -> str | None:
        """How the new memory contradicts this one, or None."""
        return self.difference.description if self.difference and self.difference.is_contradiction else None

    @property
    def likeness(self) -> str:
        """The likeness in words for a person."""
        return f"contradicts it: {self.contradiction}" if self.contradiction else f"{self.share:.0%} alike"


def find_near_duplicates(memory: Memory, index: LexicalIndex, store: Store) -> list[NearDuplicate]:
    """Return the active memories of one audience that share half of the words of `memory` or contradict it, these first."""
    analysed = query.analyse_query(memory.content[:MAX_COMPARED], index)
    audience = Filter(audiences=(audience_of(memory.scope, memory.project),))
    hits = words.search_index(index, words.any_term_query(index, analysed), audience, MAX_CANDIDATES)
    rows = store.by_seqs([seq for _, seq in hits[:MAX_CANDIDATES]])
    own_words, stems = _word_set(memory, index), index.analysers.body_terms
    statement = parse_statement(memory.content, stems)
    near = []
    for other in rows.values():
        share = _jaccard(own_words, _word_set(other, index))
        candidate = NearDuplicate(other, share, find_difference(statement, parse_statement(other.content, stems)))
        if other.id != memory.id and (share >= MIN_SIMILARITY or candidate.contradiction):
            near.append(candidate)
    return sorted(near, key=lambda candidate: (candidate.contradiction is None, -candidate.share, candidate.memory.id))


def group_copies(memories: Sequence[Memory], index: LexicalIndex) -> list[list[Memory]]:
    """Group memories of one audience that say the same: one has all words of the other, and they do not differ."""
    stems = index.analysers.body_terms
    groups: list[tuple[set[str], Statement, list[Memory]]] = []
    for memory in memories:
        own_words, statement = _word_set(memory, index), parse_statement(memory.content, stems)
        for first_words, first, group in groups:
            is_covered = own_words <= first_words or first_words <= own_words
            if (
                is_covered
                and _jaccard(own_words, first_words) >= MIN_SIMILARITY
                and audience_of(memory.scope, memory.project) == audience_of(group[0].scope, group[0].project)
                and not find_difference(statement, first)
            ):
                group.append(memory)
                break
        else:
            groups.append((own_words, statement, [memory]))
    return [group for _, _, group in groups]


def word_share(first: str, second: str, index: LexicalIndex) -> float:
    """Return the share of words that two texts have in common, 0.0 to 1.0."""
    return _jaccard(*[set(index.analysers.body_terms(text[:MAX_COMPARED])) for text in (first, second)])


def _word_set(memory: Memory, index: LexicalIndex) -> set[str]:
    return set(index.analysers.body_terms(memory.content[:MAX_COMPARED]))


def _jaccard(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 0.0
