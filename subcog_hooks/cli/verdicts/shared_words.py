"""The words of a prompt that a memory has and lacks."""

from __future__ import annotations

import operator
from contextlib import closing
from typing import NamedTuple

from subcog_hooks.embed.query_encoder import StaticEncoder, encode_by_language, unit_vector
from subcog_hooks.recall import asked_like, logit, query
from subcog_hooks.recall.query import Term
from subcog_hooks.store.index import LexicalIndex
from subcog_hooks.store.memory import Memory
from subcog_hooks.store.verdicts import Decision
from subcog_hooks.text import analysis, languages
from subcog_hooks.text.analysis import Analysers
from subcog_hooks.text.typed_prompt import query_text
from subcog_hooks.text.vocabulary import STOP


class Words(NamedTuple):
    """The significant words of a prompt that a memory has and lacks, the rarest first.

    asked_like: the memory's question that the prompt resembles, None for none.
    """

    has: list[str]
    lacks: list[str]
    asked_like: str | None = None


def compare_words(decision: Decision, memory: Memory, index: LexicalIndex) -> Words:
    """Return the words of a decision's prompt that a memory has and lacks today.

    A memory with only parts of an identifier has the parts and lacks the identifier.
    """
    text = "\n".join((query_text(decision.prompt or ""), *decision.borrowed))
    terms = sorted(query.analyse_query(text, index).terms, key=lambda term: (-term.weight, term.whole))
    own = _OwnWords(memory, index.analysers)
    shared = {term: words for term in terms if (words := own.words_for(term))}
    whole = {term.whole for term in shared if not term.is_identifier or own.has_whole(term)}
    asked = _fold_letters(text, index.analysers)  # The analysis adds acronyms that nobody typed.
    has = list(dict.fromkeys(word for words in shared.values() for word in words))
    lacks = [term.whole for term in terms if term.whole not in whole and term.whole in asked]
    return Words(has, lacks, _matching_question(decision, memory, index))


def _matching_question(decision: Decision, memory: Memory, index: LexicalIndex) -> str | None:
    terms = [term for candidate in decision.candidates if candidate.id == memory.id for term in candidate.terms]
    added = {name: adds for name, _, adds in terms}
    if not memory.questions or added.get(logit.ASKED_LIKE, 0.0) <= 0.0:
        return None
    text = query_text(decision.prompt or "")
    with closing(StaticEncoder.open()) as encoder:
        encode = encode_by_language(encoder.encode)
        asked, *theirs = [unit_vector(encode(part)) for part in (text, *(question.text for question in memory.questions))]
    likeness = {number: sum(map(operator.mul, asked, vector)) for number, vector in enumerate(theirs)}
    return asked_like.most_alike_question(text, memory.questions, likeness, index.analysers).question


def _fold_letters(text: str, analysers: Analysers) -> str:
    """Return the words of a text in plain small letters, behind the text: the words leave long runs without blanks out."""
    folded = analysis.fold(text).lower()
    return " ".join((folded, *analysers.exact.analyze(folded)))


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
            for word, base in analysis.stems_by_word(text, language).items():
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
