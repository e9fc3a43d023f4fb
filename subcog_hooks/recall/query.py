"""A text as a query: its type, its phrases, its terms, each with what it may match and how rare it is in the store.

No ranking here.
"""

from __future__ import annotations

from math import log

from subcog_hooks.store.index import ASKED, LABELS, LexicalIndex
from subcog_hooks.text import analysis, languages
from subcog_hooks.text.typed import ends_of
from subcog_hooks.text.vocabulary import EVERYDAY, STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import tantivy

MAX_TERMS = 24  # of a prompt: the rarest
MAX_GLUE = 12  # function words of a query that have a say in the ranking
# These three are flat around their values: with .1 to 1.0, 1 to 2 and 10 to 200 within two of 338 development prompts as many
# are answered, and as many met with silence.
EVERYDAY_WEIGHT = 0.3  # the share of its rarity that an everyday word keeps (text.vocabulary): it says little of what is asked
IDENTIFIER_WEIGHT = 1.5  # of one that the store knows
PRIOR_DOCUMENTS = 50  # so that the rarity of a word means something in a store of a few memories
MOST_CORRECTED = 3  # words of one query: each costs half a millisecond, and who mistypes more looks again
CORRECTED_WEIGHT = 0.8  # of a word that was taken for a misspelt one
PART_SHARE = 0.7  # what the parts of an identifier are worth without the whole


class Term:
    """One word, identifier or CJK bigram of a query.

    whole: it as one token (view `exact`, or `cjk`); stems: the word, or the parts of the identifier, in the view `body`;
    labels: those of them that are tags or keywords of some memory, each with the share of these memories whose text can not
    have it; spelled_out: of an acronym, the stems of what it stands for in some memory; weight: how much it says, 0.0 to 1.5 (a
    smoothed inverse document frequency); known: some memory has it, or of an identifier a part; is_whole_known: some memory has
    it as it stands; typed: what was written where it was corrected.
    """

    __slots__ = (
        "is_cjk",
        "is_identifier",
        "is_whole_known",
        "known",
        "labels",
        "spelled_out",
        "stems",
        "typed",
        "weight",
        "whole",
    )

    def __init__(self, whole: str, stems: tuple[str, ...], *, is_identifier: bool, is_cjk: bool) -> None:
        self.whole = whole
        self.stems = stems
        self.is_identifier = is_identifier
        self.is_cjk = is_cjk
        self.weight = 0.0
        self.known = False
        self.is_whole_known = False
        self.labels: dict[str, float] = {}
        self.spelled_out: tuple[str, ...] = ()
        self.typed: str | None = None


class Query:
    """An analysed query.

    terms: what it asks for, the ones that the store knows first, heaviest first; glue: its function words, which are no
    evidence, but tell one memory from another where the terms do not ("how do I write a unit test"); phrases: the stems of each
    quoted phrase; language: as `languages.language_of` tells it, "" for English; meant: the text that is embedded, corrected,
    with acronyms spelled out.
    """

    __slots__ = ("any_of", "glue", "language", "meant", "phrases", "terms", "text")

    def __init__(
        self,
        text: str,
        terms: Sequence[Term],
        glue: Sequence[Term] = (),
        phrases: Sequence[tuple[str, ...]] = (),
        language: str = "",
    ) -> None:
        self.text = text
        self.terms = tuple(terms)
        self.glue = tuple(glue)
        self.phrases = tuple(phrases)
        self.language = language
        self.meant = text
        self.any_of: tantivy.Query | None = None  # as lexical.any_of has built it

    @property
    def type(self) -> str:
        """One of the five types of S1."""
        from subcog_hooks.intent import query_type  # .3 ms, and a prompt's type is not asked for

        return query_type.classify(self.text)


def analyse(
    text: str,
    index: LexicalIndex,
    limit: int = MAX_TERMS,
    *,
    within: tantivy.Query | None = None,
    correct: bool = False,
) -> Query:
    """Return the query that `text` is to the memories of `index`.

    It has at most `limit` terms, the rarest ones that the store knows first.

    A text of nothing but function words keeps them: somebody who asks for "to be or not to be" means it.
    within: the memories that say what an acronym stands for, and how words are spelt. correct: take words that no memory has
    for misspelt ones; a prompt is full of words that no memory has, a query is not.
    """
    text = ends_of(text)
    terms = _terms(text, index.analysers)
    language = languages.language_of(text)
    glueing = STOP | languages.function_words(text, language) if language else STOP
    chosen = [term for term in terms if term.is_identifier or term.is_cjk or term.whole not in glueing] or terms
    glue = [term for term in terms if term not in chosen][:MAX_GLUE]
    for term in (*chosen, *glue):
        _weigh(term, index)
    if language:
        _inflect(chosen, languages.stems_by_word(text, language), index)
    if correct:
        _correct(chosen, index, within)
    said = " ".join([term.whole for term in chosen if term.known]) if language else text
    meant = _expand(chosen, index, within)
    abbreviated = _abbreviate(text, chosen, index, within)
    chosen += abbreviated
    chosen.sort(key=lambda term: (not term.known, -term.weight, term.whole))
    known = [term for term in chosen if term.known][:limit]
    unknown = [term for term in chosen if not term.known][:limit]
    asked = Query(text, (*known, *unknown), glue, _phrases(text, index), language)
    asked.meant = " ".join((said or text, *meant, *(term.whole.upper() for term in abbreviated)))
    return asked


def _phrases(text: str, index: LexicalIndex) -> list[tuple[str, ...]]:
    if text.isascii() and '"' not in text:
        return []
    from subcog_hooks.text import quotes  # .2 ms, and few prompts quote

    spaced = [phrase for phrase in quotes.phrases(text) if not analysis.unspaced_runs(phrase)]  # others have no words to follow
    phrases = [tuple(index.analysers.body_terms(phrase)) for phrase in spaced]
    return [phrase for phrase in phrases if phrase]


def _inflect(terms: list[Term], stems: Mapping[str, str], index: LexicalIndex) -> None:
    """Give words of another language their stem in it, where more memories have that one than the English one.

    stems: of the words of the text.
    """
    for term in terms:
        stem = index.analysers.body.analyze(stems.get(term.whole, ""))
        if len(stem) == 1 and len(term.stems) == 1 and not term.is_identifier:
            other = Term(term.whole, tuple(stem), is_identifier=False, is_cjk=False)
            _weigh(other, index)
            if other.known and (not term.known or other.weight < term.weight):
                term.stems, term.weight, term.known, term.labels = other.stems, other.weight, True, other.labels
                term.is_whole_known = other.is_whole_known


def _correct(terms: list[Term], index: LexicalIndex, within: tantivy.Query | None) -> None:
    """Give misspelt words the stems of the words that were meant, at less weight."""
    from subcog_hooks.recall import spelling  # not for prompts

    unknown = [term for term in terms if not (term.known or term.is_identifier or term.is_cjk)]
    for term in unknown[:MOST_CORRECTED]:
        word = spelling.nearest(term.whole, index, within)
        if word is not None and word != term.whole:
            term.typed, term.whole = term.whole, word
            term.stems = tuple(index.analysers.body.analyze(analysis.spread(word)))
            _weigh(term, index)
            term.weight *= CORRECTED_WEIGHT


def _expand(terms: list[Term], index: LexicalIndex, within: tantivy.Query | None) -> list[str]:
    """Give acronyms what they stand for in the store. Returned are the words that were meant where others were written."""
    known = index.acronyms()
    meant: list[str] = []
    for term in terms:
        if term.typed is not None:
            meant.append(term.whole)
        if term.whole in known and (long := index.spelled_out(term.whole, within)):
            term.spelled_out = tuple(index.analysers.body_terms(long))
            term.known = True
            meant.append(long)
    return meant


def _abbreviate(text: str, terms: list[Term], index: LexicalIndex, within: tantivy.Query | None) -> list[Term]:
    """Add terms for the acronyms of what the text spells out, where memories write it short and no term says so."""
    known = index.acronyms()
    if not known:
        return []
    from subcog_hooks.text import acronyms  # .2 ms, and in many stores there are none

    asked = {term.whole for term in terms}
    words = analysis.fold(text).replace("-", " ").lower().split()
    found: list[Term] = []
    for short, start, end in acronyms.initials(words):
        if short not in known or short in asked or (long := index.spelled_out(short, within)) is None:
            continue
        stems = tuple(index.analysers.body_terms(long))
        if stems == tuple(index.analysers.body_terms(" ".join(words[start:end]))):
            term = Term(short, tuple(index.analysers.body.analyze(short)), is_identifier=False, is_cjk=False)
            term.spelled_out = stems
            _weigh(term, index)
            found.append(term)
            asked.add(short)
    return found


def _terms(text: str, analysers: analysis.Analysers) -> list[Term]:
    found: dict[str, Term] = {}
    folded = analysis.fold(text)
    for word in dict.fromkeys(analysis.wholes(folded)):
        whole = "".join(analysers.exact.analyze(word))
        if whole in found or not whole or analysis.unspaced_runs(whole):
            continue
        stems = dict.fromkeys(analysers.body.analyze(analysis.spread(word)))
        if whole.isalpha() and len(stems) == 1:
            found[whole] = Term(whole, tuple(stems), is_identifier=False, is_cjk=False)
        elif whole.replace("-", "").isalpha() and "-" in whole:  # a compound: its words count one by one
            for part in filter(None, whole.split("-")):
                found.setdefault(
                    part, Term(part, tuple(analysers.body.analyze(analysis.spread(part))), is_identifier=False, is_cjk=False)
                )
        elif stems:
            if len(stems) > 1:
                stems.pop(whole, None)  # of a number alone it stays: 4211 stands in INC-4211 too
            found[whole] = Term(whole, tuple(stems), is_identifier=True, is_cjk=False)
    for run in analysis.unspaced_runs(folded):
        for bigram in analysis.bigrams(run)[: max(1, len(run) - 1)]:
            found.setdefault(bigram, Term(bigram, (), is_identifier=False, is_cjk=True))
    return list(found.values())


def _weigh(term: Term, index: LexicalIndex) -> None:
    if term.is_cjk:
        frequency = index.document_frequency(analysis.CJK, term.whole)
        if index.most_questions:
            frequency = max(frequency, index.document_frequency(ASKED, term.whole))
        term.known = frequency > 0 or len(term.whole) == 1
    else:
        in_labels = [index.document_frequency(LABELS, stem) for stem in term.stems]
        in_texts = [index.document_frequency(analysis.BODY, stem) for stem in term.stems]
        both = list(zip(term.stems, in_labels, in_texts, strict=True))
        term.labels = {stem: max(0.0, 1.0 - texts / labels) for stem, labels, texts in both if labels}
        counts = [max(labels, texts) for _, labels, texts in both]
        if index.most_questions:
            asked = [index.document_frequency(ASKED, stem) for stem in term.stems]
            counts = [max(one, other) for one, other in zip(counts, asked, strict=True)]
        frequency = index.document_frequency(analysis.EXACT, term.whole) if term.is_identifier else counts[0]
        term.is_whole_known = frequency > 0
        frequency = frequency or min((count for count in counts if count), default=0)
        term.known = frequency > 0
    factor = EVERYDAY_WEIGHT if term.whole in EVERYDAY else IDENTIFIER_WEIGHT if term.is_identifier and term.known else 1.0
    term.weight = rarity(frequency, index.documents) * factor


def rarity(frequency: int, documents: int) -> float:
    """Return a smoothed inverse document frequency: 1.0 for a word that no memory has, towards 0.0 for one that all have.

    >>> rarity(0, 1000), rarity(1049, 1000)
    (1.0, 0.0)
    """
    pool = documents + PRIOR_DOCUMENTS
    return max(0.0, log(pool / (frequency + 1)) / log(pool))
