"""Compares the significant words of a prompt with a memory's own words."""

from typing import NamedTuple

from subcog_hooks.recall import query
from subcog_hooks.recall.query import Term
from subcog_hooks.store.decision import Decision
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import Memory
from subcog_hooks.text import analysis, languages
from subcog_hooks.text.analysis import Analysers
from subcog_hooks.text.typed_prompt import query_text
from subcog_hooks.text.vocabulary import STOP


class SharedTerm(NamedTuple):
    """A term of a prompt, with the memory's words for it as the memory spells them."""

    term: Term
    words: tuple[str, ...]


class Comparison(NamedTuple):
    """The terms of a prompt that a memory has and lacks, the rarest first.

    A memory with only parts of an identifier has the parts and lacks the identifier.
    """

    shared: list[SharedTerm]
    lacking: list[Term]

    @property
    def words(self) -> list[str]:
        """The memory's own words for the prompt's terms."""
        return list(dict.fromkeys(word for shared in self.shared for word in shared.words))


def compare_terms(decision: Decision, memory: Memory, index: LexicalIndex) -> Comparison:
    """Return the terms of a decision's prompt that a memory has and lacks today."""
    text = "\n".join((query_text(decision.prompt or ""), *decision.borrowed))
    terms = sorted(query.analyse_query(text, index).terms, key=lambda term: (-term.weight, term.whole))
    own = _OwnWords(memory, index.analysers)
    shared = [SharedTerm(term, words) for term in terms if (words := own.words_for(term))]
    whole = {found.term.whole for found in shared if not found.term.is_identifier or own.has_whole(found.term)}
    asked = _fold_letters(text, index.analysers)  # The analysis adds acronyms that nobody typed.
    return Comparison(shared, [term for term in terms if term.whole not in whole and term.whole in asked])


def _fold_letters(text: str, analysers: Analysers) -> str:
    return " ".join(analysers.exact.analyze(analysis.fold(text)))


class _OwnWords:
    """The words of a memory by their forms in the index. A number within a version, date or name is no word of its own."""

    def __init__(self, memory: Memory, analysers: Analysers) -> None:
        text = "\n".join((memory.content, *memory.tags, *memory.keywords))
        language = languages.language_of(text)
        self._folded = _fold_letters(text, analysers)
        self._by_whole: dict[str, str] = {}
        self._by_stem: dict[str, str] = {}
        for word in dict.fromkeys(analysis.whole_tokens(analysis.separate_scripts(text))):
            for whole in analysers.exact_terms(word):
                self._by_whole.setdefault(whole, word)
            for stem in analysers.body_terms(word):
                if not stem.isdecimal() or stem == word:
                    self._by_stem.setdefault(stem, word)
        if language:
            from subcog_hooks.text import inflection  # Most texts are English.

            for word, base in inflection.stems_by_word(text, language).items():
                for stem in analysers.body.analyze(base):
                    self._by_stem.setdefault(stem, self._by_whole.get(word, word))

    def has_whole(self, term: Term) -> bool:
        return term.whole in self._by_whole

    def words_for(self, term: Term) -> tuple[str, ...]:
        """Return the memory's words that match a term, at least in part; an acronym also by its long form."""
        if term.is_cjk:
            return (term.whole,) * (term.whole in self._folded)
        if term.whole in self._by_whole:
            return (self._by_whole[term.whole],)
        if term.is_identifier:
            parts = [stem for stem in term.stems if not (stem.isdecimal() or stem in STOP)]
            return tuple([self._by_stem[stem] for stem in parts if stem in self._by_stem])
        if term.stems[0] in self._by_stem:
            return (self._by_stem[term.stems[0]],)
        if term.spelled_out and self._by_stem.keys() >= set(term.spelled_out):
            return tuple([self._by_stem[stem] for stem in term.spelled_out])
        return ()
