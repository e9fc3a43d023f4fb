"""What a text asks for: its terms, each with what it may match and how rare it is in the store. No ranking here."""

from math import log

from subcog_hooks.memory import analysis
from subcog_hooks.memory.index import LABELS, LexicalIndex
from subcog_hooks.recall.words import EVERYDAY, STOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_TERMS = 24  # of a prompt: the rarest (DESIGN 7.1)
MAX_GLUE = 12  # function words of a query that have a say in the ranking
EVERYDAY_WEIGHT = 0.3
IDENTIFIER_WEIGHT = 1.5  # of one that the store knows: the answered share of the development prompts rose from .21 to .23
PRIOR_DOCUMENTS = 50  # so that the rarity of a word means something in a store of a few memories
PART_SHARE = 0.7  # what the parts of an identifier are worth without the whole


class Term:
    """One word, identifier or CJK bigram of a query.

    whole: it as one token (view `exact`, or `cjk`); stems: the word, or the parts of the identifier, in the view `body`;
    labels: those of them that are tags or keywords of some memory;
    weight: how much it says, 0.0 to 1.5 (a smoothed inverse document frequency); known: some memory has it, or of an identifier
    a part; is_whole_known: some memory has it as it stands.
    """

    __slots__ = ("is_cjk", "is_identifier", "is_whole_known", "known", "labels", "stems", "weight", "whole")

    def __init__(self, whole: str, stems: tuple[str, ...], *, is_identifier: bool, is_cjk: bool) -> None:
        self.whole = whole
        self.stems = stems
        self.is_identifier = is_identifier
        self.is_cjk = is_cjk
        self.weight = 0.0
        self.known = False
        self.is_whole_known = False
        self.labels: tuple[str, ...] = ()


class Query:
    """An analysed query.

    terms: what it asks for, the ones that the store knows first, heaviest first; glue: its function words, which are no
    evidence, but tell one memory from another where the terms do not ("how do I write a unit test").
    """

    __slots__ = ("glue", "terms", "text")

    def __init__(self, text: str, terms: "Sequence[Term]", glue: "Sequence[Term]" = ()) -> None:
        self.text = text
        self.terms = tuple(terms)
        self.glue = tuple(glue)


def analyse(text: str, index: LexicalIndex, limit: int = MAX_TERMS) -> Query:
    """The query that `text` is to the memories of `index`: at most `limit` terms, the rarest ones that the store knows first.

    A text of nothing but function words keeps them: somebody who asks for "to be or not to be" means it.
    """
    terms = _terms(text, index.analysers)
    chosen = [term for term in terms if term.is_identifier or term.is_cjk or term.whole not in STOP] or terms
    glue = [term for term in terms if term not in chosen][:MAX_GLUE]
    for term in (*chosen, *glue):
        _weigh(term, index)
    chosen.sort(key=lambda term: (not term.known, -term.weight, term.whole))
    known = [term for term in chosen if term.known][:limit]
    unknown = [term for term in chosen if not term.known][:limit]
    return Query(text, known + unknown, glue)


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
                found.setdefault(part, Term(part, tuple(analysers.body.analyze(part)), is_identifier=False, is_cjk=False))
        elif stems:
            stems.pop(whole, None)
            found[whole] = Term(whole, tuple(stems), is_identifier=True, is_cjk=False)
    for run in analysis.unspaced_runs(folded):
        for bigram in analysis.bigrams(run)[: max(1, len(run) - 1)]:
            found.setdefault(bigram, Term(bigram, (), is_identifier=False, is_cjk=True))
    return list(found.values())


def _weigh(term: Term, index: LexicalIndex) -> None:
    if term.is_cjk:
        frequency = index.document_frequency(analysis.CJK, term.whole)
        term.known = frequency > 0 or len(term.whole) == 1
    else:
        in_labels = [index.document_frequency(LABELS, stem) for stem in term.stems]
        term.labels = tuple(stem for stem, count in zip(term.stems, in_labels, strict=True) if count)
        counts = [max(index.document_frequency(analysis.BODY, stem), n) for stem, n in zip(term.stems, in_labels, strict=True)]
        frequency = index.document_frequency(analysis.EXACT, term.whole) if term.is_identifier else counts[0]
        term.is_whole_known = frequency > 0
        frequency = frequency or min((count for count in counts if count), default=0)
        term.known = frequency > 0
    factor = EVERYDAY_WEIGHT if term.whole in EVERYDAY else IDENTIFIER_WEIGHT if term.is_identifier and term.known else 1.0
    term.weight = rarity(frequency, index.documents) * factor


def rarity(frequency: int, documents: int) -> float:
    """A smoothed inverse document frequency: 1.0 for a word that no memory has, towards 0.0 for one that all have.

    >>> rarity(0, 1000), rarity(1049, 1000)
    (1.0, 0.0)
    """
    pool = documents + PRIOR_DOCUMENTS
    return max(0.0, log(pool / (frequency + 1)) / log(pool))
