"""A text as a query: its type, phrases and terms, with the possible matches and the rarity of each term.

No ranking here.
"""

from __future__ import annotations

from itertools import pairwise
from math import log

from subcog_hooks.core.records import record
from subcog_hooks.store.index import ASKED, LABELS, SHORT, LexicalIndex
from subcog_hooks.text import EVERYDAY, STOP, analysis, languages
from subcog_hooks.text.typed_prompt import ends_of, quoted_phrases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import tantivy

    Correct = Callable[[list["Term"], LexicalIndex, tantivy.Query | None], None]

MAX_TERMS = 24  # the rarest of a prompt
MAX_GLUE = 12  # function words of a query that count in the ranking
# Results hardly depend on these three values. With .1 to 1.0, 1 to 2 and 10 to 200 the answered and the silent ones of 338
# development prompts change by two at most.
EVERYDAY_WEIGHT = 0.3  # the share of rarity that an everyday word keeps (text.vocabulary): it says little about the subject
IDENTIFIER_WEIGHT = 1.5  # of an identifier that the store has
PRIOR_DOCUMENTS = 50  # added so that rarity is useful in a store of few memories
PART_SHARE = 0.7  # weight of an identifier's parts without the whole
_NO_LABELS: Mapping[str, float] = {}


@record
class Term:
    """One word, identifier or CJK bigram of a query.

    whole: the term as one token (view `exact`, or `cjk`); stems: the word, or the parts of the identifier, in the view `body`;
    weight: 0.0 to 1.5, a smoothed inverse document frequency; is_known: some memory has the term, or a part of the identifier;
    is_whole_known: some memory has it unchanged; labels: stems that are tags or keywords of memories, each with the share of
    these memories whose text cannot have it; spelled_out: the stems of an acronym's long form in some memory; instead: words of
    memories in place of a word that none has, whose stems these are.
    """

    whole: str
    stems: tuple[str, ...]
    is_identifier: bool = False
    is_cjk: bool = False
    weight: float = 0.0
    is_known: bool = False
    is_whole_known: bool = False
    labels: Mapping[str, float] = _NO_LABELS
    spelled_out: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


@record
class Query:
    """An analysed query.

    terms: known terms first, heaviest first; glue: function words, which are no evidence but order memories with equal terms
    ("how do I write a unit test"); phrases: the stems of each quoted phrase; language: of `languages.language_of`, "" for
    English; is_foreign: it is in another language than English, of any script; meant: the text for embedding, corrected and
    with acronyms spelled out.
    """

    text: str
    terms: Sequence[Term]
    glue: Sequence[Term] = ()
    phrases: Sequence[tuple[str, ...]] = ()
    language: str = ""
    any_of: tantivy.Query | None = None  # cached by words.any_term_query

    def __post_init__(self) -> None:
        self.is_foreign = languages.is_foreign(self.text)
        self.meant = self.text

    @property
    def type(self) -> str:
        """The type of the query, one of S1's five."""
        from subcog_hooks.intent import query_type  # .3 ms, and prompts do not need it

        return query_type.classify_query(self.text)


def analyse_query(
    text: str, index: LexicalIndex, *, within: tantivy.Query | None = None, correct: Correct | None = None
) -> Query:
    """Return the query of a text for the memories of `index`.

    It has at most MAX_TERMS known and as many unknown terms, the rarest first. A text of only function words keeps them, for
    "to be or not to be". within: the memories that spell out acronyms and replace words. correct: puts other words in place of
    a typed query's words that no memory has; its well-known acronyms count, too. A prompt is full of such words.
    """
    text = ends_of(text)
    terms = _extract_terms(text, index.analysers)
    language = languages.language_of(text)
    function_words = STOP | analysis.function_words(text, language) if language else STOP
    chosen = [
        term
        for term in terms
        if term.is_identifier or not (languages.is_function_pair(term.whole) if term.is_cjk else term.whole in function_words)
    ] or terms
    glue = [term for term in terms if term not in chosen][:MAX_GLUE]
    for term in (*chosen, *glue):
        weigh_term(term, index)
    if language:
        _inflect_terms(chosen, analysis.stems_by_word(text, language), index)
    if correct is not None:
        correct(chosen, index, within)
    expansions = _expand_acronyms(chosen, index, within, is_typed=correct is not None)
    abbreviated = _add_acronyms(text, chosen, index, within, is_typed=correct is not None)
    chosen += abbreviated
    chosen.sort(key=lambda term: (not term.is_known, -term.weight, term.whole))
    known_terms = [term for term in chosen if term.is_known][:MAX_TERMS]
    unknown_terms = [term for term in chosen if not term.is_known][:MAX_TERMS]
    # Phrases in a script without spaces have no order of words.
    quoted = [phrase for phrase in quoted_phrases(text) if not languages.unspaced_runs(phrase)]
    phrases = list(filter(None, [tuple(index.analysers.body_terms(phrase)) for phrase in quoted]))
    parsed_query = Query(text, (*known_terms, *unknown_terms), glue, phrases, language)
    if not parsed_query.is_foreign:  # English words would tell its encoder another language.
        parsed_query.meant = " ".join((text, *expansions, *(term.whole.upper() for term in abbreviated)))
    return parsed_query


def _inflect_terms(terms: list[Term], stems: Mapping[str, str], index: LexicalIndex) -> None:
    """Give words of another language their stem in it (of `stems`) where more memories have it than the English stem."""
    for term in terms:
        stem = index.analysers.body.analyze(stems.get(term.whole, ""))
        if len(stem) == 1 and len(term.stems) == 1 and not term.is_identifier:
            other = Term(term.whole, tuple(stem))
            weigh_term(other, index)
            if other.is_known and (not term.is_known or other.weight < term.weight):
                term.stems, term.weight, term.is_known, term.labels = other.stems, other.weight, True, other.labels
                term.is_whole_known = other.is_whole_known


def _expand_acronyms(terms: list[Term], index: LexicalIndex, within: tantivy.Query | None, *, is_typed: bool) -> list[str]:
    """Give acronyms their long forms in the store. Return these and the first words in place of others."""
    meant: list[str] = []
    for term in terms:
        meant += term.instead[:1]
        if (
            index.has_acronyms
            and index.document_frequency(SHORT, term.whole)
            and (long := index.long_forms(term.whole, within, is_typed=is_typed))
        ):
            term.spelled_out = tuple(index.analysers.body_terms(long[0]))
            term.is_known = True
            meant.append(long[0])
    return meant


def _add_acronyms(
    text: str, terms: list[Term], index: LexicalIndex, within: tantivy.Query | None, *, is_typed: bool
) -> list[Term]:
    """Return new terms for acronyms whose long form the text has and whose short form memories have."""
    if not index.has_acronyms:
        return []
    asked = {term.whole for term in terms}
    words = analysis.bare_words(text)
    added: list[Term] = []
    for start, pair in enumerate(pairwise(words)):
        for short, long in index.short_forms(" ".join(pair), within):
            long_words = analysis.bare_words(long)
            is_whole = words[start : start + len(long_words)] == long_words
            if is_whole and short not in asked and long in index.long_forms(short, within, is_typed=is_typed):
                term = Term(short, tuple(index.analysers.body.analyze(short)))
                term.spelled_out = tuple(index.analysers.body_terms(long))
                weigh_term(term, index)
                added.append(term)
                asked.add(short)
    return added


def _extract_terms(text: str, analysers: analysis.Analysers) -> list[Term]:
    terms: dict[str, Term] = {}
    folded = analysis.fold(text)
    for word in dict.fromkeys(analysis.whole_tokens(folded)):
        whole = "".join(analysers.exact.analyze(word))
        if whole in terms or not whole or languages.unspaced_runs(whole):
            continue
        stems = dict.fromkeys(analysers.body.analyze(analysis.spread_words(word)))
        if whole.isalpha() and len(stems) == 1:
            terms[whole] = Term(whole, tuple(stems))
        elif whole.replace("-", "").isalpha() and "-" in whole:  # the words of a compound count one by one
            for part in filter(None, whole.split("-")):
                terms.setdefault(part, Term(part, tuple(analysers.body.analyze(analysis.spread_words(part)))))
        elif stems:
            if len(stems) > 1:
                stems.pop(whole, None)  # a single number stays, because INC-4211 has 4211 too
            terms[whole] = Term(whole, tuple(stems), is_identifier=True)
    for run in languages.unspaced_runs(folded):
        for bigram in languages.bigrams(run)[: max(1, len(run) - 1)]:
            terms.setdefault(bigram, Term(bigram, (), is_cjk=True))
    return list(terms.values())


def weigh_term(term: Term, index: LexicalIndex) -> None:
    """Set the weight of a term, and which of its forms memories have."""
    if term.is_cjk:
        frequency = index.document_frequency(analysis.CJK, term.whole)
        if index.max_questions:
            frequency = max(frequency, index.document_frequency(ASKED, term.whole))
        term.is_known = frequency > 0 or len(term.whole) == 1
    else:
        in_labels = [index.document_frequency(LABELS, stem) for stem in term.stems]
        in_texts = [index.document_frequency(analysis.BODY, stem) for stem in term.stems]
        both = list(zip(term.stems, in_labels, in_texts, strict=True))
        term.labels = {stem: max(0.0, 1.0 - texts / labels) for stem, labels, texts in both if labels}
        counts = [max(labels, texts) for _, labels, texts in both]
        if index.max_questions:
            question_counts = [index.document_frequency(ASKED, stem) for stem in term.stems]
            counts = [max(in_memories, in_questions) for in_memories, in_questions in zip(counts, question_counts, strict=True)]
        frequency = index.document_frequency(analysis.EXACT, term.whole) if term.is_identifier else counts[0]
        term.is_whole_known = frequency > 0
        frequency = frequency or min((count for count in counts if count), default=0)
        term.is_known = frequency > 0
    factor = EVERYDAY_WEIGHT if term.whole in EVERYDAY else IDENTIFIER_WEIGHT if term.is_identifier and term.is_known else 1.0
    term.weight = rarity(frequency, index.documents) * factor


def rarity(frequency: int, documents: int) -> float:
    """Return a smoothed inverse document frequency, 1.0 for a word of no memory, near 0.0 for a word of all.

    >>> rarity(0, 1000), rarity(1049, 1000)
    (1.0, 0.0)
    """
    pool = documents + PRIOR_DOCUMENTS
    return max(0.0, log(pool / (frequency + 1)) / log(pool))
